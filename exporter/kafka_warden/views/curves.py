"""The numbers of the last hour as curves: the page draws them as SVG, `top` as text. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kafka_warden.formatting import in_bytes, in_rate
from kafka_warden.views.rows import History, SideHistory

SHORTEST: Final = 600.0
"""Seconds that a curve spans at least; at most an hour, as much as there is."""

Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Curve:
    """A number over time, beside a limit if there is one, and what it says."""

    about: str
    times: Sequence[float]
    """Unix s, ascending."""
    values: Values
    limit: Values = ()

    @property
    def top(self) -> float:
        """The value at the upper end of a plot, above 0."""
        finite = [each for each in (*self.values, *self.limit) if each is not None and math.isfinite(each)]
        return max(finite, default=0.0) * 1.05 or 1.0

    def steps(self, values: Values, count: int) -> list[tuple[int, float | None]]:
        """Return the largest value of each step that has samples, of 0 to `count`, which has the last one."""
        found: dict[int, float | None] = {}
        span = max(self.times[-1] - self.times[0], SHORTEST) if self.times else SHORTEST
        for time, value in zip(self.times, values, strict=False):
            step = round((time - self.times[-1]) / span * count) + count
            shown = value if value is not None and math.isfinite(value) else None
            before = found.get(step)
            found[step] = shown if before is None else before if shown is None else max(before, shown)
        return sorted(found.items())


def of_side(history: History, side: SideHistory) -> Curve:
    """Return the rate of one broker and side against its limit."""
    rate, limit = _last(side.catch_up), _last(side.limit)
    about = f"Copied in the last hour: now {in_rate(rate) if rate is not None else 'nothing'}"
    if limit is not None and not math.isinf(limit):
        about += f", limit {in_rate(limit)}"
    return Curve(about, history.times, side.catch_up, side.limit)


def of_remaining(history: History) -> Curve:
    """Return the bytes that all moves lack."""
    left = _last(history.remaining_bytes)
    about = f"Bytes left in the last hour: now {in_bytes(left) if left is not None else 'not known'}"
    return Curve(about, history.times, history.remaining_bytes)


def of_out_of_sync(history: History) -> Curve:
    """Return the number of replicas out of sync."""
    now, what = _last(history.out_of_sync), "Replicas out of sync"
    about = f"{what} in the last hour: now {now:.0f}" if now is not None else what
    return Curve(about, history.times, history.out_of_sync)


def _last(values: Values) -> float | None:
    return values[-1] if values else None
