"""History folders as a reader finds them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_warden.history.parquet.arrow import VERSION_KEY, metadata_of
from kafka_warden.history.parquet.sink import ParquetSink
from kafka_warden.history.poll import Poll
from kafka_warden.history.schema import BY_NAME, VERSION
from tests.building import EPOCH

NOON = EPOCH - EPOCH % 3600
"""Start of the hour of the scene."""


def visible(path: Path, table: str = "**") -> list[str]:
    """Folders of the files that a reader finds."""
    return sorted(
        str(file.parent.relative_to(path)) for file in path.glob(f"{table}/**/*.parquet") if file.name[0] != "."
    )


def hidden(path: Path) -> list[Path]:
    return list(path.rglob(".*.tmp"))


def write(path: Path, polls: Sequence[Poll], **settings: Any) -> ParquetSink:
    """Write polls as one process from its start to its end."""
    sink = ParquetSink(path, **settings)
    for poll in polls:
        sink.write(poll)
    sink.close(float("inf"))
    return sink


def the_file(history: Path, table: str) -> Path:
    (file,) = (history / table).rglob("*.parquet")
    return file


def rewrite(file: Path, rows: pa.Table, version: int = VERSION) -> None:
    """Replace the rows of a file, as a sidecar with that schema version would write them."""
    put(file, rows, {**metadata_of(BY_NAME[file.parts[-4]]), VERSION_KEY: str(version).encode()})


def put(file: Path, rows: pa.Table, metadata: Mapping[bytes, bytes]) -> None:
    """Write a file with any metadata in the footer."""
    with pq.ParquetWriter(file, rows.schema, store_schema=False) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata(dict(metadata))
