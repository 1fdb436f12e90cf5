"""Spark's columns where they differ from arrays: unknown is null, and undefined results become null.

Spark's own `greatest` and `least` ignore nulls. An undefined result, such as infinity minus infinity, is NaN, which
Spark takes as larger than any other number, so no column may compare one. Spark 4 runs ANSI SQL, where a bare `/`
raises on zero.
"""

import math

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it


def greatest(left: Column, right: Column) -> Column:
    """Return the larger of two; null if one is null."""
    return F.when(left.isNotNull() & right.isNotNull(), F.greatest(left, right))


def least(left: Column, right: Column) -> Column:
    """Return the smaller of two; null if one is null."""
    return F.when(left.isNotNull() & right.isNotNull(), F.least(left, right))


def divide(numerator: Column, denominator: Column) -> Column:
    """Return the quotient; null over zero, and for infinity over infinity."""
    has_none = (denominator == 0.0) | (_is_infinite(numerator) & _is_infinite(denominator))
    return F.when(~has_none, F.try_divide(numerator, denominator))


def yes() -> Column:
    """Return the constant true."""
    return F.lit(True)  # noqa: FBT003  # its only argument


def no() -> Column:
    """Return the constant false."""
    return F.lit(False)  # noqa: FBT003  # its only argument


def _is_infinite(value: Column) -> Column:
    return F.abs(value) == math.inf
