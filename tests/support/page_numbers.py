"""Reads every number that the status page shows, with its place: a table and column, a tile, a line."""

import re
from collections import defaultdict
from collections.abc import Callable
from datetime import datetime
from html.parser import HTMLParser
from typing import Final

from kafka_warden.formatting import in_few, in_percent, in_rate, in_size, in_time, in_whole

VOID: Final = ("meta", "link", "input")
TOKEN: Final = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
NAMES: Final = ("bdi", "code", "data", "time", "script")
"""Elements whose text is a name from the cluster, or is read otherwise."""
LINES: Final = ("verdict", "freshness", "brand", "note", "empty", "beside")
WRITERS: Final[tuple[Callable[[float], str], ...]] = (
    in_whole,
    in_few,
    in_size,
    in_rate,
    in_time,
    in_percent,
    lambda value: f"{value * 1000:,.0f} ms",
    lambda value: f"{value:.0f}",
)
"""How a number may be written for people."""

Place = tuple[str, str]
"""What it is, and which row."""


def tokens(text: str | None) -> list[float]:
    return [float(found.replace(",", "")) for found in TOKEN.findall(text or "")]


class Tags(HTMLParser):
    """The elements of one page, which is well-formed: `tags` are all, with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self._open: list[tuple[str, dict[str, str]]] = []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(self.tags[-1])

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag


class PageNumbers(Tags):
    """The numbers of one page. `found` has those of each place in order, `wrong` those whose text is another number."""

    def __init__(self, page: str) -> None:
        self.found: dict[Place, list[float]] = defaultdict(list)
        self.rows: dict[str, list[str]] = defaultdict(list)
        """Name of a table to its rows."""
        self.wrong: list[str] = []
        self._tile = ""
        self._items = 0
        super().__init__(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element, and read the number that it has."""
        super().handle_starttag(tag, attrs)
        _, values = self.tags[-1]
        if tag == "li":
            self._items += 1
        if tag == "tr" and "data-row" in values:
            self.rows[self._attribute("table", "aria-label")].append(values["data-row"])
        if tag in ("data", "progress"):
            self.found[self._place()].append(float(values["value"]))
        if tag == "time":
            self.found[self._place()].append(datetime.fromisoformat(values["datetime"]).timestamp())

    def handle_data(self, data: str) -> None:
        """Read the numbers of a text."""
        tags = [tag for tag, _ in self._open]
        if "dt" in tags:
            self._tile = data
        elif tags and tags[-1] == "data":
            value = float(self._open[-1][1]["value"])
            if data not in [write(value) for write in WRITERS]:
                self.wrong.append(f"{self._place()}: {value} is written {data}")
        elif not set(tags) & set(NAMES):
            for number in tokens(data):
                self.found[self._place()].append(number)

    def _attribute(self, tag: str, name: str) -> str:
        return next((values.get(name, "") for each, values in reversed(self._open) if each == tag), "")

    def _place(self) -> Place:
        tags = {tag for tag, _ in self._open}
        classes = {
            part for _, values in self._open for part in (*values.get("class", "").split(), values.get("id", ""))
        }
        if "td" in tags:
            return f"{self._attribute('table', 'aria-label')}: {self._attribute('td', 'data-label')}", self._attribute(
                "tr", "data-row"
            )
        if "tile" in classes:
            return "tile", self._tile
        if "li" in tags:
            return f"problem, {self._open[2 + self._depth('li')][1].get('class', '')}", str(self._items - 1)
        if "pager" in classes:
            return "pager", self._attribute("nav", "aria-label")
        if "footer" in tags:
            return "footer", ""
        line = next((name for name in LINES if name in classes), "")
        return line or (self._open[-1][0] if self._open else ""), ""

    def _depth(self, tag: str) -> int:
        return next(place for place, (each, _) in enumerate(self._open) if each == tag) - 1
