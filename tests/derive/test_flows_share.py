"""Flows that share a limit end together, however uneven their turns are just now."""

from collections.abc import Callable

import pytest

from kafka_warden.derive import Derived
from kafka_warden.model import SIDES, BrokerConfig, Limit, Origin, Side, TopicConfig
from tests.building import Partition, Topics, judge, judge_each, known, snapshot

LIMIT = 3e6
RATE = 20_000
"""Offsets of 100 bytes a second that both flows copy together."""

SIZE = 4_000_000
EVERY = 5


def moving(target: int, end: int, done: float) -> Partition:
    """A partition on its way from broker 1, of which so many messages are copied."""
    return Partition(replicas=(1, target), adding=(target,), removing=(1,), end=end, lag={target: int(end - done)})


def topics(clock: float) -> Topics:
    """Broker 1 sends to 2 and 3; for the first minute 3 has a fourth of it, for the second three fourths."""
    first, second = min(clock, 60.0), max(clock - 60.0, 0.0)
    copied = {2: RATE * (0.75 * first + 0.25 * second), 3: RATE * (0.25 * first + 0.75 * second)}
    return {"t": [moving(target, SIZE, done) for target, done in copied.items()]}


def judged(
    until: int, topics: Callable[[float], Topics], limit: float = LIMIT, follower_list: str = "0:2,1:3"
) -> dict[float, Derived]:
    """Every poll until then, under one limit on all brokers and sides."""
    configs = {broker: BrokerConfig(limits=dict.fromkeys(SIDES, Limit(limit, Origin.BROKER))) for broker in (1, 2, 3)}
    lists = {"t": TopicConfig(leader_throttled="0:1,1:1", follower_throttled=follower_list)}
    clocks = [float(clock) for clock in range(0, until + 1, EVERY)]
    polls = (snapshot(topics(at), clock=at, broker_configs=configs, topic_configs=lists) for at in clocks)
    return dict(zip(clocks, judge_each(*polls), strict=True))


@pytest.mark.parametrize("until", [60, 90, 120])
def test_the_flow_that_waits_ends_with_the_side(until: int) -> None:
    """What remains of both over what both gain, not what remains of the slower over what that gains."""
    derived = judged(until, topics)[until]
    remaining = sum(known(move.remaining_bytes) for move in derived.moves)
    assert derived.totals.eta == pytest.approx(remaining / (RATE * 100), rel=0.05)
    assert all(known(move.eta) <= known(derived.totals.eta) + 1e-6 for move in derived.moves)


ENDS = 100.0
"""When broker 2 has caught up, and 3 has all of the limit."""

AT_LIMIT = 26_000
"""Offsets a second that the law gives to one flow or both under `LIMIT`."""


def after_the_other(clock: float, alone: float) -> Topics:
    """Brokers 2 and 3 share what 1 sends; then 3 is copied to at the rate `alone`."""
    shared, rest = min(clock, ENDS), max(clock - ENDS, 0.0)
    half = AT_LIMIT / 2
    partitions = {2: (int(half * ENDS), half * shared), 3: (SIZE, half * shared + alone * rest)}
    return {
        "t": [
            moving(target, end, done) if done < end else Partition(replicas=(target,), end=end)
            for target, (end, done) in partitions.items()
        ]
    }


@pytest.mark.parametrize(
    ("why", "limit", "alone"),
    [
        ("the limit holds it back, so that it has all of it now", LIMIT, AT_LIMIT),
        ("something else does, so that it goes on as before", 100 * LIMIT, AT_LIMIT / 2),
    ],
)
def test_the_flow_that_is_left(why: str, limit: float, alone: float) -> None:
    """What one flow leaves goes to the other where they share a limit that binds: known at once, not in two minutes."""
    for clock, derived in judged(int(ENDS) + 6 * EVERY, lambda clock: after_the_other(clock, alone), limit).items():
        if clock > ENDS:
            remaining = sum(known(move.remaining_bytes) for move in derived.moves)
            taken = remaining / (alone * 100)
            assert derived.totals.eta == pytest.approx(taken, rel=0.06), (why, clock)


def shrinking(clock: float, *, stays: bool = False) -> Topics:
    """Half of the partitions end together at `ENDS`; their inbound traffic is lost to the others until then.

    And after it, where the old leader `stays` and a list names the new replica.
    """
    inbound, copied = 5_000.0, 13_000.0
    lag = 3_000_000 - (copied - inbound) * clock
    over = clock >= ENDS
    end = 4_000_000 + int(inbound * clock)
    first = moving(2, end, end - int((copied - inbound) * (ENDS - clock)))
    # The rate of both together stays what it is, less what the one that stays copies in sync.
    more = copied - inbound if stays else copied
    left = lag if not over else lag - more * (clock - ENDS)
    ended = Partition(replicas=(1, 2) if stays else (2,), end=end)
    return {"t": [ended if over else first, moving(2, end, end - int(left))]}


def test_inbound_traffic_of_completed_replicas_costs_no_gain() -> None:
    """One rate is copied for all; the sooner some end, the less of it covers inbound traffic."""
    clocks = [float(clock) for clock in range(0, int(ENDS) + 3 * EVERY, EVERY)]
    derived = judge_each(
        *(snapshot(shrinking(clock), clock=clock, topic_configs={"t": TopicConfig()}) for clock in clocks)
    )[-1]
    (move,) = derived.moves
    assert derived.totals.eta == pytest.approx(known(move.remaining_messages) / (26_000 - 5_000), rel=0.05)


def test_completed_replicas_that_stay_listed_count_against_the_limit() -> None:
    """What it took from what is copied it takes from the limit now: the others go on as before."""
    until = int(ENDS) + 2 * EVERY
    derived = judged(until, lambda clock: shrinking(clock, stays=True), follower_list="0:2,1:2")[until]
    (move,) = derived.moves
    assert derived.totals.eta == pytest.approx(known(move.remaining_messages) / 16_000, rel=0.08)


def test_more_fetcher_threads_have_larger_bursts() -> None:
    """Each thread has responses of its own: two of them let twice as much through before it is counted."""
    wide = {"t": [Partition(replicas=(1, 2), adding=(2,), end=SIZE, lag={2: SIZE})] * 40}
    lists = {"t": TopicConfig(follower_throttled="*")}
    bursts = []
    for fetchers in (1, 2):
        config = BrokerConfig(limits={Side.FOLLOWER: Limit(1e5, Origin.BROKER)}, replica_fetchers=fetchers)
        seen = snapshot(wide, broker_configs={1: BrokerConfig(), 2: config}, topic_configs=lists)
        bursts.append(judge(seen).throttling.sides[2, Side.FOLLOWER].burst)
    assert bursts == [10 << 20, 20 << 20]
