"""Where the rows of a reply that is grouped by topic belong in the tables of the model."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from exporter.clients.kafka.repeated import Repeated
from exporter.model import Longs
from exporter.sources.metadata import Layout


@dataclass(slots=True)
class TopicRows:
    """The partitions of one topic that one broker is asked about, and their rows in the `ReplicaTable`."""

    numbers: list[int]
    rows: Longs
    by_number: dict[int, int] | None = None

    def find(self, numbers: list[int]) -> tuple[Longs, list[int] | None]:
        """Rows of the given partitions, and which of them are known when not all are (`None`: all, in this order)."""
        if numbers == self.numbers:
            return self.rows, None
        if self.by_number is None:
            self.by_number = dict(zip(self.numbers, self.rows.tolist(), strict=True))
        known = [index for index, number in enumerate(numbers) if number in self.by_number]
        rows = np.array([self.by_number[numbers[index]] for index in known], dtype=np.int64)
        return rows, known


@dataclass(slots=True)
class RowIndex:
    """The replicas of one broker (or some of them), by topic name."""

    topics: dict[str, TopicRows] = field(default_factory=dict)
    requests: dict[int, Repeated] = field(default_factory=dict, repr=False, compare=False)
    """ListOffsets requests for these replicas, by timestamp."""

    def __bool__(self) -> bool:
        return bool(self.topics)

    def __iter__(self) -> Iterator[tuple[str, list[int]]]:
        return ((name, rows.numbers) for name, rows in self.topics.items())

    def scatter(self, target: Longs, topic: str, numbers: list[int], values: Iterable[int]) -> int:
        """Write the values of some partitions of a topic to their rows of a column; return how many had no row."""
        rows = self.topics.get(topic)
        if rows is None:
            return len(numbers)
        where, known = rows.find(numbers)
        column = np.fromiter(values, dtype=np.int64, count=len(numbers))
        target[where] = column if known is None else column[known]
        return 0 if known is None else len(numbers) - len(known)


def index_rows(layout: Layout, rows: Any) -> RowIndex:
    """Index some rows of the `ReplicaTable`, given in ascending order."""
    partition = layout.partition[rows]
    topic, number = layout.topic[partition], layout.number[partition]
    edges = np.flatnonzero(np.diff(topic)) + 1
    index = RowIndex()
    for part_rows, part_topic, part_number in zip(
        np.split(rows, edges), np.split(topic, edges), np.split(number, edges), strict=True
    ):
        if len(part_rows):
            index.topics[layout.topics[part_topic[0]]] = TopicRows(part_number.tolist(), part_rows.astype(np.int64))
    return index
