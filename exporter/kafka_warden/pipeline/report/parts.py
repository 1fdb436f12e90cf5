"""The parts of a page: sections of plots, each with its table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kafka_warden.pipeline.report.html import Html, joined, tag

AT_ONCE: Final = 9
"""Rows of a table that are visible without a click, and printed."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; numbers are aligned right. The filter of a `choice` offers its values."""

    title: str
    number: bool = False
    choice: bool = False


def numbers(*titles: str) -> tuple[Column, ...]:
    """Return columns of numbers."""
    return tuple(Column(title, number=True) for title in titles)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text. `left_out`: a sentence about missing rows, or empty. `whole`: all rows are visible at once."""

    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Sequence[str]]
    left_out: str = ""
    whole: bool = False

    def html(self) -> Html:
        """Write the first rows, and the rest behind a click."""
        at_once = len(self.rows) if self.whole else AT_ONCE
        first = self._table(self.rows[:at_once], self.title)
        more = self.rows[at_once:]
        folded = ""
        if more:
            folded = tag(
                "details", tag("summary", f"{len(more):,} more"), self._table(more, f"{self.title}, continued")
            )
        rows = tag("div", first, folded, class_="filtered") if self.whole or more else first
        return joined(rows, tag("p", self.left_out, class_="note") if self.left_out else "")

    def _table(self, rows: Sequence[Sequence[str]], title: str) -> Html:
        head = tag("tr", *(tag("th", column.title, scope="col", **_side(column)) for column in self.columns))
        body = [
            tag("tr", *(tag("td", cell, **_side(column)) for column, cell in zip(self.columns, row, strict=True)))
            for row in rows
        ]
        table = tag("table", tag("caption", title), tag("thead", head), tag("tbody", *body))
        # A wide table scrolls, also by keyboard, instead of the page.
        return tag("div", table, class_="scrolls", tabindex="0", role="region", aria_label=title)


def _side(column: Column) -> dict[str, str]:
    return {"class_": "number" if column.number else "choice"} if column.number or column.choice else {}


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing with an explanation."""

    title: str
    how: str
    svg: Html

    def html(self) -> Html:
        """Write it as a figure with its caption."""
        return tag("figure", tag("figcaption", tag("h3", self.title), tag("p", self.how)), self.svg)


@dataclass(frozen=True, slots=True)
class Shown:
    """A plot and a table with the same data."""

    plot: Plot
    table: Table
    wide: bool = False

    def html(self) -> Html:
        """Write both side by side, or one below the other if the table is wide."""
        beside = tag("div", self.table.html(), class_="beside")
        return tag("div", self.plot.html(), beside, class_="shown wide" if self.wide else "shown")


@dataclass(frozen=True, slots=True)
class Gallery:
    """Several small plots; the section has one table for them all."""

    title: str
    how: str
    plots: tuple[Plot, ...]

    def html(self) -> Html:
        """Write them as a grid."""
        small = tag("div", *(plot.html() for plot in self.plots), class_="gallery")
        return joined(tag("h3", self.title), tag("p", self.how), small)


@dataclass(frozen=True, slots=True)
class Said:
    """A paragraph."""

    text: str

    def html(self) -> Html:
        """Write it."""
        return tag("p", self.text)


@dataclass(frozen=True, slots=True)
class Missing:
    """A missing mart, and the command that makes it."""

    text: str
    command: str = ""

    def html(self) -> Html:
        """Write it as a highlighted paragraph."""
        return tag("p", self.text, tag("code", self.command) if self.command else "", class_="missing")


Part = Shown | Gallery | Said | Missing | Table


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page that answers one question. `finding`: the answer in a sentence, repeated at the top."""

    name: str
    title: str
    finding: str
    parts: tuple[Part, ...]

    def html(self) -> Html:
        """Write it."""
        heading = tag("h2", self.title, id=f"{self.name}-heading")
        finding = tag("p", self.finding, class_="finding")
        parts = [part.html() for part in self.parts]
        return tag("section", heading, finding, *parts, id=self.name, aria_labelledby=f"{self.name}-heading")
