"""What all moves add up to: MoveRatio, MoveTime, the ETA of all, what binds, and the throttle to recommend."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.derive import Derived, etas, move_totals, moves, throttle_use
from kafka_warden.derive.law import gross, net
from kafka_warden.derive.move_totals import Totals
from kafka_warden.model import NO_LISTENER, UNKNOWN, Side, TopicConfig
from tests.building import BYTES_PER_OFFSET, Partition, Topics, known
from tests.derive.throttled import ALL, MB, STEP, Watch, everywhere, rates, throttle

INF = math.inf


@pytest.mark.parametrize(
    ("copied", "remaining", "expected"), [(0, 100, 0.0), (25, 75, 0.25), (100, 0, 1.0), (0, 0, 1.0)]
)
def test_progress(copied: float, remaining: float, expected: float) -> None:
    assert moves.progress(copied, remaining) == expected


def test_move_ratio() -> None:
    assert move_totals.move_ratio(10, 100) == 0.1
    assert move_totals.move_ratio(0, 0) == 0


def test_a_move_outside_the_bound_ends() -> None:
    """IN 50 MB/s, one partition of 1 MB/s moves at limit 10: outside KIP-73's bound, and it ends all the same."""
    gained = net(gross(10 * MB, 1 * MB), 1 * MB)
    assert move_totals.move_time(0.1, 1e9, 1, 10 * MB, 50 * MB) == INF
    assert etas.eta(1000 * MB, gained) < 150


@pytest.mark.parametrize(
    ("why", "sizes", "bytes_in", "brokers", "expected"),
    [
        ("broker 1 leads two: half of 4000 bytes at 10 less 7", [1000, 3000], [1.0, 4.0, 3.0], 2, 2000 / 3),
        ("a size is unknown", [1000, -1], [1.0, 4.0, 3.0], 2, None),
        ("a rate is unknown", [1000, 3000], [1.0, math.nan, 3.0], 2, None),
        ("no broker", [], [0.0, 0.0, 0.0], 0, None),
    ],
)
def test_move_time_of_cluster(
    why: str, sizes: list[int], bytes_in: list[float], brokers: int, expected: float | None
) -> None:
    led_by, found = np.array([0, 1, 1]), np.array(bytes_in)
    seen = move_totals.move_time_of_cluster(0.5, 10.0, np.array(sizes, np.int64), led_by, found, brokers)
    assert seen == (expected if expected is None else pytest.approx(expected)), why


@pytest.mark.parametrize(
    ("why", "needed", "lower", "upper", "expected"),
    [
        ("the side that binds", [5, 3], [1], [100], 5),
        ("KIP-73's lower bound lifts it", [5], [7, 2], [100], 7),
        ("none fits below the upper bound", [5], [7], [6], None),
        ("equality fits", [5], [5], [5], 5),
        ("no network configured", [5], [], [], 5),
        ("nothing moves", [], [7], [100], None),
    ],
)
def test_recommended_limit(
    why: str, needed: list[float], lower: list[float], upper: list[float], expected: float | None
) -> None:
    assert throttle_use.recommended_limit(needed, lower, upper) == expected, why


@pytest.mark.parametrize(
    ("why", "floor", "bytes_in", "remaining", "limit", "expected"),
    [
        ("2 of 5 MB/s are floor, 1 is not used, 1 is produced", 2 * MB, 1 * MB, 3600 * MB, 5 * MB, 3600),
        ("what is produced takes all of it", 2 * MB, 2 * MB, 1, 5 * MB, INF),
        ("nothing remains", 2 * MB, 9 * MB, 0, 5 * MB, 0),
        ("no limit", 2 * MB, 1 * MB, 3600 * MB, INF, 0),
    ],
)
def test_least_deadline(
    why: str, floor: float, bytes_in: float, remaining: float, limit: float, expected: float
) -> None:
    assert throttle_use.least_deadline(floor, bytes_in, remaining, limit) == pytest.approx(expected), why


