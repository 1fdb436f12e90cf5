"""Numbers as text, at all boundaries."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.formatting import in_bytes, in_few, in_percent, in_rate, in_size, in_time

HOUR = 3600


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0 s"),
        (0.2, "1 s"),
        (59.5, "1 min"),
        (61, "1 min 1 s"),
        (HOUR, "1 h"),
        (HOUR + 61, "1 h 2 min"),
        (2 * HOUR - 1, "2 h"),
        (86400 + 1, "1 d 1 h"),
        (math.inf, "never"),
    ],
)
def test_times_are_rounded_up(seconds: float, expected: str) -> None:
    assert in_time(seconds) == expected


def test_numbers() -> None:
    amounts = {0: "0 B", 999: "999 B", 1000: "1 kB", 20.625e6: "20.6 MB", 1e15: "1 PB", 2**63: "9.22 EB", -2e6: "-2 MB"}
    rounded = {999.4: "999 B", 999.6: "1 kB", 999_400_000: "999 MB", 999_600_000: "1 GB", 999.6e12: "1 PB"}
    for amount, expected in (amounts | rounded).items():
        assert in_bytes(amount) == expected
    assert in_rate(math.inf) == "unlimited"
    assert [in_few(number) for number in (0, 999.4, 999.7, 0.00012, -0.00012)] == [
        "0",
        "999",
        "1,000",
        "<0.001",
        ">-0.001",
    ]


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.0, "0%"),
        (1e-9, "<0.001%"),
        (0.285, "28.5%"),
        (0.999, "99.9%"),
        (0.9999, "99.9%"),
        (math.nextafter(1, 0), "99.9%"),
        (1.0, "100%"),
        (9.9951, "1,000%"),
        (145.2, "14,520%"),
        (math.inf, "inf%"),
    ],
)
def test_shares(share: float, expected: str) -> None:
    assert in_percent(share) == expected


@given(st.floats(1e-5, 1e6) | st.builds(lambda unit, off: 10.0**unit + off, st.integers(-5, 6), st.floats(-1e-3, 1e-3)))
def test_a_share_keeps_three_digits(share: float) -> None:
    printed = float(in_percent(max(share, 1e-5)).rstrip("%").replace(",", "")) / 100
    assert printed == pytest.approx(max(share, 1e-5), rel=0.0051)
    assert (share < 1) == (printed < 1) or printed == 1 <= share


@given(
    st.floats(1, 1e22) | st.builds(lambda unit, near: 10.0**unit * near, st.integers(1, 21), st.floats(0.998, 1.002))
)
def test_a_size_keeps_three_digits(amount: float) -> None:
    number, unit = in_size(amount).split()
    factor = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15, "EB": 1e18}[unit]
    value = float(number.replace(",", ""))
    assert value * factor == pytest.approx(amount, rel=0.0051, abs=0.5)
    assert value < 1000 or unit == "EB"
