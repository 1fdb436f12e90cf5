"""Small plots as inline SVG: one or two lines over the last hour. Attributes only, as the policy refuses styles."""

from dataclasses import dataclass
from typing import Final

from kafka_warden.views.curves import Curve, Values

WIDTH: Final = 240
HEIGHT: Final = 40
MARGIN: Final = 2
POINTS: Final = 120


@dataclass(frozen=True, slots=True)
class Plot:
    """The paths of a plot, and what it says."""

    line: str
    area: str
    limit: str
    about: str


def plot(curve: Curve) -> Plot:
    """Draw a curve, the last value at the right."""
    top, base = curve.top, HEIGHT - MARGIN

    def runs(values: Values) -> list[list[tuple[float, float]]]:
        """Return the points of each line: one ends where a value is not known."""
        found: list[list[tuple[float, float]]] = [[]]
        for step, value in curve.steps(values, POINTS):
            if value is None:
                found.append([])
            else:
                found[-1].append((step / POINTS * WIDTH, base - value / top * (HEIGHT - 2 * MARGIN)))
        return [run for run in found if run]

    line = runs(curve.values)
    area = [[(run[0][0], base), *run, (run[-1][0], base)] for run in line if len(run) > 1]
    return Plot(_path(line), _path(area), _path(runs(curve.limit)), curve.about)


def _path(runs: list[list[tuple[float, float]]]) -> str:
    return " ".join("M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in run) for run in runs)
