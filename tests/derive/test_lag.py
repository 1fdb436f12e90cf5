"""Lag in messages and bytes, and sums that are withheld. Offsets are log ends; U is unknown."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.arrays import UNKNOWN
from kafka_warden.derive import lag

U = UNKNOWN
NAN = float("nan")


def longs(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize(
    ("why", "end", "leader_end", "elected", "expected", "clamped"),
    [
        ("behind by 40", 60, 100, False, 40, 0),
        ("caught up", 100, 100, False, 0, 0),
        ("both empty", 0, 0, False, 0, 0),
        ("the leader was asked before the last batch: clamped and counted", 105, 100, False, 0, 1),
        ("the follower does not answer and never did", U, 100, False, U, 0),
        ("the leader does not answer", 60, U, False, U, 0),
        ("after an election, below the new leader's end: comparable", 60, 100, True, 40, 0),
        ("after an election, above it: the old epoch's records, to be truncated", 105, 100, True, U, 0),
    ],
)
def test_messages(why: str, end: int, leader_end: int, elected: bool, expected: int, clamped: int) -> None:
    seen = lag.messages(longs(end), longs(leader_end), np.array([elected]))
    assert (seen.values[0], seen.clamped) == (expected, clamped), why


@pytest.mark.parametrize(
    ("why", "messages", "held", "per_offset", "expected"),
    [
        ("40 messages of 100 bytes", 40, 1000, 100.0, 4000.0),
        ("no lag is no bytes even before log dirs answered", 0, U, NAN, 0.0),
        ("lag is unknown", U, 1000, 100.0, NAN),
        ("bytes per offset not learned yet", 40, 1000, NAN, NAN),
        ("a new replica copies only what the leader still holds", 5000, 1000, 100.0, 100_000.0),
        ("the leader's start is unknown: nothing is capped", 5000, U, 100.0, 500_000.0),
        ("the leader's log was emptied by retention", 5000, 0, 100.0, 0.0),
    ],
)
def test_lag_bytes(why: str, messages: int, held: int, per_offset: float, expected: float) -> None:
    seen = lag.offsets_to_bytes(lag.to_copy(longs(messages), longs(held)), np.array([per_offset]))
    np.testing.assert_equal(seen, [expected], err_msg=why)


@pytest.mark.parametrize(
    ("size", "leader_size", "expected"),
    [(600, 1000, 400.0), (1000, 1000, 0.0), (1001, 1000, 0.0), (U, 9, NAN), (9, U, NAN)],
)
def test_lag_bytes_by_size(size: int, leader_size: int, expected: float) -> None:
    np.testing.assert_equal(lag.lag_bytes_by_size(longs(size), longs(leader_size)), [expected])


@pytest.mark.parametrize(
    ("why", "then", "leader_then", "size", "leader_size", "before", "expected"),
    [
        ("both grow", 40, 100, 50, 110, 7.0, 7.0),
        ("the follower cleaned 20 of its own", 40, 100, 20, 100, 0.0, -20.0),
        ("the leader cleaned 50, of which 30 were to be copied", 40, 100, 40, 50, 0.0, 20.0),
        ("and all of them where all was", 0, 100, 0, 50, 0.0, 0.0),
        ("and none where nothing was", 100, 100, 100, 50, 0.0, 50.0),
        ("what cleaning changed before counts as to be copied", 40, 100, 40, 50, 15.0, 27.5),
        ("both deleted their oldest segment", 40, 100, 30, 90, 5.0, 5.0),
        ("nothing was compared before", U, U, 50, 110, 0.0, 0.0),
        ("the leader was empty", 0, 0, 0, 10, 0.0, 0.0),
    ],
)
def test_cleaned(
    why: str, then: int, leader_then: int, size: int, leader_size: int, before: float, expected: float
) -> None:
    """Cleaning changes the difference, but not the bytes to copy, except for the leader's share."""
    seen = lag.cleaned_bytes(longs(then), longs(leader_then), longs(size), longs(leader_size), np.array([before]))
    assert seen[0] == expected, why


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**12)), min_size=1, max_size=20))
def test_cleaning_makes_no_lag_negative_or_unknown(polls: list[tuple[int, int]]) -> None:
    then, leader_then, kept = longs(U), longs(U), np.array([0.0])
    for size, leader in polls:
        kept = lag.cleaned_bytes(then, leader_then, longs(size), longs(leader), kept)
        then, leader_then = longs(size), longs(leader)
        assert lag.lag_bytes_by_size(then, leader_then, kept)[0] >= 0


@pytest.mark.parametrize(
    ("why", "by_size", "lacking", "average", "expected"),
    [
        ("40 messages of 150 bytes in a log of lighter ones", 6000.0, 40, 100.0, 150.0),
        ("one byte", 1.0, 1, 1.0, 1.0),
        ("the sizes cannot be compared", NAN, 40, 100.0, NAN),
        ("nothing is lacking by the ends", 6000.0, 0, 100.0, NAN),
        ("nothing is lacking by the sizes, which were read later", 0.0, 40, 100.0, NAN),
        ("the lag in messages is not known", 6000.0, U, 100.0, NAN),
        ("one message by the ends, a second's by the sizes", 1e6, 1, 100.0, 1000.0),
        ("a second's messages by the ends, one by the sizes", 100.0, 10_000, 100.0, 10.0),
    ],
)
def test_lacking_bytes_per_offset(why: str, by_size: float, lacking: int, average: float, expected: float) -> None:
    seen = lag.lacking_bytes_per_offset(np.array([by_size]), longs(lacking), np.array([average]))
    np.testing.assert_equal(seen, [expected], err_msg=why)


def test_sums_by_broker() -> None:
    host = np.array([0, 0, 1, 1, 2, U], dtype=np.int32)
    parts = np.array([10.0, 5.0, 7.0, NAN, 3.0, 99.0])
    seen = lag.sums(host, parts, 4)
    np.testing.assert_equal(seen.values, [15.0, NAN, 3.0, 0.0])
    assert seen.unknown.tolist() == [0, 1, 0, 0]


def test_sums_count_followers_only() -> None:
    host = np.array([0, 0], dtype=np.int32)
    seen = lag.sums(host, np.array([NAN, 5.0]), 1, of=np.array([False, True]))
    assert seen.values.tolist() == [5.0]
    assert seen.unknown.tolist() == [0]


def test_unknown_is_not_late() -> None:
    behind, limit = np.array([30.0, 30.1, NAN, 99.0]), np.array([30.0, 30.0, 30.0, NAN])
    assert lag.out_of_sync_by_time(behind, limit).tolist() == [False, True, False, False]


offsets = st.integers(UNKNOWN, 1 << 60)


@given(st.lists(st.tuples(offsets, offsets, st.booleans()), min_size=1, max_size=20))
def test_lag_is_never_negative(rows: list[tuple[int, int, bool]]) -> None:
    end, leader_end, elected = (np.array(column) for column in zip(*rows, strict=True))
    seen = lag.messages(end, leader_end, elected)
    assert ((seen.values == UNKNOWN) | (seen.values >= 0)).all()
    assert (seen.values[(end == UNKNOWN) | (leader_end == UNKNOWN)] == UNKNOWN).all()
    assert 0 <= seen.clamped <= len(rows)
