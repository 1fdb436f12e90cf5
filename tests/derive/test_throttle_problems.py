"""Every throttle problem begins in its third poll and ends with its cause; a healthy move has none in any poll."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_warden.model import SIDES, UNKNOWN, BrokerConfig, Limit, Origin, Side, TopicConfig
from kafka_warden.replies import FutureReplica
from tests.building import Partition, Topics
from tests.derive.throttled import ALL, MB, Found, Watch, everywhere, found, of, rates, throttle, throttled_rates

TOOL = TopicConfig(leader_throttled="0:1,0:2", follower_throttled="0:3")
"""What kafka-reassign-partitions lists for a move of partition 0 from 1, 2 to 1, 3."""


def moving(left: int = 100_000, end: int = 200_000, **changes: Any) -> Topics:
    made = {"replicas": (1, 2, 3), "adding": (3,), "removing": (2,), "end": end, "lag": {3: left}}
    return {"t": [Partition(**{**made, **changes})]}


RESTING: Topics = {"t": [Partition(replicas=(1, 3), end=200_000)]}


def tool(rate: float = 2 * MB, lists: TopicConfig = TOOL, **config: Any) -> dict[str, Any]:
    """Configure what kafka-reassign-partitions does: one rate on all brokers of the move, both sides."""
    return throttle(lists, dict.fromkeys((1, 2, 3), rate), **config)


def plan(done: int, parts: int, left: int, *, begun: bool = True) -> Topics:
    """Move partitions 0 to `parts` from 1, 2 to 3, 4; the first `done` are over."""
    there = Partition(replicas=(3, 4), end=200_000)
    arriving = Partition(replicas=(1, 2, 3, 4), adding=(3, 4), removing=(1, 2), end=200_000, lag={3: left, 4: left})
    before = Partition(replicas=(1, 2), end=200_000)
    return {"t": [there] * done + [arriving if begun else before] * (parts - done)}


def throttled(parts: int) -> dict[str, Any]:
    lists = TopicConfig(
        leader_throttled=",".join(f"{part}:{broker}" for part in range(parts) for broker in (1, 2)),
        follower_throttled=",".join(f"{part}:{broker}" for part in range(parts) for broker in (3, 4)),
    )
    return throttle(lists, everywhere(2 * MB))


def test_a_healthy_throttled_move_has_no_problem_in_any_poll() -> None:
    """From the poll that sees lists and rates, over every part that completes, to the poll that sees them removed."""
    parts, watch = 6, Watch()
    configured = throttled(parts)

    assert watch.problems(plan(0, parts, 0, begun=False), polls=4) == set()
    assert watch.problems(plan(0, parts, 0, begun=False), **configured) == set()
    for done in range(parts):
        for left in range(100_000, 0, -10_000):
            assert watch.problems(plan(done, parts, left), **configured) == set(), (done, left)
    for _ in range(5):
        assert watch.problems(plan(parts, parts, 0), **configured) == set()
    assert watch.problems(plan(parts, parts, 0), polls=5) == set()


@st.composite
def lives(draw: st.DrawFn) -> list[Topics]:
    """Draw a plan over four brokers, poll after poll: parts end in any order, old replicas lead, records arrive."""
    targets = draw(st.lists(st.permutations(ALL), min_size=1, max_size=5))
    ends = draw(st.lists(st.integers(3, 14), min_size=len(targets), max_size=len(targets)))
    leads = draw(st.lists(st.integers(0, 1), min_size=15, max_size=15))
    polls: list[Topics] = []
    for number in range(15):
        parts = []
        for (first, second, third, _), end in zip(targets, ends, strict=True):
            log, lag = 1_000_000 + number * 2_000, {third: 100_000 * (end - number)}
            over = Partition(replicas=(third, first), end=log)
            move: dict[str, Any] = {"replicas": (first, second, third), "adding": (third,), "removing": (second,)}
            arriving = Partition(**move, leader=(first, second)[leads[number]], end=log, lag=lag)
            parts.append(over if number >= end else arriving)
        polls.append({"t": parts})
    return polls


@settings(max_examples=60, deadline=None)
@given(lives())
def test_no_healthy_plan_has_a_problem_in_any_poll(polls: list[Topics]) -> None:
    """Throttled as the tool does it, with beans that say that every limit binds, until the tool verifies it."""
    watch, first = Watch(moves_grace=150.0), polls[0]["t"]
    lists = TopicConfig(
        leader_throttled=",".join(f"{part}:{b}" for part, move in enumerate(first) for b in move.replicas[:2]),
        follower_throttled=",".join(f"{part}:{move.replicas[2]}" for part, move in enumerate(first)),
    )
    beans = {broker: throttled_rates(leader=4 * MB, follower=4 * MB) for broker in ALL}
    for number, topics in enumerate(polls):
        assert watch.problems(topics, broker_beans=beans, **throttle(lists, everywhere(4 * MB))) == set(), number


def test_a_part_of_a_plan_on_brokers_of_its_own_is_not_left_behind() -> None:
    watch = Watch()
    lists = {"a": TopicConfig("0:1", "0:2"), "b": TopicConfig("0:3", "0:4")}
    done = Partition(replicas=(2,), end=1000)
    for left in range(200_000, 0, -10_000):
        going = Partition(replicas=(3, 4), adding=(4,), removing=(3,), end=10**6, lag={4: left})
        seen = {"a": [done], "b": [going]}
        assert watch.problems(seen, broker_configs=rates(everywhere(2 * MB)), topic_configs=lists) == set()


def test_a_sidecar_that_starts_in_the_middle_of_a_move_sees_no_problem() -> None:
    watch, parts = Watch(), 4
    configured = throttled(parts)
    for left in range(100_000, 0, -10_000):
        assert watch.problems(plan(2, parts, left), **configured) == set()
    assert watch.problems(plan(parts, parts, 0), polls=5, **configured) == set()


def test_a_throttle_that_is_forgotten_is_left_behind_and_nothing_else() -> None:
    """Sources and destinations, each on the side whose list names it, a minute after the last move."""
    watch = Watch(moves_grace=60.0)
    watch.problems(moving(), polls=5, **tool())

    assert watch.problems(RESTING, polls=6, **tool()) == set()
    left = of("left_behind", (1, "leader"), (2, "leader"), (3, "follower"))
    assert watch.problems(RESTING, polls=2, **tool()) == left
    assert watch.problems(RESTING) == set()


WILD = TopicConfig("*", "*")


@pytest.mark.parametrize(
    ("why", "origin", "lists", "expected"),
    [
        ("meant to stay", Origin.CLUSTER_DEFAULT, WILD, False),
        ("rates of brokers are those of a tool", Origin.BROKER, WILD, True),
        ("lists of replicas are those of a tool", Origin.CLUSTER_DEFAULT, TOOL, True),
    ],
)
def test_a_permanent_throttle_is_not_left_behind(why: str, origin: Origin, lists: TopicConfig, expected: bool) -> None:
    configured = {b: BrokerConfig(limits=dict.fromkeys(SIDES, Limit(2 * MB, origin))) for b in ALL}
    raised = Watch(moves_grace=60.0).problems(RESTING, polls=9, broker_configs=configured, topic_configs={"t": lists})
    assert ("left_behind" in {problem for _, _, problem in raised}) is expected, why


def test_wildcards_are_no_problem() -> None:
    watch = Watch()
    topics = {"t": [*moving()["t"], Partition(replicas=(4, 1), end=5)]}
    for _ in range(8):
        assert watch.problems(topics, **tool(lists=WILD)) == set()


def test_a_bootstrapping_broker_is_no_problem() -> None:
    """Throttled by hand, with no reassignment: nothing is left behind, on brokers that take no part either."""
    watch = Watch()
    for left in range(100_000, 0, -5_000):
        out = Partition(replicas=(1, 3), out=(3,), end=200_000, lag={3: left})
        topics = {"t": [out, Partition(replicas=(2, 4), end=100)]}
        assert watch.problems(topics, **throttle(WILD, everywhere(2 * MB))) == set()


def test_a_move_without_a_throttle_is_no_problem() -> None:
    assert Watch().problems(moving(), polls=5) == set()


@pytest.mark.parametrize(("side", "broker"), [("leader", 1), ("follower", 3)])
def test_blocked(side: str, broker: int) -> None:
    """A limit of 0 on the side that a listed replica needs; the other brokers' limits differ from it."""
    watch = Watch()
    watch.problems(moving(), polls=3, **tool())
    zero = {"leader": everywhere(2 * MB), "follower": everywhere(2 * MB)}
    zero[side] = {**zero[side], broker: 0.0}
    configured = throttle(TOOL, **zero)

    assert watch.problems(moving(), polls=2, **configured) == set()
    raised = watch.problems(moving(), **configured)
    assert of("blocked", (broker, side)) <= raised
    assert {problem for _, _, problem in raised} == {"blocked", "uneven"}
    assert watch.problems(moving(), **tool()) == set()


