"""Large replies and requests of flexible versions, read and written as columns.

kafka-python makes one object for each partition: 2.5 s of CPU for 600,000 replicas. Replies that are not as these
functions expect, for example with tagged fields, are left to kafka-python's decoder and its checks.

The form of a ListOffsets reply is found once, and again where topics changed: a `Shape`.
"""

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from kafka.protocol.schemas.fields.codecs import UnsignedVarInt32

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

UNKNOWN: Final = -1
"""Place of a topic that was not asked about."""

MORE: Final = 0x80
"""Bit of a varint's byte: another byte follows."""


Find = Callable[[Longs, Longs, Longs], Longs]
"""Maps partitions to rows: places of topics, how many partitions of each there are, the numbers of all of them."""

WORD: Final = 8

_FAR: Final = 1 << 40
"""Bytes: after the end of any reply."""


def read_varint(body: bytes, position: int) -> tuple[int, int]:
    """Return an unsigned varint, and the position after it.

    Raises:
        ValueError: it has more than three bytes, as no number of topics, partitions or characters has here.
    """
    value = 0
    for shift in (0, 7, 14):
        byte = body[position]
        position += 1
        value |= (byte & ~MORE) << shift
        if byte < MORE:
            return value, position
    raise ValueError("a varint is too long")


def write_name(name: bytes) -> bytes:
    """Encode a compact string."""
    return bytes(UnsignedVarInt32.encode(len(name) + 1) + name)


def write_topics(names: Sequence[bytes], counts: Sequence[int], records: Any) -> bytes:
    """Encode a compact array of topics, each with its name and its partitions.

    `names`: as of `write_name`; `counts`: partitions of each; `records`: a structured array with one element a
    partition, its byte of tagged fields included.
    """
    raw, size, parts, first = records.tobytes(), records.dtype.itemsize, [UnsignedVarInt32.encode(len(names) + 1)], 0
    for name, count in zip(names, counts, strict=True):
        last = first + size * count
        parts += (
            name,
            _LENGTHS[count] if count < len(_LENGTHS) else UnsignedVarInt32.encode(count + 1),
            raw[first:last],
            b"\0",
        )
        first = last
    return b"".join(parts)


_LENGTHS: Final = tuple(UnsignedVarInt32.encode(count + 1) for count in range(MORE))
"""Compact lengths of short arrays."""


def ragged(firsts: Longs, counts: Longs, step: int) -> Longs:
    """Return the places of groups of equally distant elements: where each group begins, and how many it has."""
    if len(counts) and (counts == counts[0]).all():
        alike: Longs = (firsts[:, None] + step * np.arange(counts[0])).ravel()
        return alike
    before = np.cumsum(counts) - counts
    places: Longs = np.repeat(firsts - step * before, counts) + step * np.arange(counts.sum(), dtype=np.int64)
    return places


def field_at(body: bytes, kind: str, places: Any) -> Longs:
    """Return the values of a numpy type at some positions, which need not be aligned.

    Raises:
        IndexError: one of them is not in the body.
    """
    values: Longs = words_at(body, kind)[places].astype(np.int64)
    return values


def words_at(data: Any, kind: str) -> Any:
    """View the value that begins at each byte."""
    width = np.dtype(kind).itemsize
    return np.ndarray(
        (max(len(data) - width + 1, 0),), kind, buffer=data if len(data) >= width else bytearray(), strides=(1,)
    )


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
