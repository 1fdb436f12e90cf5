"""Fields of flexible versions: one, or those at many places of a reply at once."""

from typing import Any, Final

import numpy as np
from kafka.protocol.schemas.fields.codecs import UnsignedVarInt32

from kafka_warden.arrays import Longs

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


def write_length(length: int) -> bytes:
    """Encode how many elements or bytes a compact array or string has."""
    return bytes(UnsignedVarInt32.encode(length + 1))


def write_name(name: bytes) -> bytes:
    """Encode a compact string."""
    return write_length(len(name)) + name


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
