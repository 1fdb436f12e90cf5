"""Tables of a store without Spark: Delta's log is JSON, and its files are Parquet.

Each commit of Spark takes seconds, and each table that it reads one. A store is written here as `ingest` makes it in
one batch: tests of what jobs compute need the rows, and `test_history.py` compares both.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_warden.history.parquet.reader import inventory, read
from kafka_warden.history.schema import TABLES
from kafka_warden.pipeline.batch import taken_row
from kafka_warden.pipeline.landing import new_parts
from kafka_warden.pipeline.store import PROPERTIES, PROPERTY, TAKEN, VERSION, Store, StoredTable, raw
from kafka_warden.pipeline.timeline import DAY

PROTOCOL: Final = {"minReaderVersion": 1, "minWriterVersion": 2}
OF_CHANGES: Final = {
    **PROTOCOL,
    "minWriterVersion": 7,
    "writerFeatures": ["appendOnly", "invariants", "changeDataFeed"],
}
"""Of a table with a change data feed."""


def write_store(store: Store, landing: Path) -> None:
    """Write the rows of a landing zone, whose files do not overlap, as one batch."""
    parts, problems = new_parts(inventory(landing), (), 0.0)
    assert not problems
    rows = [taken_row(part) for part in parts]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names_of(TAKEN))}
    write_table(store, TAKEN, pa.table(columns), {PROPERTY: str(VERSION)})
    for table in TABLES:
        rows_of = read(landing, table.name)
        if len(rows_of):
            day = pc.floor(pc.divide(rows_of["time"], DAY)).cast(pa.int32()).cast(pa.date32())
            write_table(store, raw(table.name), rows_of.append_column("date", day))


def names_of(table: StoredTable) -> list[str]:
    return table.schema.names


def write_table(store: Store, table: StoredTable, rows: Any, more: dict[str, str] | None = None) -> None:
    """Write rows, a `pyarrow.Table`, as the first commit of a table. `more`: properties of its own."""
    folder = Path(store.given) / table.name
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    metadata = {
        "id": table.name,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": table.schema.json(),
        "partitionColumns": list(table.partition_by),
        "configuration": {**PROPERTIES, **dict(table.properties), **(more or {})},
        "createdTime": 0,
    }
    protocol = OF_CHANGES if ("delta.enableChangeDataFeed", "true") in table.properties else PROTOCOL
    actions = [{"protocol": protocol}, {"metaData": metadata}, *_added(folder, table, rows.select(names_of(table)))]
    (log / f"{0:020}.json").write_text("".join(f"{json.dumps(action)}\n" for action in actions))


def _added(folder: Path, table: StoredTable, rows: Any) -> Iterator[dict[str, Any]]:
    """Write a file for each partition, and yield their entries."""
    for number, (values, part) in enumerate(_parts(rows, table.partition_by)):
        file = folder / f"{number}.parquet"
        pq.write_table(part.drop_columns(list(table.partition_by)), file, store_schema=False)
        entry = {"path": file.name, "partitionValues": values, "size": file.stat().st_size}
        yield {"add": {**entry, "modificationTime": 0, "dataChange": True}}


def _parts(rows: Any, by: Iterable[str]) -> Iterator[tuple[dict[str, str | None], Any]]:
    for values in rows.select(list(by)).group_by(list(by)).aggregate([]).to_pylist():
        chosen = rows
        for name, value in values.items():
            chosen = chosen.filter(pc.field(name).is_null() if value is None else pc.field(name) == value)
        yield {name: None if value is None else str(value) for name, value in values.items()}, chosen


def read_table(store: Path, table: StoredTable) -> list[dict[str, Any]]:
    """Return the rows of a table, as any reader of Delta has them; none if it was never written."""
    files = [_read_file(store / table.name, entry) for entry in live_files(store, table)]
    rows = pa.concat_tables(files, promote_options="default").to_pylist(maps_as_pydicts="strict") if files else []
    # A column that was added later is null.
    return [{name: row.get(name) for name in names_of(table)} for row in rows]


def live_files(store: Path, table: StoredTable) -> list[Mapping[str, Any]]:
    """Return the entries of the files that a table has after its last commit."""
    live: dict[str, Mapping[str, Any]] = {}
    for entry in sorted((store / table.name / "_delta_log").glob("*.json")):
        for action in map(json.loads, entry.read_text().splitlines()):
            if "remove" in action:
                live.pop(action["remove"]["path"], None)
            if "add" in action:
                live[action["add"]["path"]] = action["add"]
    return list(live.values())


def _read_file(folder: Path, entry: Mapping[str, Any]) -> Any:
    rows = pq.ParquetFile(folder / unquote(entry["path"])).read()
    for name, text in entry["partitionValues"].items():
        day = name == "date"
        value = pa.scalar(date.fromisoformat(text) if day and text else text, pa.date32() if day else pa.string())
        rows = rows.append_column(name, pa.repeat(value, len(rows)))
    return rows
