"""Whether the cluster and its controller answer: right within one poll, also without a snapshot."""

import socket
from typing import Any

import pytest

from kafka_warden.clients.kafka.network import Network
from kafka_warden.errors import AuthenticationError, RefusedError, TokenError
from kafka_warden.model import Source
from kafka_warden.poller.asking import Reach
from sandbox.certificates import Authority
from tests.poller.polling import DEADLINE, INTERVAL, Polling, polling
from tests.poller.test_page import shown
from tests.support.scripted import ScriptedCluster, VirtualClock

ALL = (1, 2, 3)
CONTROLLER = ("ListPartitionReassignments", "DescribeQuorum")
"""Requests that brokers forward to it."""


def reachable(polled: Polling) -> list[bool | None]:
    """Poll twice; return after each whether the cluster was reachable."""
    found = []
    for _ in range(2):
        polled.poll_any()
        assert polled.took <= DEADLINE
        found.append(polled.last.cluster_reachable)
    return found


def test_a_cluster_that_answers_is_reachable(brokers: ScriptedCluster, clock: VirtualClock) -> None:
    with polling(brokers, clock) as polled:
        assert polled.last.cluster_reachable is None
        assert reachable(polled) == [True, True]


def test_a_cluster_that_refuses_connections_is_not_reachable(polled: Polling) -> None:
    polled.brokers.each("refuse")
    assert reachable(polled) == [False, False]
    polled.brokers.do("accept", broker=2)
    assert reachable(polled) == [True, True]


def test_a_cluster_that_hangs_is_not_reachable(polled: Polling) -> None:
    polled.brokers.rule(hang=True)
    assert reachable(polled) == [False, False]
    polled.brokers.do("clear")
    assert reachable(polled) == [True, True]


@pytest.mark.parametrize("answers", ALL)
def test_one_broker_that_answers_is_enough(polled: Polling, answers: int) -> None:
    hangs, refuses = {*ALL} - {answers}
    polled.brokers.rule(hangs, hang=True)
    polled.brokers.each("refuse", refuses)
    assert reachable(polled) == [True, True]


@pytest.mark.parametrize("rule", [{"drop": True}, {"body": b""}])
def test_a_reply_of_any_kind_is_enough(polled: Polling, rule: dict[str, Any]) -> None:
    """No broker answers for the metadata: each closes the connection after the API versions, or sends no metadata."""
    polled.brokers.rule(None, "Metadata", **rule)
    polled.brokers.each("disconnect")
    assert reachable(polled) == [True, True]
    assert "metadata" in polled.down()


def test_a_refused_password_is_an_answer(brokers: ScriptedCluster, clock: VirtualClock) -> None:
    brokers.do("accounts", mechanism="PLAIN", users={"warden": "another"})
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "warden"}
    with polling(brokers, clock, properties) as polled:
        assert reachable(polled) == [True, True]
        assert brokers.seen() == []


def test_a_certificate_that_is_not_trusted_is_an_answer(
    brokers: ScriptedCluster, clock: VirtualClock, tmp_path: Any
) -> None:
    pair = Authority(tmp_path, "authority").issue("broker")
    other = Authority(tmp_path, "other").certificate
    brokers.each("refuse")
    brokers.brokers(*({"id": broker, "certificate": str(pair.certificate), "key": str(pair.key)} for broker in ALL))
    brokers.each("accept")
    with polling(brokers, clock, {"security.protocol": "SSL", "ssl.ca.location": str(other)}) as polled:
        assert reachable(polled) == [True, True]
        assert set(polled.down().values()) == {"tls"}


