"""Large replies and requests of flexible versions, read and written as columns.

kafka-python makes one object for each partition: 2.5 s of CPU for 600,000 replicas. Replies that are not as these
functions expect, for example with tagged fields, are left to kafka-python's decoder and its checks.
"""

from collections.abc import Sequence
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