def test_a_leader_that_does_not_answer_for_two_polls_ends_no_problem() -> None:
    """Without its end nothing shows whether its followers are behind: the age goes on. The third poll ends it."""
    watch = Watch()
    blocked, silent = tool(rate=0.0), moving(silent=(1,))
    watch.problems(moving(), polls=4, **blocked)
    ages = [watch.see(topics, **blocked).throttling.problems for topics in (silent, silent, moving())]
    assert [set(each.values()) for each in ages] == [{40.0}, {50.0}, {60.0}]
    assert watch.problems(silent, polls=3, **blocked) == set()


def test_a_leader_that_does_not_answer_does_not_end_a_held_original() -> None:
    watch = Watch()
    watch.problems(moving(), polls=4, broker_beans=BUSY, **tool())
    out = moving(out=(2,), end=300_000, lag={2: 500, 3: 100_000})
    silent = moving(out=(2,), silent=(1,), end=300_000, lag={2: 500, 3: 100_000})
    held = watch.problems(out, polls=3, broker_beans=BUSY, **tool())
    assert {problem for _, _, problem in held} == {"holds_original"}
    assert watch.problems(silent, polls=2, broker_beans=BUSY, **tool()) == held
    assert watch.problems(out, broker_beans=BUSY, **tool()) == held


