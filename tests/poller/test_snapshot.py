"""A snapshot has what the brokers answered, in each of its fields."""

from kafka_warden.model import UNKNOWN
from kafka_warden.poller.tables import YOUNG
from tests.poller.polling import Polling


def test_a_snapshot_has_what_the_brokers_answered(polled: Polling) -> None:
    """Partition 0 moves from broker 1 to 3, so that the log starts of all its replicas are asked for."""
    polled.brokers.topic(
        "a",
        [[1, 2, 3], [2, 3, 1]],
        isr=[[1, 2], [2, 3, 1]],
        moves={0: {"adding": [3], "removing": [1]}},
        start=5,
        end=105,
        lag={3: 10},
    )
    snapshot = polled.poll(61.0)
    partitions, replicas = snapshot.partitions, snapshot.replicas

    assert (snapshot.time, snapshot.clock) == (polled.clock.time(), polled.clock.monotonic())
    assert (snapshot.kafka_version, snapshot.cluster_id, snapshot.topics) == ("4.0", "scripted-cluster-00001", ("a",))
    assert snapshot.offsets_at == dict.fromkeys((1, 2, 3), snapshot.clock)
    assert {name: getattr(partitions, name).tolist() for name in partitions.__slots__} == {
        "topic": [0, 0],
        "number": [0, 1],
        "leader": [1, 2],
        "leader_epoch": [0, 0],
        "leader_row": [0, 3],
        "start": [5, 5],
        "tiered": [UNKNOWN, UNKNOWN],
        "copy_due": [UNKNOWN, UNKNOWN],
        "reassigning": [True, False],
    }
    assert {name: getattr(replicas, name).tolist() for name in replicas.__slots__} == {
        "partition": [0, 0, 0, 1, 1, 1],
        "broker": [1, 2, 3, 2, 3, 1],
        "in_isr": [True, True, False, True, True, True],
        "offline": [False] * 6,
        "adding": [False, False, True, False, False, False],
        "removing": [True, False, False, False, False, False],
        "end": [105, 105, 95, 105, 95, 105],
        "size": [10_000, 10_000, 9_000, 10_000, 9_000, 10_000],
        "sized_at": [snapshot.clock] * 6,
        "start": [5, 5, 5, 5, UNKNOWN, UNKNOWN],
        "eligible": [UNKNOWN] * 6,
    }
    assert {(each.broker, each.path, each.bytes) for each in snapshot.log_dirs} == {
        (1, "/data", 20_000),
        (2, "/data", 20_000),
        (3, "/data", 18_000),
    }
    assert snapshot.placed == {broker: {("a", 0): "/data"} for broker in (1, 2, 3)}
    assert snapshot.topic_configs.keys() == {"a"}
    assert snapshot.broker_configs.keys() == {1, 2, 3}
    assert (snapshot.controller, snapshot.reassignments_known, [*map(len, snapshot.topic_ids)]) == (100, True, [16])
    assert {status.last_success for status in snapshot.status.values()} == {snapshot.time}


def test_log_directories_are_asked_in_every_poll_about_replicas_that_move(polled: Polling) -> None:
    minute = polled.poll(61.0).clock
    polled.brokers.topic("a", [[1, 2, 3], [2, 3, 1]], end=100, moves={0: {"adding": [3], "removing": [1]}})
    snapshot = polled.poll()
    assert snapshot.replicas.sized_at.tolist() == [snapshot.clock] * 3 + [minute] * 3


def test_a_log_that_has_just_begun_is_asked_about_in_each_of_the_next_polls(polled: Polling) -> None:
    polled.brokers.topic("b", [[1, 2]], end=7)
    asked = [polled.poll() and [each["broker"] for each in polled.brokers.seen("DescribeLogDirs")] for _ in range(5)]
    assert asked == [[1]] * YOUNG + [[]] * (5 - YOUNG)
