"""Limits for the decoders of kafka-python 3.0.12, which trust every number in a reply.

kafka-python generates its decoders as source text. The generator used here adds checks to some of the generated lines:
a varint has at most five bytes, an array has no more elements than bytes are left, a reply makes no more objects than
its size explains, no field ends after the reply, tagged fields are read without a copy of the rest of the reply, and a
field that must not be null is not.
`tests/clients/test_bounds.py` fails when another version of kafka-python generates other lines.
"""

import re
from typing import Any, Final

from kafka.protocol.schemas.fields import struct as struct_fields
from kafka.protocol.schemas.fields.array import ArrayField
from kafka.protocol.schemas.fields.codecs.types import String
from kafka.protocol.schemas.fields.codegen import CodegenContext
from kafka.protocol.schemas.fields.simple import SimpleField
from kafka.protocol.schemas.fields.struct_array import StructArrayField

ALWAYS, BYTES_EACH = 4096, 10
"""Objects that any reply may make, and bytes of a reply for each further one. Kafka's smallest, a quota of a client
with a short name, have some 13. An object costs 160 bytes and 2 us, and some need three bytes in a reply."""

LAST_SHIFT: Final = 28
"""Bits that the fifth and last byte of a varint is shifted by."""

_VARINT_STEP: Final = re.compile(r"\s*(_sh\d+) \+= 7")
_ARRAY_LOOP: Final = re.compile(r"\s*for _idx\d+ in range\((_n\d+)\):")
_TAGS_COPY: Final = re.compile(r"(\s*_bio\d+ = )_BytesIO\(bytes\(data\[pos:\]\)\)")


class BoundedContext(CodegenContext):  # type: ignore[misc]  # kafka-python ships no types
    """kafka-python's generator of source text, with checks added."""

    def __init__(self) -> None:
        super().__init__()
        self._last = ""

    def next_var(self, prefix: str = "v") -> str:
        """Name a variable."""
        self._last = prefix
        return str(super().next_var(prefix))

    def emit(self, indent: str, line: str) -> None:
        """Add a line, and the check that belongs to it."""
        if len(self.lines) == 1 and self.lines[0].endswith("decode(data, pos):"):
            super().emit(indent, f"_left = {ALWAYS} + len(data) // {BYTES_EACH}")
        if copy := _TAGS_COPY.fullmatch(line):
            self.globs["_Reader"] = TagsReader
            line = f"{copy[1]}_Reader(data, pos)"
        elif loop := _ARRAY_LOOP.fullmatch(line):
            message = "an array has more elements than the reply has bytes"
            super().emit(indent, f"if not 0 <= {loop[1]} <= len(data) - pos: raise ValueError({message!r})")
            if self._last == "obj":  # an array of objects, not of numbers or texts
                super().emit(indent, f"_left -= {loop[1]}")
                super().emit(indent, "if _left < 0: raise ValueError('the reply has too many parts for its size')")
        elif line == "return obj, pos":
            super().emit(indent, "if pos > len(data): raise ValueError('the reply is cut off')")
        super().emit(indent, line)
        if step := _VARINT_STEP.fullmatch(line):
            # Within the loop, as deep as the line before it.
            super().emit(indent + "    ", f"if {step[1]} > {LAST_SHIFT}: raise ValueError('a varint is too long')")


class TagsReader:
    """Reads tagged fields out of a reply in place. Its position counts from where the fields begin."""

    def __init__(self, data: memoryview, start: int) -> None:
        self._data, self._start, self._position = data, start, start

    def read(self, size: int) -> bytes:
        """Return the next bytes, fewer at the end."""
        if size < 0:
            raise ValueError("a field has a negative size")
        chunk = bytes(self._data[self._position : self._position + size])
        self._position += len(chunk)
        return chunk

    def tell(self) -> int:
        """Return how many bytes were read."""
        return self._position - self._start


def _refuse_null(field_class: Any) -> None:
    """Let the decoders of one kind of field refuse null where the protocol does not allow it."""
    generate = field_class.emit_decode_from

    def emit_decode_from(self: Any, ctx: Any, name: str, indent: str, version: int, **options: Any) -> None:
        generate(self, ctx, name, indent, version=version, **options)
        text_or_array = self.is_array() or isinstance(self._type, String)
        if text_or_array and not self.nullable_for_version_q(version):
            ctx.emit(indent, f"if {name} is None: raise ValueError('{self.name} is null')")

    field_class.emit_decode_from = emit_decode_from


if struct_fields.CodegenContext is not BoundedContext:
    struct_fields.CodegenContext = BoundedContext
    for _kind in (SimpleField, ArrayField, StructArrayField):
        _refuse_null(_kind)
