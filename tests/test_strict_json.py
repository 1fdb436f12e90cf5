"""JSON that others wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.settings.strict import parse_json

DIGITS = "9" * 310


@pytest.mark.parametrize(
    "number", [DIGITS, str(2**63), f"-{DIGITS}", f"{DIGITS}.5", "1e400", "1e19", "9" * 5000, "NaN", "-Infinity"]
)
def test_numbers_beyond_64_bits_are_refused(number: str) -> None:
    with pytest.raises(ValueError, match="expected numbers of at most 64 bits, got ") as caught:
        parse_json(f'{{"a": [{number}]}}')
    assert len(str(caught.value)) < 70


def test_the_largest_number_of_kafka_is_read() -> None:
    assert parse_json("[9223372036854775807, 9.223372036854775807e18, 5e-324]") == [2**63 - 1, 2.0**63, 5e-324]


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a": 1, "a": 2}'])
def test_bad_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the parser's own words
        parse_json(text)


@given(st.integers(1 - 2**63, 2**63 - 1) | st.floats(-(2.0**63), 2.0**63))
def test_other_numbers_are_exact(number: float) -> None:
    assert repr(parse_json(repr(number))) == repr(number)
