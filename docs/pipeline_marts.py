"""Writes docs/pipeline-marts.md from the descriptions of the marts: `make docs`."""

from collections.abc import Iterable
from itertools import groupby
from typing import Final

from kafka_warden.pipeline.marts import MARTS, Field, Mart

INTRODUCTION: Final = """\
# Marts of the pipeline

The output of the jobs of [pipeline.md](pipeline.md): each mart is a table of the store.
Written from `exporter/kafka_warden/pipeline/marts.py` by `make docs`; do not edit.

- **Unknown is null, unlimited is infinite, a known zero is 0;** NaN is never written. Types are Spark SQL's.
- Bytes, seconds, ratios from 0 to 1. Times are UTC.
- The columns of a mart's key identify its rows. Its partitions are in [pipeline-store.md](pipeline-store.md).
"""


def render() -> str:
    """Render the whole document."""
    parts = [INTRODUCTION]
    for job, mine in MARTS.items():
        parts.append(f"## Job `{job}`\n")
        for _, marts in groupby(mine, key=lambda mart: mart.columns):
            same = list(marts)
            about = " ".join(mart.about for mart in same)
            parts += [f"### {_names(mart.name for mart in same)}\n", f"{about} Key: {_names(same[0].key)}.\n"]
            parts.append(_columns(same[0]))
    return "\n".join(parts)


def _columns(mart: Mart) -> str:
    return "\n".join(["| Column | Type | Unit | What |", "|---|---|---|---|", *map(_row, mart.columns), ""])


def _row(column: Field) -> str:
    return f"| `{column.name}` | {column.type} | {column.unit} | {column.text} |"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
