"""Judged history: every poll goes through the sidecar's own judgement and into its own files."""

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from exporter.derive import Memory, derive
from exporter.history.ledger import Ledger
from exporter.history.parquet.sink import ParquetSettings, ParquetSink
from exporter.history.poll import Poll, Remembered
from exporter.model import Parameters
from fleet.settings import Settings
from fleet.simulation import Sight, Simulation
from fleet.truth import Truth

FOR_EVER: Final = 36_500 * 86_400.0

Told = Callable[[int, float], None]
"""Is told after every poll: polls so far, and the Unix time of the last."""


class NotWrittenError(Exception):
    """Rows could not be written; the message says why."""


@dataclass(slots=True)
class Written:
    """What was written of some clusters."""

    polls: int = 0
    rows: int = 0
    truths: list[Truth] = field(default_factory=list)


def generate(settings: Settings, history: Path, told: Told) -> Written:
    """Write the history of every cluster of a fleet, one after the other, and return what is true of it.

    Raises:
        NotWrittenError: the folder cannot be written.
    """
    written = Written()
    for number in range(settings.clusters):
        simulation = Simulation(settings, number)
        record(simulation.sights(), simulation.world.plan.parameters, simulation.name, history, written, told)
        written.truths.append(simulation.world.truth)
    return written


def record(
    sights: Iterator[Sight], parameters: Parameters, name: str, history: Path, written: Written, told: Told
) -> None:
    """Judge what polls see, as one sidecar after the other does, and write it; `name` names the runs.

    Raises:
        NotWrittenError: the folder cannot be written.
    """
    sink = ParquetSink(ParquetSettings(history, retention=FOR_EVER), now=lambda: 0.0)
    memory: Memory | None = None
    sequence = runs = 0
    for sight in sights:
        if sight.begins or memory is None:
            memory, sequence, runs = None, 0, runs + 1
        remembered = Remembered.NOTHING if memory is None else Remembered.KEPT
        memory, derived = derive(sight.snapshot, memory, parameters)
        sink.write(Poll(sight.snapshot, derived, parameters, run_name(name, runs), sequence, remembered))
        _check(sink.ledger)
        sequence += 1
        written.polls += 1
        told(written.polls, sight.snapshot.time)
    sink.close(math.inf)
    _check(sink.ledger)
    written.rows += sink.ledger.publish().rows


def run_name(name: str, number: int) -> str:
    """Name a run: 32 hexadecimal digits, as a sidecar draws them, but always the same."""
    return hashlib.sha256(f"{name}/{number}".encode()).hexdigest()[:32]


def _check(ledger: Ledger) -> None:
    status = ledger.publish()
    if not status.up or status.dropped:
        raise NotWrittenError(f"history cannot be written {dict(status.dropped)}; the log above says why")
