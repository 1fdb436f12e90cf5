"""Which replicas may lead a partition without a leader, asked only while there is one."""

from typing import Any, Final

from kafka_warden.model import IN_ELR, LAST_KNOWN_ELR, UNKNOWN, Snapshot
from kafka_warden.sources.cluster import MOST_PARTITIONS, MOST_REQUESTS
from tests.poller.polling import Polling

REQUEST: Final = "DescribeTopicPartitions"


def flags(snapshot: Snapshot, topic: str) -> list[list[int]]:
    rows = snapshot.partitions.topic == snapshot.topics.index(topic)
    partition = snapshot.replicas.partition
    return [snapshot.replicas.eligible[partition == row].tolist() for row in rows.nonzero()[0]]


def offline(polled: Polling, name: str, partitions: int, lead: Any = ()) -> None:
    """Add a topic without leaders, except of some partitions; 2 and 3 are in the ELR of the others, 2 led last."""
    dead = [number for number in range(partitions) if number not in lead]
    polled.brokers.topic(
        name,
        [[2, 3]] * partitions,
        isr=[[] if number in dead else [2, 3] for number in range(partitions)],
        elr={number: [2, 3] for number in dead},
        last_known_elr={number: [2] for number in dead},
    )


def test_nothing_is_asked_while_all_partitions_have_leaders(polled: Polling) -> None:
    assert set(polled.poll().replicas.eligible.tolist()) == {UNKNOWN}
    assert not polled.brokers.seen(REQUEST)


def test_partitions_without_a_leader_are_asked_about(polled: Polling) -> None:
    """One request, from the first of them on; nothing is kept of the partitions that have a leader."""
    offline(polled, "b", 3, lead=[0, 2])
    assert flags(polled.poll(), "b") == [[UNKNOWN] * 2, [IN_ELR + LAST_KNOWN_ELR, IN_ELR], [UNKNOWN] * 2]
    assert len(polled.brokers.seen(REQUEST)) == 1
    assert polled.down() == {}

    offline(polled, "b", 3, lead=[0, 1, 2])
    assert flags(polled.poll(), "b") == [[UNKNOWN] * 2] * 3
    assert not polled.brokers.seen(REQUEST)


def test_many_of_them_take_as_many_requests_as_allowed(polled: Polling) -> None:
    """Each begins where partitions are missing, and passes over those with a leader; the others stay unknown."""
    last = MOST_PARTITIONS * MOST_REQUESTS
    offline(polled, "b", 4 * MOST_PARTITIONS, lead=range(1, 4 * MOST_PARTITIONS - 1))
    found = flags(polled.poll(), "b")
    assert [number for number, row in enumerate(found) if UNKNOWN not in row] == [0, 4 * MOST_PARTITIONS - 1]
    assert len(polled.brokers.seen(REQUEST)) == 2

    offline(polled, "b", last + 3)
    found = flags(polled.poll(), "b")
    assert [number for number, row in enumerate(found) if UNKNOWN in row] == [last, last + 1, last + 2]
    assert len(polled.brokers.seen(REQUEST)) == MOST_REQUESTS


def test_a_failure_ends_with_the_last_partition_without_a_leader(polled: Polling) -> None:
    """It is one of its own source, which is not asked any more then: it must not be reported as down for ever."""
    offline(polled, "b", 1)
    polled.brokers.rule(None, REQUEST, drop=True)
    assert flags(polled.poll(), "b") == [[UNKNOWN] * 2]
    assert "eligible_leaders" in polled.down()
    polled.brokers.do("clear")
    offline(polled, "b", 1, lead=[0])
    polled.poll()
    assert polled.down() == {}


def test_brokers_that_do_not_know_the_request_have_no_eligible_leaders(polled: Polling) -> None:
    """Kafka before 3.8: nothing is sent, no source is reported, and the answer is known."""
    polled.limit({REQUEST: (0, -1)})
    offline(polled, "b", 1)
    assert flags(polled.poll(), "b") == [[0, 0]]
    assert not polled.brokers.seen(REQUEST)
    assert not polled.last.not_available
