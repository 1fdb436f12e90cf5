"""When a move is stuck, and the order of its causes."""

import math
from dataclasses import asdict, replace
from itertools import combinations
from typing import Any

import pytest

from kafka_warden.derive.copy_rates import Stall
from kafka_warden.derive.law import Window
from kafka_warden.derive.stuck import (
    Cause,
    MoveFacts,
    has_lasted,
    holding,
    is_stuck,
    may_be_burst,
    single_stall_limit,
    stall_limit,
)

MIB = 1 << 20
Facts = dict[str, Any]


@pytest.mark.parametrize(
    ("poll", "window", "expected"),
    [(10, Window(), 30), (5, Window(), 22), (1, Window(), 22), (10, Window(30, 1.0), 60)],
)
def test_stall_limit(poll: float, window: Window, expected: float) -> None:
    assert stall_limit(poll, window) == expected


@pytest.mark.parametrize(
    ("why", "moves", "headroom", "gross", "expected"),
    [
        ("100 moves at 1 MB/s with 1 MiB fetches: a turn every 105 s each, five of them", 100, 1e6, 2e6, 524.288),
        ("few moves on a high limit: the pair's limit", 3, 10e6, 8e6, 30),
        ("no throttle on a fast link: the pair's limit", 100, math.inf, 100e6, 30),
        ("no throttle, 200 moves at 3.5 MB/s: a turn a minute, five of them", 200, math.inf, MIB * 200 / 60, 300),
        ("a limit far above what the link lets through", 200, 100e6, MIB * 200 / 60, 300),
        ("no throttle, not measured yet", 100, math.inf, None, None),
        ("nothing copied: the pair is evaluated", 100, math.inf, 0.0, None),
        ("nothing left of the limit: the pair is evaluated, no single replica", 100, 0.0, 1e6, None),
        ("in-sync traffic above the limit", 100, -1e6, 1e6, None),
        ("unknown headroom", 100, None, 1e6, None),
    ],
)
def test_single_stall_limit(
    why: str, moves: int, headroom: float | None, gross: float | None, expected: float | None
) -> None:
    assert single_stall_limit(30, moves, MIB, headroom, gross) == pytest.approx(expected), why


@pytest.mark.parametrize(
    ("why", "pair", "single", "single_limit", "settled", "expected"),
    [
        ("the pair stands still", Stall(30, 3), Stall(30, 3), 500.0, True, True),
        ("two polls are too few, however long they took", Stall(300, 2), Stall(300, 2), 30.0, True, False),
        ("29 s are too short, however many polls", Stall(29, 9), Stall(29, 9), 30.0, True, False),
        ("the pair advances, the replica waits for its turn", Stall(0, 0), Stall(105, 10), 524.0, True, False),
        ("the longest healthy wait that was seen", Stall(0, 0), Stall(69, 7), 524.0, True, False),
        ("the pair advances, the replica missed five turns", Stall(0, 0), Stall(524, 50), 524.0, True, True),
        ("the pair advances, no limit for the replica alone", Stall(0, 0), Stall(9999, 99), None, True, False),
        ("a throttle was just lowered: nothing moves for a window", Stall(30, 3), Stall(30, 3), 30.0, False, False),
        ("nothing known", None, None, 30.0, True, False),
    ],
)
def test_is_stuck(
    why: str, pair: Stall | None, single: Stall | None, single_limit: float | None, settled: bool, expected: bool
) -> None:
    assert is_stuck(pair, single, 30, single_limit, settled=settled) is expected, why


NOTHING = MoveFacts(usable_bytes=1e12, next_fetch_bytes=MIB, remaining_bytes=1e9)

