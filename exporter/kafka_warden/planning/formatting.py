"""Numbers for people: bytes and rates in powers of ten as networks and disks have them, times in two units."""

import math
from typing import Final

_STEPS: Final = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_UNITS: Final = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def in_bytes(amount: float) -> str:
    """Write bytes, such as `20.5 MB`."""
    for step, unit in _STEPS:
        rounded = abs(float(f"{amount / step:.3g}"))
        if rounded >= 1:
            return f"{amount / step:.3g} {unit}" if rounded < 1000 else f"{amount / step:.0f} {unit}"  # noqa: PLR2004  # no exponent
    return f"{amount:.0f} B"


def in_rate(amount: float) -> str:
    """Write bytes per second."""
    return "unlimited" if math.isinf(amount) else f"{in_bytes(amount)}/s"


def in_time(seconds: float) -> str:
    """Write a duration, such as `1 h 23 min`; `never` for infinity. Rounded up: a plan is not to be short."""
    if math.isinf(seconds):
        return "never"
    left = math.ceil(seconds)
    for index, (size, unit) in enumerate(_UNITS):
        if left >= size:
            more, small = _UNITS[index + 1] if index + 1 < len(_UNITS) else (1, "")
            # What is left out below is rounded up, too.
            rest = math.ceil(left % size / more) if small else 0
            if rest * more >= size:
                return f"{left // size + 1} {unit}"
            return f"{left // size} {unit}" + (f" {rest} {small}" if rest else "")
    return "0 s"


def in_percent(share: float) -> str:
    """Write a share, with three digits; more where it is above all."""
    percent = 100 * share
    return f"{percent:,.0f}%" if 100 <= abs(percent) < math.inf else f"{percent:.3g}%"  # noqa: PLR2004  # three digits


def in_count(number: int, thing: str) -> str:
    """Write how many there are of something."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
