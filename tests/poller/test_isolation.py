"""What fails costs its own numbers only."""

import itertools
import re
import struct
import time
import tracemalloc
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.poller.polling import CONNECTED, DEADLINE, INTERVAL, Polling, polling

MINUTE = 61.0
"""Seconds after which all questions are due."""


@pytest.mark.parametrize("broker", [1, 2, 3])
@pytest.mark.parametrize("after", [INTERVAL, MINUTE])
def test_a_broker_that_hangs_costs_its_own_numbers_only(polled: Polling, broker: int, after: float) -> None:
    polled.brokers.rule(broker, hang=True)
    others = {1, 2, 3} - {broker}
    snapshot = polled.poll(after)

    own = {f"{source}{broker}" for source in ("offsets", "log_dirs", "configs")}
    assert polled.down() == dict.fromkeys(own, "timeout")
    assert set(snapshot.offsets_at) == others
    followed = snapshot.replicas.end[[place for place, host in enumerate(snapshot.replicas.broker) if host in others]]
    assert followed.min() > 0
    assert snapshot.quotas
    assert snapshot.quorum is not None
    assert polled.took <= DEADLINE

    polled.poll(after)
    assert polled.down().keys() == own
    assert polled.took <= 0.6 * DEADLINE

    polled.brokers.do("clear")
    polled.poll(after)
    assert polled.down() == {}


def test_a_broker_that_fails_at_its_followers_is_asked_nothing_more(polled: Polling) -> None:
    polled.brokers.rule(2, "ListOffsets", side="followers", drop=True)
    polled.poll(MINUTE)
    assert set(polled.down()) == {"offsets2", "log_dirs2", "configs2"}


@pytest.mark.parametrize("broker", [1, 3])
def test_a_broker_that_refuses_connections_costs_its_own_numbers_and_no_time(polled: Polling, broker: int) -> None:
    """It is asked again in every poll, so that the first one after its return has its numbers."""
    polled.brokers.do("refuse", broker=broker)
    for _ in range(2):
        snapshot = polled.poll()
        assert set(polled.down()) == {f"{source}{broker}" for source in ("offsets", "log_dirs", "configs")}
        assert set(snapshot.offsets_at) == {1, 2, 3} - {broker}
        assert polled.took == 0.0

    polled.brokers.do("accept", broker=broker)
    assert set(polled.poll().offsets_at) == {1, 2, 3}
    assert polled.down() == {}


@pytest.mark.parametrize(
    ("request_name", "down"),
    [
        ("DescribeClientQuotas", {"quotas"}),
        ("DescribeLogDirs", {"log_dirs1", "log_dirs2", "log_dirs3"}),
        ("DescribeQuorum", {"quorum"}),
        ("ListPartitionReassignments", {"reassignments"}),
    ],
)
@pytest.mark.parametrize(("error", "reason"), [(31, "authorization"), (-1, "protocol")])
def test_an_error_of_one_source_leaves_the_others(
    polled: Polling, request_name: str, down: set[str], error: int, reason: str
) -> None:
    polled.brokers.rule(None, request_name, error=error)
    snapshot = polled.poll(MINUTE)
    assert polled.down() == dict.fromkeys(down, reason)
    assert set(snapshot.offsets_at) == {1, 2, 3}


def length(size: int) -> bytes:
    return struct.pack(">i", size)


@pytest.mark.parametrize(
    "rule",
    [
        {"body": b""},
        {"body": b"\xff", "repeat": 1 << 20},
        {"body": b"\x00\x00\x00\x00\xfe\xff\xff\xff\x0f"},
        {"raw": b"\xff", "repeat": 1 << 20},
        {"raw": length(-5)},
        {"raw": length((1 << 31) - 1)},
        {"raw": b"HTTP/1.1 400 Bad Request\r\n\r\n"},
        {"half": True},
        {"drop": True},
        {"recorded": "tests/sources/recorded/kafka-4.1.1-ends-v10.bin"},
    ],
    ids=["empty", "megabyte", "count", "no frame", "negative", "huge", "http", "half", "closed", "other request"],
)
@pytest.mark.parametrize("request_name", ["ListOffsets", "Metadata"])
def test_a_malformed_reply_is_contained(polled: Polling, request_name: str, rule: dict[str, Any]) -> None:
    polled.brokers.rule(2, request_name, **rule)
    polled.poller._state.lead = 2  # asked for the metadata first
    tracemalloc.start()
    began = time.process_time()
    snapshot = polled.poll(MINUTE)
    spent, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert polled.brokers.seen("Metadata")[0]["broker"] == 2
    assert {1, 3} <= set(snapshot.offsets_at)
    assert {source for source in polled.down() if not source.endswith("2")} <= {"quorum"}
    assert spent < 5.0
    assert peak < 30 << 20

    polled.brokers.do("clear")
    polled.poll(MINUTE)
    assert polled.down() == {}


