"""The terminal, as a Textual program. No mouse, and no markup in any text."""

import asyncio
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Final

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Input, Static, Tab, Tabs

from kafka_warden.api_client import Get, Reading, read
from kafka_warden.clock import monotonic
from kafka_warden.errors import NoAnswerError, SecretError
from kafka_warden.formatting import in_utc, visible
from kafka_warden.top.output import Request, cell, chosen, curve_line, head, mark, why_empty
from kafka_warden.views.alerts import CRITICAL, MARKS, WARNING
from kafka_warden.views.fields import fields_of
from kafka_warden.views.rows import MOST, Table
from kafka_warden.views.specs import BY_NAME, TABLES
from kafka_warden.views.table_spec import UNKNOWN, Column, TableSpec

INTERRUPTED, TERMINATED = 130, 143
"""Exit codes after Ctrl-C and SIGTERM, as in shells."""
ROWS: Final = 200
"""Rows on the screen: Textual measures each cell, and takes half a second for 1,000 rows."""
_STYLES: Final = {MARKS[CRITICAL]: "bold red", MARKS[WARNING]: "yellow"}


class Detail(ModalScreen[None]):
    """A text over the table."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "dismiss", "Close")]

    def __init__(self, text: Content) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """Lay out."""
        yield VerticalScroll(Static(self._text))
        yield Footer(compact=True)


class RowTable(DataTable[Text]):
    """The rows of one table."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.table(1)", "Table"),
        Binding("shift+tab", "app.table(-1)", "Table before", show=False),
        Binding("enter", "select_cursor", "Detail"),
        Binding("home", "scroll_top", "First row", show=False),
        Binding("end", "scroll_bottom", "Last row", show=False),
    ]
    spec: TableSpec = TABLES[0]
    shown: Sequence[Any] = ()

    @property
    def chosen(self) -> Any:
        """The row under the cursor; `None` without rows."""
        return self.shown[self.cursor_row] if 0 <= self.cursor_row < len(self.shown) else None

    def fill(self, spec: TableSpec, rows: Sequence[Any], title: Callable[[Column], str]) -> None:
        """Show other rows. The same row stays chosen."""
        same = spec is self.spec and bool(self.shown)
        key, at, (x, y) = (spec.key_of(self.chosen), self.cursor_row, self.scroll_offset) if same else (None, 0, (0, 0))
        self.spec, self.shown = spec, rows
        self.clear(columns=True)
        titles = _cells(spec, " ", map(title, spec.columns))
        lines = [
            _cells(spec, mark(row), (cell(each, row, self.app.size.width) for each in spec.columns)) for row in rows
        ]
        # Textual measures columns when it is idle, and keeps cut lines that were drawn before.
        for column in zip(titles, *lines, strict=True):
            self.add_column(column[0], width=max(text.cell_len for text in column))
        self.add_rows(lines)
        self.scroll_to(x, y, animate=False, immediate=True)
        self.move_cursor(row=next((at for at, row in enumerate(rows) if spec.key_of(row) == key), at))


def _cells(spec: TableSpec, sign: str, texts: Iterable[str]) -> list[Text]:
    """Make a line: its mark and the first text, then the others."""
    style, first = _STYLES.get(sign, ""), spec.columns[0]
    return [
        Text(f"{sign} {text}" if column is first else text, style, justify="right" if column.number else "left")
        for column, text in zip(spec.columns, texts, strict=True)
    ]


