"""Bytes of replies: well-formed ones with absurd values, and mutations of any."""

import random
import struct
from typing import Any, Final

from kafka.protocol.schemas.fields.codecs import UnsignedVarInt32

INTS: Final = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "int64": "q"}
FLOATS: Final = (0.0, -0.0, 1.0, -1.0, 11.5, 1e308, float("inf"), float("-inf"), float("nan"))
NUMBERS: Final = (
    *("-1", "0", "1", "5", "1000", "2147483647", "2147483648", "9223372036854775807", "9" * 20, "1" + "0" * 400),
    *("9" * 5000, "1.0", "1e308", "nan", "inf", "many", ""),
)
"""Values of a configuration: numbers that Kafka accepts for some keys, and others."""
WORDS: Final = (
    *("a", "b", "1", "2", "", "user", "client-id", "controller_mutation_rate", "__cluster_metadata", "NONCE"),
    *NUMBERS,
    *("true", "1e400", "0:1,1:2", "*", "localhost"),
    *("\0\n\x1b[31m\u202e", "\U0001f4a3"),
    *("leader.replication.throttled.rate", "replica.lag.time.max.ms", "replication.quota.window.size.seconds"),
    *("segment.bytes", "min.insync.replicas", "leader.replication.throttled.replicas", "cleanup.policy", "/data"),
)
"""Texts that the parsers look for, and some that they cannot use."""
AUTH: Final = (
    b"r=NONCEx,s=c2FsdA==,i=4096",
    b"r=NONCEx,s=c2FsdA==,i=999999",
    b"r=NONCE,s=,i=" + b"9" * 99,
    b"v=c2FsdA==",
    b"e=other-error",
    b"",
)
MOST_ELEMENTS: Final = 3
TAGGED: Final = 0.1
"""Share of structures with unknown tagged fields."""


def number(chance: random.Random, form: str) -> int:
    """Choose an integer of a `struct` format: mostly small, else an extreme or any."""
    size = struct.calcsize(form)
    least, most = (0, (1 << 8 * size) - 1) if form.isupper() else (-(1 << 8 * size - 1), (1 << 8 * size - 1) - 1)
    some = (0, 0, 0, 1, 1, 2, 3, max(least, -1), least, most, chance.randint(least, most))
    return chance.choice(some)


class Body:
    """A reply of one class and version that is as its schema says, with values that no broker has."""

    def __init__(self, chance: random.Random, response_class: Any, version: int) -> None:
        self._chance = chance
        self._version = version
        self._flexible = response_class.flexible_version_q(version)
        self._struct = response_class._struct

    def encode(self) -> bytes:
        return self._fields(self._struct)

    def _fields(self, owner: Any) -> bytes:
        fields = b"".join(self._field(field) for field in owner.untagged_fields(self._version))
        return fields + self._tags() if self._flexible else fields

    def _tags(self) -> bytes:
        if self._chance.random() > TAGGED:
            return b"\0"
        parts = [self._chance.randbytes(self._chance.randint(0, 5)) for _ in range(self._chance.randint(1, 3))]
        numbered = enumerate(parts, self._chance.randint(0, 200))
        tags = (UnsignedVarInt32.encode(tag) + UnsignedVarInt32.encode(len(part)) + part for tag, part in numbered)
        return UnsignedVarInt32.encode(len(parts)) + b"".join(tags)

    def _field(self, field: Any) -> bytes:
        if field.is_array():
            return self._array(field)
        if field.is_struct():
            return self._fields(field)
        return self._simple(field)

    def _array(self, field: Any) -> bytes:
        if field.nullable_for_version_q(self._version) and self._chance.random() < 0.1:
            return self._length(-1, ">i")
        inner = field.array_of
        make: Any = self._fields if field.is_struct_array() else self._simple
        count = self._chance.randint(0, MOST_ELEMENTS)
        return self._length(count, ">i") + b"".join(make(inner) for _ in range(count))

    def _simple(self, field: Any) -> bytes:
        kind, chance = field._type_str.removeprefix("[]"), self._chance
        if kind in INTS:
            # Most error codes are 0, or nothing behind them would be read.
            value = 0 if field.name == "error_code" and chance.random() < 0.9 else number(chance, INTS[kind])
            return struct.pack(f">{INTS[kind]}", value)
        fixed: dict[str, Any] = {
            "bool": lambda: chance.randbytes(1),
            "bitfield": lambda: chance.randbytes(4),
            "float64": lambda: struct.pack(">d", chance.choice(FLOATS)),
            "uuid": lambda: chance.choice((bytes(16), chance.randbytes(16))),
        }
        if kind in fixed:
            return fixed[kind]()
        if field.nullable_for_version_q(self._version) and chance.random() < 0.2:
            return self._length(-1, ">h" if kind == "string" else ">i")
        text = chance.choice(AUTH) if kind == "bytes" else chance.choice(WORDS).encode()
        return self._length(len(text), ">h" if kind == "string" else ">i") + text

    def _length(self, length: int, form: str) -> bytes:
        return UnsignedVarInt32.encode(length + 1) if self._flexible else struct.pack(form, length)


def mutated(body: bytes, chance: random.Random) -> bytes:
    """Return a copy with one to three faults."""
    changed = bytearray(body)
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(changed) or 1)
        match chance.randrange(5):
            case 0:
                changed[place : place + 1] = chance.randbytes(chance.randint(1, 5))
            case 1:
                del changed[place:]
            case 2:
                changed[place:place] = changed[place : place + 64]
            case 3:
                changed[place : place + 4] = chance.choice((b"\xff" * 4, b"\x7f\xff\xff\xff", bytes(4), b"\x80" * 4))
            case _:
                changed += changed[:place] * chance.randint(1, 20)
    return bytes(changed)
