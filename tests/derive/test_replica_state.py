"""The state of a follower: each row of the table, its order, the two polls that must agree, and throttles that bind."""

from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.arrays import UNKNOWN
from kafka_warden.derive.replica_state import (
    STATES,
    FollowerFacts,
    ReplicaState,
    debounce,
    evaluated_since,
    restarted_log,
    state,
)
from kafka_warden.model import BrokerConfig, Limit, Origin, ProcessBeans, Side, TopicConfig
from tests.derive.following import CONFIGS, loaded, shown

U = UNKNOWN
S = ReplicaState


def facts(**given_facts: bool | int) -> FollowerFacts:
    """One follower; what is not said is a healthy broker, three samples, and else False."""
    values = {
        column.name: np.array(
            [given_facts.get(column.name, column.name in {"broker_available", "leader_available", "answers"})]
        )
        for column in fields(FollowerFacts)
    }
    return FollowerFacts(**(values | {"samples": np.array([given_facts.get("samples", 3)])}))


def state_of(one: FollowerFacts) -> ReplicaState:
    return STATES[int(state(one)[0])]


ROWS: list[tuple[str, dict[str, bool | int], ReplicaState]] = [
    ("its broker is fenced, gone, or its log dir offline", {"broker_available": False, "in_isr": True}, S.OFFLINE),
    ("its lag is unknown", {"leader_available": False, "in_isr": True}, S.LEADER_UNAVAILABLE),
    ("it does not answer us, and its leader is content", {"answers": False, "in_isr": True}, S.UNKNOWN),
    ("two samples are too few", {"samples": 2, "in_isr": True}, S.UNKNOWN),
    ("in the ISR and caught up", {"in_isr": True, "advancing": True}, S.IN_SYNC),
    ("in the ISR, adding and caught up: it has arrived", {"in_isr": True, "adding": True}, S.IN_SYNC),
    ("a move from one broker to another", {"adding": True, "move_removes": True, "advancing": True}, S.MOVING),
    ("a higher replication factor", {"adding": True, "advancing": True}, S.BOOTSTRAPPING),
    ("its disk was wiped", {"restarted": True, "advancing": True, "leader_ahead": True}, S.BOOTSTRAPPING),
    ("wiped and throttled", {"restarted": True, "throttled": True}, S.BOOTSTRAPPING),
    ("held back by a throttle", {"throttled": True, "leader_ahead": True}, S.THROTTLED),
    ("out of the ISR and standing still", {"leader_ahead": True}, S.STUCK),
    ("out of the ISR and silent", {"answers": False, "leader_ahead": True}, S.STUCK),
    ("in the ISR, and standing still for too long", {"in_isr": True, "behind": True, "leader_ahead": True}, S.STUCK),
    ("advancing, and inbound outruns it", {"advancing": True, "leader_ahead": True}, S.SLOW),
    ("always 20 s behind, past the limit", {"in_isr": True, "behind": True, "advancing": True}, S.SLOW),
    ("catching up", {"advancing": True, "leader_ahead": True, "shrinking": True}, S.RECOVERING),
    ("caught up, not yet back in the ISR", {}, S.RECOVERING),
    ("in sync by the ISR though a throttle binds for others", {"in_isr": True, "throttled": True}, S.IN_SYNC),
]


@pytest.mark.parametrize(("why", "known", "expected"), ROWS)
def test_state(why: str, known: dict[str, bool | int], expected: ReplicaState) -> None:
    assert state_of(facts(**known)) is expected, why


def test_every_state_has_a_row() -> None:
    assert {expected for _, _, expected in ROWS} == set(ReplicaState)


@given(st.fixed_dictionaries({c.name: st.booleans() for c in fields(FollowerFacts) if c.name != "samples"}))
def test_earlier_rows_win(known: dict[str, bool]) -> None:
    seen = facts(**known)
    assert (state_of(seen) is S.OFFLINE) is not known["broker_available"]
    assert state_of(replace(seen, leader_available=np.array([False]))) in {S.OFFLINE, S.LEADER_UNAVAILABLE}


@pytest.mark.parametrize(
    ("why", "polls", "expected"),
    [
        ("a restart that kept its data", [(500, False), (500, False), (600, False)], False),
        ("its end fell", [(500, True), (0, False), (100, False)], True),
        ("it stays so until it is in the ISR", [(500, True), (0, False), (900, False), (1000, True)], False),
        ("first seen at the leader's start", [(0, False), (100, False)], True),
        ("first seen beyond it", [(700, False), (800, False)], False),
        ("first seen in the ISR", [(0, True), (0, False)], False),
        ("silent for a while", [(500, False), (U, False), (500, False)], False),
        ("an end of the old epoch is truncated to its new leader's", [(1030, False), (990, False)], False),
        ("wiped while it was silent", [(500, True), (U, False), (300, False)], True),
    ],
)
def test_restarted_log(why: str, polls: list[tuple[int, bool]], expected: bool) -> None:
    """A log that started from scratch during its present absence from the ISR; its leader's is 50 to 1000."""
    restarted, last = np.array([False]), np.array([U])
    for end, in_isr in polls:
        leader = np.array([50]), np.array([1000])
        restarted = restarted_log(restarted, np.array([in_isr]), np.array([end]), last, *leader)
        last = np.where(np.array([end]) == U, last, np.array([end]))

    assert restarted.tolist() == [expected], why


@pytest.mark.parametrize(
    ("why", "before", "able", "woken", "expected"),
    [
        ("before the first poll", -np.inf, True, False, -np.inf),
        ("it goes on", 40, True, False, 40),
        ("its broker or its leader is gone", 40, False, False, np.nan),
        ("still gone", np.nan, False, True, np.nan),
        ("back", np.nan, True, False, 100),
        ("it stood still and goes on", 40, True, True, 100),
    ],
)
def test_evaluated_since(why: str, before: float, able: bool, woken: bool, expected: float) -> None:
    """At 100 s: the time in which it could not fetch, or stood still, says nothing of how it gets on."""
    since = evaluated_since(np.array([float(before)]), 100.0, np.array([able]), np.array([woken]))
    np.testing.assert_array_equal(since, [expected], err_msg=why)


@pytest.mark.parametrize(
    ("seen", "expected"), [([3], 3), ([3, 7], 3), ([3, 7, 7], 7), ([3, 7, 3], 3), ([3, 7, 8, 8], 8), ([3, 7, 3, 7], 3)]
)
def test_agreed(seen: list[int], expected: int) -> None:
    shown = candidate = np.array([U], dtype=np.int8)
    for code in seen:
        shown, candidate = debounce(shown, candidate, np.array([code], dtype=np.int8))
    assert shown.tolist() == [expected]


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
    states = shown(
        loaded,
        topic_configs=LISTS[Side.FOLLOWER],
        broker_configs=limited(Side.FOLLOWER),
        broker_beans=rates(Side.FOLLOWER, 2, 5e6),
    )

    assert states[-1] == "in_sync"
