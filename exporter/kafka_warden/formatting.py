"""Numbers as text: bytes and rates in powers of ten, times in two units; names without what a screen would obey."""

import math
from typing import Any, Final

import numpy as np

YEAR_10000: Final = 253402300800.0
"""Unix s, which Python's dates do not reach."""
_STEPS: Final = ((1e18, "EB"), (1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_LEAST: Final = 0.001
_ALMOST: Final = 99.95
"""Percent that three digits round to 100."""
_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def in_bytes(amount: float) -> str:
    """Format bytes, such as `20.5 MB`."""
    for step, unit in _STEPS:
        if abs(float(f"{amount / step:.3g}")) >= 1:
            return f"{in_few(amount / step)} {unit}"
    return f"{amount:.0f} B"


def in_size(amount: float) -> str:
    """Format bytes; `unlimited` for infinity."""
    return "unlimited" if math.isinf(amount) else in_bytes(amount)


def in_rate(amount: float) -> str:
    """Format bytes per second."""
    return "unlimited" if math.isinf(amount) else f"{in_bytes(amount)}/s"


def in_time(seconds: float) -> str:
    """Format a duration, such as `1 h 23 min`, rounded up; `never` for infinity."""
    if math.isinf(seconds):
        return "never"
    left = math.ceil(seconds)
    for index, (size, unit) in enumerate(_UNITS):
        if left >= size:
            more, small = _UNITS[index + 1] if index + 1 < len(_UNITS) else (1, "")
            rest = math.ceil(left % size / more) if small else 0
            if rest * more >= size:
                return f"{left // size + 1} {unit}"
            return f"{left // size} {unit}" + (f" {rest} {small}" if rest else "")
    return "0 s"


def in_utc(seconds: float) -> str | None:
    """Format a Unix time; `None` for one that calendars do not reach."""
    if not 0 <= seconds < YEAR_10000:
        return None
    return f"{np.datetime64(int(seconds), 's')} UTC".replace("T", " ", 1)


def in_words(label: Any) -> str:
    """Format a label value, such as `log_dir_full`."""
    return visible(str(label)).replace("_", " ")


def in_whole(amount: float) -> str:
    """Format a number without decimals; `unlimited` for infinity."""
    return "unlimited" if math.isinf(amount) else f"{amount:,.0f}"


def in_few(amount: float) -> str:
    """Format a number with three digits, more above 999, and none smaller than 0.001; `unlimited` for infinity."""
    # From 999.5 on, `.3g` has an exponent.
    if abs(amount) >= 999.5:  # noqa: PLR2004
        return in_whole(amount)
    if 0 < abs(amount) < _LEAST:
        return f"<{_LEAST}" if amount > 0 else f">-{_LEAST}"
    return f"{amount:.3g}"


def in_percent(share: float) -> str:
    """Format a share with three digits, more above 999%. Less than all is never `100%`, above 0 never `0%`."""
    percent = 100 * share
    if math.isinf(percent):
        return f"{percent}%"
    return "99.9%" if _ALMOST <= percent < 100 else f"{in_few(percent)}%"  # noqa: PLR2004


def visible(text: str) -> str:
    """Replace control characters, marks that change the direction of text, and what is no Unicode by escapes."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def in_count(number: float, thing: str) -> str:
    """Format a whole number with its noun."""
    return f"{number:,.0f} {thing}" if number == 1 else f"{number:,.0f} {thing}s"
