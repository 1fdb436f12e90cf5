"""The throttle, its contradictions and the predicted time: worked examples, then properties of any plan."""

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.derive.law import fair_shares
from kafka_warden.derive.throttle_use import USE_OF_LIMIT
from kafka_warden.model import BrokerConfig, Side, TopicConfig
from kafka_warden.planning.findings import problems, warnings
from kafka_warden.planning.loads import Goal
from kafka_warden.planning.plan import MovePlan, _move_time
from tests.building import known
from tests.support.planned import GB, HOUR, MB, cluster, plan, rates, sized, to, without

INF = math.inf


def test_the_example_of_the_runbook_for_targets() -> None:
    """180 GB to one target, 4 MB/s produced, 4 h: (4 + 12.5) / 0.8 = 20.6 MB/s."""
    seen = cluster({"t": [sized([1], 180 * GB)]}, more=[2])
    found = plan(seen, to("t", 0, 2), bytes_in=4 * MB, deadline=4 * HOUR)
    assert known(found.choice).needed == pytest.approx(20.625 * MB)
    assert found.limit == 20_625_000
    assert [(load.broker, load.side) for load in found.loads] == [(1, Side.LEADER), (2, Side.FOLLOWER)]


def test_the_example_of_the_runbook_for_leaders() -> None:
    """1 MB/s with two followers in the ISR and one being added, 7.2 GB in 2 h: (2 + 1 + 1) / 0.8 = 5 MB/s."""
    seen = cluster({"t": [sized([1, 2, 3], 7.2 * GB)]}, more=[4])

    found = plan(seen, to("t", 0, 1, 2, 3, 4), bytes_in=1 * MB, deadline=2 * HOUR)

    leader, follower = found.loads
    assert (leader.floor, leader.bytes_in, leader.remaining) == (2 * MB, 1 * MB, 7.2 * GB)
    assert leader.needed(2 * HOUR) == pytest.approx(5 * MB)
    assert [follower.floor, follower.needed(2 * HOUR)] == pytest.approx([0, 2.5 * MB])
    assert found.limit == 5_000_000


def test_move_time_is_that_of_the_document() -> None:
    """docs/spec/moves.md#move-time: ratio 0.1, 10 x 100 GB, 50 MB/s, at most 30 MB/s in: 5,000 s; with 50 never."""
    seen = cluster({f"t{broker}": [sized([broker], 100 * GB)] for broker in range(10)})
    assert _move_time(seen, rates(seen, {"t3": 30 * MB}), 0.1, 50 * MB) == pytest.approx(5000)
    assert _move_time(seen, rates(seen, {"t3": 50 * MB}), 0.1, 50 * MB) == INF
    assert _move_time(seen, rates(seen, {"t3": math.nan}), 0.1, 50 * MB) is None


def test_a_share_of_the_network_is_that_of_the_document() -> None:
    """docs/spec/throttles.md#bounds: 30 % of 125 MB/s are 37.5 MB/s; without a share the network itself is the most."""
    assert Goal(HOUR, 0.3, 125 * MB).most == pytest.approx(37.5 * MB)
    assert Goal(HOUR, None, 125 * MB).most == 125 * MB
    assert Goal(HOUR).most == INF


BUSY = cluster({"busy": [sized([1], GB)], "t": [sized([1], 10 * GB)]}, more=[2])
BUSY_IN = {"busy": 49 * MB, "t": 1 * MB}
"""Bytes in per second."""


def test_bounds_are_advice() -> None:
    """docs/spec/throttles.md#bounds: 50 MB/s in, a partition with 1 MB/s, 10 % of 100 MB/s: outside, yet it ends."""
    found = plan(BUSY, to("t", 0, 2), bytes_in=BUSY_IN, share=0.1, network=100 * MB)

    assert problems(found) == ()
    assert found.limit == 10_000_000
    assert known(found.choice).lower_bound == 50 * MB
    assert found.predicted < HOUR
    assert any("below KIP-73's lower bound of 50 MB/s" in warning for warning in warnings(found))