class Top(App[int]):
    """The whole screen: head, names of the tables, rows, filter, keys."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen, Detail VerticalScroll { background: ansi_default; color: ansi_default; }
    #head { height: auto; max-height: 34%; }
    Tabs { height: 1; }
    Tab.-active { text-style: bold reverse; }
    RowTable { height: 1fr; scrollbar-size-horizontal: 0; background: ansi_default; }
    RowTable.empty { height: 1; }
    RowTable > .datatable--header, RowTable > .datatable--fixed { background: ansi_default; color: ansi_default; }
    RowTable > .datatable--cursor { text-style: reverse; background: ansi_default; color: ansi_default; }
    #notes { height: auto; max-height: 20%; text-style: italic; }
    Input, Input:focus { dock: bottom; height: 1; border: none; padding: 0; margin-bottom: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "End"),
        Binding("question_mark", "show_help_panel", "Keys"),
        Binding("slash", "focus('filter')", "Filter"),
        Binding("s", "sort", "Sort"),
        Binding("r", "reverse", "Reverse"),
        Binding("p", "pause", "Pause"),
        Binding("escape", "clear", "Remove filter and keys", show=False),
        Binding("ctrl+c", "interrupt", "End", show=False, priority=True),
    ]

    def __init__(self, get: Get, request: Request) -> None:
        # The terminal's own colours: they suit a light one, too, and NO_COLOR takes all of them away.
        super().__init__(ansi_color=True)
        self.theme, self.title, self.animation_level = "ansi-dark", "kafka-warden top", "none"
        self._get, self.request = get, request
        self._opening = request.table is None
        self.spec = BY_NAME[request.table or TABLES[0].name]
        self.shown: Reading | None = None
        self.trouble, self.paused, self.readings = "", False, 0
        self._wake = asyncio.Event()
        # Not found by their ids: at the end of the program they are gone before the timer is.
        self._head, self._notes, self._rows = Static(id="head"), Static(id="notes"), RowTable(cursor_type="row")
        self._names = {spec.name: Tab(spec.title, id=spec.name) for spec in TABLES}
        self._tabs = Tabs(*self._names.values(), active=self.spec.name)
        self._field = Input(request.search, "/ words, or field=value", id="filter", select_on_focus=False)

    @property
    def table(self) -> Table[Any] | None:
        """The table that is shown, if it was read."""
        return None if self.shown is None else self.shown.tables.get(self.spec.name)

    def compose(self) -> ComposeResult:
        """Lay out."""
        self._tabs.can_focus, self._rows.fixed_columns = False, 1
        yield from (self._head, self._tabs, self._rows, self._notes, self._field, Footer(compact=True))

    def on_mount(self) -> None:
        """Start to read."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            # By default they would leave the terminal as it is now.
            asyncio.get_running_loop().add_signal_handler(number, self.exit, TERMINATED)
        self._rows.focus()
        self.set_interval(1, self._show_head)
        self.run_worker(self._follow())

    async def _follow(self) -> None:
        while True:
            self._wake.clear()
            if not self.paused:
                await self._read()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), self.request.every)

    async def _read(self) -> None:
        """Read once. Without an answer what was shown stays, with its age."""
        try:
            if self._opening:
                found = await read(self._get, dict.fromkeys(BY_NAME, 1))
                self._open(next((spec for spec in TABLES if found.tables[spec.name].rows), TABLES[0]))
            self.shown = await read(self._get, {self.spec.name: MOST}, self.spec.sides)
        except (NoAnswerError, SecretError) as failure:
            since = self.trouble.partition(" · ")[0] or f"! No answer since {in_utc(time.time())}"
            self.trouble = f"{since} · {self.request.where}: {visible(str(failure))}"
        else:
            self.trouble = ""
        self.readings += 1
        self._show()

    def _open(self, spec: TableSpec) -> None:
        self._names[self.spec.name].label = self.spec.title
        self.spec, self._opening = spec, False
        self._tabs.active = spec.name

    @on(Resize)
    @on(Input.Changed)
    def _show(self) -> None:
        self.request = replace(self.request, search=self._field.value)
        found = chosen(self.spec, self.table or Table(), self.request)
        self._rows.fill(self.spec, found[0][:ROWS], self.request.title)
        self._rows.set_class(not found[0], "empty")
        self._names[self.spec.name].label = f"{self.spec.title} {found[1]:,}"
        self._show_notes()
        self._show_head()

    @on(DataTable.RowHighlighted)
    def _show_notes(self) -> None:
        self._notes.update(Content("\n".join(self._noted())))

    def _noted(self) -> Iterator[str]:
        """Return the curve and the sentence of the row under the cursor, or why there are no rows."""
        shown, row = self.shown, self._rows.chosen
        if shown is None or self.table is None:
            yield "No data." if self.trouble else "Reading ..."
        elif row is None:
            yield why_empty(self.spec, shown, self.request)
        else:
            if sentence := getattr(row, "sentence", None):
                yield visible(sentence)
            if shown.history is not None and (curve := self.spec.curve(shown.history, row)) is not None:
                yield curve_line(curve, self._rows.size.width - 2)
            if len(self._rows.shown) == ROWS:
                yield f"These are the first {ROWS} rows: filter or sort to see others."

    def _show_head(self) -> None:
        lines = ["Paused: p goes on"] * self.paused + [self.trouble] * bool(self.trouble)
        lines += ["kafka-warden"] if self.shown is None else head(self.shown, monotonic())
        style = "bold red" if self.trouble else "bold"
        self._head.update(Content.assemble((lines[0], style), *(f"\n{line}" for line in lines[1:])))

    @on(DataTable.RowSelected)
    def _show_detail(self) -> None:
        """Show everything of the row under the cursor: each field, its value with the exact number, its meaning."""
        row = self._rows.chosen
        numbers = {column.field: column for column in self.spec.columns if column.number}
        time_of = [] if self.shown is None else [f"Data of {in_utc(self.shown.time or 0.0)}"]
        parts: list[Any] = [f"{line}\n" for line in (*self._noted(), *time_of)]
        for name, (_, about) in fields_of(type(row)).items():
            value = getattr(row, name)
            exact = UNKNOWN if value is None else visible(str(value))
            text = f"{numbers[name].text(row)} ({exact})" if name in numbers and value is not None else exact
            parts += [(name, "bold"), f": {text}\n", (f"{about}\n", "dim")]
        self.push_screen(Detail(Content.assemble(*parts)))

    @on(Input.Submitted)
    def _leave_filter(self) -> None:
        self._rows.focus()

    def action_table(self, by: int) -> None:
        """Show another table."""
        self.request = replace(self.request, sort=None, reverse=False)
        self._open(TABLES[(TABLES.index(self.spec) + by) % len(TABLES)])
        self._show()
        self._wake.set()

    def action_sort(self) -> None:
        """Order by the next column, and after the last one as served."""
        columns = [None, *self.spec.columns]
        column = columns[(columns.index(self.request.sort) + 1) % len(columns)]
        self.request = replace(self.request, sort=column, reverse=False)
        self._show()

    def action_reverse(self) -> None:
        """Turn the order round."""
        self.request = replace(self.request, reverse=not self.request.reverse)
        self._show()

    def action_pause(self) -> None:
        """Read no more, or go on."""
        self.paused = not self.paused
        self._wake.set()
        self._show_head()

    def action_clear(self) -> None:
        """Remove the filter, and the list of keys."""
        self._field.value = ""
        self._rows.focus()
        self.action_hide_help_panel()

    def action_interrupt(self) -> None:
        """End after Ctrl-C."""
        self.exit(INTERRUPTED)
