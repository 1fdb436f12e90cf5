"""Bulk history: rows in the sidecar's schema at high speed, for benchmarks. It has no verdicts and cannot be replayed.

Arrays become rows directly: `replicas`, `partitions`, `brokers` and `polls`, of clusters whose ids begin with `bulk-`.
Two in a hundred replicas are behind for a part of each hour. Columns without generated values are null.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from fleet.bulk_cluster import make_block, make_bulk_cluster
from fleet.bulk_rows import all_rows
from fleet.evaluated import Report, Written
from fleet.settings import Settings
from fleet.work import Task, run_all
from kafka_warden.history.parquet.arrow import to_arrow
from kafka_warden.history.parquet.folder import LOCK, SECONDS, Folder
from kafka_warden.history.parquet.sink import FILE_ROWS, encode
from kafka_warden.history.schema import BY_NAME, Built


@dataclass(frozen=True, slots=True)
class Hour:
    """Polls of one cluster within one hour, to be written to a folder that others write to as well."""

    settings: Settings
    cluster: int
    polls: range
    history: Path


def generate_bulk(settings: Settings, out: Path, report: Report, workers: int = 1) -> Written:
    """Write `history/` of bulk rows into a folder.

    Raises:
        SinkError: the folder cannot be written, and why.
    """
    history = out / "history"
    tasks = [Task(write_hour, hour) for hour in _hours(settings, history)]
    held = Folder(history)
    held.check()
    written = Written(polls=settings.polls * settings.clusters)
    written.rows = sum(run_all(tasks, workers, report))
    held.close()
    (history / LOCK).unlink()
    return written


def _hours(settings: Settings, history: Path) -> Iterator[Hour]:
    """Divide the polls of every cluster by hour."""
    hour = [int((settings.start + poll * settings.interval) // SECONDS) for poll in range(settings.polls)]
    turns = [0, *(poll for poll in range(1, len(hour)) if hour[poll] != hour[poll - 1]), len(hour)]
    for cluster in range(settings.clusters):
        for since, until in pairwise(turns):
            yield Hour(settings, cluster, range(since, until), history)


def write_hour(hour: Hour, report: Callable[[int], None]) -> int:
    """Write the files of one hour of one cluster; return their rows."""
    bulk = make_bulk_cluster(hour.settings, hour.cluster)
    # The parent process has locked the folder; each worker writes its own files.
    folder, rows = Folder(hour.history), 0
    most = max(FILE_ROWS // bulk.replicas.size, 1)
    for number, first in enumerate(range(hour.polls.start, hour.polls.stop, most), start=1):
        block = make_block(hour.settings, bulk, hour.polls.start, range(first, min(first + most, hour.polls.stop)))
        for table, columns in all_rows(block).items():
            count = len(columns["time"])
            built = Built(BY_NAME[table], count, columns)
            name = f"kafka-warden-{bulk.run}-{first:09d}-{number:06d}.parquet"
            folder.write(table, int(block.time[0] // SECONDS), name, encode(built.table, [to_arrow(built)]))
            rows += count
        report(len(block.polls))
    return rows