def test_the_throttle_is_raised_to_the_lower_bound_where_that_fits() -> None:
    """KIP-73: IN < T. The page's recommended throttle is the same."""
    found = plan(BUSY, to("t", 0, 2), bytes_in=BUSY_IN, network=125 * MB)
    assert found.limit == 50_000_000
    assert known(found.choice).needed < 5 * MB
    assert not any("bound" in warning for warning in warnings(found))


def test_deadline_and_share_contradict() -> None:
    """The problems have both values, and what is possible: with that deadline there is a throttle."""
    seen = cluster({"t": [sized([1], 360 * GB)]}, more=[2])
    asked: dict[str, Any] = {"bytes_in": 2 * MB, "network": 125 * MB}

    found = plan(seen, to("t", 0, 2), deadline=HOUR, share=0.3, **asked)

    assert found.limit is None
    choice = known(found.choice)
    assert choice.needed == pytest.approx(127.5 * MB)
    assert choice.most == pytest.approx(37.5 * MB)
    assert choice.least_deadline == pytest.approx(360_000 / 28)
    assert choice.least_share == pytest.approx(1.02)
    cap, least = "30% of the network is 37.5 MB/s", "a deadline of 3 h 35 min or more is possible"
    assert problems(found) == (
        f"deadline and network contradict: within 1 h it needs 128 MB/s, and {cap}; {least}",
        "the network is too slow for 1 h: split the file, or set a longer deadline",
    )
    later = plan(seen, to("t", 0, 2), deadline=choice.least_deadline * 1.001, share=0.3, **asked)
    assert known(later.limit) <= 37.5 * MB


def test_no_deadline_is_possible_below_the_inbound_rate() -> None:
    """In-sync copies and producers use the whole share: no deadline is possible, and the needed share is reported."""
    seen = cluster({"t": [sized([1, 2], 10 * GB)]}, more=[3])

    found = plan(seen, to("t", 0, 1, 2, 3), bytes_in=10 * MB, share=0.1, network=100 * MB)

    assert known(found.choice).least_deadline == INF
    assert found.predicted == INF
    assert problems(found)[0].endswith("10% of the network is 10 MB/s; the inbound rate uses all of it")
    assert problems(found)[1] == "possible within 1 h: a share of 28.5% or more"


def test_lists_of_the_tool_count_as_the_tool_sets_them() -> None:
    """The lists of a topic that moves are replaced; those of others stay, and use the limit of their broker."""
    topics = {"t": [sized([1, 2], GB), sized([1, 2], GB)], "other": [sized([1, 2], GB)]}
    everything = TopicConfig(leader_throttled="*", follower_throttled="*")
    alone = cluster(topics, more=[3])
    listed = cluster(topics, more=[3], topic_configs={"t": everything, "other": TopicConfig()})
    others = cluster(topics, more=[3], topic_configs={"t": TopicConfig(), "other": everything})

    floors = [plan(seen, to("t", 0, 1, 3), bytes_in=MB).loads[0].floor for seen in (alone, listed, others)]

    assert floors == [MB, MB, 2 * MB]


def test_moves_under_way_share_the_throttle() -> None:
    """The tool throttles them too: only their remaining bytes count."""
    going = sized([1, 2], 10 * GB, adding=[2], removing=[1])
    going = replace(going, sizes={**going.sizes, 2: int(4 * GB)})
    seen = cluster({"t": [sized([1], 10 * GB)], "u": [going]})

    found = plan(seen, to("t", 0, 2))

    assert found.copied == 16 * GB
    assert any(partition.under_way for partition in found.moving)
    assert [load.remaining for load in found.loads] == [16 * GB, 16 * GB]


def test_the_bottleneck_is_the_side_that_ends_last() -> None:
    """Two leaders send to one target: its follower side has all of it."""
    seen = cluster({"t": [sized([1], 10 * GB), sized([2], 10 * GB)]}, more=[3])
    found = plan(seen, to("t", 0, 3), to("t", 1, 3))
    last, _ = known(found.last)
    assert (last.broker, last.side, last.remaining) == (3, Side.FOLLOWER, 20 * GB)
    assert [load.side for load in found.loads].count(Side.LEADER) == 2


