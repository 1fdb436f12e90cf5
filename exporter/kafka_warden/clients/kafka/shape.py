"""The form of a ListOffsets reply: where it has the values. It is found once, and again where topics changed."""

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from kafka_warden.clients.kafka.columns import MORE, UNKNOWN, Ints, Longs, field_at, ragged, read_varint, words_at

Find = Callable[[Longs, Longs, Longs], Longs]
"""Maps partitions to rows: places of topics, how many partitions of each there are, the numbers of all of them."""

WORD: Final = 8

_FAR: Final = 1 << 40
"""Bytes: after the end of any reply."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Where a reply has the records of its partitions, all of one size. Their first field is the partition's number.

    Replies to the same request mostly have the same shape: then nothing but values has changed.
    """

    size: int
    length: int
    places: Ints
    """Where in the body each record begins."""
    rows: Longs
    """What `find` returned for each record."""
    digest: bytes

    @classmethod
    def read(cls, body: bytes, position: int, size: int, places: Mapping[bytes, int], find: Find) -> "Shape | None":
        """Find the topics, which begin at a position and are the last field. `None` if the reply has another form.

        `places`: of topics, by their names as of `write_name`.
        """
        try:
            topics, counts, firsts = _scan(bytes(body), position, size, places).T
        except (IndexError, ValueError):
            return None
        records = ragged(firsts, counts, size)
        if field_at(body, "u1", records + size - 1).any():
            return None
        rows = find(topics, counts, field_at(body, ">i4", records))
        return cls(size, len(body), records.astype(np.int32), rows, _digest(body, records, size))

    def fits(self, body: bytes) -> bool:
        """Return whether a reply differs in nothing but the values."""
        return len(body) == self.length and _digest(body, self.places, self.size) == self.digest

    def columns(self, body: bytes, record: np.dtype[np.void], *names: str) -> Iterator[Longs]:
        """Return the values of some fields."""
        for name in names:
            yield field_at(body, record[name].str, self.places + record.fields[name][1])  # type: ignore[index]  # it has


def _scan(body: bytes, position: int, size: int, places: Mapping[bytes, int]) -> Longs:
    """Return the place of each topic, how many records it has, and where these begin. Shape (topics, 3)."""
    number, first = read_varint(body, position)
    try:
        found, position = _known_topics(body, first, size, places, number - 1)
    except LookupError:
        found, position = _topics(body, first, size, places, number - 1)
    if not number or position != len(body) - 1 or body[position]:
        raise ValueError("no topics, or other fields after them")
    return found


def _known_topics(body: bytes, position: int, size: int, places: Mapping[bytes, int], number: int) -> tuple[Longs, int]:
    """Read so many topics from a position on, and return the position after them, too.

    Raises:
        LookupError: one of them was not asked about, or its numbers do not fit into a byte, or are null.
    """
    found, heads = [], []
    skips = [_FAR, *(size * count + 2 for count in range(MORE - 1)), *[_FAR] * MORE]
    for _ in itertools.repeat(None, number):
        head = position + body[position]
        found.append(places[body[position:head]])
        heads.append(head)
        position = head + skips[body[head]]
    if position >= len(body):
        raise LookupError("the last topic is not of this kind")
    firsts = np.array(heads, np.int64) + 1
    counts = field_at(body, "u1", firsts - 1) - 1
    if field_at(body, "u1", firsts + size * counts).any():
        raise ValueError("tagged fields")
    return np.stack([np.array(found, np.int64), counts, firsts], 1), position


def _topics(body: bytes, position: int, size: int, places: Mapping[bytes, int], number: int) -> tuple[Longs, int]:
    """Do the same for any topics."""
    found: list[int] = []
    for _ in itertools.repeat(None, number):
        length, first = read_varint(body, position)
        end = first + length - 1
        place = places.get(body[position:end], UNKNOWN)
        body[first:end].decode()
        count, position = read_varint(body, end)
        found += (place, count - 1, position)
        position += size * (count - 1)
        if not length or not count or body[position]:
            raise ValueError("a null, or tagged fields")
        position += 1
    return np.array(found, np.int64).reshape(-1, 3), position


def _digest(body: bytes, places: Any, size: int) -> bytes:
    """Hash all bytes except the values: those of each record between its first four bytes and its last one."""
    rest = bytearray(body)
    words = words_at(rest, "u8")
    for offset in {*range(4, size - 1 - WORD, WORD), size - 1 - WORD}:
        words[places + offset] = 0
    return hashlib.blake2b(rest, digest_size=16).digest()
