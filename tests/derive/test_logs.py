"""Replicas without a log and logs without a replica: what two answers in a row agree on."""

import pytest

from kafka_warden.derive.limits import LogCounts
from kafka_warden.model import LogGaps, MissingLog, Snapshot, StrayLog
from tests.building import Partition, judge, snapshot

ID, OTHER = bytes(15) + b"\x01", bytes(15) + b"\x02"

Missing = set[MissingLog] | None
Stray = set[StrayLog]
Answer = tuple[float, float | None, Missing, Stray]

LOST: Missing = {MissingLog("t", ID, 0)}
STRAY: Stray = {StrayLog("x", 0)}


def poll(clock: float, at: float | None, missing: Missing, stray: Stray) -> Snapshot:
    """A poll at which the last answer of broker 1 about all its logs was that of `at`; `None` for none."""
    gaps = LogGaps(at or 0.0, None if missing is None else frozenset(missing), frozenset(stray))
    return snapshot({"t": [Partition()]}, clock=clock, log_gaps={} if at is None else {1: gaps})


@pytest.mark.parametrize(
    ("why", "polls", "expected"),
    [
        ("never answered", [(0, None, set(), set())], None),
        ("nothing is missing: one answer is enough", [(0, 0.0, set(), set())], LogCounts(0, 0)),
        ("something is, for the first time", [(0, 0.0, LOST, STRAY)], LogCounts(None, None)),
        ("the same answer again", [(0, 0.0, LOST, STRAY), (10, 0.0, LOST, STRAY)], LogCounts(None, None)),
        ("a second answer agrees", [(at, at, LOST, {StrayLog("x", 0), ("x", 1)}) for at in (0, 60.0)], LogCounts(1, 2)),
        ("and is still shown", [(at, min(at, 60), LOST, set()) for at in (0, 60.0, 70.0)], LogCounts(1, 0)),
        ("others, which come and go", [(0, 0.0, LOST, STRAY), (60, 60.0, {("t", ID, 1)}, {("y", 0)})], LogCounts(0, 0)),
        ("a topic created again", [(0, 0.0, LOST, set()), (60, 60.0, {("t", OTHER, 0)}, set())], LogCounts(0, 0)),
        ("over", [(0, 0.0, LOST, STRAY), (60, 60.0, LOST, STRAY), (120, 120.0, set(), set())], LogCounts(0, 0)),
        ("a directory is offline", [(0, 0.0, LOST, STRAY), (60, 60.0, None, STRAY)], LogCounts(None, 1)),
        ("and online again", [(0, 0.0, None, set()), (60, 60.0, LOST, set())], LogCounts(None, 0)),
        ("no answers any more", [(0, 0.0, set(), set()), (200, None, set(), set())], None),
    ],
)
def test_counts(why: str, polls: list[Answer], expected: LogCounts | None) -> None:
    """Counts of broker 1, `None` for unknown."""
    assert judge(*(poll(*seen) for seen in polls)).log_counts.get(1) == expected, why
