"""`kafka_warden.formulas.ops` for Spark's columns.

Unknown is null here and NaN in arrays; Spark's own `greatest` ignores nulls. An undefined result, such as infinity
minus infinity, is NaN on all engines but compares differently in Spark, so no formula may compare one.
Spark 4 runs ANSI SQL, where a bare `/` raises on zero.
"""

import math
from typing import Any, Final, overload

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.formulas.ops import Ops

_WHOLE: Final = 2.0**53
"""Every double from here on is a whole number; Spark's `floor` returns a bigint, which ends at 2^63."""


class _Columns:
    """Columns of double. A plain number is a constant."""

    def lit(self, value: float) -> Column:
        return F.lit(float(value))

    def greatest(self, left: Column, right: Column) -> Column:
        return _known(left, right, F.greatest(_column(left), _column(right)))

    def least(self, left: Column, right: Column) -> Column:
        return _known(left, right, F.least(_column(left), _column(right)))

    def floor(self, value: Column) -> Column:
        given = _column(value)
        return F.when(F.abs(given) < _WHOLE, F.floor(given).cast("double")).otherwise(given)

    def when(self, condition: Any, then: Column, otherwise: Column) -> Column:
        return F.when(_column(condition), _column(then)).otherwise(_column(otherwise))

    @overload
    def divide(self, numerator: Column, denominator: Column) -> Column | None: ...
    @overload
    def divide(self, numerator: Column, denominator: Column, otherwise: Column) -> Column: ...
    def divide(self, numerator: Column, denominator: Column, otherwise: Column | None = None) -> Column | None:
        top, bottom = _column(numerator), _column(denominator)
        has_none = (bottom == 0.0) | (_is_infinite(top) & _is_infinite(bottom))
        fallback = F.lit(None).cast("double") if otherwise is None else _column(otherwise)
        return F.when(has_none, fallback).otherwise(F.try_divide(top, bottom))


COLUMNS: Final[Ops[Column]] = _Columns()


def yes() -> Column:
    """Return the constant true."""
    return F.lit(True)  # noqa: FBT003  # its only argument


def no() -> Column:
    """Return the constant false."""
    return F.lit(False)  # noqa: FBT003  # its only argument


def _column(value: Any) -> Column:
    return value if isinstance(value, Column) else F.lit(value)


def _known(left: Any, right: Any, value: Column) -> Column:
    return F.when(_column(left).isNotNull() & _column(right).isNotNull(), value)


def _is_infinite(value: Column) -> Column:
    return F.abs(value) == math.inf
