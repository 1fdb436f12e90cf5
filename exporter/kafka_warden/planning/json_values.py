"""Dataclasses as JSON, in base units. Unknown and infinite values are `null`, with a reason."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from kafka_warden.model import UNKNOWN

UNLIMITED: Final = "unlimited"
NEVER: Final = "never"
NOTHING_COPIED: Final = "nothing is copied"
NO_NETWORK: Final = "network.bytes_per_second is not set"
UNKNOWN_INBOUND: Final = "the inbound rate of a replica is unknown"
NO_UPPER_BOUND: Final = f"{NO_NETWORK}, or {UNKNOWN_INBOUND}"


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a field in the JSON, `Annotated[type, Key(...)]`. A field without one is not in the JSON."""

    name: str
    unknown: str = ""
    """Reason of an unknown value; `{0.why}` is a field of the object."""
    infinite: str = NEVER


@dataclass(frozen=True, slots=True)
class Value:
    """A value that may be unknown or infinite, with the reasons."""

    value: Any
    unknown: str = ""
    infinite: str = NEVER


def values_of(owner: Any) -> dict[str, Value]:
    """Return the values of a dataclass by key."""
    return {
        key.name: Value(getattr(owner, field), key.unknown.format(owner) or NOTHING_COPIED, key.infinite)
        for field, key in _keys(owner.__class__).items()
    }


@cache
def _keys(owner: Any) -> Mapping[str, Key]:
    hints = get_type_hints(owner, include_extras=True).items()
    found = {name: get_args(hint)[1] for name, hint in hints if get_origin(hint) is Annotated}
    return {name: key for name, key in found.items() if isinstance(key, Key)}


def to_document(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return JSON of dataclasses and values, and `reasons`: why a value is null, by the path of its key."""
    reasons: dict[str, str] = {}
    return {**_written(content, "", reasons), "reasons": reasons}


def _written(value: Any, path: str, reasons: dict[str, str]) -> Any:
    if isinstance(value, Value):
        number = value.value
        unknown = number is None or (type(number) is int and number == UNKNOWN)
        if unknown or (isinstance(number, float) and math.isinf(number)):
            reasons[path] = value.unknown if unknown else value.infinite
            return None
        return _written(number, path, reasons)
    if isinstance(value, Mapping):
        return {key: _written(each, f"{path}.{key}" if path else key, reasons) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_written(each, f"{path}[{index}]", reasons) for index, each in enumerate(value)]
    return _written(values_of(value), path, reasons) if _keys(value.__class__) else value
