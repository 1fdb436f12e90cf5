"""Operations for formulas that are written once for numbers, numpy arrays and Spark Columns.

Plain arithmetic and comparisons mean the same for all three; the rest is here. Conditions combine with `|` and `&`.
`when` evaluates both of its branches, so a formula never hides a division behind it: it uses `divide`.

Unknown has one form per engine. Numbers: `None`, which only a two-argument `divide` can make. Arrays: NaN inside the
array, which the catalogue drops (`as_known` turns an element into a float or None). Columns: null. Unlimited is
`+inf` in all of them. docs/spec/README.md#formulas.
"""

import math
from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

UNKNOWN: Final = -1
"""In integer arrays: not known, because no answer came."""


class Arithmetic(Protocol):
    """What floats, arrays and Columns have in common."""

    def __add__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __neg__(self) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...


V = TypeVar("V", bound=Arithmetic)


class Ops(Protocol[V]):
    """Operations that differ between engines."""

    def lit(self, value: float) -> V:
        """A constant of this engine."""

    def greatest(self, left: V, right: V) -> V:
        """The larger of two, element by element."""

    def least(self, left: V, right: V) -> V:
        """The smaller of two, element by element."""

    def floor(self, value: V) -> V:
        """The largest whole number that is not above `value`; infinity stays."""

    def when(self, condition: Any, then: V, otherwise: V) -> V:
        """`then` where the condition holds, else `otherwise`; both are evaluated."""

    @overload
    def divide(self, numerator: V, denominator: V) -> V | None: ...
    @overload
    def divide(self, numerator: V, denominator: V, otherwise: V) -> V: ...
    def divide(self, numerator: V, denominator: V, otherwise: V | None = None) -> V | None:
        """The quotient; `otherwise`, or unknown, over zero and for infinity over infinity."""


class _Numbers:
    """Plain floats. Unknown is None."""

    def lit(self, value: float) -> float:
        return value

    def greatest(self, left: float, right: float) -> float:
        return max(left, right)

    def least(self, left: float, right: float) -> float:
        return min(left, right)

    def floor(self, value: float) -> float:
        return value if math.isinf(value) else float(math.floor(value))

    def when(self, condition: Any, then: float, otherwise: float) -> float:
        return then if condition else otherwise

    @overload
    def divide(self, numerator: float, denominator: float) -> float | None: ...
    @overload
    def divide(self, numerator: float, denominator: float, otherwise: float) -> float: ...
    def divide(self, numerator: float, denominator: float, otherwise: float | None = None) -> float | None:
        if denominator == 0 or (math.isinf(numerator) and math.isinf(denominator)):
            return otherwise
        return numerator / denominator


class _Arrays:
    """Numpy arrays of float64, broadcast as numpy does. Unknown is NaN inside the array, and stays NaN."""

    def lit(self, value: float) -> Floats:
        return np.asarray(value, dtype=np.float64)

    def greatest(self, left: Floats, right: Floats) -> Floats:
        return np.maximum(left, right)

    def least(self, left: Floats, right: Floats) -> Floats:
        return np.minimum(left, right)

    def floor(self, value: Floats) -> Floats:
        return np.floor(value)

    def when(self, condition: Any, then: Floats, otherwise: Floats) -> Floats:
        return np.where(condition, then, otherwise)

    @overload
    def divide(self, numerator: Floats, denominator: Floats) -> Floats | None: ...
    @overload
    def divide(self, numerator: Floats, denominator: Floats, otherwise: Floats) -> Floats: ...
    def divide(self, numerator: Floats, denominator: Floats, otherwise: Floats | None = None) -> Floats | None:
        top, bottom = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
        has_value = (bottom != 0) & ~(np.isinf(top) & np.isinf(bottom))
        fallback = np.full(top.shape, np.nan) if otherwise is None else np.broadcast_to(otherwise, top.shape)
        quotient = fallback.astype(np.float64)
        np.divide(top, bottom, out=quotient, where=has_value)
        return quotient


NUMBERS: Final[Ops[float]] = _Numbers()
ARRAYS: Final[Ops[Floats]] = _Arrays()


def as_known(value: float) -> float | None:
    """One element of an array: None where it is NaN."""
    return None if math.isnan(value) else float(value)


def as_finite(value: float) -> float | None:
    """One element of an array: None where it is not finite."""
    return float(value) if math.isfinite(value) else None


def sum_known(parts: Sequence[float | None]) -> float | None:
    """Add the parts up: None while one of them is unknown."""
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
