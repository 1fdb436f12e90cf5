"""Small plots as inline SVG: one or two lines over the last hour. Attributes only, as the policy refuses styles."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kafka_warden.planning.formatting import in_bytes, in_rate
from kafka_warden.views.rows import History, SideHistory

WIDTH: Final = 240
HEIGHT: Final = 40
MARGIN: Final = 2
POINTS: Final = 120
SHORTEST: Final = 600.0
"""Seconds that a plot spans at least; at most an hour, as much as there is."""

Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Plot:
    """The paths of a plot, and what it says."""

    line: str
    area: str
    limit: str
    about: str


def side_plot(history: History, side: SideHistory) -> Plot:
    """Plot the rate of one broker and side against its limit."""
    rate, limit = _last(side.catch_up), _last(side.limit)
    about = f"Copied in the last hour: now {in_rate(rate) if rate is not None else 'nothing'}"
    if limit is not None and not math.isinf(limit):
        about += f", limit {in_rate(limit)}"
    return _plot(history.times, side.catch_up, side.limit, about)


def remaining_plot(history: History) -> Plot:
    """Plot the bytes that all moves lack."""
    left = _last(history.remaining_bytes)
    about = f"Bytes left in the last hour: now {in_bytes(left) if left is not None else 'not known'}"
    return _plot(history.times, history.remaining_bytes, (), about)


def count_plot(history: History, values: Values, what: str) -> Plot:
    """Plot a number of things."""
    now = _last(values)
    return _plot(history.times, values, (), f"{what} in the last hour: now {now:.0f}" if now is not None else what)


def _plot(times: Sequence[float], values: Values, limit: Values, about: str) -> Plot:
    finite = [each for each in (*values, *limit) if each is not None and math.isfinite(each)]
    top = max(finite, default=0.0) * 1.05 or 1.0
    line = _runs(_points(times, values, top))
    base = HEIGHT - MARGIN
    area = [[(run[0][0], base), *run, (run[-1][0], base)] for run in line if len(run) > 1]
    return Plot(_path(line), _path(area), _path(_runs(_points(times, limit, top))), about)


def _points(times: Sequence[float], values: Values, top: float) -> list[tuple[float, float] | None]:
    """Place values in the plot, the last one at the right; of several in one step the largest."""
    steps: dict[int, float | None] = {}
    span = max(times[-1] - times[0], SHORTEST) if times else SHORTEST
    for time, value in zip(times, values, strict=False):
        step = round((time - times[-1]) / span * POINTS) + POINTS
        shown = value if value is not None and math.isfinite(value) else None
        before = steps.get(step)
        steps[step] = shown if before is None else before if shown is None else max(before, shown)
    return [
        None if value is None else (step / POINTS * WIDTH, HEIGHT - MARGIN - value / top * (HEIGHT - 2 * MARGIN))
        for step, value in sorted(steps.items())
    ]


def _runs(points: list[tuple[float, float] | None]) -> list[list[tuple[float, float]]]:
    runs: list[list[tuple[float, float]]] = [[]]
    for point in points:
        if point is None:
            runs.append([])
        else:
            runs[-1].append(point)
    return [run for run in runs if run]


def _path(runs: list[list[tuple[float, float]]]) -> str:
    return " ".join("M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in run) for run in runs)


def _last(values: Values) -> float | None:
    return values[-1] if values else None
