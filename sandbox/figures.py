"""Pictures of the documents, drawn by matplotlib, with plain colours: every viewer shows them.

Data colours are close to the palette of Okabe and Ito, which colour-blind people can distinguish; those of the report
(report.css) are the same.
"""

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

PAPER: Final = "#fefefe"
INK: Final = "#1b1f24"
FAINT: Final = "#57606a"
GRID: Final = "#d8dee4"
BLUE: Final = "#0072b2"
ORANGE: Final = "#c96a00"
GREEN: Final = "#00835f"
PURPLE: Final = "#a4568a"

_STYLE: Final[Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": FAINT,
    "axes.facecolor": PAPER,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "figure.facecolor": PAPER,
    # For measuring text; the browser uses the page's font, which is narrower.
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "svg.fonttype": "none",  # text that can be searched and read aloud
    "svg.hashsalt": "kafka-warden",  # the same input gives the same page
    "text.color": INK,
    "text.parse_math": False,  # a `$` in a name is a `$`
    "xtick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.color": FAINT,
    "ytick.labelcolor": INK,
}


@contextmanager
def canvas(height: float, width: float, rows: int = 1) -> Iterator[tuple[Figure, list[Axes]]]:
    """Yield an empty figure and the axes of its rows, which share their horizontal axis; sizes in inches.

    Draw and save it inside the context: some of the style is only read when it is saved.
    """
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots(rows, 1, sharex=True, squeeze=False)
        yield figure, list(axes[:, 0])


def units(axis: Any, write: Callable[[float], str]) -> None:
    """Write the numbers of an axis with their unit."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: write(value)))


def legend(figure: Figure, axes: Axes, columns: int = 5) -> None:
    """Put the legend above the plot, across the whole width."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=columns, handlelength=1.4, columnspacing=1.2)


_SVG: Final = "http://www.w3.org/2000/svg"
_LINK: Final = "http://www.w3.org/1999/xlink"
_HREF: Final = f"{{{_LINK}}}href"
_UNDATED: Final = {"Date": None, "Creator": None, "Format": None, "Type": None}
_FONT: Final = re.compile(r"font-family:[^;]*;?|font: ([\d.]+px) [^;]*")
_REFERENCE: Final = re.compile(r"url\(#([^)]*)\)")
_NEARLY: Final = re.compile(r"(\d+\.\d\d)\d+")


def inline(figure: Figure, name: str, title: str, about: str) -> str:
    """Return a figure as an SVG element whose ids are unique, with text that can be searched.

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
        element.set("style", _FONT.sub(lambda font: f"font-size: {font[1]}" if font[1] else "", style))
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
