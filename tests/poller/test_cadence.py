"""Which brokers are read in every poll."""

import pytest

from kafka_warden.model import BrokerConfig, Limit, Origin, Side
from kafka_warden.poller.brokers import is_limited
from tests.poller.polling import Polling


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (None, False),
        (BrokerConfig(), False),
        (BrokerConfig(limits={Side.LEADER: Limit(), Side.FOLLOWER: Limit()}), False),
        (BrokerConfig(limits={Side.LEADER: Limit(), Side.LOG_DIRS: Limit(5.0, Origin.BROKER)}), True),
        (BrokerConfig(limits={Side.FOLLOWER: Limit(0.0, Origin.CLUSTER_DEFAULT)}), True),
    ],
)
def test_a_broker_with_a_throttle_is_read_in_every_poll(config: BrokerConfig | None, *, expected: bool) -> None:
    """Of any side and origin, 0 included."""
    assert is_limited(config) is expected


def test_configurations_are_read_once_a_minute(polled: Polling) -> None:
    """Those of the brokers, of topics and of the active controller: five requests after six intervals of 10 s."""
    asked = [polled.poll() and len(polled.brokers.seen("DescribeConfigs")) for _ in range(6)]
    assert asked == [0, 0, 0, 0, 0, 5]
