"""Rows as the plain values of JSON, and back. Unlimited and never are the text `+Inf`, as JSON has no infinity."""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final, NoReturn, get_args, get_origin

from kafka_warden.errors import NoAnswerError
from kafka_warden.views.fields import fields_of

INFINITE: Final = "+Inf"
_INFINITE: Final = {INFINITE: math.inf, "-Inf": -math.inf}


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


def row_of(kind: type, values: Any) -> Any:
    """Make a row. A field that this version of the exporter does not have is unknown."""
    if not isinstance(values, dict):
        refuse(kind.__name__)
    hints = ((name, hint) for name, (hint, _) in fields_of(kind).items())
    return kind(**{name: read_value(name, hint, values.get(name)) for name, hint in hints})


def read_value(name: str, hint: Any, value: Any) -> Any:
    """Read the value of a field, of a type that rows have."""
    kinds, origin = get_args(hint) or (hint,), get_origin(hint)
    if isinstance(hint, type) and is_dataclass(hint):
        return row_of(hint, value)
    if origin is tuple and isinstance(value, list | None):
        return tuple(read_value(name, kinds[0], each) for each in value or ())
    if origin is Mapping and isinstance(value, dict | None):
        return {key: read_value(name, kinds[1], each) for key, each in (value or {}).items()}
    if float in kinds and isinstance(value, str) and value in _INFINITE:
        return _INFINITE[value]
    if origin in (tuple, Mapping) or not (
        value is None or type(value) in kinds or (float in kinds and type(value) is int)
    ):
        refuse(name)
    return value


def refuse(what: str) -> NoReturn:
    """Refuse an answer with an unexpected part.

    Raises:
        NoAnswerError: always.
    """
    raise NoAnswerError(f"its answer has an unexpected {what}: is this the address of an exporter?")
