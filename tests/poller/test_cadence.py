"""Which brokers are read in every poll."""

from kafka_warden.model import BrokerConfig, Limit, Origin, Side
from kafka_warden.poller.brokers import is_limited
from tests.poller.polling import Polling


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
