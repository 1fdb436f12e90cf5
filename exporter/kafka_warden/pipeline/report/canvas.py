"""Empty plots in the page's look, and axes with units."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import matplotlib as mpl
from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, MultipleLocator, NullFormatter

from kafka_warden.pipeline.report.colours import FAINT, GRID, INK, PAPER
from kafka_warden.pipeline.report.numbers import DAY

WIDTH: Final = 7.6
"""Inches, of a plot as wide as the page."""
SMALL: Final = (3.7, 1.9)
"""Width and height of one of two plots side by side."""

_FORMATS: Final = ("%Y", "%b", "%d", "%H:%M", "%H:%M", "%S")
_OFFSETS: Final = ("", "%Y", "%Y-%m", "%Y-%m-%d", "%Y-%m-%d", "%Y-%m-%d %H:%M")
"""ISO 8601 for the common part of an axis' times."""

_DURATIONS: Final = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 18000, 43200, 86400, 172800, 604800, 2592000)
"""Seconds: round durations for ticks."""

_TICKS: Final = 6
_FEW_DECADES: Final = 50.0

_STYLE: Final[Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": FAINT.light,
    "axes.facecolor": PAPER.light,
    "axes.grid": True,
    "axes.labelcolor": INK.light,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "figure.facecolor": PAPER.light,
    # For measuring text; the browser uses the page's font, which is narrower.
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.color": GRID.light,
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "svg.fonttype": "none",  # text that can be searched and read aloud
    "svg.hashsalt": "kafka-warden",  # the same input gives the same page
    "text.color": INK.light,
    "text.parse_math": False,  # a `$` in a name is a `$`
    "xtick.color": FAINT.light,
    "xtick.labelcolor": INK.light,
    "ytick.color": FAINT.light,
    "ytick.labelcolor": INK.light,
}


@contextmanager
def canvas(height: float, rows: int = 1, width: float = WIDTH) -> Iterator[tuple[Figure, list[Axes]]]:
    """Yield an empty figure and the axes of its rows, which share their horizontal axis; sizes in inches.

    Draw and save it inside the context: some of the style is only read when it is saved.
    """
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots(rows, 1, sharex=True, squeeze=False)
        yield figure, list(axes[:, 0])


def at(seconds: float) -> float:
    """Convert Unix s to a position on an axis of times: matplotlib counts days."""
    return seconds / DAY


def times(axes: Axes) -> None:
    """Write the horizontal axis as UTC times."""
    typeless: Any = dates
    locator = typeless.AutoDateLocator(minticks=3, maxticks=8)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(
        typeless.ConciseDateFormatter(locator, formats=[*_FORMATS], offset_formats=[*_OFFSETS])
    )
    axes.xaxis.get_offset_text().set_fontsize(8)


def units(axis: Any, write: Callable[[float], str]) -> None:
    """Write the numbers of an axis with their unit."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: write(value)))


def whole(axis: Any) -> None:
    """Use whole numbers on an axis."""
    axis.set_major_locator(MaxNLocator(integer=True, nbins=6))


def logarithmic(axis: Any, low: float, high: float) -> None:
    """Set the ticks of a logarithmic axis, also of one shorter than a decade."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < _FEW_DECADES else (1,)))
    axis.set_minor_formatter(NullFormatter())


def durations(axis: Any, low: float, high: float, *, logarithmic: bool) -> None:
    """Set the ticks of an axis of seconds at minutes, hours and days."""
    if logarithmic:
        within = [step for step in _DURATIONS if low <= step <= high]
        axis.set_major_locator(FixedLocator(within[:: max(1, -(-len(within) // _TICKS))]))
        axis.set_minor_locator(FixedLocator([]))
    else:
        axis.set_major_locator(MultipleLocator(next((s for s in _DURATIONS if high / s <= _TICKS), high / _TICKS)))


def legend(figure: Figure, axes: Axes, columns: int = 5) -> None:
    """Put the legend above the plot, across the whole width."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=columns, handlelength=1.4, columnspacing=1.2)


def legend_above(axes: Axes, columns: int) -> None:
    """Put the legend above one of several rows."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=columns, borderaxespad=0.3, handlelength=1.4)