def test_blocked_everywhere_is_nothing_but_blocked() -> None:
    raised = Watch().problems(moving(), polls=3, **tool(rate=0.0))
    assert raised == of("blocked", (1, "leader"), (3, "follower"))
    assert not {key for key in Watch().problems(moving(), polls=3, **tool(rate=1.0)) if key[2] == "blocked"}


def test_a_follower_that_lacks_nothing_is_not_blocked() -> None:
    assert Watch().problems(moving(left=0), polls=5, **tool(rate=0.0)) == set()


def test_a_leader_does_not_block_those_in_sync() -> None:
    """A listed follower in the ISR runs a little behind; only its own broker's limit could stop it."""
    for leader, follower, expected in ((0.0, 2 * MB, set()), (2 * MB, 0.0, of("blocked", (3, "follower")))):
        watch = Watch()
        for number in range(6):
            topics = {"t": [Partition(replicas=(1, 3), end=200_000 + number * 1000, lag={3: 1500})]}
            raised = watch.problems(topics, **throttle(TOOL, {1: leader, 3: leader}, {1: follower, 3: follower}))
        assert {key for key in raised if key[2] == "blocked"} == expected


def test_log_dirs_blocked() -> None:
    limits = {Side.LEADER: Limit(), Side.FOLLOWER: Limit(), Side.LOG_DIRS: Limit(0.0, Origin.BROKER)}
    configs = {broker: replace(config, limits=limits) for broker, config in rates({}).items()}
    copying = (FutureReplica("t", 0, 3, "/other", 10, UNKNOWN),)
    watch = Watch()

    raised = watch.problems(RESTING, polls=3, broker_configs=configs, future_replicas=copying)
    assert raised == of("blocked", (3, "log_dirs"))
    rested = watch.problems(RESTING, polls=3, broker_configs=configs)
    assert rested == of("idle_rate", *((broker, "log_dirs") for broker in ALL))


class Producing:
    """A move that is produced to at a rate, of which nothing arrives."""

    def __init__(self, rate: float) -> None:
        self._watch, self._step, self._number = Watch(), int(rate / 10), 0

    def problems(self, polls: int, **configured: Any) -> Found:
        for _ in range(polls):
            self._number += 1
            topics = moving(left=5_000_000 + self._number * self._step, end=10_000_000 + self._number * self._step)
            raised = self._watch.problems(topics, **configured)
        return raised


