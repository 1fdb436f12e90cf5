"""Values as HTML: each number with its exact value beside the one for people, unknown ones as a dash."""

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup

from kafka_warden.planning.formatting import in_bytes, in_percent, in_rate, in_time, visible

_UNKNOWN: Final = Markup('<span class="unknown" title="not known">&ndash;</span>')
_LAST: Final = 253402300800.0
"""Unix s of the year 10000, which Python's dates do not reach."""


def name(text: str | None) -> Markup:
    """Write a name from the cluster, apart from the direction of the text around it."""
    return _UNKNOWN if text is None else Markup("<bdi>{}</bdi>").format(visible(text))


def _number(write: Callable[[float], str]) -> Callable[[float | None], Markup]:
    def written(value: float | None) -> Markup:
        if value is None:
            return _UNKNOWN
        return Markup('<data value="{}">{}</data>').format(float(value), write(value))

    return written


def _in_count(value: float) -> str:
    return "unlimited" if math.isinf(value) else f"{value:,.0f}"


def _in_few(value: float) -> str:
    return "unlimited" if math.isinf(value) else f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"  # noqa: PLR2004  # 3 digits


def _in_size(value: float) -> str:
    return "unlimited" if math.isinf(value) else in_bytes(value)


amount: Final = _number(_in_size)
rate: Final = _number(in_rate)
duration: Final = _number(in_time)
count: Final = _number(_in_count)
few: Final = _number(_in_few)
percent: Final = _number(in_percent)


def instant(seconds: float | None) -> Markup:
    """Write a Unix time in UTC."""
    if seconds is None or not 0 <= seconds < _LAST:
        return _UNKNOWN
    at = datetime.fromtimestamp(seconds, UTC)
    return Markup('<time datetime="{}">{} UTC</time>').format(f"{at:%Y-%m-%dT%H:%M:%SZ}", f"{at:%Y-%m-%d %H:%M:%S}")


def words(label: str | None) -> str:
    """Write a label value, such as `log_dir_full`, as words."""
    return "" if label is None else label.replace("_", " ")


def alert(address: str) -> str:
    """Return the name of the alert whose runbook this is."""
    return address.rpartition("/")[2].removesuffix(".md")


FILTERS: Final[dict[str, Callable[..., object]]] = {
    "alert": alert,
    "amount": amount,
    "count": count,
    "duration": duration,
    "few": few,
    "instant": instant,
    "name": name,
    "percent": percent,
    "rate": rate,
    "visible": visible,
    "words": words,
}