class Names:
    """Names of addresses, which may stop to resolve."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fault: Exception | None = None
        self.found: set[int] = set()
        """Ports whose names resolve all the same."""
        real = Network.resolve

        async def resolve(network: Network, host: str, port: int) -> Any:
            if self.fault is not None and port not in self.found:
                raise self.fault
            return await real(network, host, port)

        monkeypatch.setattr(Network, "resolve", resolve)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    return Names(monkeypatch)


UNKNOWN_NAME = socket.gaierror(socket.EAI_NONAME, "unknown")
FAILS = socket.gaierror(socket.EAI_AGAIN, "the name server fails")


@pytest.mark.parametrize(("fault", "reason"), [(FAILS, "refused"), (TimeoutError(), "connect_timeout")])
def test_a_name_server_that_fails_shows_nothing_of_the_cluster(
    polled: Polling, names: Names, fault: Exception, reason: str
) -> None:
    names.fault = fault
    polled.brokers.each("refuse")
    assert reachable(polled) == [None, None]
    assert reason in polled.down()["metadata"]
    names.found = {polled.brokers.ports[2]}
    assert reachable(polled) == [False, False]


def test_a_cluster_whose_names_are_gone_is_not_reachable(
    brokers: ScriptedCluster, clock: VirtualClock, names: Names
) -> None:
    with polling(brokers, clock) as polled:
        assert reachable(polled) == [True, True]
        names.fault = UNKNOWN_NAME
        brokers.each("refuse")
        assert reachable(polled) == [False, False]
        names.fault = None
        brokers.each("accept")
        assert reachable(polled) == [True, True]


def test_names_that_never_resolved_show_nothing_of_the_cluster(
    brokers: ScriptedCluster, clock: VirtualClock, names: Names
) -> None:
    names.fault = UNKNOWN_NAME
    with polling(brokers, clock) as polled:
        assert reachable(polled) == [None, None]


def test_brokers_that_ask_for_a_long_pause_are_reachable(polled: Polling) -> None:
    polled.brokers.rule(throttle_ms=55_000)
    polled.poll_any()
    assert polled.last.controller_reachable
    assert reachable(polled) == [True, True]
    assert reachable(polled) == [True, True]
    assert "metadata" in polled.down()
    assert polled.brokers.seen() == []


def test_it_is_shown_without_a_snapshot(brokers: ScriptedCluster, clock: VirtualClock) -> None:
    with polling(brokers, clock) as polled:
        cycle = polled.cycle()
        assert shown(cycle, "cluster_reachable") == {}
        brokers.each("refuse")
        values = []
        for turn in range(7):
            clock.advance(INTERVAL)
            cycle.once()
            values.append(shown(cycle, "cluster_reachable")[""])
            if turn == 0:
                brokers.do("accept", broker=1)
            if turn == 1:
                assert shown(cycle, "broker_state") != {}
                brokers.each("refuse", 1)
        assert values == [0, 1, 0, 0, 0, 0, 0]
        assert shown(cycle, "broker_state") == {}


def controller(polled: Polling, after: float = INTERVAL) -> list[bool | None]:
    """Poll three times; return after each whether the controller was reachable."""
    found = []
    for _ in range(3):
        polled.poll_any(after)
        assert polled.took <= DEADLINE
        found.append(polled.last.controller_reachable)
    return found


def fail(polled: Polling, broker: int | None = None, **rule: Any) -> None:
    """Let the requests that one broker or all forward to the controller fail."""
    for name in CONTROLLER:
        polled.brokers.rule(broker, name, **rule)


@pytest.mark.parametrize("after", [INTERVAL, 61.0])
@pytest.mark.parametrize("rule", [{"hang": True}, {"error": 7}], ids=["hangs", "timed out"])
def test_a_controller_that_hangs_is_not_reachable(polled: Polling, rule: dict[str, Any], after: float) -> None:
    """From the first poll on, while all brokers answer for the metadata; it is in the first poll that it answers."""
    assert polled.last.controller_reachable
    fail(polled, **rule)
    assert controller(polled, after) == [False] * 3
    assert polled.last.cluster_reachable
    polled.brokers.do("clear")
    assert controller(polled, after) == [True] * 3


@pytest.mark.parametrize("hangs", ALL)
def test_a_controller_that_answers_through_one_of_two_brokers_is_reachable(polled: Polling, hangs: int) -> None:
    fail(polled, hangs, hang=True)
    assert controller(polled) == [True] * 3


def test_one_of_its_answers_is_enough(polled: Polling) -> None:
    polled.brokers.rule(None, "DescribeQuorum", hang=True)
    assert controller(polled) == [True] * 3


@pytest.mark.parametrize("down", [{"hang": True}, {"drop": True}])
def test_the_only_broker_that_answers_is_believed(polled: Polling, down: dict[str, Any]) -> None:
    for broker in (1, 3):
        polled.brokers.rule(broker, **down)
    fail(polled, 2, hang=True)
    assert controller(polled) == [False] * 3


@pytest.mark.parametrize("error", [31, 41, -1], ids=["authorization", "not controller", "unknown"])
def test_an_error_shows_nothing_of_the_controller(polled: Polling, error: int) -> None:
    fail(polled, error=error)
    assert controller(polled) == [None] * 3
    polled.brokers.do("clear")
    fail(polled, error=error)
    fail(polled, 1, hang=True)
    for broker in ALL[1:]:
        polled.brokers.rule(broker, "ListOffsets", delay=0.1)
    assert controller(polled) == [None] * 3


def test_brokers_that_do_not_know_the_requests_show_nothing_of_the_controller(polled: Polling) -> None:
    polled.limit(dict.fromkeys(CONTROLLER, (0, -1)))
    assert controller(polled) == [None] * 3


def test_without_brokers_nothing_is_known_of_the_controller(polled: Polling) -> None:
    polled.brokers.each("refuse")
    assert controller(polled) == [None] * 3


@pytest.mark.parametrize("before", [True, False])
def test_a_question_that_is_asked_too_late_changes_nothing(polled: Polling, before: bool) -> None:
    """The brokers need most of the deadline for their offsets, and the controller longer than is left."""
    fail(polled, hang=True)
    if not before:
        assert controller(polled) == [False] * 3
    polled.brokers.rule(None, "ListOffsets", delay=1.8)
    assert controller(polled) == [before] * 3


@pytest.fixture
def fenced(polled: Polling) -> Polling:
    """After a poll in which broker 3 was fenced, as one that has just lost its connection to the controller."""
    polled.brokers.brokers({"id": 3, "fenced": True})
    polled.brokers.topic("a", [[1, 2, 3], [2, 3, 1], [3, 1, 2]], isr=[[1, 2], [2, 1], [1, 2]])
    polled.poll()
    assert polled.last.fenced_responding == {3: True}
    return polled


def test_a_fenced_broker_that_answers_is_responding(fenced: Polling) -> None:
    """Without a login: it may not know its users yet. One that is not fenced any more is not shown."""
    fenced.brokers.do("accounts", mechanism="PLAIN", users={"warden": "secret"})
    fenced.poll()
    assert fenced.last.fenced_responding == {3: True}
    fenced.brokers.do("accounts", mechanism="PLAIN", users={})
    fenced.brokers.brokers({"id": 3})
    fenced.poll_any()
    assert fenced.last.fenced_responding == {}


@pytest.mark.parametrize("rule", [{"hang": True}, {"drop": True}, {"body": b""}, None])
def test_a_fenced_broker_that_does_not_answer_is_not_responding(fenced: Polling, rule: dict[str, Any] | None) -> None:
    """It hangs, closes the connection, answers nonsense, or is stopped. The other brokers do not wait for it."""
    if rule is None:
        fenced.brokers.each("refuse", 3)
    else:
        fenced.brokers.rule(3, **rule)
    began = fenced.clock.monotonic() + INTERVAL
    for _ in range(2):
        snapshot = fenced.poll(began - fenced.clock.monotonic())
        assert fenced.last.fenced_responding == {3: False}
        assert set(snapshot.offsets_at.values()) == {began}
        assert fenced.took <= 0.4 * DEADLINE
        assert len(fenced.brokers.seen("connected")) <= 1
        began += INTERVAL


def offsets_errors(polled: Polling) -> dict[str, int]:
    return dict(polled.last.status[Source.OFFSETS, "3"].errors)


@pytest.mark.parametrize("stopped", [True, False])
def test_a_broker_that_is_fenced_before_a_poll_asks_it_hangs_unless_it_closed_its_connection(
    polled: Polling, stopped: bool
) -> None:
    if stopped:
        polled.brokers.each("refuse", 3)
    else:
        polled.brokers.rule(3, hang=True)
    polled.brokers.brokers({"id": 3, "fenced": True})
    for _ in range(2):
        polled.poll()
    assert offsets_errors(polled) == ({"fenced": 2} if stopped else {"timeout": 2})


def test_nothing_is_known_of_fenced_brokers_before_kafka_4(fenced: Polling) -> None:
    fenced.limit({"DescribeCluster": (0, 1)})
    fenced.poll()
    assert fenced.last.fenced_responding == {}
    fenced.brokers.each("refuse")
    fenced.poll_any()
    assert fenced.last.fenced_responding == {}


def test_without_a_token_nothing_is_said_of_the_cluster() -> None:
    """A broker closes a connection whose session has ended, which alone looks as if it were gone."""
    reach, seen = Reach(), []
    for fault in (RefusedError("closed"), TokenError("the issuer is down"), AuthenticationError("refused")):
        reach.note(fault)
        seen.append(reach.cluster)
    assert seen == [False, None, True]