@given(st.floats(0, 1e9), st.floats(0, 1e9), st.floats(1, 1e15), st.floats(1, 1e6))
def test_least_deadline_undoes_needed_limit(floor: float, bytes_in: float, remaining: float, deadline: float) -> None:
    limit = throttle_use.needed_limit(floor, bytes_in, remaining, deadline)
    if remaining / deadline > 1e-3 * (floor + bytes_in):
        assert throttle_use.least_deadline(floor, bytes_in, remaining, limit) == pytest.approx(deadline, rel=1e-6)


LISTS = TopicConfig(leader_throttled="0:1,1:1,2:2", follower_throttled="0:3,1:4,2:4")


def move(target: int, left: float, leader: int = 1, produced: float = 0.0) -> Partition:
    """Move a partition of one replica, of which some bytes are left; `produced` is bytes in so far."""
    end = 10_000_000 + int(produced / BYTES_PER_OFFSET)
    lag = {target: int(left / BYTES_PER_OFFSET)}
    return Partition(replicas=(leader, target), adding=(target,), removing=(leader,), end=end, lag=lag)


def see(topics: Topics, limits: dict[int, float] | None = None, polls: int = 2, **fields: Any) -> Derived:
    return Watch().see(topics, polls, **{**throttle(LISTS, limits or everywhere(2 * MB)), **fields})


def test_the_leader_that_serves_two_targets_binds() -> None:
    """Broker 1 sends 200 MB twice through one limit, its targets receive 200 MB each."""
    totals = see({"t": [move(3, 200 * MB), move(4, 200 * MB)]}).totals
    alone = see({"t": [move(3, 200 * MB)]}).totals
    assert totals.bottleneck == (1, Side.LEADER)
    assert totals.predicted_bottleneck == pytest.approx(2 * known(alone.predicted_bottleneck), rel=0.1)
    assert totals.predicted_bottleneck == pytest.approx(400 / 2, rel=0.2)


def test_a_target_binds() -> None:
    of_two = see({"t": [Partition(replicas=(1,)), move(4, 200 * MB), move(4, 200 * MB, leader=2)]}).totals
    tighter = see({"t": [move(3, 200 * MB)]}, broker_configs=rates({1: 8 * MB}, {3: 2 * MB})).totals
    assert (of_two.bottleneck, tighter.bottleneck) == ((4, Side.FOLLOWER), (3, Side.FOLLOWER))


def test_no_move_ends_after_all_of_them() -> None:
    watch = Watch()
    for number in range(12):
        first = move(3, (300 - 8 * number) * MB, produced=number * MB)
        others = move(4, (500 - 11 * number) * MB), move(4, (100 - 3 * number) * MB, leader=2)
        derived = watch.see({"t": [first, *others]}, **throttle(LISTS, everywhere(2 * MB)))
        etas = [each.eta for each in derived.moves if each.eta is not None]
        if derived.totals.eta is not None:
            assert derived.totals.eta >= max(etas)
    assert math.isfinite(known(derived.totals.eta))


def test_a_side_ends_after_each_of_its_flows() -> None:
    """A flow of one partition and one of nine share a leader: together they get less than the law gives each alone."""
    topics = {"t": [move(3, 910 * MB), *[move(4, 182 * MB)] * 9]}
    leaders, targets = ",".join(f"{part}:1" for part in range(10)), ",".join(f"{part}:4" for part in range(1, 10))
    lists = TopicConfig(leaders, f"0:3,{targets}")
    derived = see(topics, **throttle(lists, {1: 2 * MB}, {3: 50 * MB, 4: 50 * MB}))

    assert derived.totals.eta == derived.totals.predicted_bottleneck
    assert known(derived.totals.eta) > 1.2 * max(known(each.eta) for each in derived.moves)


def test_one_that_never_ends_makes_all_endless() -> None:
    totals = see({"t": [move(3, 200 * MB), move(4, 200 * MB)]}, {1: 2 * MB, 3: 2 * MB, 4: 0.0}).totals
    assert (totals.eta, totals.predicted_bottleneck) == (math.inf, math.inf)
    assert totals.bottleneck == (4, Side.FOLLOWER)


