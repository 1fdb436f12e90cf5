"""A history of three hours and a bit in small files, which arrive in any order, late and more than once."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kafka_warden.history.poll import Poll
from kafka_warden.model import Source, SourceStatus
from tests import scene
from tests.history.places import NOON, write
from tests.history.replay import polls

EVERY = 600.0
"""Seconds of the wall clock between two polls; the brokers' own clocks go on by 10 s."""
POLLS = 19


def history_polls(count: int = POLLS, run: str = "run", beginning: float = NOON) -> list[Poll]:
    seen = [replace(scene.poll(10.0 * number), time=beginning + EVERY * number) for number in range(count)]
    return polls(seen, run=run)


def answered(evaluated: Sequence[Poll]) -> list[Poll]:
    """The same polls, in which each request to any broker is answered: alerts ask for that, and the scene has none."""
    sources = (Source.METADATA, Source.REASSIGNMENTS, Source.CONFIGS)
    more = {(source, ""): SourceStatus(up=True, duration=0.1, last_success=0.0, errors={}) for source in sources}
    return [
        replace(poll, snapshot=replace(poll.snapshot, status={**poll.snapshot.status, **more})) for poll in evaluated
    ]


def files_of(folder: Path, judged: Sequence[Poll]) -> list[Path]:
    write(folder, judged, file_rows=1)
    return sorted(folder.rglob("kafka-warden-*.parquet"))


def arrive(file: Path, start: Path, end: Path, name: str = "") -> None:
    """Let a file appear at another folder, whole or not at all, once more under another name when one is given."""
    place = end / file.relative_to(start)
    place = place.with_name(f"{name}{place.name}")
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, place.with_name(f".{place.name}.tmp"))
    place.with_name(f".{place.name}.tmp").rename(place)


def by_key(name: str, listed: Sequence[Mapping[str, Any]], key: Sequence[str]) -> dict[Any, Any]:
    """Rows of a table by their keys, each of which is there once."""
    found = keyed(listed, key)
    assert len(found) == len(listed), f"{name} has a key twice"
    return found


def keyed(rows: Iterable[Mapping[str, Any]], key: Sequence[str]) -> dict[Any, Any]:
    return {tuple(row[name] for name in key): rounded(row) for row in rows}


def rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with fewer digits: the order of a sum decides on the last ones."""
    return {name: float(f"{value:.12g}") if isinstance(value, float) else value for name, value in row.items()}