def test_the_law_is_that_of_the_etas() -> None:
    """The predicted time is what remains over the law's net rate, with B of what the target fetches."""
    config = BrokerConfig(replica_fetch_max_bytes=1_000_000, replica_fetch_response_max_bytes=5_000_000)
    seen = cluster({"t": [sized([1], GB)] * 3}, more=[2], broker_configs={1: BrokerConfig(), 2: config})

    found = plan(seen, *(to("t", number, 2) for number in range(3)), bytes_in=0.1 * MB, deadline=1000.0)

    gross = 3 * MB / 11.5 * (math.floor(10 * known(found.limit) / (3 * MB)) + 1)
    assert found.loads[1].burst == 3 * MB
    assert found.predicted == pytest.approx(3 * GB / (gross - 0.3 * MB))


def warned(found: MovePlan) -> bool:
    return any("replica.fetch.response.max.bytes" in warning for warning in warnings(found))


def test_too_large_fetches_are_warned_of() -> None:
    """docs/spec/throttles.md#fetch-size: 10 MiB need a throttle of 953,251 B/s at 11 s."""
    seen = cluster({"t": [sized([1], 2 * GB)]}, more=[2])
    slow, fast = (plan(seen, to("t", 0, 2), deadline=2 * GB / rate / 0.8) for rate in (953_250 - 2, 953_252))
    assert (warned(slow), warned(fast)) == (True, False)


def test_a_broker_that_is_gone_fetches_nothing() -> None:
    """The network is shared by two brokers, not by three: 2.4 MB/s x 11 s / 2 is more than 10 MiB, / 3 is less."""
    seen = cluster({"t": [sized([1], 2 * GB)]}, more=[2, 3])
    three, two = (
        plan(each, to("t", 0, 2), deadline=2 * GB / 1.2e6, network=2.4 * MB)
        for each in (seen, without(seen, 3, gone=True))
    )
    assert (warned(three), warned(two)) == (True, False)


def test_a_short_window_is_warned_of() -> None:
    """With 2 x 1 s the waits use most of a window: the predicted time exceeds the deadline, and a warning says so."""
    short = BrokerConfig(quota_window_num=2, replica_fetch_max_bytes=100_000)
    seen = cluster({"t": [sized([1], 36 * GB)]}, more=[2], broker_configs={1: short, 2: short})
    found = plan(seen, to("t", 0, 2))
    assert found.predicted > HOUR
    assert any("law of throttled moves predicts" in warning for warning in warnings(found))


def test_an_idle_partition_gets_no_throttle_of_0() -> None:
    """Nothing needed and KIP-73's upper bound of 0: the least that the tool takes, or the share where it is less."""
    seen = cluster({"busy": [sized([1], GB)], "t": [sized([1], 0)]}, more=[2])
    asked: dict[str, Any] = {"bytes_in": {"busy": 2 * MB}, "network": 1 * MB}

    found, poor, none = (plan(seen, to("t", 0, 2), share=share, **asked) for share in (None, 0.0005, 0.0000005))

    choice = known(found.choice)
    assert (choice.needed, choice.upper_bound) == (0, 0)
    assert (found.limit, poor.limit, none.limit) == (1000, 500, None), "a share below 1 byte per second is no throttle"
    assert any("above KIP-73's upper bound of 0 B/s" in warning for warning in warnings(found))


PLANS = st.fixed_dictionaries(
    {
        "sizes": st.lists(st.integers(0, 10**13), min_size=1, max_size=4),
        "bytes_in": st.floats(0, 1e9),
        "deadline": st.floats(1, 1e6),
        "network": st.none() | st.floats(1e3, 1e10),
        "share": st.none() | st.floats(0.01, 1),
    }
)