def test_below_inbound() -> None:
    busy = Producing(5 * MB)
    assert busy.problems(3, **tool(rate=1 * MB)) == set()
    assert busy.problems(1, **tool(rate=1 * MB)) == of("below_inbound", (1, "leader"), (3, "follower"))
    assert busy.problems(1, **tool(rate=50 * MB)) == set()


def test_below_inbound_names_the_side_that_is_too_low() -> None:
    configured = throttle(TOOL, everywhere(50 * MB), everywhere(1 * MB))
    assert Producing(5 * MB).problems(8, **configured) == of("below_inbound", (3, "follower"))


def test_unknown_inbound_is_no_problem() -> None:
    watch = Watch()
    for number in range(6):
        topics = moving(end=10_000_000 + number * 5_000_000, silent=(1,), sizes={1: UNKNOWN})
        assert watch.problems(topics, **tool(rate=1 * MB)) == set()


@pytest.mark.parametrize(
    ("why", "leader", "follower", "places"),
    [
        ("the destination's differs", {3: 5.0}, {3: 5.0}, {(b, s) for b in (1, 2, 3) for s in ("leader", "follower")}),
        ("of one side", {2: 5.0}, {}, {(b, "leader") for b in (1, 2, 3)}),
        ("a broker that takes no part", {4: 5.0}, {4: 9.0}, set()),
    ],
)
def test_uneven(why: str, leader: dict[int, float], follower: dict[int, float], places: set[tuple[int, str]]) -> None:
    watch, base = Watch(), dict.fromkeys((1, 2, 3), 2 * MB)
    changed = [{**base, **{broker: rate * MB for broker, rate in side.items()}} for side in (leader, follower)]
    configured = throttle(TOOL, *changed)

    assert watch.problems(moving(), polls=2, **configured) == set()
    assert watch.problems(moving(), **configured) == of("uneven", *places), why
    assert watch.problems(moving(), **tool()) == set()


def test_a_leader_that_its_list_does_not_name_is_uneven() -> None:
    topics = {"t": [Partition(replicas=(1, 2, 4, 3), leader=4, adding=(3,), removing=(2,), end=9000, lag={3: 10})]}
    configured, watch = throttle(TOOL, everywhere(2 * MB)), Watch()
    assert watch.problems(topics, polls=3, **configured) == of("uneven", (4, "leader"))
    back = {"t": [replace(topics["t"][0], leader=1)]}
    assert watch.problems(back, **configured) == set()


@pytest.mark.parametrize(
    ("why", "lists", "limited", "places"),
    [
        ("leader only", TopicConfig("0:1,0:2", ""), (1, 2, 3), {(3, "follower")}),
        ("follower only", TopicConfig("", "0:3"), (1, 2, 3), {(1, "leader")}),
        ("list without rate at the destination", TOOL, (1, 2), {(3, "follower")}),
        ("list without rate at a source", TOOL, (1, 3), {(2, "leader")}),
        ("lists without any rate", TOOL, (), {(1, "leader"), (2, "leader"), (3, "follower")}),
        ("no list names the move", TopicConfig("7:1", "7:1"), (1, 2, 3), {(1, "leader"), (3, "follower")}),
        ("a broker without the moving replica", TopicConfig("0:1,0:2,0:4", "0:3"), ALL, {(4, "leader")}),
    ],
)
def test_lopsided(why: str, lists: TopicConfig, limited: tuple[int, ...], places: set[tuple[int, str]]) -> None:
    configured, watch = throttle(lists, dict.fromkeys(limited, 2 * MB)), Watch()
    assert watch.problems(moving(), polls=2, **configured) == set()
    assert watch.problems(moving(), **configured) == of("lopsided", *places), why
    assert watch.problems(moving(), **tool()) == set()


def test_lists_that_stay_when_the_rates_are_removed() -> None:
    """Cruise Control 748: old sources that host nothing any more are shown, too."""
    lists, watch = TopicConfig("0:1,0:2,1:1,1:2", "0:3,1:4"), Watch()
    moves = [*moving()["t"], *moving(replicas=(1, 2, 4), adding=(4,), lag={4: 100_000})["t"]]
    watch.problems({"t": moves}, polls=3, **throttle(lists, everywhere(2 * MB)))
    over: Topics = {"t": [Partition(replicas=(1, target), end=200_000) for target in (3, 4)]}
    raised = watch.problems(over, polls=3, **throttle(lists, {}))
    assert raised == of("lopsided", (1, "leader"), (2, "leader"), (3, "follower"), (4, "follower"))


