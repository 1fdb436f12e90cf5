"""Numbers with their units, for people; `unknown` where there is none. Times are UTC."""

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from kafka_warden.planning.formatting import in_bytes, in_percent, in_rate, in_time

UNKNOWN: Final = "unknown"

DAY: Final = 86400.0
"""Seconds."""

_LONGEST_NAME: Final = 34

_LAST: Final = 253402300800.0
"""Unix s: Python has no day from there on, and a line that hardly rises may lead there."""


def known(amount: float | None, write: Callable[[float], str]) -> str:
    """Write an amount, or say that it is unknown."""
    return UNKNOWN if amount is None else write(amount)


def amount_of_bytes(amount: float | None) -> str:
    """Write bytes."""
    return known(amount, in_bytes)


def rate(amount: float | None) -> str:
    """Write bytes per second; `unlimited` for infinity."""
    return known(amount, in_rate)


def duration(seconds: float | None) -> str:
    """Write a duration; `never` for infinity."""
    return known(seconds, in_time)


def share(ratio: float | None) -> str:
    """Write a ratio as a percentage."""
    return known(ratio, in_percent)


def count(amount: float | None) -> str:
    """Write a number of things."""
    return known(amount, lambda value: "unlimited" if math.isinf(value) else f"{value:,.0f}")


def figure(amount: float | None) -> str:
    """Write a number with what decimals it needs."""
    return known(amount, lambda value: f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}")  # noqa: PLR2004  # three digits


def instant(seconds: float | None) -> str:
    """Write a time, given in Unix seconds, to the second."""
    return known(seconds, lambda value: f"{moment(value):%Y-%m-%d %H:%M:%S}")


def day(seconds: float | None) -> str:
    """Write the day of a time that is given in Unix seconds."""
    return known(seconds, lambda value: f"{moment(value):%Y-%m-%d}" if value < _LAST else "after the year 9999")


def moment(seconds: float) -> datetime:
    """Return the UTC time of Unix seconds, before 1970 too."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


def short(name: str, longest: int = _LONGEST_NAME) -> str:
    """Shorten a name in its middle, where names of topics differ least."""
    if len(name) <= longest:
        return name
    tail = longest // 2
    return f"{name[: longest - tail - 1]}…{name[-tail:]}"


def replica_time(seconds: float) -> str:
    """Write the time that several replicas spent, one with the other."""
    return f"{figure(seconds / 3600)} replica hours"


def plural(number: int, thing: str) -> str:
    """Write how many there are of something, with thousands apart."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