@pytest.mark.parametrize("value", ["many", "", "1e3", "99999999999999999999", "0", "9" * 5000])
def test_a_value_that_cannot_be_read_is_contained(polled: Polling, value: str) -> None:
    """The reply is as the protocol says, what it says is not: it costs the configuration of its topic."""
    polled.brokers.topic("a", [[1, 2, 3], [2, 3, 1], [3, 1, 2]], config={"min.insync.replicas": value})
    snapshot = polled.poll(MINUTE)
    assert polled.down() == {"configs": "protocol"}
    assert set(snapshot.offsets_at) == {1, 2, 3}

    polled.brokers.topic("b", [[1, 2]])
    assert "b" in polled.poll(MINUTE).topic_configs
    assert polled.down() == {}


def test_a_reply_that_no_parser_expects_is_contained(polled: Polling, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_warden.sources.cluster.parse_quotas", lambda reply: reply.unknown)
    with capture_logs() as logs:
        snapshot = polled.poll(MINUTE)
    assert polled.down() == {"quotas": "protocol"}
    assert "unexpected shape" in logs[0]["event"]
    assert logs[0]["address"].startswith("127.0.0.1:")
    assert set(snapshot.offsets_at) == {1, 2, 3}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("replication.quota.window.num", "-1"),
        ("replication.quota.window.num", "2147483648"),
        ("replication.quota.window.size.seconds", "nan"),
        ("num.replica.fetchers", "1" + "0" * 400),
        ("leader.replication.throttled.rate", "9223372036854775808"),
        ("remote.log.manager.copy.quota.window.size.seconds", "inf"),
    ],
)
def test_a_broker_with_a_value_that_kafka_refuses_is_contained(polled: Polling, key: str, value: str) -> None:
    polled.brokers.brokers({"id": 2, "config": {key: value}})
    snapshot = polled.poll(MINUTE)
    assert polled.down() == {"configs2": "protocol"}
    assert snapshot.broker_configs.keys() >= {1, 3}


def test_a_throttled_broker_is_waited_for_and_keeps_its_connection(polled: Polling) -> None:
    """`throttle_time_ms`: the numbers of that reply count, and the next request comes after the pause."""
    polled.brokers.rule(2, "ListOffsets", side="followers", changes={"throttle_time_ms": 800})
    before = polled.connections()
    for _ in range(2):
        snapshot = polled.poll()
        assert polled.down() == {}
        assert set(snapshot.offsets_at) == {1, 2, 3}
        first, second = (each["at"] for each in polled.brokers.seen("ListOffsets") if each["broker"] == 2)
        assert second - first == pytest.approx(0.8)
        assert polled.last.throttle_seconds == {1: 0.0, 2: 0.8, 3: 0.0}
    assert polled.connections() == before


def test_a_pause_longer_than_the_poll_costs_that_broker_only(polled: Polling) -> None:
    """It is waited out and shown: nothing is sent before its end, and the connection stays."""
    polled.brokers.rule(2, "ListOffsets", side="followers", throttle_ms=31_000, times=1)
    before = polled.connections()
    for left in (31.0, 21.0, 11.0):
        polled.poll()
        assert set(polled.down()) == {"offsets2", "log_dirs2", "configs2"}
        assert polled.last.throttle_seconds[2] == pytest.approx(left)
    polled.poll()
    assert polled.down() == {}
    assert polled.last.throttle_seconds[2] == 0.0
    assert polled.connections() == before
    assert polled.brokers.seen(CONNECTED) == []


