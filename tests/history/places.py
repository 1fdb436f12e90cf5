"""Folders of history as a reader sees them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_warden.history.parquet.arrow import VERSION_KEY, metadata_of
from kafka_warden.history.parquet.sink import ParquetSettings, ParquetSink
from kafka_warden.history.poll import Poll
from kafka_warden.history.schema import BY_NAME, VERSION
from tests.building import EPOCH

NOON = EPOCH - EPOCH % 3600
"""The beginning of the hour of the scene."""


def visible(path: Path, table: str = "**") -> list[str]:
    """Files that a reader finds, without run and numbers."""
    return sorted(
        str(file.parent.relative_to(path)) for file in path.glob(f"{table}/**/*.parquet") if file.name[0] != "."
    )


def hidden(path: Path) -> list[Path]:
    """Files that are being written, or were left behind."""
    return list(path.rglob(".*.tmp"))


def write(path: Path, polls: Sequence[Poll], **settings: Any) -> ParquetSink:
    """Write polls as one process would from its start to its end; its books are in what is returned."""
    sink = ParquetSink(ParquetSettings(path, **settings))
    for poll in polls:
        sink.write(poll)
    sink.close(float("inf"))
    return sink


def the_file(history: Path, table: str) -> Path:
    """The one file of a table."""
    (file,) = (history / table).rglob("*.parquet")
    return file


def rewrite(file: Path, rows: pa.Table, version: int = VERSION) -> None:
    """Put other rows of the same table in the place of a file, as a sidecar with that version of the schema would."""
    put(file, rows, {**metadata_of(BY_NAME[file.parts[-4]]), VERSION_KEY: str(version).encode()})


def put(file: Path, rows: pa.Table, metadata: Mapping[bytes, bytes]) -> None:
    """Write a file with a footer of any kind."""
    with pq.ParquetWriter(file, rows.schema, store_schema=False) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata(dict(metadata))