CAUSES: list[tuple[Facts, Cause]] = [
    ({"target_answers": False}, Cause.TARGET_DOWN),
    ({"leader_answers": False}, Cause.LEADER_UNRESPONSIVE),
    ({"leader_exists": False, "leader_answers": False}, Cause.NO_LEADER),
    ({"log_dir_online": False}, Cause.LOG_DIR_OFFLINE),
    ({"usable_bytes": 0.0}, Cause.LOG_DIR_FULL),
    ({"usable_bytes": MIB - 1.0}, Cause.LOG_DIR_FULL),
    ({"usable_bytes": 0.9e9}, Cause.TARGET_DISK_TOO_SMALL),
    ({"failed_partitions": 1.0}, Cause.FETCHER_FAILED),
    ({"dead_threads": 1.0}, Cause.FETCHER_FAILED),
    ({"aux_state_errors": 1.0}, Cause.AUX_STATE_ERROR),
    ({"throttle_blocked": True}, Cause.THROTTLE_BLOCKED),
    ({"flow_never_ends": True}, Cause.THROTTLE_BELOW_INBOUND),
    ({"flow_never_ends": True, "throttle_may_lose": False}, Cause.NO_PROGRESS),
    ({"flow_never_ends": False}, Cause.NO_PROGRESS),
    ({"adding_in_isr": True}, Cause.COPIED_NOT_COMPLETED),
    ({}, Cause.NO_PROGRESS),
    ({"usable_bytes": None}, Cause.NO_PROGRESS),
    ({"usable_bytes": 1e9}, Cause.NO_PROGRESS),
    ({"usable_bytes": float(MIB), "remaining_bytes": 1.0}, Cause.NO_PROGRESS),
]


@pytest.mark.parametrize(("facts", "expected"), CAUSES)
def test_cause(facts: Facts, expected: Cause) -> None:
    assert holding(replace(NOTHING, **facts))[0] is expected


@pytest.mark.parametrize(
    ("cause", "seconds", "expected"),
    [
        (Cause.NO_PROGRESS, 254.0, False),
        (Cause.NO_PROGRESS, 255.0, True),
        (Cause.TARGET_DOWN, 254.0, False),
        (Cause.LOG_DIR_FULL, 0.0, True),
        (Cause.NO_LEADER, 0.0, True),
    ],
)
def test_has_lasted(cause: Cause, seconds: float, expected: bool) -> None:
    assert has_lasted(cause, seconds) is expected


@pytest.mark.parametrize(
    ("cause", "seconds", "advanced_at", "expected"),
    [
        (Cause.THROTTLE_BELOW_INBOUND, 179.0, 123.0, True),
        (Cause.THROTTLE_BELOW_INBOUND, 180.0, 123.0, False),
        (Cause.THROTTLE_BELOW_INBOUND, 179.0, 122.0, False),
        (Cause.THROTTLE_BLOCKED, 179.0, 123.0, False),
        (Cause.NO_PROGRESS, 179.0, 123.0, False),
    ],
)
def test_may_be_burst(cause: Cause, seconds: float, advanced_at: float, expected: bool) -> None:
    """The throttle is of 100 s, and settles within 22 s: a move that advanced later may go on once a burst ends."""
    assert may_be_burst(cause, seconds, advanced_at, changed_at=100.0, settled_after=22.0) is expected


def test_every_cause_has_a_row() -> None:
    assert {expected for _, expected in CAUSES} == set(Cause)


FIRST_OF: dict[Cause, dict[str, Any]] = {
    expected: facts for facts, expected in reversed(CAUSES) if expected is not Cause.NO_PROGRESS
}
"""The first row of each cause."""

PAIRS = [
    pair
    for pair in combinations(FIRST_OF, 2)
    # Without a leader none can be unresponsive.
    if set(pair) != {Cause.LEADER_UNRESPONSIVE, Cause.NO_LEADER}
]


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_the_first_cause_wins(pair: tuple[Cause, Cause]) -> None:
    first, second = sorted(pair, key=list(Cause).index)
    facts = MoveFacts(**{**asdict(NOTHING), **FIRST_OF[second], **FIRST_OF[first]})
    assert holding(facts)[0] is first