def test_a_poll_of_throttled_brokers_takes_as_long_as_they_ask_for(polled: Polling) -> None:
    polled.brokers.rule(None, throttle_ms=1000)
    before = polled.connections()
    polled.poll(MINUTE)
    for wait in (10.0, MINUTE, MINUTE):
        polled.poll(wait)
        assert polled.down() == {}
        assert polled.took > DEADLINE
    assert polled.connections() == before


@pytest.mark.parametrize(
    "request_name", ["DescribeClientQuotas", "DescribeCluster", "DescribeQuorum", "ListPartitionReassignments"]
)
def test_questions_about_the_cluster_go_to_another_broker_within_the_poll(polled: Polling, request_name: str) -> None:
    polled.brokers.rule(None, request_name, hang=True, times=1)
    snapshot = polled.poll(MINUTE)
    hung, *others = (each["broker"] for each in polled.brokers.seen(request_name))
    assert {source for source in polled.down() if not source.endswith(str(hung))} == set()
    assert {1, 2, 3} - {hung} <= set(snapshot.offsets_at)
    assert others
    assert hung not in others
    assert polled.took <= DEADLINE


@pytest.mark.parametrize("answers", [1, 2, 3])
def test_two_brokers_that_hang_leave_time_for_the_third(polled: Polling, answers: int) -> None:
    polled.poll()
    for broker in {1, 2, 3} - {answers}:
        polled.brokers.rule(broker, hang=True)
    began = polled.clock.monotonic() + MINUTE
    snapshot = polled.poll(MINUTE)
    requests = polled.brokers.seen("Metadata", "DescribeCluster")
    asked, went_on = (each["at"] for each in requests if each["broker"] == answers)
    assert asked == went_on < began + DEADLINE / 2
    assert set(snapshot.offsets_at) == {answers}
    assert {source[-1] for source in polled.down()} == {str(broker) for broker in {1, 2, 3} - {answers}}


def test_a_controller_that_hangs_costs_its_own_answers(polled: Polling) -> None:
    for name in ("ListPartitionReassignments", "DescribeQuorum"):
        polled.brokers.rule(None, name, hang=True)
    for _ in range(3):
        snapshot = polled.poll(MINUTE)
        assert len(polled.brokers.seen("ListPartitionReassignments")) == 2
        assert polled.down() == {"reassignments": "timeout", "quorum": "timeout"}
        assert set(snapshot.offsets_at) == {1, 2, 3}
        assert polled.took <= DEADLINE


def test_a_broker_that_knows_no_brokers_is_not_believed(polled: Polling) -> None:
    polled.poll()
    polled.brokers.rule(polled.lead, "Metadata", changes={"brokers": [], "topics": []})
    assert set(polled.poll().offsets_at) == {1, 2, 3}
    assert polled.down() == {}
    polled.brokers.rule(None, "Metadata", changes={"brokers": [], "topics": []})
    with capture_logs() as logs:
        assert polled.poll_any() is None
    assert re.fullmatch(r"127.0.0.1:\d+ knows no brokers", logs[0]["error"])


@pytest.mark.parametrize("broker", [1, 2, 3])
@pytest.mark.parametrize(("after", "least"), [(INTERVAL, 2), (MINUTE, 6)])
def test_a_broker_that_hangs_within_a_poll_costs_its_own_numbers_only(
    polled: Polling, broker: int, after: float, least: int
) -> None:
    """Whichever of its requests is the first without an answer, also one about the cluster."""
    for answered in itertools.count():
        with polling(polled.brokers, polled.clock) as each:
            each.poll()
            each.brokers.rule(broker, hang=True)
            each.brokers.rule(broker, times=answered)
            each.poll(after)
            assert each.down().keys() <= {f"{source}{broker}" for source in ("offsets", "log_dirs", "configs")}
            assert each.took <= DEADLINE
            arrived = len([seen for seen in each.brokers.seen() if seen["broker"] == broker])
            each.brokers.do("clear")
        if arrived <= answered:
            break
    assert answered >= least