def test_nothing_passes_a_limit_of_0_whatever_comes_in() -> None:
    totals = see({"t": [move(3, 200 * MB)]}, {1: 2 * MB, 3: 0.0}, polls=1).totals
    assert (totals.eta, totals.predicted_bottleneck, totals.bottleneck) == (math.inf, math.inf, (3, Side.FOLLOWER))


@pytest.mark.parametrize(
    ("why", "topics", "fields"),
    [
        ("nothing moves", {"t": [Partition(replicas=(1, 3))]}, {}),
        ("nothing is limited", {"t": [move(3, 1e8)]}, {"broker_configs": rates({})}),
        ("nothing is listed", {"t": [move(3, 1e8)]}, {"topic_configs": {"t": TopicConfig()}}),
        ("nothing remains", {"t": [move(3, 0)]}, {}),
    ],
)
def test_nothing_binds(why: str, topics: Topics, fields: dict[str, Any]) -> None:
    totals = see(topics, **fields).totals
    assert (totals.bottleneck, totals.predicted_bottleneck) == (None, None), why


def test_moves_of_a_cluster_without_any_leader_are_judged() -> None:
    """Without a leader there is no inbound traffic: KIP-73's prediction is that of an idle cluster, not an error."""
    gone = Partition(replicas=(1, 3), leader=UNKNOWN, adding=(3,), removing=(1,), end=1000)
    totals = see({"t": [gone]}).totals
    assert totals.reassigning_partitions == 1
    assert totals.eta is None


def test_everything_copied_ends_now() -> None:
    assert see({"t": [move(3, 0)]}).totals.eta == 0


def test_an_unknown_part_makes_the_whole_unknown() -> None:
    unknown = Partition(replicas=(1, 3), adding=(3,), end=9, lag={3: 5}, sizes={1: UNKNOWN, 3: UNKNOWN})
    totals = see({"t": [unknown, move(4, 1e8)]}).totals
    assert (totals.eta, totals.bottleneck, totals.predicted_bottleneck) == (None, None, None)


@pytest.mark.parametrize("leader", [UNKNOWN, NO_LISTENER])
def test_a_move_without_a_known_leader_is_not_left_out(leader: int) -> None:
    """What it lacks is not known: no sum, no throttle and no time without it."""
    alone, lost = move(4, 2e8), replace(move(4, 9e8, leader=2), leader=leader)
    seen, part = see({"t": [alone]}, polls=3), see({"t": [alone, lost]}, polls=3)
    assert None not in (seen.throttling.recommended, seen.totals.predicted, seen.totals.predicted_bottleneck)
    totals = part.totals
    assert (part.throttling.recommended, totals.predicted, totals.predicted_bottleneck, totals.bottleneck) == (
        None,
    ) * 4
    left = {key: load.remaining for key, load in part.throttling.sides.items()}
    assert left == {(1, Side.LEADER): 2e8, (4, Side.FOLLOWER): None}


@pytest.mark.parametrize("broker", [1, 3])
def test_no_move_time_without_the_limit_of_a_broker_that_takes_part(broker: int) -> None:
    """It may be the lowest."""
    configs = rates(everywhere(2 * MB))
    assert see({"t": [move(3, 2e8)]}, broker_configs=configs).totals.predicted is not None
    del configs[broker]
    assert see({"t": [move(3, 2e8)]}, broker_configs=configs).totals.predicted is None


def test_a_copy_rate_is_not_a_part_of_itself() -> None:
    """A second move to broker 3 begins at 30 s; its rate is known at 50 s."""

    def topics(number: int) -> Topics:
        second = move(3, 9e8 - 1e6 * number, leader=2) if number >= 3 else Partition(replicas=(2,))
        return {"t": [move(3, 9e8 - 1e5 * number), second]}

    watch = Watch()
    seen = [watch.see(topics(number)).totals.catch_up for number in range(6)]
    sums = [[found.get(key) for found in seen[2:]] for key in ((3, Side.FOLLOWER), (1, Side.LEADER), (2, Side.LEADER))]
    assert sums == [[1e4, None, None, 1.1e5], [1e4] * 4, [None, None, None, 1e5]]


