"""The widgets: the rows of one table, and a text over them."""

import textwrap
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from kafka_warden.planning.formatting import visible
from kafka_warden.top.columns import SERVED, Column, Grid, Order, mark
from kafka_warden.top.layout import curve_line, fit, row_line, title_line
from kafka_warden.top.tables import GRIDS
from kafka_warden.views.alerts import CRITICAL, MARKS, WARNING
from kafka_warden.views.rows import History

TICK: Final = 1.0
"""Seconds between two changes of the ages."""
_STYLES: Final = {MARKS[CRITICAL]: "bold ansi_red", MARKS[WARNING]: "ansi_yellow"}
_BORDER: Final = 4
"""Cells beside a text: padding and a scroll bar."""
_SMALL: Final = 6
"""Lines of rows from which on there is space for a sentence."""


class Lines(ModalScreen[None]):
    """A text over the table, made again every second."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter,question_mark", "dismiss", "close")]

    def __init__(self, make: Callable[[int], list[str]]) -> None:
        super().__init__()
        self._make = make
        self._lines = Static(markup=False)

    def compose(self) -> ComposeResult:
        """Lay out."""
        with VerticalScroll():
            yield self._lines

    def on_mount(self) -> None:
        """Show the text, now and every second."""
        self.set_interval(TICK, self.show)
        self.call_after_refresh(self.show)

    def on_resize(self) -> None:
        """Fit the text to the screen."""
        self.show()

    def show(self) -> None:
        """Make the text again."""
        self._lines.update("\n".join(self._make(self.size.width - _BORDER)))


class Rows(Widget, can_focus=True):
    """The rows of one table, of which only those on the screen are drawn."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)"),
        Binding("down,j", "move(1)"),
        Binding("pageup", "page(-1)"),
        Binding("pagedown,space", "page(1)"),
        Binding("home", "move(-1000000)"),
        Binding("end", "move(1000000)"),
        Binding("enter", "app.detail"),
        Binding("left", "app.table(-1)"),
        Binding("right", "app.table(1)"),
        *(Binding(str(number), f"app.choose({number - 1})") for number in range(1, 10)),
    ]

    grid: Grid = GRIDS[0]
    rows: Sequence[Any] = ()
    note: str = ""
    order: Order = SERVED
    history: History | None = None

    def __init__(self) -> None:
        super().__init__()
        self._at = self._first = 0
        self._columns: list[tuple[Column, int]] = []

    def show(self, grid: Grid, rows: Sequence[Any], order: Order, note: str, history: History | None) -> None:
        """Show other rows; the same row stays chosen. `note` is shown if there are none."""
        self.history = history
        chosen = self.chosen
        key = grid.key(chosen) if chosen is not None and grid is self.grid else None
        self.grid, self.rows, self.order, self.note = grid, rows, order, note
        if key is not None:
            self._at = next((at for at, row in enumerate(rows) if grid.key(row) == key), self._at)
        else:
            self._at = self._first = 0
        self._fit()

    def on_resize(self) -> None:
        """Choose the columns for another width."""
        self._fit()

    def _fit(self) -> None:
        self._at = max(min(self._at, len(self.rows) - 1), 0)
        self._columns = fit(self.grid, self.rows, self.order, self.size.width - 4)
        self.refresh()

    @property
    def chosen(self) -> Any:
        """The row under the cursor; `None` without rows."""
        return self.rows[self._at] if self._at < len(self.rows) else None

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self._at = max(min(self._at + by, len(self.rows) - 1), 0)
        self.refresh()

    def action_page(self, by: int) -> None:
        """Move the cursor by a screen."""
        self.action_move(by * max(self.size.height - 3, 1))

    def render(self) -> Content:
        """Draw the titles and the rows around the cursor, which has a mark besides its colours."""
        width = self.size.width - 4
        if not self.rows:
            return Content(self.note)
        below = self._below()
        height = max(self.size.height - 1 - len(below), 1)
        self._first = max(min(self._first, self._at, len(self.rows) - height), self._at - height + 1, 0)
        lines = [Content.styled(f"    {title_line(self._columns, self.order, width)}", "bold")]
        for at in range(self._first, min(self._first + height, len(self.rows))):
            row = self.rows[at]
            sign = mark(row)
            text = f"{'>' if at == self._at else ' '} {sign:1} {row_line(self._columns, row, width)}"
            lines.append(Content.styled(text, "reverse" if at == self._at else _STYLES.get(sign, "")))
        lines += [Content()] * (height + 1 - len(lines)) + [Content.styled(line, "italic") for line in below]
        return Content("\n").join(lines)

    def _below(self) -> list[str]:
        """Return the curve, and the sentence of the row under the cursor, whose column may be too narrow or missing."""
        if self.size.height <= _SMALL:
            return []
        width = max(self.size.width - 4, 1)
        lines = textwrap.wrap(visible(getattr(self.chosen, "sentence", None) or ""), width)[:2]
        curve = None if self.history is None else self.grid.curve(self.history, self.chosen)
        return [f"    {line}" for line in ([] if curve is None else [curve_line(curve, width)]) + lines]
