"""The table of moves that the demo shows, from the exporter's API."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

BAR_WIDTH = 20
WIDE_COLUMNS = 105
PLAIN_EVERY_SECONDS = 10.0


@dataclass(frozen=True)
class Move:
    """A replica that moves from one broker to another."""

    topic: str
    partition: int
    source: int
    target: int

    @property
    def name(self) -> str:
        """Topic and partition, as Kafka's logs write it."""
        return f"{self.topic}-{self.partition}"


@dataclass
class Row:
    """One row of the table: a move. Bytes, seconds; None is unknown."""

    move: Move
    remaining: float | None = None
    progress: float | None = None
    rate: float | None = None
    eta: float | None = None
    cause: str | None = None
    ended: bool = False

    @property
    def state(self) -> str:
        """Its state in words."""
        if self.ended:
            return "done"
        if self.cause is not None:
            return f"stuck: {self.cause}"
        if self.progress is None:
            return "not seen yet"
        return "falls behind" if self.eta == math.inf else "copying"

    @property
    def copied(self) -> str:
        """Copied bytes and all bytes."""
        if self.remaining is None or self.progress is None or self.progress >= 1:
            return ""
        total = self.remaining / (1 - self.progress)
        return f"{(total - self.remaining) / 1e6:.0f} of {total / 1e6:.0f} MB"

    @property
    def speed(self) -> str:
        """Bytes per second that are copied."""
        return "" if self.rate is None or self.ended else f"{self.rate / 1e6:.2f} MB/s"

    @property
    def until(self) -> str:
        """ETA."""
        if self.eta is None or self.ended:
            return ""
        return "never" if self.eta == math.inf else f"{self.eta:.0f} s"


@dataclass
class Board:
    """The rows of all moves, brought up to date from the exporter."""

    moves: Sequence[Move]
    rows: dict[Move, Row] = field(default_factory=dict)

    def update(self, answer: Sequence[Mapping[str, Any]]) -> list[Row]:
        """Take the rows of `/api/v1/moves`. A move that was there and is gone has ended."""
        found = {(row["topic"], row["partition"], row["broker"]): row for row in answer}
        for move in self.moves:
            row = found.get((move.topic, move.partition, move.target))
            if row is not None:
                self.rows[move] = _row(move, row)
            elif move in self.rows:
                self.rows[move] = Row(move, remaining=0.0, progress=1.0, ended=True)
        return self.current

    @property
    def current(self) -> list[Row]:
        """As they were last."""
        return [self.rows.get(move, Row(move)) for move in self.moves]


def _row(move: Move, row: Mapping[str, Any]) -> Row:
    eta = row["eta"] if row["eta"] is None else float(row["eta"])
    return Row(move, row["remaining_bytes"], row["progress"], row["bytes_per_second"], eta, row["cause"])


class Screen:
    """Output of the demo: on a terminal a live table below the messages, elsewhere plain lines."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started = time.monotonic()
        self._shown = -math.inf
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False)
            self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    @property
    def elapsed(self) -> float:
        """Seconds since the screen was made."""
        return time.monotonic() - self._started

    def say(self, text: str, *details: str) -> None:
        """Print a message with the time, and details below it."""
        minutes, seconds = divmod(int(self.elapsed), 60)
        self._console.print(f"[{minutes}:{seconds:02}] {text}", markup=False, highlight=False, soft_wrap=True)
        for detail in "\n".join(details).splitlines():
            self._console.print(f"       {detail}", markup=False, highlight=False, soft_wrap=True)

    def show(self, rows: Sequence[Row]) -> None:
        """Update the table once a move is known; without a terminal, print a line per move every ten seconds."""
        if all(row.progress is None for row in rows):
            return
        if self._live is not None:
            self._live.update(_table(rows, self._console.width), refresh=True)
        elif time.monotonic() - self._shown >= PLAIN_EVERY_SECONDS:
            self._shown = time.monotonic()
            for row in rows:
                self.say(_line(row))


def _table(rows: Sequence[Row], width: int) -> Table:
    """A line per move; in a narrow terminal without the bytes, so that the state fits."""
    wide = width >= WIDE_COLUMNS
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for header in ("partition", "move", "copied", "", *([""] if wide else []), "rate", "ETA"):
        table.add_column(header, no_wrap=True)
    table.add_column("state", overflow="fold")
    for row in rows:
        bar = ProgressBar(total=1.0, completed=row.progress or 0.0, width=BAR_WIDTH if wide else BAR_WIDTH // 2)
        style = "red" if row.cause else "green" if row.ended else ""
        percent = "" if row.progress is None else f"{row.progress:.0%}"
        ends = f"{row.move.source} -> {row.move.target}"
        amounts = [row.copied] if wide else []
        table.add_row(row.move.name, ends, bar, percent, *amounts, row.speed, row.until, row.state, style=style)
    return table


def _line(row: Row) -> str:
    filled = round((row.progress or 0.0) * BAR_WIDTH)
    bar = "#" * filled + "." * (BAR_WIDTH - filled)
    percent = "" if row.progress is None else f"{row.progress:4.0%}"
    ends = f"{row.move.name:<18} {row.move.source} -> {row.move.target}"
    eta = f"ETA {row.until}" if row.until else ""
    return f"{ends}  {bar} {percent:>4}  {row.copied:<15} {row.speed:<10} {eta:<10} {row.state}".rstrip()