def followed(number: int, left: float) -> Partition:
    end = 10**7 + int(number * 10 * MB / BYTES_PER_OFFSET)
    return Partition(replicas=(1, 2, 3), adding=(3,), removing=(2,), end=end, lag={3: int(left / BYTES_PER_OFFSET)})


TOOL = TopicConfig(leader_throttled="0:1,0:2", follower_throttled="0:3")
"""What the tool lists for that move."""


def recommended(watch: Watch, left: float, polls: int = 3, **fields: Any) -> float | None:
    """Recommend a throttle for a move of which some bytes are left and 1 MB/s come in, with a follower in sync."""
    for number in range(polls):
        derived = watch.see({"t": [followed(number, left)]}, **fields)
    return derived.throttling.recommended


def test_recommended_without_a_throttle() -> None:
    """The leader sends to an in-sync follower and the new one, 1 MB/s each, and 360 MB in 100 s: 5.6 over 0.8."""
    watch = Watch(moves_deadline=100.0)
    assert recommended(watch, 360 * MB) == pytest.approx((1 + 1 + 3.6) / 0.8 * MB)


def test_recommended_is_the_same_once_the_tool_has_listed_the_move() -> None:
    fields = throttle(TOOL, everywhere(2 * MB))
    assert recommended(Watch(moves_deadline=100.0), 360 * MB, **fields) == pytest.approx(7 * MB)


def test_recommended_is_not_below_what_comes_in() -> None:
    """KIP-73's lower bound of the brokers that take part: 1 MB/s each; with hours of time the floor decides."""
    assert recommended(Watch(moves_deadline=1e9), 0.1 * MB) == pytest.approx(2 / 0.8 * MB, rel=1e-3)


def test_nothing_is_recommended() -> None:
    """7 MB/s on a network of 5 MB/s; before inbound is known; without lists; and when nothing moves."""
    assert recommended(Watch(moves_deadline=100.0, network_bytes_per_second=5 * MB), 360 * MB) is None
    assert recommended(Watch(moves_deadline=100.0, network_bytes_per_second=50 * MB), 360 * MB) is not None
    assert recommended(Watch(), 360 * MB, polls=1) is None
    assert recommended(Watch(), 360 * MB, topic_configs={}) is None
    assert see({"t": [Partition(replicas=(1, 3))]}, polls=3).throttling.recommended is None


def test_a_cluster_that_describes_no_brokers_has_no_move_time() -> None:
    """KIP-73's MoveTime spreads the log over brokers: without one it is unknown, and what else is known stays."""

    def judged(**fields: Any) -> Totals:
        watch = Watch()
        for clock in (0.0, STEP):
            configured = {**throttle(LISTS, everywhere(2 * MB)), "offsets_at": dict.fromkeys(ALL, clock), **fields}
            derived = watch.see({"t": [move(3, 200 * MB)]}, **configured)
        return derived.totals

    known, without = judged(), judged(brokers={})
    assert known.predicted == pytest.approx((1000 + 800) / 2)
    assert without.predicted is None
    assert (without.ratio, without.remaining_bytes) == (known.ratio, known.remaining_bytes)


def test_the_recommended_throttle_ends_the_move_in_time() -> None:
    deadline = 1000.0
    limit = known(recommended(Watch(moves_deadline=deadline), 3000 * MB))
    watch, configured = Watch(), throttle(TOOL, everywhere(limit))
    recommended(watch, 3000 * MB, **configured)
    derived = watch.see({"t": [followed(3, 3000 * MB)]}, **configured)
    assert known(derived.totals.predicted_bottleneck) <= deadline
