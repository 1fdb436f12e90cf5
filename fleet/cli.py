"""The command: options, progress, and one line at the end."""

import argparse
import datetime as dt
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from fleet import truth
from fleet.bulk import generate_bulk
from fleet.evaluated import NotWrittenError, Written, generate
from fleet.presets import PRESETS
from fleet.settings import Settings
from kafka_warden.errors import SinkError

UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
EVERY: Final = 1.0
"""Seconds between two lines of progress."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate a fleet; the exit code is 0, 1 if it could not be written, or 2 for wrong options."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        settings = settings_of(given)
    except ValueError as problem:
        parser.error(str(problem))
    history = given.out / "history"
    if history.exists() and any(history.iterdir()):
        parser.error(f"--out: {history} has history already; remove it, or use another folder")
    started = time.monotonic()
    try:
        made = generate_bulk if given.bulk else generate
        written = made(settings, given.out, Progress(settings), given.workers)
        if not given.bulk:
            truth.write(given.out / "truth", written.truths)
    except (NotWrittenError, SinkError, OSError) as problem:
        print(f"fleet: {problem}", file=sys.stderr)
        return 1
    print(summary(given.out, settings, written, time.monotonic() - started))
    return 0


def settings_of(given: argparse.Namespace) -> Settings:
    """Combine the preset and the options.

    Raises:
        ValueError: an option that no cluster can have.
    """
    chosen = {name: value for name in _NAMES if (value := getattr(given, name)) is not None}
    return Settings(**{**PRESETS.get(given.preset or "", {}), **chosen})


class Progress:
    """Progress on stderr, one line per second."""

    def __init__(self, settings: Settings) -> None:
        self._all = settings.polls * settings.clusters
        self._reported_at = time.monotonic()

    def __call__(self, polls: int) -> None:
        """Print a line, at most one per second."""
        if time.monotonic() - self._reported_at < EVERY and polls < self._all:
            return
        self._reported_at = time.monotonic()
        print(f"{polls / self._all:4.0%}  {polls:,} of {self._all:,} polls", file=sys.stderr, flush=True)


def summary(out: Path, settings: Settings, written: Written, seconds: float) -> str:
    """Return one line about the generated history."""
    truths = written.truths
    faults, calm = sum(len(each.faults) for each in truths), sum(len(each.calm) for each in truths)
    moves = sum(len(each.moves) for each in truths)
    clusters = "1 cluster" if settings.clusters == 1 else f"{settings.clusters} clusters"
    return (
        f"{out}: {clusters}, {written.polls:,} polls"
        f" from {_utc(settings.start)} to {_utc(settings.end)}, {written.rows:,} rows,"
        f" {faults} faults, {calm} that look like one, {moves} moves of replicas,"
        f" seed {settings.seed}, {seconds:.0f} s"
    )


def _utc(moment: float) -> str:
    return f"{dt.datetime.fromtimestamp(moment, dt.UTC):%Y-%m-%d %H:%M}"


def seconds_of(text: str) -> float:
    """Read a time such as 10s, 1m, 6h or 1d.

    Raises:
        ArgumentTypeError: it is none.
    """
    try:
        return float(text[:-1]) * UNITS[text[-1]] if text[-1:] in UNITS else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write 10s, 1m, 6h or 1d") from None


def moment_of(text: str) -> float:
    """Read a time such as 2026-01-05 or 2026-01-05T12:00, UTC, or Unix seconds.

    Raises:
        ArgumentTypeError: it is none.
    """
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC).timestamp()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write 2026-01-05T12:00, UTC") from None


_OPTIONS: Final[tuple[tuple[str, Any, str], ...]] = (
    ("seed", int, "the same seed gives the same bytes"),
    ("clusters", int, "clusters, one after the other in one history"),
    ("brokers", int, "of each cluster"),
    ("racks", int, "of each cluster"),
    ("partitions", int, "of each cluster on the first day"),
    ("replication_factor", int, "of every topic"),
    ("days", float, "of history"),
    ("interval", seconds_of, "between two polls, such as 10s or 1m"),
    ("start", moment_of, "time of the first poll, UTC"),
    ("bytes_in", float, "produced to a partition in the mean, bytes a second"),
    ("faults", float, "slow, stuck and dead followers of a week, per cluster"),
    ("bursts", float, "bursts of a week, per cluster"),
    ("restarts", float, "rolling restarts of a week, per cluster"),
    ("moves", float, "reassignments of a week, per cluster"),
    ("sidecar_restarts", float, "restarts of the sidecar in a week"),
    ("partition_growth", float, "partitions that are made in a day, per cluster"),
    ("bytes_growth", float, "part of the first day's bytes that each day adds"),
    ("horizon", float, "days after the history in which limits are reached"),
)
_NAMES: Final = tuple(name for name, _, _ in _OPTIONS)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fleet", description=sys.modules["fleet"].__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for history/ and truth/")
    parser.add_argument("--preset", choices=sorted(PRESETS), help="a predefined fleet")
    parser.add_argument("--bulk", action="store_true", help="many rows without verdicts, for benchmarks")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (usually one a core)")
    usual = {field.name: field.default for field in fields(Settings)}
    for name, read, text in _OPTIONS:
        parser.add_argument(f"--{name.replace('_', '-')}", type=read, help=f"{text} (usually {usual[name]})")
    return parser
