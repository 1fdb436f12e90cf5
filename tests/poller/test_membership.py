"""Brokers and topics that come and go."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from kafka_warden.model import Broker, Source
from kafka_warden.poller.answers import MOST_LOST, LastAnswers
from kafka_warden.timer import SOON
from sandbox import wait_for
from tests.poller.polling import Polling

ASSIGNED = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]


def sources_of(polled: Polling, broker: int) -> set[str]:
    return {str(source) for source, name in polled.last.status if name == str(broker)}


def test_a_fenced_broker_is_not_asked(polled: Polling) -> None:
    """Its numbers are missing with that reason, from the first poll that knows; it is asked again when it is back.

    Until then it gets one request in each poll, to see whether it is there.
    """
    polled.brokers.brokers({"id": 3, "fenced": True})
    polled.brokers.topic("a", ASSIGNED, isr=[[1, 2], [2, 1], [1, 2]])
    with capture_logs() as logs:
        snapshot = polled.poll()
    assert {entry["error"] for entry in logs} == {"broker 3 is fenced and was not asked; is it running and connected?"}
    assert snapshot.brokers[3].fenced
    assert polled.down() == {"offsets3": "fenced", "log_dirs3": "fenced", "configs3": "fenced"}
    probe = [each["request"] for each in polled.brokers.seen() if each["broker"] == 3]
    assert probe == ["connected", "ApiVersions"]

    polled.brokers.brokers({"id": 3})
    polled.brokers.topic("a", ASSIGNED)
    assert set(polled.poll().offsets_at) == {1, 2, 3}
    assert polled.down() == {}


def share_address(polled: Polling) -> None:
    polled.brokers.each("advertise", 2, 3, host="127.0.0.1", port=polled.brokers.ports[1])


def test_brokers_that_advertise_one_address(polled: Polling) -> None:
    """One process answers there, which counts once: only a broker itself answers for its configuration."""
    share_address(polled)
    with capture_logs() as logs:
        snapshot = polled.poll()
    assert set(snapshot.offsets_at) == {1}
    hosts = snapshot.replicas.broker
    assert (snapshot.replicas.end[hosts == 1] >= 0).all()
    assert (snapshot.replicas.end[hosts != 1] < 0).all()
    assert polled.down() == {
        f"{source}{broker}": "protocol" for source in ("offsets", "log_dirs", "configs") for broker in (2, 3)
    }
    shared = f"brokers 1, 2, 3 advertise the same address 127.0.0.1:{polled.brokers.ports[1]}: another broker answers"
    assert [entry["broker"] for entry in logs if shared in entry["error"] and entry["source"] == "offsets"] == [
        "2",
        "3",
    ]

    for broker in (2, 3):
        polled.brokers.do("advertise", broker=broker, host="127.0.0.1", port=polled.brokers.ports[broker])
    assert set(polled.poll().offsets_at) == {1, 2, 3}
    assert polled.down() == {}


def test_brokers_that_advertise_one_address_and_are_all_unproven(polled: Polling) -> None:
    """Without the right to read configurations, none of them is known to be the one that answers."""
    share_address(polled)
    polled.brokers.do("deny", rights=["cluster_configs"])
    snapshot = polled.poll()
    assert snapshot.offsets_at == {}
    assert (snapshot.replicas.end < 0).all()
    assert {f"offsets{broker}" for broker in (1, 2, 3)} <= polled.down().keys()


def test_an_address_that_leads_to_another_broker(polled: Polling) -> None:
    polled.brokers.do("advertise", broker=2, host="localhost", port=polled.brokers.ports[1])
    assert set(polled.poll(after=60).offsets_at) == set(polled.poll().offsets_at) == {1, 3}
    assert polled.down() == dict.fromkeys(("offsets2", "log_dirs2", "configs2"), "protocol")


def test_a_broker_that_left_is_shown_for_as_long_as_replicas_are_assigned_to_it(polled: Polling) -> None:
    polled.brokers.do("remove_brokers", brokers=[3])
    snapshot = polled.poll()
    assert snapshot.brokers[3] == Broker(3, "127.0.0.1", polled.brokers.ports[3], gone=True)
    assert sources_of(polled, 3) == {"offsets", "log_dirs", "configs"}
    assert set(polled.down().values()) == {"fenced"}

    polled.brokers.topic("a", [[1, 2], [2, 1], [1, 2]])
    snapshot = polled.poll()
    assert set(snapshot.brokers) == set(snapshot.log_gaps) == {1, 2}
    assert sources_of(polled, 3) == set()
    assert polled.down() == {}

    polled.brokers.brokers({"id": 3})
    snapshot = polled.poll()
    assert set(snapshot.broker_configs) == set(snapshot.log_gaps) == {1, 2, 3}


HOURS = 3600.0


@pytest.fixture
def old(polled: Polling) -> Polling:
    """Brokers before Kafka 4.0, which do not list fenced brokers. Broker 4 has no replica."""
    polled.brokers.brokers({"id": 4})
    polled.limit({"DescribeCluster": (0, 1)})
    polled.brokers.do("versions", broker=4, versions={"DescribeCluster": (0, 1)})
    assert 4 in polled.poll().offsets_at
    return polled


@pytest.mark.parametrize("rule", [None, {"hang": True}])
def test_a_broker_without_replicas_that_died_is_gone_for_hours(old: Polling, rule: dict[str, Any] | None) -> None:
    """It did not answer while the cluster still listed it. When it is back it is as before."""
    if rule is None:
        old.brokers.do("refuse", broker=4)
    else:
        old.brokers.rule(4, **rule)
    assert not old.poll().brokers[4].gone
    port = old.brokers.ports[4]
    old.brokers.do("remove_brokers", brokers=[4])
    for after in (10.0, 6 * HOURS - 60.0):
        assert old.poll(after).brokers[4] == Broker(4, "127.0.0.1", port, gone=True)
        assert old.down().keys() == {"offsets4", "log_dirs4", "configs4"}
    assert 4 not in old.poll(60.0).brokers
    assert old.down() == {}

    old.brokers.do("clear")
    old.brokers.brokers({"id": 4})
    assert 4 in old.poll().offsets_at


def remove(polled: Polling, broker: int) -> None:
    """Take a broker out of the metadata, and wait until its connection is lost."""
    link = polled.poller._state.links._links[f"broker {broker}"]
    polled.brokers.do("remove_brokers", brokers=[broker])
    wait_for(lambda: not link.connected)


def test_a_broker_without_replicas_that_dies_between_two_polls_is_gone(old: Polling) -> None:
    """It is listed for nine more seconds. Without a poll meanwhile, it is not known whether it ended in order."""
    remove(old, 4)
    assert old.poll(after=120.0).brokers[4].gone
    assert old.poll().brokers[4].gone


def test_a_broker_without_replicas_that_hangs_between_two_polls_is_gone(old: Polling) -> None:
    """One that ends closes its connections. This one keeps its own, until it closes idle ones; or it is cut off."""
    old.brokers.brokers({"id": 4, "fenced": True})
    for after in (120.0, 600.0):
        assert old.poll(after).brokers[4].gone
    old.brokers.do("disconnect", broker=4)
    assert old.poll().brokers[4].gone


def test_a_broker_that_ends_in_order_during_a_poll_is_gone_for_a_moment(old: Polling) -> None:
    old.brokers.brokers({"id": 4, "fenced": True})
    assert old.poll().brokers[4].gone
    remove(old, 4)
    assert 4 not in old.poll().brokers


def test_a_broker_that_comes_back_is_not_gone(old: Polling) -> None:
    old.brokers.do("refuse", broker=4)
    old.poll()
    old.brokers.do("remove_brokers", brokers=[4])
    assert old.poll().brokers[4].gone
    old.brokers.brokers({"id": 4})
    assert not old.poll(60.0).brokers[4].gone
    remove(old, 4)
    assert 4 not in old.poll(SOON).brokers


def test_a_broker_that_was_removed_leaves_at_once(old: Polling) -> None:
    """A controlled shutdown takes it out of the metadata first; so does an operator who moves its replicas away.

    The loss of its connection brings the next poll.
    """
    remove(old, 4)
    assert 4 not in old.poll(SOON).brokers
    old.brokers.do("refuse", broker=3)
    old.poll()
    old.brokers.do("remove_brokers", brokers=[3])
    assert old.poll().brokers[3].gone
    old.brokers.topic("a", [[1, 2], [2, 1], [1, 2]])
    assert 3 not in old.poll().brokers


def test_a_hostile_list_of_brokers_that_died_is_limited() -> None:
    answers = LastAnswers()
    for first in range(0, 3000, 1000):
        named = {broker: Broker(broker, "a", 1) for broker in range(first, first + 1000)}
        answers.update_brokers(named, {}, frozenset(), answers.lost)
        answers.update_brokers({}, {}, frozenset(), dict.fromkeys(named, float(first)) | answers.lost)
        assert len(answers.brokers) == MOST_LOST


def test_nothing_is_kept_of_a_broker_that_left() -> None:
    answers, questions = LastAnswers(), [(Source.LOG_DIRS, 3), (Source.CONFIGS, 3)]
    answers.update_brokers({3: Broker(3, "a", 1)}, {}, frozenset(), {})
    for question in questions:
        answers.mark_answered(question, 10.0)
    answers.update_brokers({4: Broker(4, "a", 1)}, {}, frozenset(), {})
    assert [answers.answered_since(question, 0.0) for question in questions] == [False, False]


def test_a_broker_that_comes_back_elsewhere_is_asked_there(polled: Polling) -> None:
    before = polled.brokers.ports[3]
    polled.brokers.do("remove_brokers", brokers=[3])
    polled.poll()
    polled.brokers.brokers({"id": 3})
    assert polled.brokers.ports[3] != before
    assert set(polled.poll().offsets_at) == {1, 2, 3}
    assert polled.down() == {}


def test_rows_follow_topics_that_come_and_go(polled: Polling) -> None:
    polled.brokers.topic("b", [[2, 3]], end=7)
    polled.brokers.topic("0", [[3, 1]], end=9)
    snapshot = polled.poll()
    assert snapshot.topics == ("0", "a", "b")
    assert snapshot.replicas.end[[0, 1]].tolist() == [9, 9]
    assert snapshot.replicas.end[[-2, -1]].tolist() == [7, 7]

    polled.brokers.do("remove_topics", topics=["a"])
    snapshot = polled.poll()
    assert snapshot.topics == ("0", "b")
    assert snapshot.replicas.end.tolist() == [9, 9, 7, 7]


def test_logs_are_compared_when_all_are_asked_about(polled: Polling) -> None:
    polled.brokers.topic("lost", [[1, 2]], logged=False)
    polled.brokers.topic("stray", [[1, 2]], listed=False)
    compared = polled.poll(61.0).log_gaps
    assert [{name for name, _, _ in compared[broker].missing or ()} for broker in (1, 2, 3)] == [{"lost"}] * 2 + [set()]
    assert [compared[broker].stray for broker in (1, 2, 3)] == [frozenset({("stray", 0)})] * 2 + [frozenset()]
    assert {gaps.at for gaps in compared.values()} == {polled.clock.monotonic()}
    assert polled.poll().log_gaps == compared
