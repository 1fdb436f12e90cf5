"""Decides which offsets of a topic a batch takes, and which were lost. Pure: no brokers, no Spark."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

MOST: Final = 20_000
"""Messages of one batch, of at most 256 KiB each: Spark keeps them in memory and on its local disk for all tables."""


class Ends(NamedTuple):
    """The log of one partition."""

    first: int
    """Its first offset, or the next one if it is empty."""
    after: int
    """The offset that the next message will get."""


@dataclass(frozen=True, slots=True)
class Span:
    """A range of offsets of one partition."""

    partition: int
    first: int
    after: int
    """One more than the last offset; `first` if there are none."""


def spans(logs: Mapping[int, Ends], marks: Mapping[int, int], most: int = MOST) -> list[Span]:
    """Return what the next batch takes: at most `most` offsets, divided by what each partition has left.

    `marks`: partition to the next offset, for partitions that earlier batches know. An empty range only sets a mark.
    Each batch sets those of all partitions, since old marks are deleted. If no partition has new offsets: no range.
    """
    left = {}
    for partition, (first, after) in sorted(logs.items()):
        begin = max(first, marks.get(partition, 0))
        left[partition] = Span(partition, begin, max(begin, after))
    if all(partition in marks and each.after == marks[partition] for partition, each in left.items()):
        return []
    total = sum(each.after - each.first for each in left.values())
    if total <= most:
        return list(left.values())
    shares = {each.partition: -(-(each.after - each.first) * most // total) for each in left.values()}
    return [replace(each, after=each.first + shares[each.partition]) for each in left.values()]


def remaining(planned: Sequence[Span], logs: Mapping[int, Ends]) -> list[Span]:
    """Return what the topic still has of planned ranges."""
    return [
        replace(each, first=min(max(each.first, logs[each.partition].first), each.after))
        for each in planned
        if each.partition in logs
    ]


def expired(wanted: Sequence[Span], logs: Mapping[int, Ends]) -> list[Span]:
    """Return the ranges that the topic deleted, given those that should be there."""
    gone = []
    for each in wanted:
        first = logs[each.partition].first if each.partition in logs else each.after
        if first > each.first and each.after > each.first:
            gone.append(replace(each, after=min(first, each.after)))
    return gone


def lost(logs: Mapping[int, Ends], marks: Mapping[int, int]) -> Iterator[Span]:
    """Yield what a topic deleted since the last batch. Without marks nothing is known; a new partition begins at 0."""
    for partition, (first, _) in sorted(logs.items()):
        mark = marks.get(partition, 0) if marks else first
        if first > mark:
            yield Span(partition, mark, first)


def truncated(logs: Mapping[int, Ends], marks: Mapping[int, int]) -> Iterator[Span]:
    """Yield offsets that were taken and that a partition no longer has at its end, as after an unclean election."""
    for partition, (_, after) in sorted(logs.items()):
        if after < marks.get(partition, 0):
            yield Span(partition, after, marks[partition])
