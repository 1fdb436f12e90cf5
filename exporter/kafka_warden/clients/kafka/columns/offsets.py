"""ListOffsets: its request written from columns, and the offsets of its reply as a column.

Where a reply has its partitions is found once, and again where topics changed: a `ReplyShape`.
"""

import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_warden.arrays import UNKNOWN, Ints, Longs
from kafka_warden.clients.kafka.columns.fields import MORE, field_at, ragged, read_varint, words_at, write_length

ASKED: Final = np.dtype([("number", ">i4"), ("epoch", ">i4"), ("timestamp", ">i8"), ("tags", "u1")])
"""A partition in a request of a flexible version."""
ANSWERED: Final = np.dtype(
    [("number", ">i4"), ("error", ">i2"), ("timestamp", ">i8"), ("offset", ">i8"), ("epoch", ">i4"), ("tags", "u1")]
)
"""A partition in a reply."""
SIZE: Final = ANSWERED.itemsize
BEFORE_TOPICS: Final = 5
"""Bytes of a request before its topics: replica id and isolation level."""
AFTER_THROTTLE_TIME: Final = 4
"""Bytes of a reply before its topics, which are the last field."""
WORD: Final = 8

Find = Callable[[Longs, Longs, Longs], Longs]
"""Maps partitions to rows: places of topics, how many partitions of each there are, the numbers of all of them.

A topic that was not asked about has the place `UNKNOWN`.
"""

_LENGTHS: Final = tuple(map(write_length, range(MORE)))
"""Of short arrays."""


def write_request(empty: bytes, names: Sequence[bytes], counts: Sequence[int], numbers: Longs, timestamp: int) -> bytes:
    """Encode a request, given the one without topics.

    `names`: as of `write_name`; `counts`: partitions of each; `numbers`: of the partitions, one topic after the other.
    """
    records = np.zeros(len(numbers), ASKED)
    records["number"], records["epoch"], records["timestamp"] = numbers, -1, timestamp
    raw, first = records.tobytes(), 0
    parts = [empty[:BEFORE_TOPICS], write_length(len(names))]
    for name, count in zip(names, counts, strict=True):
        last = first + ASKED.itemsize * count
        parts += (name, _LENGTHS[count] if count < MORE else write_length(count), raw[first:last], b"\0")
        first = last
    return b"".join([*parts, empty[BEFORE_TOPICS + 1 :]])  # an empty array is one byte


@dataclass(frozen=True, slots=True)
class ReplyShape:
    """Where a reply has its partitions. Replies to the same request mostly have the same shape: only values change."""

    length: int
    places: Ints
    """Where in the body each partition begins."""
    rows: Longs
    """What `find` returned for each."""
    digest: bytes

    @classmethod
    def read(cls, body: bytes, places: Mapping[bytes, int], find: Find) -> "ReplyShape | None":
        """Find the partitions; `None` if the reply has another form. `places`: of topics, by names of `write_name`."""
        try:
            topics, counts, firsts = _scan(bytes(body), places).T
        except (IndexError, ValueError):
            return None
        records = ragged(firsts, counts, SIZE)
        if field_at(body, "u1", records + SIZE - 1).any():
            return None
        rows = find(topics, counts, field_at(body, ">i4", records))
        return cls(len(body), records.astype(np.int32), rows, _digest(body, records))

    def fits(self, body: bytes) -> bool:
        """Return whether a reply differs in nothing but the values."""
        return len(body) == self.length and _digest(body, self.places) == self.digest

    def values(self, body: bytes, name: str) -> Longs:
        """Return a field of `ANSWERED`."""
        kind, offset = ANSWERED.fields[name][:2]  # type: ignore[index]  # it has fields
        return field_at(body, kind.str, self.places + offset)


def _scan(body: bytes, places: Mapping[bytes, int]) -> Longs:
    """Return the place of each topic, how many partitions it has, and where these begin. Shape (topics, 3)."""
    number, position = read_varint(body, AFTER_THROTTLE_TIME)
    found: list[int] = []
    for _ in itertools.repeat(None, number - 1):
        length, first = read_varint(body, position)
        end = first + length - 1
        place = places.get(body[position:end], UNKNOWN)
        body[first:end].decode()
        count, position = read_varint(body, end)
        found += (place, count - 1, position)
        position += SIZE * (count - 1)
        if not length or not count or body[position]:
            raise ValueError("a null, or tagged fields")
        position += 1
    if not number or position != len(body) - 1 or body[position]:
        raise ValueError("no topics, or other fields after them")
    return np.array(found, np.int64).reshape(-1, 3)


def _digest(body: bytes, places: Ints | Longs) -> bytes:
    """Hash all bytes except the values: the throttle time; of a partition, those between its number and last byte."""
    rest = bytearray(body)
    rest[:AFTER_THROTTLE_TIME] = bytes(AFTER_THROTTLE_TIME)
    words = words_at(rest, "u8")
    for offset in {*range(4, SIZE - 1 - WORD, WORD), SIZE - 1 - WORD}:
        words[places + offset] = 0
    return hashlib.blake2b(rest, digest_size=16).digest()
