"""JSON that others wrote: no key twice, no number that arithmetic would refuse."""

import json
from functools import partial
from typing import Any, Final

LARGEST: Final = 2**63 - 1
"""Kafka's numbers have 64 bits. As a float this is 2^63."""
_LONGEST: Final = 400
"""Characters. `int` refuses some thousands."""


def parse_json(text: str | bytes) -> Any:
    """Parse JSON.

    Raises:
        ValueError: it is not valid, nested too deeply, has a key twice in one object, or a number beyond 64 bits.
    """
    decimals = partial(_bounded, float)
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_int=partial(_bounded, int),
            parse_float=decimals,
            parse_constant=decimals,
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} appears twice in one object")
    return found


def _bounded(kind: type[int] | type[float], text: str) -> float:
    """Read a number. JSON has no infinity and no NaN."""
    number = kind(text[:_LONGEST])
    if len(text) > _LONGEST or not abs(number) <= kind(LARGEST):
        raise ValueError(f"expected numbers of at most 64 bits, got {text[:20]}")
    return number