def _planned(
    sizes: list[int], bytes_in: float, deadline: float, network: float | None, share: float | None
) -> MovePlan:
    seen = cluster({"t": [sized([1, 2], size) for size in sizes]}, more=[3])
    targets = [to("t", number, 2 + number % 2, 3) for number in range(len(sizes))]
    share = share if network is not None else None
    return plan(seen, *targets, bytes_in=bytes_in, deadline=deadline, network=network, share=share)


@given(PLANS)
def test_no_figure_is_negative_or_no_number(shape: dict[str, Any]) -> None:
    found = _planned(**shape)
    choice = known(found.choice)

    figures = [choice.needed, choice.most, choice.least_deadline, found.predicted, found.ratio, found.copied]
    maybe = (found.move_time, choice.lower_bound, choice.upper_bound, choice.least_share)
    figures += [figure for figure in maybe if figure is not None]
    for load in found.loads:
        figures += [load.floor, load.bytes_in, load.remaining, load.burst, load.seconds(choice.assumed_limit)]
    assert all(figure >= 0 for figure in figures)


@given(PLANS)
def test_the_throttle_keeps_the_deadline_and_the_share(shape: dict[str, Any]) -> None:
    """Where there is one, it is not above the share, and at it the law has everything done in time."""
    found = _planned(**shape)
    choice = known(found.choice)

    if found.limit is None:
        assert max(choice.needed, 1) > math.floor(choice.most)
        assert problems(found)
    else:
        assert max(choice.needed, 1) <= found.limit <= choice.most
        assert found.predicted <= found.goal.deadline
        assert all(load.least_deadline(float(found.limit)) <= found.goal.deadline * (1 + 1e-9) for load in found.loads)


@given(PLANS, st.floats(1, 100))
def test_more_time_never_needs_more(shape: dict[str, Any], factor: float) -> None:
    soon = _planned(**shape)
    late = _planned(**{**shape, "deadline": soon.goal.deadline * factor})
    assert known(late.choice).needed <= known(soon.choice).needed
    if soon.limit is not None:
        assert known(late.limit) <= soon.limit


def test_bursts_above_the_share_are_warned_of() -> None:
    """The floor of the law, B / 11.5 s, is let through whatever the limit is."""
    seen = cluster({"t": [sized([1], GB)] * 10}, more=[2])
    found = plan(seen, *(to("t", n, 2) for n in range(10)), deadline=100 * HOUR, share=0.01, network=10 * MB)
    limit = known(found.limit)
    assert any("a whole fetch response passes" in warning for warning in warnings(found))
    assert found.loads[0].most(limit) == pytest.approx(limit + 10 * 1024 * 1024 / 11)


def test_flows_that_cross_end_within_what_the_rule_leaves() -> None:
    """The side that has most to copy ends last or nearly so, however its flows share with others: 0.8 covers it."""
    worst = max(_fluid(seed) for seed in range(200))
    print(f"worst of 200: {worst:.3f} of the busiest side")
    assert 1.0 <= worst < 1 / USE_OF_LIMIT


def _fluid(seed: int) -> float:
    """Time that random flows take with max-min shares of one limit everywhere, over that of the busiest side alone."""
    chance = random.Random(seed)
    brokers = range(chance.choice([3, 4, 6, 10]))
    remaining: dict[tuple[int, int], float] = {}
    for _ in range(chance.choice([2, 5, 10, 30])):
        leader, target = chance.sample(brokers, 2)
        remaining[leader, target] = remaining.get((leader, target), 0.0) + chance.expovariate(1.0)
    busiest = max(sum(a for pair, a in remaining.items() if pair[end] == b) for b in brokers for end in (0, 1))
    limits, took = dict.fromkeys(brokers, 1.0), 0.0
    while remaining:
        leaders, targets = (np.array(ids, np.int32) for ids in zip(*remaining, strict=True))
        rates = dict(zip(remaining, fair_shares(leaders, targets, limits, limits).tolist(), strict=True))
        step = min(remaining[pair] / rate for pair, rate in rates.items())
        took += step
        remaining = {p: left for p, a in remaining.items() if (left := a - rates[p] * step) > 1e-9}
    return took / busiest
