"""Spans of time: pairs of a begin and an end, in any unit."""

from collections.abc import Iterable
from typing import TypeVar

N = TypeVar("N", int, float)


def joined(spans: Iterable[tuple[N, N]], gap: int = 0) -> list[tuple[N, N]]:
    """Join spans that overlap, touch, or have at most so much between them."""
    found: list[tuple[N, N]] = []
    for first, after in sorted(spans):
        if found and first - found[-1][1] <= gap:
            found[-1] = (found[-1][0], max(found[-1][1], after))
        else:
            found.append((first, after))
    return found
