"""The terminal: Textual draws the lines of `layout`, and brings keys. No mouse, and no markup in any text."""

import asyncio
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, Static

from kafka_warden.clock import monotonic
from kafka_warden.errors import NoAnswerError, SecretError
from kafka_warden.planning.formatting import in_time, in_utc, visible
from kafka_warden.top.client import Get
from kafka_warden.top.columns import SERVED, Grid, Order, chosen
from kafka_warden.top.flags import Request
from kafka_warden.top.layout import detail, fitted, head, wrapped
from kafka_warden.top.reading import Shown, read
from kafka_warden.top.tables import GRIDS
from kafka_warden.top.widgets import TICK, Lines, Rows
from kafka_warden.views.tables import MOST

INTERRUPTED: Final = 130
TERMINATED: Final = 143
"""Exit codes after Ctrl-C and SIGTERM, as in shells."""
_HEAD_SHARE: Final = 3
"""The head has at most the screen's height divided by this."""

KEYS: Final = (
    ("Tab ← →", "another table; 1 to 9 choose one"),
    ("↑ ↓", "move; Page up, Page down, Home, End; j and k, too"),
    ("Enter", "everything of a row"),
    ("/", "filter: words, or field=value; Escape removes it"),
    ("s", "order by the next column"),
    ("r", "turn the order round"),
    ("p", "pause, or go on"),
    ("?", "this list"),
    ("q Ctrl-C", "end"),
)
FOOTER: Final = "q end  ? keys  Tab table  Enter detail  / filter  s sort  r reverse  p pause"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why there is no answer, and since when."""

    text: str
    since: float
    """Monotonic."""
    wall: float
    """The same moment as Unix time."""


class Top(App[int]):
    """The whole screen: head, names of the tables, rows, filter, keys."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #head, #tables, #keys { height: auto; text-wrap: nowrap; }
    Rows { height: 1fr; text-wrap: nowrap; }
    #keys { dock: bottom; text-style: dim; }
    Input { display: none; height: 1; border: none; padding: 0; dock: bottom; margin-bottom: 1; }
    Input:focus { border: none; }
    Lines { background: $background; }
    Lines VerticalScroll { padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "end(130)", priority=True),
        Binding("q", "end(0)"),
        Binding("tab", "table(1)", priority=True),
        Binding("shift+tab", "table(-1)", priority=True),
        Binding("slash", "filter"),
        Binding("escape", "clear"),
        Binding("s", "sort"),
        Binding("r", "reverse"),
        Binding("p", "pause"),
        Binding("question_mark,h", "keys"),
    ]

    def __init__(self, get: Get, request: Request) -> None:
        # The terminal's own colours: they suit a light one, too, and NO_COLOR takes all of them away.
        super().__init__(ansi_color=True)
        self.theme, self.title, self.animation_level = "ansi-dark", "kafka-warden top", "none"
        self._get, self._request = get, request
        self._at = next((at for at, grid in enumerate(GRIDS) if grid.name == request.table), 0)
        self._order, self._search = request.order, request.search
        self.shown: Shown | None = None
        self.trouble: Trouble | None = None
        self.paused = False
        self.readings = 0
        self._wake = asyncio.Event()
        # Not found by their ids: at the end of the program they are gone before the timer is.
        self._head, self._names = Static(id="head", markup=False), Static(id="tables", markup=False)
        self._rows = Rows()
        self._field = Input(self._search, placeholder="words, or field=value", select_on_focus=False)

    @property
    def grid(self) -> Grid:
        """The table that is shown."""
        return GRIDS[self._at]

    def compose(self) -> ComposeResult:
        """Lay out."""
        yield self._head
        yield self._names
        yield self._rows
        yield self._field
        yield Static(FOOTER, id="keys", markup=False)

    def on_mount(self) -> None:
        """Start to read."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            # By default they would leave the terminal as it is now.
            loop.add_signal_handler(number, self.exit, TERMINATED)
        self._rows.focus()
        self.set_interval(TICK, self._show_head)
        self._show()
        self.run_worker(self._follow())

    async def _follow(self) -> None:
        while True:
            self._wake.clear()
            if not self.paused:
                await self._read()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._request.every):
                    await self._wake.wait()

    async def _read(self) -> None:
        """Read once. Without an answer what was shown stays, with its age."""
        try:
            self.shown = await read(self._get, {self.grid.name: MOST}, self.grid.sides)
        except (NoAnswerError, SecretError) as failure:
            since = self.trouble or Trouble("", monotonic(), time.time())
            self.trouble = replace(since, text=visible(str(failure)))
        else:
            self.trouble = None
        self.readings += 1
        self._show()

    def _show(self) -> None:
        table = None if self.shown is None else self.shown.table(self.grid.name)
        rows, total = ((), 0) if table is None else chosen(self.grid, table, self._search, self._order)
        if table is None:
            note = "Reading ..." if self.trouble is None else "No data."
        elif self._search and table.rows:
            note = "No row matches."
        else:
            known = self.grid.of_sidecar or (self.shown is not None and self.shown.fresh)
            note = self.grid.empty if known else "No fresh data."
        self._rows.show(self.grid, rows, self._order, note, None if self.shown is None else self.shown.history)
        self._show_tables(total)
        self._show_head()

    def _show_head(self) -> None:
        width, now = self.size.width, monotonic()
        lines = [] if self.shown is None else head(self.shown, now, width)
        trouble = self.trouble
        if trouble is not None:
            since = f"! No answer for {in_time(int(now - trouble.since))}, since {in_utc(trouble.wall)}"
            lines[:0] = wrapped([since, f"{self._request.where}: {trouble.text}"], width)
        if self.paused:
            lines.insert(0, "Paused: p goes on")
        most = max(self.size.height // _HEAD_SHARE, 2)
        content = [Content.styled(fitted(line, width), self._style(line)) for line in lines[:most]]
        self._head.update(Content("\n").join(content))

    @staticmethod
    def _style(line: str) -> str:
        return (
            "bold ansi_red" if line.startswith("!") else "bold" if line.startswith(("kafka-warden", "Paused")) else ""
        )

    def _show_tables(self, total: int) -> None:
        """Show the names of the tables from the one that is shown on; it has brackets and its number of rows."""
        name = f"[{self.grid.title} {total:,}]"
        others = [each.title for each in (*GRIDS[self._at + 1 :], *GRIDS[: self._at])]
        after = [f"filter: {visible(self._search)}"] if self._search else others
        line = fitted("  ".join([name, *after]), self.size.width)
        self._names.update(Content.assemble((line[: len(name)], "bold"), line[len(name) :]))

    def on_resize(self) -> None:
        """Fit the head to another width."""
        self._show()

    def action_end(self, code: int) -> None:
        """End, with an exit code."""
        self.exit(code)

    def action_table(self, by: int) -> None:
        """Show another table."""
        self.action_choose((self._at + by) % len(GRIDS))

    def action_choose(self, at: int) -> None:
        """Show the table of a number."""
        self._at, self._order = at, SERVED
        self._show()
        self._wake.set()

    def action_sort(self) -> None:
        """Order by the next column, and after the last one as served."""
        columns = [None, *self.grid.columns]
        self._order = Order(columns[(columns.index(self._order.column) + 1) % len(columns)])
        self._show()

    def action_reverse(self) -> None:
        """Turn the order round."""
        self._order = replace(self._order, reverse=not self._order.reverse)
        self._show()

    def action_pause(self) -> None:
        """Read no more, or go on."""
        self.paused = not self.paused
        self._wake.set()
        self._show_head()

    def action_filter(self) -> None:
        """Ask for a filter."""
        self._field.display = True
        self._field.focus()

    def action_clear(self) -> None:
        """Remove the filter."""
        self._field.value = ""
        self.on_input_submitted()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while it is written."""
        self._search = event.value
        self._show()

    def on_input_submitted(self) -> None:
        """Go back to the rows."""
        self._field.display = False
        self._rows.focus()

    def action_keys(self) -> None:
        """Show the keys."""
        self.push_screen(Lines(lambda _: [f"{keys:10} {what}" for keys, what in KEYS]))

    def action_detail(self) -> None:
        """Show everything of the row under the cursor, also in the next polls."""
        grid, chosen = self.grid, self._rows.chosen
        if chosen is None:
            return
        key = grid.key(chosen)

        def lines(width: int) -> list[str]:
            table = None if self.shown is None else self.shown.table(grid.name)
            rows = {grid.key(row): row for row in (() if table is None else table.rows)}
            row = rows.get(key)
            first = [] if row is not None else ["! This row is gone. It was:"]
            return [*first, *detail(grid, row if row is not None else chosen, width)]

        self.push_screen(Lines(lines))
