"""Which row of an older table is the same partition or replica as a row of a newer one.

A partition is the same when topic name, topic id and number are: a topic created again with an old name is another.
"""

from dataclasses import dataclass

import numpy as np

from kafka_warden.formulas.ops import UNKNOWN, Ints, Longs


@dataclass(frozen=True, slots=True)
class Keys:
    """The identity of rows. P partitions, R replicas."""

    topics: tuple[str, ...]
    topic_ids: tuple[bytes, ...]
    topic: Ints
    """(P,) index into `topics`."""
    number: Ints
    """(P,) partition number."""
    partition: Ints
    """(R,) row of the partition."""
    broker: Ints
    """(R,) broker id."""

    def same(self, other: "Keys") -> bool:
        """Return whether both have the same partitions and replicas in the same rows."""
        pairs = (
            (self.topic, other.topic),
            (self.number, other.number),
            (self.partition, other.partition),
            (self.broker, other.broker),
        )
        names = self.topic_ids == other.topic_ids and self.topics == other.topics
        return names and all(mine is theirs or np.array_equal(mine, theirs) for mine, theirs in pairs)


def match_partitions(old: Keys, new: Keys) -> Longs:
    """For each partition row of `new` its row in `old`, or `UNKNOWN`. Shape (P of new,)."""
    uid: dict[tuple[str, bytes], int] = {}
    for keys in (old, new):
        for identity in zip(keys.topics, keys.topic_ids, strict=True):
            uid.setdefault(identity, len(uid))
    return _find(_partition_keys(old, uid), _partition_keys(new, uid))


def match_replicas(old: Keys, new: Keys, partitions: Longs) -> Longs:
    """For each replica row of `new` its row in `old`, or `UNKNOWN`, given `match_partitions`. Shape (R of new,)."""
    wanted = partitions[new.partition]
    found = np.full(len(wanted), UNKNOWN, np.int64)
    known = np.flatnonzero(wanted != UNKNOWN)
    if not len(known) or not len(old.broker):
        return found
    # Most replicas have the same place among those of their partition. Only the others are searched for.
    place = known - _firsts(new)[new.partition[known]]
    candidate = np.minimum(_firsts(old)[wanted[known]] + place, len(old.broker) - 1)
    same = (old.partition[candidate] == wanted[known]) & (old.broker[candidate] == new.broker[known])
    found[known[same]] = candidate[same]
    rest = known[~same]
    searched = np.flatnonzero(np.bincount(wanted[rest], minlength=len(old.number))[old.partition])
    among = _find(_pair(old.partition[searched], old.broker[searched]), _pair(wanted[rest], new.broker[rest]))
    found[rest[among != UNKNOWN]] = searched[among[among != UNKNOWN]]
    return found


def carry(column: np.ndarray, rows: Longs, missing: float) -> np.ndarray:
    """The column with row i taken from the old row `rows[i]`, `missing` where that is `UNKNOWN`."""
    if not len(column):
        return np.full(len(rows), missing, column.dtype)
    taken = column.take(rows, mode="clip")
    taken[rows == UNKNOWN] = missing
    return taken


def _firsts(keys: Keys) -> Longs:
    """Return the first replica row of each partition; the rows of a partition stand together."""
    counts = np.bincount(keys.partition, minlength=len(keys.number))
    firsts: Longs = np.cumsum(counts) - counts
    return firsts


def _partition_keys(keys: Keys, uid: dict[tuple[str, bytes], int]) -> Longs:
    if not keys.topics:
        return np.zeros(0, np.int64)
    ids = np.array([uid[identity] for identity in zip(keys.topics, keys.topic_ids, strict=True)], dtype=np.int64)
    return _pair(ids[keys.topic], keys.number)


def _pair(high: Ints | Longs, low: Ints | Longs) -> Longs:
    paired: Longs = (high.astype(np.int64) << 32) | low
    return paired


def _find(keys: Longs, wanted: Longs) -> Longs:
    if not len(keys):
        return np.full(len(wanted), UNKNOWN, np.int64)
    order = np.argsort(keys, kind="stable")
    candidate = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    return np.where(keys[candidate] == wanted, candidate, UNKNOWN)