def test_a_list_that_names_a_broker_without_that_replica() -> None:
    """Nothing moves, and nothing ever did; rates are set, so that the list is left behind later, too."""
    configured, watch = tool(lists=TopicConfig("0:2", "0:4")), Watch()
    assert watch.problems(RESTING, polls=2, **configured) == set()
    assert watch.problems(RESTING, **configured) == of("lopsided", (2, "leader"), (4, "follower"))
    assert watch.problems(RESTING, **tool(lists=TopicConfig())) == set()


def test_a_cancelled_move_leaves_a_throttle_behind_that_is_not_lopsided() -> None:
    watch = Watch()
    watch.problems(moving(), polls=4, **tool())
    raised = watch.problems({"t": [Partition(replicas=(1, 2), end=200_000)]}, polls=9, **tool())
    assert raised == of("left_behind", (1, "leader"), (2, "leader"), (3, "follower"))


@pytest.mark.parametrize(
    ("why", "fields", "expected"),
    [
        ("nothing needs it", {}, True),
        ("a log directory move", {"future_replicas": (FutureReplica("t", 0, 1, "/b", 1, UNKNOWN),)}, False),
        ("reassignments are unknown", {"reassignments_known": False}, False),
        ("log directories are not known", {"log_dirs": ()}, False),
    ],
)
def test_left_behind_needs_to_know(why: str, fields: dict[str, Any], expected: bool) -> None:
    raised = Watch().problems(RESTING, polls=9, **tool(), **fields)
    assert ((3, "follower", "left_behind") in raised) is expected, why


@pytest.mark.parametrize("replicas", [(1, 3), (3, 1)])
def test_a_follower_that_is_out_needs_its_throttle(replicas: tuple[int, int]) -> None:
    """A listed one is not left behind before it is back; nor an old replica, which only the leader's list names."""
    out = {"t": [Partition(replicas=replicas, out=replicas[1:], end=200_000, lag={replicas[1]: 100})]}
    assert Watch().problems(out, polls=9, **tool()) == set()


def test_left_behind_beside_a_move_of_others() -> None:
    """Another move at another rate elsewhere does not need it; one at the same rate may be of the same plan."""
    other = {"a": [Partition(replicas=(4, 2), adding=(2,), end=10**6, lag={2: 10**5})]}
    lists = {"a": TopicConfig(leader_throttled="0:4", follower_throttled="0:2"), "t": TopicConfig("0:1", "0:3")}
    for rate, left in ((5 * MB, True), (2 * MB, False)):
        configured = {1: 2 * MB, 3: 2 * MB, 2: rate, 4: rate}
        raised = Watch().problems({**RESTING, **other}, polls=9, broker_configs=rates(configured), topic_configs=lists)
        assert raised == (of("left_behind", (1, "leader"), (3, "follower")) if left else set())


BUSY = {1: throttled_rates(leader=1.9 * MB)}
"""A throttle that binds on the leader."""


def test_holds_original() -> None:
    watch = Watch()
    out = moving(out=(2,), lag={2: 500, 3: 100_000})
    watch.problems(moving(), polls=4, broker_beans=BUSY, **tool())

    assert watch.problems(out, polls=2, broker_beans=BUSY, **tool()) == set()
    assert watch.problems(out, broker_beans=BUSY, **tool()) == of("holds_original", (1, "leader"))
    assert watch.problems(moving(), broker_beans=BUSY, **tool()) == set()
    few = tool(3.6 * MB, quota_window_num=3)
    assert watch.problems(out, polls=3, broker_beans=BUSY, **few) == of("holds_original", (1, "leader"))


