"""Folders of history as a reader sees them."""

from collections.abc import Sequence
from pathlib import Path

from exporter.history.parquet.sink import ParquetSettings, ParquetSink
from exporter.history.poll import Poll
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


def write(path: Path, polls: Sequence[Poll], **settings: float) -> ParquetSink:
    """Write polls as one process would from its start to its end; its books are in what is returned."""
    sink = ParquetSink(ParquetSettings(path, **settings))
    for poll in polls:
        sink.write(poll)
    sink.close(float("inf"))
    return sink
