"""Flows that share a limit end together, however uneven their turns are just now."""

import math

import pytest

from exporter.derive import Derived
from exporter.model import BrokerConfig, Limit, Origin, Side, TopicConfig
from tests.building import Partition, Topics, judge_each, snapshot

LIMIT = 3e6
RATE = 20_000
"""Offsets of 100 bytes a second that both flows copy together."""

SIZE = 4_000_000
EVERY = 5


def topics(clock: float) -> Topics:
    """Broker 1 sends to 2 and 3; for the first minute 3 has a fourth of it, for the second three fourths."""
    first, second = min(clock, 60.0), max(clock - 60.0, 0.0)
    copied = {2: RATE * (0.75 * first + 0.25 * second), 3: RATE * (0.25 * first + 0.75 * second)}
    return {
        "t": [
            Partition(replicas=(1, target), adding=(target,), removing=(1,), end=SIZE, lag={target: int(SIZE - done)})
            for target, done in copied.items()
        ]
    }


def judged(until: int) -> list[Derived]:
    """Every poll until then."""
    limits = {side: Limit(LIMIT, Origin.BROKER) for side in (Side.LEADER, Side.FOLLOWER)}
    configs = {broker: BrokerConfig(limits=limits) for broker in (1, 2, 3)}
    lists = {"t": TopicConfig(leader_throttled="0:1,1:1", follower_throttled="0:2,1:3")}
    polls = (
        snapshot(topics(clock), clock=float(clock), broker_configs=configs, topic_configs=lists)
        for clock in range(0, until + 1, EVERY)
    )
    return judge_each(*polls)


@pytest.mark.parametrize("until", [60, 90, 120])
def test_the_flow_that_waits_ends_with_the_side(until: int) -> None:
    """What remains of both over what both gain, not what remains of the slower over what that gains."""
    derived = judged(until)[-1]
    remaining = sum(move.remaining_bytes or 0 for move in derived.moves)
    assert derived.totals.eta == pytest.approx(remaining / (RATE * 100), rel=0.05)
    assert all((move.eta or math.inf) <= (derived.totals.eta or 0) + 1e-6 for move in derived.moves)


def test_more_fetcher_threads_have_larger_bursts() -> None:
    """Each thread has responses of its own: two of them let twice as much through before it is counted."""
    wide = {number: Partition(replicas=(1, 2), adding=(2,), end=SIZE, lag={2: SIZE}) for number in range(40)}
    bursts = []
    for fetchers in (1, 2):
        config = BrokerConfig(limits={Side.FOLLOWER: Limit(1e5, Origin.BROKER)}, replica_fetchers=fetchers)
        derived = judge_each(
            snapshot(
                {"t": list(wide.values())},
                broker_configs={1: BrokerConfig(), 2: config},
                topic_configs={"t": TopicConfig(follower_throttled="*")},
            )
        )[-1]
        bursts.append(derived.throttling.sides[2, Side.FOLLOWER].burst)
    assert bursts == [10 << 20, 20 << 20]
