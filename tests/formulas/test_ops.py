"""The vocabulary: the same words mean the same to numbers and to arrays, and nothing ever becomes NaN on its own."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.formulas.ops import ARRAYS, NUMBERS, UNKNOWN, as_known
from kafka_warden.model import UNKNOWN as MODEL_UNKNOWN

INF = math.inf


def test_unknown_is_the_models() -> None:
    """Formulas import nothing, so their marker for unknown integers is their own: it must be the model's."""
    assert UNKNOWN == MODEL_UNKNOWN


@pytest.mark.parametrize(
    ("numerator", "denominator", "expected"),
    [(1.0, 2.0, 0.5), (1.0, 0.0, None), (0.0, 0.0, None), (-1.0, 0.0, None), (INF, INF, None), (1.0, INF, 0.0)],
)
def test_divide(numerator: float, denominator: float, expected: float | None) -> None:
    """A quotient without a value is unknown: None for numbers, NaN inside arrays; or what the caller says instead."""
    quotient = ARRAYS.divide(np.array([numerator]), np.array([denominator]))

    assert quotient is not None
    assert NUMBERS.divide(numerator, denominator) == expected
    assert as_known(quotient[0]) == expected
    assert NUMBERS.divide(numerator, denominator, 7.0) == (7.0 if expected is None else expected)
    assert ARRAYS.divide(np.array([numerator]), np.array([denominator]), ARRAYS.lit(7.0))[0] == (
        7.0 if expected is None else expected
    )


numbers = st.floats(allow_nan=False, min_value=-1e300, max_value=1e300) | st.sampled_from([INF, -INF, 0.0])


@given(numbers, numbers)
def test_both_engines_agree(left: float, right: float) -> None:
    """Each word gives the same for a number and for an array of one."""
    one, two = np.array([left]), np.array([right])

    assert NUMBERS.greatest(left, right) == ARRAYS.greatest(one, two)[0]
    assert NUMBERS.least(left, right) == ARRAYS.least(one, two)[0]
    assert NUMBERS.floor(left) == ARRAYS.floor(one)[0]
    assert NUMBERS.lit(left) == ARRAYS.lit(left)
    assert NUMBERS.when(left < right, left, right) == ARRAYS.when(one < two, one, two)[0]


def test_unknown_stays_unknown_in_arrays() -> None:
    """NaN in an operand of an array is NaN in the result, never a number."""
    unknown, one = np.array([np.nan]), np.array([1.0])
    assert as_known(ARRAYS.greatest(unknown, one)[0]) is None
    assert as_known(ARRAYS.floor(unknown)[0]) is None
    assert as_known(ARRAYS.divide(unknown, one, one)[0]) is None
