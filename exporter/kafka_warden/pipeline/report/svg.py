"""A matplotlib figure as SVG that lives inside a page: its colours follow the page's, its dots have tips.

matplotlib writes a document with its own fonts, ids and colours. Inside a page the ids of two plots would meet, and a
dark page would have black text. So the tree is gone over once, and ElementTree escapes what is written again.
"""

import io
import re
from collections.abc import Mapping, Sequence
from typing import Final
from xml.etree import ElementTree as ET

from matplotlib.figure import Figure

from kafka_warden.pipeline.report.colours import BY_HEX
from kafka_warden.pipeline.report.html import Html

_SVG: Final = "http://www.w3.org/2000/svg"
_LINK: Final = "http://www.w3.org/1999/xlink"
_HREF: Final = f"{{{_LINK}}}href"
_UNDATED: Final = {"Date": None, "Creator": None, "Format": None, "Type": None}
_HEX: Final = re.compile(r"#[0-9a-f]{6}")
_FONT: Final = re.compile(r"font-family:[^;]*;?|font: ([\d.]+px) [^;]*")
_REFERENCE: Final = re.compile(r"url\(#([^)]*)\)")
_NEARLY: Final = re.compile(r"(\d+\.\d\d)\d+")

Tips = Mapping[str, Sequence[str]]
"""Group (matplotlib's `gid`) to the text of each of its marks, in the order in which they were drawn."""


def inline(figure: Figure, name: str, title: str, about: str, tips: Tips | None = None) -> Html:
    """Write a figure as an element of a page.

    Args:
        figure: What was drawn. Its marks of a group that has tips have to be as many as those.
        name: Tells this plot's ids from those of all others in the page.
        title: What the plot is, for those who cannot see it.
        about: What is seen in it, for the same.
        tips: What a mark says under the pointer.
    """
    root = ET.fromstring(_drawn(figure))  # noqa: S314  # written by matplotlib just now
    for unwanted in (*root.findall(f"{{{_SVG}}}metadata"), *_stylesheets(root)):
        root.remove(unwanted)
    for group, texts in (tips or {}).items():
        _give_tips(root, group, texts)
    for element in root.iter():
        _adapt(element, name)
    _describe(root, name, title, about)
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _LINK)
    return Html(ET.tostring(root, encoding="unicode"))


def _drawn(figure: Figure) -> str:
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata=_UNDATED)
    return file.getvalue()


def _stylesheets(root: ET.Element) -> list[ET.Element]:
    # A style element rules the whole page, wherever it stands; the page has the same rule for plots only.
    return [child for child in root.findall(f"{{{_SVG}}}defs") if child.find(f"{{{_SVG}}}style") is not None]


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
        element.set("style", _coloured(_FONT.sub(_sized, style)))
    for position in ("d", "x", "y", "transform"):
        if places := element.get(position):
            # A hundredth of a point is nothing to see, and makes the page a third smaller.
            element.set(position, _NEARLY.sub(r"\1", places.replace("\n", "")))
    if element.text and not element.text.strip():
        element.text = None
    element.tail = None


def _sized(font: re.Match[str]) -> str:
    return f"font-size: {font[1]}" if font[1] else ""


def _coloured(style: str) -> str:
    return _HEX.sub(lambda found: f"var(--{BY_HEX[found[0]]})" if found[0] in BY_HEX else found[0], style)


def _describe(root: ET.Element, name: str, title: str, about: str) -> None:
    root.set("role", "img")
    root.set("class", "plot")
    root.set("aria-labelledby", f"{name}-title {name}-about")
    for place, (kind, text) in enumerate((("title", title), ("desc", about))):
        label = ET.Element(f"{{{_SVG}}}{kind}", {"id": f"{name}-{'title' if kind == 'title' else 'about'}"})
        label.text = text
        root.insert(place, label)
