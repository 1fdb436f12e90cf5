"""Rows of the table: measured values and targets of the design."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        what: The thing that was measured.
        measured: Its number.
        unit: Of `measured` and `target`.
        target: What it must not exceed; None where the row explains another one.
        note: Spread, ratio, number of samples.
    """

    what: str
    measured: float
    unit: str
    target: float | None = None
    note: str = ""

    @property
    def reached(self) -> bool:
        """Whether the target is reached, if there is one."""
        return self.target is None or self.measured <= self.target

    @property
    def verdict(self) -> str:
        """The same in words, with the factor by which the target is missed."""
        if self.target is None:
            return ""
        return "reached" if self.reached else f"missed, x {self.measured / (self.target or 1):.2f}"

    def to_line(self) -> str:
        """The row as it is shown while the benchmark runs."""
        return f"  {self.what}: {_quantity(self.measured, self.unit)}  {self.verdict}  ({self.note})"


@dataclass(frozen=True)
class Report:
    """Everything that one run of the benchmark found."""

    machine: dict[str, str]
    rows: list[Row] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    """Part of the benchmark to why it has no rows."""

    def to_dict(self) -> dict[str, Any]:
        """Return values for JSON."""
        return {**asdict(self), "rows": [{**asdict(row), "verdict": row.verdict} for row in self.rows]}

    def to_markdown(self) -> str:
        """Return the table of README.md."""
        head = ("| What | Measured | Target | | Note |", "|---|---|---|---|---|")
        lines = [f"- {name}: {value}" for name, value in self.machine.items()]
        body = [
            f"| {row.what} | {_quantity(row.measured, row.unit)} | {_target(row)} | {row.verdict} | {row.note} |"
            for row in self.rows
        ]
        missing = [f"- not measured: {part}: {reason}" for part, reason in self.skipped.items()]
        return "\n".join([*lines, "", *head, *body, *([""] if missing else []), *missing, ""])


def show(rows: Iterable[Row]) -> int:
    """Print each row as soon as it is measured; return the exit code, 1 where a target is missed."""
    missed = 0
    for row in rows:
        print(row.to_line(), flush=True)
        missed += not row.reached
    return int(missed > 0)


def median(values: Iterable[float]) -> float:
    """Median."""
    return percentile(sorted(values), 0.5)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which a share of the values lies, interpolated. `values` are sorted."""
    position = share * (len(values) - 1)
    below, above = values[math.floor(position)], values[math.ceil(position)]
    return below + (above - below) * (position - math.floor(position))


def _target(row: Row) -> str:
    return "" if row.target is None else f"<= {_quantity(row.target, row.unit)}"


def _quantity(value: float, unit: str) -> str:
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:.{min(digits, 4)}f} {unit}".rstrip()
