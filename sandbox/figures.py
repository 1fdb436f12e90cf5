"""Pictures of the documents, drawn by matplotlib: in light colours, which a page replaces by CSS variables.

So one drawing suits light and dark mode. Data colours are close to the palette of Okabe and Ito, which colour-blind
people can distinguish; those of the report (report.css) are the same.
"""

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

DAY: Final = 86400.0


@dataclass(frozen=True, slots=True)
class Colour:
    """The name of a CSS variable, and its value in light and dark mode. `light` is unique."""

    name: str
    light: str
    dark: str


PAPER: Final = Colour("paper", "#fefefe", "#14181d")
INK: Final = Colour("ink", "#1b1f24", "#e4e8ec")
FAINT: Final = Colour("faint", "#57606a", "#9aa5b1")
GRID: Final = Colour("grid", "#d8dee4", "#313a44")
BLUE: Final = Colour("blue", "#0072b2", "#56a8e0")
ORANGE: Final = Colour("orange", "#c96a00", "#f0a33c")
GREEN: Final = Colour("green", "#00835f", "#2fc299")
RED: Final = Colour("red", "#c0392b", "#f0776b")
PURPLE: Final = Colour("purple", "#a4568a", "#d993bf")
SKY: Final = Colour("sky", "#4aa3d1", "#8cd0f5")
YELLOW: Final = Colour("yellow", "#b59a00", "#e8d44d")
GREY: Final = Colour("grey", "#8b949e", "#7d8894")
BROWN: Final = Colour("brown", "#7a4a2b", "#c79a78")

ALL: Final = (PAPER, INK, FAINT, GRID, BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW, GREY, BROWN)
IN_TURN: Final = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW, BROWN, RED)
"""For subjects without a colour of their own, such as clusters."""

WIDTH: Final = 7.6
"""Inches, of a plot as wide as the page."""

_FORMATS: Final = ("%Y", "%b", "%d", "%H:%M", "%H:%M", "%S")
_OFFSETS: Final = ("", "%Y", "%Y-%m", "%Y-%m-%d", "%Y-%m-%d", "%Y-%m-%d %H:%M")
"""ISO 8601 for the common part of an axis' times."""

_DURATIONS: Final = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 18000, 43200, 86400, 172800, 604800, 2592000)
"""Seconds: round durations for ticks."""

_TICKS: Final = 6

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


def durations(axis: Any, high: float) -> None:
    """Set the ticks of an axis of seconds from 0 at minutes, hours and days."""
    axis.set_major_locator(MultipleLocator(next((s for s in _DURATIONS if high / s <= _TICKS), high / _TICKS)))


def legend(figure: Figure, axes: Axes, columns: int = 5) -> None:
    """Put the legend above the plot, across the whole width."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=columns, handlelength=1.4, columnspacing=1.2)


_SVG: Final = "http://www.w3.org/2000/svg"
_LINK: Final = "http://www.w3.org/1999/xlink"
_HREF: Final = f"{{{_LINK}}}href"
_UNDATED: Final = {"Date": None, "Creator": None, "Format": None, "Type": None}
_VARIABLES: Final = {colour.light: f"var(--{colour.name})" for colour in ALL}
_HEX: Final = re.compile(r"#[0-9a-f]{6}")
_FONT: Final = re.compile(r"font-family:[^;]*;?|font: ([\d.]+px) [^;]*")
_REFERENCE: Final = re.compile(r"url\(#([^)]*)\)")
_NEARLY: Final = re.compile(r"(\d+\.\d\d)\d+")


def inline(figure: Figure, name: str, title: str, about: str) -> str:
    """Return a figure as an element of a page. Its ids are unique there, and its text is in the page's colours.

    `name`: prefix of its ids, unique in the page. `title`, `about`: name and description for screen readers.
    """
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata=_UNDATED)
    root = ET.fromstring(file.getvalue())  # noqa: S314  # written by matplotlib just now
    # A style element would apply to the whole page; page.css has the same rule for plots only.
    styles = [child for child in root.findall(f"{{{_SVG}}}defs") if child.find(f"{{{_SVG}}}style") is not None]
    for unwanted in (*root.findall(f"{{{_SVG}}}metadata"), *styles):
        root.remove(unwanted)
    for element in root.iter():
        _adapt(element, name)
    _describe(root, name, title, about)
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _LINK)
    return ET.tostring(root, encoding="unicode")


def _adapt(element: ET.Element, name: str) -> None:
    if own := element.get("id"):
        element.set("id", f"{name}-{own}")
    if link := element.get(_HREF):
        element.set(_HREF, f"#{name}-{link.removeprefix('#')}")
    if clip := element.get("clip-path"):
        element.set("clip-path", _REFERENCE.sub(rf"url(#{name}-\1)", clip))
    if style := element.get("style"):
        sized = _FONT.sub(lambda font: f"font-size: {font[1]}" if font[1] else "", style)
        element.set("style", _HEX.sub(lambda colour: _VARIABLES.get(colour[0], colour[0]), sized))
    for position in ("d", "x", "y", "transform"):
        if places := element.get(position):
            # Two decimals are enough and make the page a third smaller.
            element.set(position, _NEARLY.sub(r"\1", places.replace("\n", "")))
    if element.text and not element.text.strip():
        element.text = None
    element.tail = None


def _describe(root: ET.Element, name: str, title: str, about: str) -> None:
    root.set("role", "img")
    root.set("class", "plot")
    root.set("aria-labelledby", f"{name}-title {name}-about")
    for place, (kind, part, text) in enumerate((("title", "title", title), ("desc", "about", about))):
        label = ET.Element(f"{{{_SVG}}}{kind}", {"id": f"{name}-{part}"})
        label.text = text
        root.insert(place, label)