def test_a_low_rate_does_not_end_holds_original_at_once() -> None:
    """A window forgets a few large responses at once: two polls below the limit are bridged, a third is not."""
    watch, low = Watch(), {1: throttled_rates(leader=0.8 * MB)}
    out = moving(out=(2,), lag={2: 500, 3: 100_000})
    watch.problems(moving(), polls=4, broker_beans=BUSY, **tool())
    raised = of("holds_original", (1, "leader"))

    assert watch.problems(out, polls=3, broker_beans=BUSY, **tool()) == raised
    assert watch.problems(out, polls=2, broker_beans=low, **tool()) == raised
    assert watch.problems(out, broker_beans=BUSY, **tool()) == raised
    assert watch.problems(out, polls=2, broker_beans=low, **tool()) == raised
    assert watch.problems(out, broker_beans=low, **tool()) == set()


@pytest.mark.parametrize(
    ("why", "beans", "silent", "seen_in_sync"),
    [
        ("no beans", {}, (), True),
        ("the throttle does not bind", {1: throttled_rates(leader=1.7 * MB)}, (), True),
        ("it does not answer", BUSY, (2,), True),
        ("it was out before", BUSY, (), False),
    ],
)
def test_holds_no_original(why: str, beans: dict[int, object], silent: tuple[int, ...], seen_in_sync: bool) -> None:
    watch = Watch()
    if seen_in_sync:
        watch.problems(moving(), polls=4, broker_beans=beans, **tool())
    out = moving(out=(2,), silent=silent, end=300_000, lag={2: 500, 3: 100_000})
    assert watch.problems(out, polls=5, broker_beans=beans, **tool()) == set(), why


def test_fetch_size() -> None:
    """10 MiB do not fit into 11 s at 953,250 B/s; one byte a second more and they do."""
    watch = Watch()
    places = ((1, "leader"), (2, "leader"), (3, "follower"))
    assert watch.problems(moving(), polls=2, **tool(rate=953_250)) == set()
    assert watch.problems(moving(), **tool(rate=953_250)) == of("fetch_size", *places)
    assert watch.problems(moving(), **tool(rate=953_251)) == set()


def test_fetch_size_on_a_small_network() -> None:
    """Four brokers on 3 MB/s: 11 s x 3 MB/s / 4 is 8.25 MB, less than 10 MiB, and as much is allowed."""
    for size, problems in ((10 << 20, {"fetch_size"}), (8_250_000, set())):
        watch, configured = Watch(network_bytes_per_second=3 * MB), tool(replica_fetch_response_max_bytes=size)
        raised = watch.problems(moving(), polls=3, **configured)
        assert {problem for _, _, problem in raised} == problems


def test_idle_rate() -> None:
    watch, configured = Watch(), rates({2: 2 * MB}, {})
    assert watch.problems(RESTING, polls=3, broker_configs=configured) == of("idle_rate", (2, "leader"))
    assert watch.problems(RESTING, broker_configs=configured, topic_configs={"t": TopicConfig("0:1", "")}) == set()


def test_lists_that_vanish_during_a_move() -> None:
    watch = Watch()
    watch.problems(moving(), polls=3, **tool())
    free = {**tool(), "topic_configs": {"t": TopicConfig()}}
    assert watch.problems(moving(), polls=3, **free) >= of("lopsided", (1, "leader"), (3, "follower"))
    assert not any(
        problem == "idle_rate" for broker, _, problem in watch.problems(moving(), **free) if broker in {1, 3}
    )


def test_a_rate_is_not_idle_while_lists_are_unknown() -> None:
    assert Watch().problems(RESTING, polls=5, broker_configs=rates({2: 2 * MB}), topic_configs={}) == set()


def test_brokers_whose_configuration_is_unknown_have_no_problem() -> None:
    only = {1: rates({1: 2 * MB, 3: 0.0})[1]}
    assert Watch().problems(moving(), polls=5, broker_configs=only, topic_configs={"t": TOOL}) == set()


def test_ages_count_from_the_first_poll() -> None:
    derived = Watch().see(moving(), 5, **tool(rate=953_250))
    assert set(derived.throttling.problems.values()) == {40.0}


def test_a_cluster_without_partitions_has_no_problem() -> None:
    derived = Watch().see({}, 3, broker_configs=rates({1: 1.0}, {}), topic_configs={})
    assert found(derived) == of("idle_rate", (1, "leader"))
    assert not np.isnan(list(derived.throttling.problems.values())).any()
