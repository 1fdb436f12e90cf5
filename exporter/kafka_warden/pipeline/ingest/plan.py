"""Decides which landing files a batch takes, from the ranges of their rows. Pure: no files, no Spark."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from kafka_warden.history.parquet.reader import Found
from kafka_warden.pipeline.ingest.ranges import Range


class How(StrEnum):
    """What a batch does with a file."""

    NEW = "new"
    """No known row is of its ranges: all rows are taken."""
    MERGE = "merge"
    """It overlaps another file: rows are taken that no other file has."""
    DUPLICATE = "duplicate"
    """The same ranges with as many rows are known: no row is taken."""
    OFFSETS = "offsets"
    """Not of rows: a range of offsets of a partition, `first` to `last`, that the batch takes."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A file of a batch."""

    file: Found
    ranges: Sequence[Range]
    how: How


@dataclass(frozen=True, slots=True)
class Gap:
    """Polls between two known ranges of a run that no file has."""

    cluster_id: str
    run: str
    first: int
    last: int
    """Sequences, inclusive."""


Of = tuple[str, str, str]
"""Table, cluster and run."""

Known = Mapping[Of, Sequence[Range]]

EVERY_POLL: Final = "polls"
"""The table with one row in each poll, in which a gap of sequences is a loss."""


def planned(files: Iterable[tuple[Found, Sequence[Range]]], known: Known) -> list[Planned]:
    """Decide about every file, in the order of hour and path. `known`: ranges of earlier batches."""
    seen: defaultdict[Of, dict[Range, int | None]] = defaultdict(dict)
    for of, ranges in known.items():
        seen[of] = dict.fromkeys(ranges)
    decided: list[Planned] = []
    for file, ranges in files:
        keys = [(file.table, each.cluster_id, each.run) for each in ranges]
        if all(each.whole and each in seen[of] for of, each in zip(keys, ranges, strict=True)):
            decided.append(Planned(file, ranges, How.DUPLICATE))
            continue
        how = How.NEW
        for of, each in zip(keys, ranges, strict=True):
            for index in [index for other, index in seen[of].items() if _overlap(each, other)]:
                how = How.MERGE
                if index is not None:
                    # Their order says nothing about which of two files is whole, so both are compared row by row.
                    decided[index] = Planned(decided[index].file, decided[index].ranges, How.MERGE)
        for of, each in zip(keys, ranges, strict=True):
            seen[of][each] = len(decided)
        decided.append(Planned(file, ranges, how))
    return decided


def whole_runs(decided: Sequence[Planned], twice: Collection[Of] = ()) -> list[Planned]:
    """Compare a run row by row where one of its ranges is, or where `twice` has it. Each has one range."""
    compared = {_of(each) for each in decided if each.how is How.MERGE} | set(twice)
    return [replace(each, how=How.MERGE) if _of(each) in compared else each for each in decided]


def _of(each: Planned) -> Of:
    (part,) = each.ranges
    return each.file.table, part.cluster_id, part.run


def gaps(decided: Iterable[Planned], known: Known) -> list[Gap]:
    """Return the polls that are missing before a new range of a run.

    A run begins with poll 0. The first runs of a cluster in the store may be older than its history.
    """
    clusters = {cluster for table, cluster, _ in known if table == EVERY_POLL}
    added: defaultdict[Of, set[Range]] = defaultdict(set)
    for each in decided:
        if each.file.table == EVERY_POLL and each.how is not How.DUPLICATE:
            for part in each.ranges:
                added[each.file.table, part.cluster_id, part.run].add(part)
    found = []
    for of, fresh in sorted(added.items()):
        before: int | None = -1 if of[1] in clusters else None
        for part in sorted({*known.get(of, ()), *fresh}, key=lambda part: part.first):
            if before is not None and part in fresh and part.first > before + 1:
                found.append(Gap(*of[1:], before + 1, part.first - 1))
            before = part.last if before is None else max(before, part.last)
    return found


def _overlap(one: Range, other: Range) -> bool:
    return one.first <= other.last and other.first <= one.last
