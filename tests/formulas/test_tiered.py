"""Tiered storage: what is overdue, for how long it has stalled, and a quota that cannot be upheld."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.formulas import tiered
from exporter.formulas.ops import ARRAYS, NUMBERS

GIB = 1 << 30


@pytest.mark.parametrize(
    ("why", "end", "start", "copied", "uncopied"),
    [
        ("the tiered offset is inclusive", 6000, 0, 5346, 653),
        ("nothing tiered counts from the log's start", 6000, 100, -1, 5900),
        ("all but the last record", 6000, 0, 5998, 1),
        ("everything", 6000, 0, 5999, 0),
        ("retention passed what was tiered", 6000, 5500, 5346, 500),
        ("empty", 0, 0, -1, 0),
        ("the tiered offset was asked after the end", 6000, 0, 6100, 0),
    ],
)
def test_uncopied_offsets(why: str, end: int, start: int, copied: int, uncopied: int) -> None:
    """Offsets that are not yet in remote storage."""
    seen = tiered.uncopied_offsets(np.array([end]), np.array([start]), np.array([copied]))

    assert seen.tolist() == [uncopied], why


@pytest.mark.parametrize(
    ("why", "uncopied", "per_offset", "segment", "expected"),
    [
        ("the active segment never copies", 653, 100.0, 1 << 20, 0),
        ("two segments of 1 MiB wait, one is active", 3 << 20, 1.0, 1 << 20, 2 << 20),
        ("exactly one segment", 1 << 20, 1.0, 1 << 20, 0),
        ("offsets of 2 bytes", 1 << 20, 2.0, 1 << 20, 1 << 20),
    ],
)
def test_overdue_bytes(why: str, uncopied: float, per_offset: float, segment: float, expected: float) -> None:
    """Bytes beyond what an active segment may hold."""
    arrays = (np.array([value]) for value in (uncopied, per_offset, segment))

    assert tiered.overdue_bytes(NUMBERS, uncopied, per_offset, segment) == expected, why
    assert tiered.overdue_bytes(ARRAYS, *arrays)[0] == expected, why


@pytest.mark.parametrize(
    ("why", "polls", "expected"),
    [
        ("nothing overdue", [(0, 10, False), (10, 10, False)], 0),
        ("overdue and not moving", [(0, 10, True), (10, 10, True), (20, 10, True)], 20),
        ("overdue and moving", [(0, 10, True), (10, 20, True), (20, 30, True)], 0),
        ("overdue only since the second poll", [(0, 10, False), (10, 10, True), (20, 10, True)], 10),
        ("no longer overdue", [(0, 10, True), (10, 10, True), (20, 10, False)], 0),
        ("the clock goes back", [(50, 10, True), (20, 10, True)], 0),
    ],
)
def test_stalled(why: str, polls: list[tuple[float, int, bool]], expected: float) -> None:
    """Seconds since the latest tiered offset last moved while something is overdue."""
    state, seconds = None, np.array([0.0])
    for clock, offset, overdue in polls:
        state, seconds = tiered.stalled(state, clock, np.array([offset]), np.array([overdue]))

    assert seconds.tolist() == [expected], why


@pytest.mark.parametrize(("quota", "expected"), [(97.7e6, True), (97.6e6, False), (float("inf"), True)])
def test_copy_quota_upheld(quota: float, expected: bool) -> None:
    """1 GiB in 11 s needs a quota of 97.6 MB/s, as a segment is copied whole; equality is upheld."""
    assert tiered.copy_quota_upheld(quota, GIB, 11) is expected
    assert tiered.copy_quota_upheld(10, 110, 11) is True


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 40), st.integers(-1, 1 << 40), st.integers(0, 1 << 40))
def test_copying_never_adds_to_what_is_left(end: int, start: int, copied: int, more: int) -> None:
    """Uncopied offsets are never negative and only shrink as the tiered offset moves on."""
    before, after = (
        tiered.uncopied_offsets(np.array([end]), np.array([start]), np.array([offset]))[0]
        for offset in (copied, copied + more)
    )

    assert 0 <= after <= before
