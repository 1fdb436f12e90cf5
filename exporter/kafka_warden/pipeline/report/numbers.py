"""Formats numbers with their units; None is `unknown`. Times are UTC."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from kafka_warden.formatting import YEAR_10000, in_bytes, in_percent, in_rate, in_time, in_whole

UNKNOWN: Final = "unknown"

DAY: Final = 86400.0
"""Seconds."""

_LONGEST_NAME: Final = 34


def known(amount: float | None, write: Callable[[float], str]) -> str:
    """Write an amount, or `unknown`."""
    return UNKNOWN if amount is None else write(amount)


amount_of_bytes: Final = partial(known, write=in_bytes)
rate: Final = partial(known, write=in_rate)
"""Infinity is `unlimited`."""
duration: Final = partial(known, write=in_time)
"""Infinity is `never`."""
share: Final = partial(known, write=in_percent)


def count(amount: float | None) -> str:
    """Write a count."""
    return known(amount, in_whole)


def figure(amount: float | None) -> str:
    """Write a number with three significant digits."""
    return known(amount, lambda value: f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}")  # noqa: PLR2004  # three digits


def instant(seconds: float | None) -> str:
    """Write a Unix time to the second."""
    return known(seconds, lambda value: f"{moment(value):%Y-%m-%d %H:%M:%S}")


def day(seconds: float | None) -> str:
    """Write the day of a Unix time."""
    # A nearly flat line reaches its limit after all dates.
    return known(seconds, lambda value: f"{moment(value):%Y-%m-%d}" if value < YEAR_10000 else "after the year 9999")


def moment(seconds: float) -> datetime:
    """Convert a Unix time, also before 1970."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


def short(name: str, longest: int = _LONGEST_NAME) -> str:
    """Shorten a name in its middle, where topic names differ least."""
    if len(name) <= longest:
        return name
    tail = longest // 2
    return f"{name[: longest - tail - 1]}…{name[-tail:]}"


def plural(number: int, thing: str) -> str:
    """Write a count and its noun, with a thousands separator."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
