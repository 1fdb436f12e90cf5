"""A matplotlib figure as SVG inside a page: with the page's colours, and tooltips.

matplotlib's ids would collide between plots, and its text would be black on a dark page, so the tree is rewritten.
"""

import io
import re
from collections.abc import Mapping, Sequence
from typing import Final
from xml.etree import ElementTree as ET

from matplotlib.figure import Figure

from kafka_warden.pipeline.report.colours import ALL
from kafka_warden.pipeline.report.html import Html

_SVG: Final = "http://www.w3.org/2000/svg"
_LINK: Final = "http://www.w3.org/1999/xlink"
_HREF: Final = f"{{{_LINK}}}href"
_UNDATED: Final = {"Date": None, "Creator": None, "Format": None, "Type": None}
_VARIABLES: Final = {colour.light: f"var(--{colour.name})" for colour in ALL}
_HEX: Final = re.compile(r"#[0-9a-f]{6}")
_FONT: Final = re.compile(r"font-family:[^;]*;?|font: ([\d.]+px) [^;]*")
_REFERENCE: Final = re.compile(r"url\(#([^)]*)\)")
_NEARLY: Final = re.compile(r"(\d+\.\d\d)\d+")

Tips = Mapping[str, Sequence[str]]
"""Group (matplotlib's `gid`) to the tooltip of each of its marks, in drawing order."""


def inline(figure: Figure, name: str, title: str, about: str, tips: Tips | None = None) -> Html:
    """Return a figure as an element of a page. A group of it has as many marks as tips.

    `name`: prefix of its ids, unique in the page. `title`, `about`: name and description for screen readers.
    """
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata=_UNDATED)
    root = ET.fromstring(file.getvalue())  # noqa: S314  # written by matplotlib just now
    # A style element would apply to the whole page; page.css has the same rule for plots only.
    styles = [child for child in root.findall(f"{{{_SVG}}}defs") if child.find(f"{{{_SVG}}}style") is not None]
    for unwanted in (*root.findall(f"{{{_SVG}}}metadata"), *styles):
        root.remove(unwanted)
    for group, texts in (tips or {}).items():
        _give_tips(root, group, texts)
    for element in root.iter():
        _adapt(element, name)
    _describe(root, name, title, about)
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _LINK)
    return Html(ET.tostring(root, encoding="unicode"))


def _give_tips(root: ET.Element, group: str, texts: Sequence[str]) -> None:
    found = next((element for element in root.iter(f"{{{_SVG}}}g") if element.get("id") == group), None)
    if found is None:
        raise ValueError(f"no group {group} was drawn")
    marks = found.findall(f".//{{{_SVG}}}use") or found.findall(f".//{{{_SVG}}}path")
    for mark, text in zip(marks, texts, strict=True):
        ET.SubElement(mark, f"{{{_SVG}}}title").text = text


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
