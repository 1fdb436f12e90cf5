"""State between polls: what a column declares is what realigning, writing and reading do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pytest

from kafka_warden.arrays import UNKNOWN, Axis, Column, Keys
from kafka_warden.derive.columns import Clock, blank, match, read, realign, write
from kafka_warden.derive.replica_state import Codes
from kafka_warden.model import Bools, Floats, Longs, Side
from tests.building import Partition, snapshot


@dataclass(frozen=True, slots=True)
class Ends:
    """The ends of one poll."""

    clock: float
    end: Annotated[Longs, Column(Axis.PARTITION, UNKNOWN)]


@dataclass(frozen=True, slots=True)
class State:
    """One column of each kind."""

    counts: Annotated[Longs, Column(Axis.TOPIC, 7)]
    size: Annotated[Longs, Column(Axis.REPLICA, UNKNOWN, "sizes", place=0)]
    leader_size: Annotated[Longs, Column(Axis.REPLICA, UNKNOWN, "sizes", place=1)]
    since: Annotated[Floats, Column(Axis.REPLICA, np.nan, "since", time=True)]
    weight: Annotated[Floats, Column(Axis.REPLICA, np.nan, "weight")]
    shown: Annotated[Codes, Column(Axis.REPLICA, UNKNOWN, "shown", names=("slow", "stuck"))]
    in_sync: Annotated[Mapping[Side, Bools], Column(Axis.REPLICA, 0, "in_sync")]
    window: tuple[Ends, ...] = ()


def keys(*names: str) -> Keys:
    """Topics with one partition on brokers 1 and 2."""
    return snapshot({name: [Partition(replicas=[1, 2])] for name in names}).keys


STATE = State(
    counts=np.array([3]),
    size=np.array([10, 20]),
    leader_size=np.array([30, 40]),
    since=np.array([5.0, np.nan]),
    weight=np.array([np.nan, 2.5]),
    shown=np.array([1, UNKNOWN], np.int8),
    in_sync={Side.LEADER: np.array([True, False]), Side.FOLLOWER: np.array([False, True])},
    window=(Ends(1.0, np.array([100])),),
)


def test_written_and_read() -> None:
    seen = snapshot({"a": [Partition(replicas=[1, 2])]}, clock=8.0)
    clock, zero = Clock(seen), seen.time - seen.clock

    rows = write(STATE, Axis.REPLICA, 2, clock)
    again = read(State, seen.keys, {Axis.REPLICA: rows}, clock)

    assert rows == [
        {"sizes": [10, 30], "since": zero + 5.0, "weight": None, "shown": "stuck", "in_sync": ["leader"]},
        {"sizes": [20, 40], "since": None, "weight": 2.5, "shown": None, "in_sync": ["follower"]},
    ]
    for name in ("size", "leader_size", "weight", "shown"):
        np.testing.assert_array_equal(getattr(again, name), getattr(STATE, name))
    assert again.since.tolist() == pytest.approx([5.0, np.nan], nan_ok=True)
    assert {side: column.tolist() for side, column in again.in_sync.items()} == {
        Side.LEADER: [True, False],
        Side.FOLLOWER: [False, True],
    }
    assert (again.counts.tolist(), again.window) == ([7], ())


def test_realigned() -> None:
    moved = realign(STATE, match(keys("b"), keys("a", "b")))

    assert moved.counts.tolist() == [7, 3]
    assert moved.size.tolist() == [UNKNOWN, UNKNOWN, 10, 20]
    assert moved.in_sync[Side.LEADER].tolist() == [False, False, True, False]
    assert [(each.clock, each.end.tolist()) for each in moved.window] == [(1.0, [UNKNOWN, 100])]


def test_blank() -> None:
    new = blank(State, keys("a"))

    assert (new.counts.tolist(), new.size.tolist()) == ([7], [UNKNOWN, UNKNOWN])
    assert new.shown.dtype == np.int8
    assert [column.tolist() for column in new.in_sync.values()] == [[False, False], [False, False]]
