"""Histories with verdicts: every poll goes through `derive` and into the files of a sidecar.

A run is what one process of a sidecar writes. Runs are made in parallel: each worker simulates the whole cluster,
which is cheap, and derives the polls of its own run only. Files do not depend on the number of workers.
"""

import hashlib
import math
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fleet.blog import Blog
from fleet.settings import Settings
from fleet.simulation import Simulation
from fleet.truth import Truth
from fleet.work import Task, run_all
from kafka_warden.derive import Memory, derive
from kafka_warden.history.parquet.folder import LOCK, Folder
from kafka_warden.history.parquet.sink import ParquetSink
from kafka_warden.history.poll import Poll, Remembered
from kafka_warden.history.recorder import SinkStats
from kafka_warden.model import Parameters, Snapshot

FOR_EVER: Final = 36_500 * 86_400.0

PARTS: Final = ".parts"
"""Each run has its own folder here until it is complete: only one process at a time may write to a history."""

Report = Callable[[int], None]
"""Called with the number of polls done since the last call."""


class NotWrittenError(Exception):
    """Rows could not be written; the message says why."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one cluster, to be written to its own folder."""

    settings: Settings
    cluster: int
    number: int
    folder: Path


@dataclass(slots=True)
class Written:
    """What was written of a fleet, or of one run."""

    polls: int = 0
    rows: int = 0
    truths: list[Truth] = field(default_factory=list)


def generate(settings: Settings, out: Path, report: Report, workers: int = 1) -> Written:
    """Write `history/` of every cluster of a fleet into a folder, and return what is true of it.

    Raises:
        SinkError: the folder cannot be written, and why.
        NotWrittenError: not any more.
    """
    runs = [
        Run(settings, cluster, number, out / PARTS / f"{cluster}-{number}")
        for cluster in range(settings.clusters)
        for number in range(make(settings, cluster).runs)
    ]
    # A killed process may have left incomplete files there.
    shutil.rmtree(out / PARTS, ignore_errors=True)
    written = Written()
    for run, part in zip(runs, run_all([Task(evaluate, run) for run in runs], workers, report), strict=True):
        written.polls += part.polls
        written.rows += part.rows
        written.truths += part.truths
        _join(run.folder, out / "history")
    (out / PARTS).rmdir()
    return written


def make(settings: Settings, cluster: int) -> Simulation | Blog:
    """Make one cluster, as it is before the first poll."""
    return Blog(settings) if settings.blog else Simulation(settings, cluster)


def evaluate(run: Run, report: Report) -> Written:
    """Evaluate the polls of one run and write them; the truth comes with the last run of a cluster.

    Raises:
        SinkError: the folder cannot be written, and why.
        NotWrittenError: not any more.
    """
    simulation = make(run.settings, run.cluster)
    folder = Folder(run.folder)
    folder.check()
    folder.close()
    sink = ParquetSink(run.folder, retention=FOR_EVER, now=lambda: 0.0)
    name = run_name(simulation.name, run.number)
    written = Written()
    for poll in _evaluated(_polls_of(simulation, run.number), simulation.world.plan.parameters, name):
        sink.write(poll)
        _check(sink.stats)
        written.polls += 1
        report(1)
    sink.close(math.inf)
    _check(sink.stats)
    written.rows = sink.stats.status().rows
    if run.number == simulation.runs - 1:
        written.truths.append(simulation.world.truth)
    return written


def run_name(name: str, number: int) -> str:
    """Name a run: 32 hexadecimal digits, as a sidecar draws them, but always the same."""
    return hashlib.sha256(f"{name}/{number}".encode()).hexdigest()[:32]


def _polls_of(simulation: Simulation | Blog, run: int) -> Iterator[Snapshot]:
    """Advance a cluster to the end of one run, and yield the snapshots of that run."""
    current = -1
    for sight in simulation.sights():
        current += sight.begins
        if current == run:
            yield sight.snapshot
        elif current > run:
            return


def _evaluated(snapshots: Iterator[Snapshot], parameters: Parameters, run: str) -> Iterator[Poll]:
    memory: Memory | None = None
    for sequence, snapshot in enumerate(snapshots):
        remembered = Remembered.NOTHING if memory is None else Remembered.KEPT
        memory, derived = derive(snapshot, memory, parameters)
        yield Poll(snapshot, derived, parameters, run, sequence, remembered)


def _check(stats: SinkStats) -> None:
    status = stats.status()
    if not status.up or status.dropped:
        raise NotWrittenError(f"history cannot be written {dict(status.dropped)}; the log above says why")


def _join(part: Path, history: Path) -> None:
    """Move the files of one run into the common history, and remove its folder."""
    for file in sorted(part.rglob("*.parquet")):
        target = history / file.relative_to(part)
        target.parent.mkdir(parents=True, exist_ok=True)
        file.rename(target)
    (part / LOCK).unlink()
    for folder in sorted((each for each in part.rglob("*") if each.is_dir()), reverse=True):
        folder.rmdir()
    part.rmdir()
