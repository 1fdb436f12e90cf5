"""Rows as JSON. Unknown is null, unlimited and never are the text `+Inf`, as JSON has no infinity."""

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

INFINITE: Final = "+Inf"


def to_json(value: Any) -> bytes:
    """Write a value. Only ASCII: every name can be written, also one that is no valid Unicode."""
    return json.dumps(plain(value), allow_nan=False, separators=(",", ":")).encode()


def plain(value: Any) -> Any:
    """Turn a row, and all in it, into values that JSON has."""
    if isinstance(value, float):
        return value if math.isfinite(value) else INFINITE if value > 0 else "-Inf"
    if value is None or isinstance(value, str | int):
        return value
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value]
