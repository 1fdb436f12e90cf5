"""States in `/metrics`: how many followers are out of sync by broker, and which have a series of their own."""

import pytest

from kafka_warden.derive import Derived
from kafka_warden.derive.replica_state import ReplicaState
from kafka_warden.model import UNKNOWN, BrokerConfig, TopicConfig
from tests.building import Partition, judge, judge_each, snapshot
from tests.derive.following import CONFIGS, brokers, loaded, page, polls, seen


def counts(derived: Derived, broker: int) -> dict[str, float]:
    """The states of which a broker has followers outside the ISR."""
    found = page(derived, "broker_out_of_sync_replicas")
    return {state: count for (of, state), count in found.items() if of == str(broker) and count}


def test_every_broker_has_every_state_with_zeros() -> None:
    derived = judge(
        *seen(polls(40), lambda clock: Partition(replicas=(1, 2), end=int(clock)), brokers=lambda _: brokers())
    )

    assert page(derived, "broker_out_of_sync_replicas") == {
        (str(broker), each.value): 0 for broker in (1, 2, 3) for each in ReplicaState
    }


def test_counts_are_of_followers_outside_the_isr() -> None:
    def topics(clock: float) -> dict[str, list[Partition]]:
        grown = int(clock) * 100
        return {
            "lone": [Partition(replicas=(2,), leader=UNKNOWN, end=5, out=(2,))],
            "t": [
                Partition(replicas=(1, 2, 3), end=grown, lag={2: grown}, out=(2,), start=-5),
                Partition(replicas=(2, 1, 3), end=grown + 5000, lag={3: 4000 + grown // 2}, out=(3,)),
                Partition(replicas=(3, 2, 1), end=9000, lag={2: 9000 - int(clock)}, adding=(2,), removing=(1,)),
                Partition(replicas=(1, 3), end=50),
            ],
        }

    judged = judge_each(*(snapshot(topics(c), clock=float(c), broker_configs=CONFIGS) for c in polls(60)))

    assert counts(judged[-1], 1) == {}
    assert counts(judged[-1], 2) == {"stuck": 1, "moving": 1}
    assert counts(judged[-1], 3) == {"slow": 1}
    assert counts(judged[0], 2) == {"unknown": 2}


def test_sum_over_states_is_what_kafka_calls_out_of_sync() -> None:
    """In the very poll, whatever state is still shown: it is in_sync for the poll in which a follower left."""
    judged = judge_each(*seen(polls(70), lambda clock: loaded(clock, int(clock) * 100, out=(2,) * (clock >= 50))))
    assert [sum(counts(derived, 2).values()) for derived in judged] == [0] * 5 + [1] * 3
    assert [counts(derived, 2) for derived in judged[4:]] == [{}, {"stuck": 1}, {"stuck": 1}, {"stuck": 1}]


def test_partitions_without_a_leader_are_not_at_min_isr() -> None:
    """As Kafka's AtMinIsrPartitionCount, which only a leader reports: they are offline, and counted there."""
    led = Partition(replicas=(1, 2), out=(2,))
    headless = Partition(replicas=(1, 2), leader=UNKNOWN, out=(2,))
    cluster = judge(snapshot({"t": [led, headless]}, topic_configs={"t": TopicConfig()})).cluster
    assert cluster.at_min_isr.tolist() == [True, False]
    assert cluster.offline.tolist() == [False, True]


@pytest.mark.parametrize(
    ("why", "cluster", "leader", "expected"),
    [
        ("from 3.7 on no leader needs more than there are", "4.1", None, 0),
        ("older ones do", "3.6", None, 1),
        ("an upgrade: this leader is older than the broker that answered for the metadata", "3.9", "3.6", 1),
        ("an upgrade: this leader is newer", "3.6", "3.9", 0),
    ],
)
def test_min_isr_above_the_replication_factor(why: str, cluster: str, leader: str | None, expected: int) -> None:
    """KAFKA-15583: the release of the leader decides, and that of the cluster where it is unknown."""
    poll = snapshot(
        {"t": [Partition(replicas=(1,)), Partition(replicas=(1, 2), leader=UNKNOWN)]},
        topic_configs={"t": TopicConfig(min_insync_replicas=2)},
        broker_configs={1: BrokerConfig(kafka_version=leader)},
        kafka_version=cluster,
    )
    assert page(judge(poll), "broker_under_min_isr_partitions") == {("1",): expected, ("2",): 0}, why
    assert page(judge(poll), "under_min_isr_partitions") == {(): expected}, why


@pytest.mark.parametrize(
    ("why", "partition", "needed", "expected"),
    [
        ("one of one", Partition(replicas=(1,)), 1, False),
        ("one of one, which moves", Partition(replicas=(1, 2), adding=(2,), removing=(1,)), 1, False),
        ("one of two", Partition(replicas=(1, 2), out=(2,)), 1, True),
        ("two of two", Partition(replicas=(1, 2)), 1, False),
        ("two of two, both of which are needed", Partition(replicas=(1, 2)), 2, False),
        ("two of three", Partition(replicas=(1, 2, 3), out=(3,)), 2, True),
    ],
)
def test_at_min_isr(why: str, partition: Partition, needed: int, expected: bool) -> None:
    topic = {"t": TopicConfig(min_insync_replicas=needed)}
    cluster = judge(snapshot({"t": [partition]}, topic_configs=topic)).cluster
    assert cluster.at_min_isr.tolist() == [expected], why
