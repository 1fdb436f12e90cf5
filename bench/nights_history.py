"""The landing zone of `bench.nights`: clusters with a poll an hour. A cluster has one file per table and day.

Weeks of two clusters are generated with moves and faults (docs/fleet.md). All clusters have the rows of one of them
under their own id, and all weeks are the same. A sidecar is restarted after each week, so its run has another id.
"""

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fleet.evaluated import generate
from fleet.settings import DAY, HOUR, MONDAY, WEEK, Settings
from kafka_warden.history.parquet.reader import read
from kafka_warden.history.parquet.sink import encode
from kafka_warden.history.schema import BY_NAME, TABLES

START: Final = MONDAY
"""Unix time at which the first day begins."""
WEEK_DAYS: Final = round(WEEK / DAY)
SETTINGS: Final = Settings(
    clusters=2,
    brokers=5,
    partitions=8,
    replication_factor=2,
    days=WEEK_DAYS,
    interval=HOUR,
    start=START,
    bytes_in=4e6,
    moves=20.0,
    faults=10.0,
    bursts=5.0,
    restarts=0.5,
)
"""Moves take one to two hours, so that hourly polls see them."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """The rows of the generated weeks."""

    clusters: int
    rows: dict[tuple[str, int], Any]
    """Table and number of a generated cluster to its rows, a `pyarrow.Table` in the order of time."""

    def day(self, day: int) -> Iterator[tuple[str, bytes]]:
        """Yield the files of one day, counted from 1: path in the landing zone, and content."""
        week, of_week = divmod(day - 1, WEEK_DAYS)
        since = START + of_week * DAY
        for (name, simulated), rows in self.rows.items():
            found = rows.filter((pc.field("time") >= since) & (pc.field("time") < since + DAY))
            if len(found):
                found = _with(found, "time", pc.add(found["time"], week * WEEK))
                for number in range(simulated, self.clusters, SETTINGS.clusters):
                    cluster = f"nights-{number:02}"
                    run = hashlib.sha256(f"{cluster}/{week}".encode()).hexdigest()[:32]
                    mine = _with(_with(found, "cluster_id", cluster), "run", run)
                    content = encode(BY_NAME[name], [mine]).to_pybytes()
                    yield f"{name}/date={date_of(day)}/hour=00/kafka-warden-{run}-{day}-1.parquet", content


def date_of(day: int) -> date:
    """Return the date of a day, counted from 1."""
    return datetime.fromtimestamp(START, UTC).date() + timedelta(days=day - 1)


def generated(scratch: Path, clusters: int) -> Fleet:
    """Generate the weeks, unless the folder has them."""
    folder = scratch / "weeks"
    if not folder.exists():
        made = scratch / "weeks.part"
        generate(SETTINGS, made, lambda _: None, workers=2)
        # One file for each table: there are thousands, and the next run reads them faster.
        for table in TABLES:
            pq.write_table(read(made / "history", table.name), made / f"{table.name}.parquet")
        shutil.rmtree(made / "history")
        made.rename(folder)
    rows = {table.name: pq.read_table(folder / f"{table.name}.parquet") for table in TABLES}
    names = sorted(set(rows["polls"]["cluster_id"].to_pylist()))
    parts = {
        (table, number): of_table.filter(pc.field("cluster_id") == name)
        for table, of_table in rows.items()
        for number, name in enumerate(names)
    }
    return Fleet(clusters, parts)


def _with(rows: Any, name: str, value: Any) -> Any:
    """Replace a column, by a text for all rows or by other values."""
    field = rows.schema.field(name)
    column = pa.array([value] * len(rows), field.type) if isinstance(value, str) else value
    return rows.set_column(rows.schema.get_field_index(name), field, column)
