"""How often questions are asked, and for how long answers are used that no newer one replaces."""

import pytest

from kafka_warden.model import UNKNOWN, BrokerConfig, Limit, Origin, Side
from kafka_warden.poller.brokers import is_limited
from tests.poller.polling import INTERVAL, Polling

MOVE = {0: {"adding": [3], "removing": [2]}}


@pytest.fixture
def moving(polled: Polling) -> Polling:
    polled.brokers.topic("a", [[1, 2, 3], [2, 3, 1], [3, 1, 2]], isr=[[1, 2], [2, 3, 1], [3, 1, 2]], moves=MOVE)
    snapshot = polled.poll()
    assert snapshot.reassignments_known
    assert snapshot.partitions.reassigning.tolist() == [True, False, False]
    return polled


@pytest.mark.parametrize("rule", [{"error": 41}, {"hang": True}])
def test_reassignments_are_unknown_after_three_intervals(moving: Polling, rule: dict[str, object]) -> None:
    moving.brokers.rule(None, "ListPartitionReassignments", **rule)
    began = moving.clock.monotonic()
    known = []
    for number in range(1, 5):
        snapshot = moving.poll(began + number * INTERVAL - moving.clock.monotonic())
        known.append(snapshot.reassignments_known)
        assert set(snapshot.offsets_at) == {1, 2, 3}
    assert known == [True, True, True, False]

    moving.brokers.do("clear")
    assert moving.poll().reassignments_known


def test_the_quorum_is_unknown_after_three_intervals(polled: Polling) -> None:
    polled.brokers.rule(None, "DescribeQuorum", error=41)
    known = [polled.poll().controller for _ in range(4)]
    assert known == [100, 100, 100, None]


def test_the_age_of_metadata_is_unknown_after_three_intervals(polled: Polling) -> None:
    """The right to ask for the quorum is taken away. No broker is avoided any more."""
    polled.brokers.do("quorum_ages", ages={1: 290.0, 2: 0.0, 3: 0.0})
    assert polled.poll().metadata_ages[1] == pytest.approx(290, abs=1)
    polled.brokers.rule(None, "DescribeQuorum", error=31)
    assert [sorted(polled.poll().metadata_ages) for _ in range(4)] == [[1, 2, 3], [1, 2, 3], [1, 2, 3], []]
    assert not polled.poller._state.images.old(1)


def test_quotas_are_unknown_after_three_minutes(polled: Polling) -> None:
    polled.brokers.rule(None, "DescribeClientQuotas", error=31)
    known = [polled.poll().quotas is not None for _ in range(19)]
    assert known == [True] * 18 + [False]


def test_sizes_and_the_quota_window_are_unknown_after_three_minutes(polled: Polling) -> None:
    """The sizes of the broker that does not answer."""
    polled.brokers.rule(2, "DescribeLogDirs", error=41)
    polled.brokers.rule(100, "DescribeConfigs", error=41)
    for number in range(1, 20):
        snapshot = polled.poll()
        unknown = (snapshot.replicas.size == UNKNOWN) & (snapshot.replicas.sized_at == 0.0)
        assert set(snapshot.replicas.broker[unknown].tolist()) == ({2} if number > 18 else set())
        assert (snapshot.controller_window is None) == (number > 18)


def test_log_starts_are_unknown_after_three_minutes(polled: Polling) -> None:
    """Those of the leaders on the broker that does not answer; the others are answered with the sizes."""
    led = (polled.poll().partitions.leader == 2).tolist()
    assert any(led)
    polled.brokers.rule(2, "DescribeLogDirs", error=41)
    known = [(polled.poll().partitions.start != UNKNOWN).tolist() for _ in range(18)]
    assert known == [[True] * len(led)] * 17 + [[not each for each in led]]


def test_without_an_answer_there_is_no_snapshot_and_every_source_is_down(polled: Polling) -> None:
    polled.poll()
    polled.brokers.each("refuse")
    assert polled.poll_any() is None
    assert {status.up for status in polled.last.status.values()} == {False}


def test_a_broker_is_limited_by_any_throttle() -> None:
    none, directories = {Side.LEADER: Limit(), Side.FOLLOWER: Limit()}, {Side.LOG_DIRS: Limit(5.0, Origin.BROKER)}
    zero = {Side.FOLLOWER: Limit(0.0, Origin.CLUSTER_DEFAULT)}
    assert [is_limited(BrokerConfig(limits=each)) for each in (none, none | directories, zero)] == [False, True, True]
    assert not is_limited(None)


def test_configurations_are_read_once_a_minute(polled: Polling) -> None:
    """Those of brokers, topics and the active controller, and quotas. That of a broker with a throttle always."""
    asked = [polled.poll() and len(polled.brokers.seen("DescribeConfigs", "DescribeClientQuotas")) for _ in range(6)]
    assert asked == [0, 0, 0, 0, 0, 6]
    polled.brokers.brokers({"id": 2, "config": {"leader.replication.throttled.rate": "5"}})
    polled.poll(61.0)
    polled.poll()
    assert [each["broker"] for each in polled.brokers.seen("DescribeConfigs")] == [2]
