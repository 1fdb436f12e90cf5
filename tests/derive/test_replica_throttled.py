"""The state of a follower that a throttle holds back, from beans or measured: a poll every 10 s."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from kafka_warden.model import BrokerConfig, Limit, Origin, ProcessBeans, Side, TopicConfig
from tests.derive.following import CONFIGS, loaded, shown

LIMIT = 1e6
"""Bytes a second."""


def limited(side: Side, value: float = LIMIT) -> dict[int, BrokerConfig]:
    return {broker: replace(config, limits={side: Limit(value, Origin.BROKER)}) for broker, config in CONFIGS.items()}


def rates(side: Side, broker: int, rate: float) -> Callable[[float], dict[int, ProcessBeans]]:
    return lambda clock: {broker: ProcessBeans(clock, {f"{side}_replication_byte_rate": rate})}


LISTS = {
    Side.FOLLOWER: {"t": TopicConfig(follower_throttled="0:2")},
    Side.LEADER: {"t": TopicConfig(leader_throttled="0:1")},
}
"""Throttled lists that name the follower, and its leader."""


@pytest.mark.parametrize(
    ("why", "lists", "limits", "beans", "expected"),
    [
        ("follower side binds", Side.FOLLOWER, limited(Side.FOLLOWER), rates(Side.FOLLOWER, 2, 0.9e6), "throttled"),
        ("leader side binds", Side.LEADER, limited(Side.LEADER), rates(Side.LEADER, 1, 2e6), "throttled"),
        ("far below the limit", Side.FOLLOWER, limited(Side.FOLLOWER), rates(Side.FOLLOWER, 2, 0.8e6), "slow"),
        ("the rate is another broker's", Side.LEADER, limited(Side.LEADER), rates(Side.LEADER, 3, 2e6), "slow"),
        ("the list is of the other side", Side.LEADER, limited(Side.FOLLOWER), rates(Side.FOLLOWER, 2, 1e6), "slow"),
        ("no limit", Side.FOLLOWER, CONFIGS, rates(Side.FOLLOWER, 2, 9e9), "slow"),
        ("blocked, and the rate is unknown", Side.FOLLOWER, limited(Side.FOLLOWER, 0.0), lambda _: {}, "throttled"),
        ("no bean, measured: 5 kB/s of 5 kB/s", Side.FOLLOWER, limited(Side.FOLLOWER, 5e3), lambda _: {}, "throttled"),
        ("no bean, measured: 5 kB/s of 6 kB/s", Side.FOLLOWER, limited(Side.FOLLOWER, 6e3), lambda _: {}, "slow"),
        # The leader sends 10 kB/s to the follower in the ISR, which counts against its limit, and 5 kB/s to the other.
        ("no bean, measured with the floor", Side.LEADER, limited(Side.LEADER, 15e3), lambda _: {}, "throttled"),
        ("no bean, below the limit with it", Side.LEADER, limited(Side.LEADER, 17e3), lambda _: {}, "slow"),
    ],
)
def test_throttled(
    why: str,
    lists: Side,
    limits: dict[int, BrokerConfig],
    beans: Callable[[float], dict[int, ProcessBeans]],
    expected: str,
) -> None:
    """Listed, outside the ISR, and a throttled rate of its broker or its leader at nine tenths of the limit."""
    states = shown(
        lambda clock: loaded(clock, 1000 + int(clock) * 50, out=(2,)),
        topic_configs=LISTS[lists],
        broker_configs=limits,
        broker_beans=beans,
    )

    assert states[-2:] == [expected] * 2, why


def test_throttled_only_outside_the_isr() -> None:
    """In-sync traffic is never held back."""
    states = shown(
        loaded,
        topic_configs=LISTS[Side.FOLLOWER],
        broker_configs=limited(Side.FOLLOWER),
        broker_beans=rates(Side.FOLLOWER, 2, 5e6),
    )

    assert states[-1] == "in_sync"
