"""The table of `tests/alerts/panels.md`, of each query of a dashboard and the faults that move it: read and written."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from grafana.quiet import zero_by_nature
from tests.support.dashboards import Key, targets, titles

FILE: Final = Path(__file__).with_name("panels.md")
Moved = dict[Key, tuple[str, ...]]
"""Faults by query."""
INTRO: Final = """\
# What moves each panel

Every query of the dashboards, and the faults of [alerts/matrix.md](../../alerts/matrix.md) that it shows.

`make full-alerts` causes each fault on a real cluster. Before it repairs the fault, it sends the queries of that
fault to a real Prometheus. Each query must have had a value other than 0 since the fault began, and a series of a
panel of states two values. A query that is always 0 (`grafana/quiet.py`) must have data. A query without a fault fails.

`ALERT_MATRIX=write make full-alerts` removes faults that do not change their query. A query without a fault gets the
faults of the first round that changes it: delete those that do not belong to it.
"""
FAULT: Final = re.compile(r"`([^`]+)`")
HEAD: Final = "| Panel | Query | Moved by |\n|---|---|---|\n"


def read(file: Path = FILE) -> Moved:
    boards, board, found = {title: name for name, title in titles().items()}, "", Moved()
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            board = boards[line.removeprefix("## ")]
        elif line.startswith("| ") and line not in HEAD:
            panel, name, faults = (cell.strip() for cell in line.strip("|").split("|"))
            found[board, panel, name.strip("`")] = tuple(FAULT.findall(faults.partition(" (0:")[0]))
    return found


def render(moved: Mapping[Key, Sequence[str]]) -> str:
    """The file with a row for every query that there is."""
    return INTRO + "".join(_section(board, title, moved) for board, title in titles().items())


def recorded(moved: Mapping[Key, Sequence[str]], faults: Sequence[str], seen: Collection[Key]) -> Moved:
    """The table after a round of these faults, in which these queries moved."""
    return {key: tuple(_row(tuple(moved.get(key, ())), tuple(faults), seen=key in seen)) for key in every_query()}


def every_query() -> list[Key]:
    return [target.key for target in targets()]


def write(moved: Mapping[Key, Sequence[str]], file: Path = FILE) -> None:
    file.write_text(render(moved), encoding="utf-8")


def _row(known: tuple[str, ...], faults: tuple[str, ...], *, seen: bool) -> Iterator[str]:
    if seen:
        yield from known or faults
    else:
        yield from (fault for fault in known if fault not in faults)


def _section(board: str, title: str, moved: Mapping[Key, Sequence[str]]) -> str:
    rows = [_line(key, moved.get(key, ())) for key in every_query() if key[0] == board]
    return f"\n## {title}\n{HEAD}" + "".join(rows)


def _line(key: Key, faults: Sequence[str]) -> str:
    _, panel, name = key
    reason = zero_by_nature(*key)
    cells = [panel, f"`{name}`" if name else "", ", ".join(f"`{fault}`" for fault in faults)]
    line = "| " + " | ".join(cells) + (f" (0: {reason})" if reason else "") + " |\n"
    return line.replace("  |", " |")
