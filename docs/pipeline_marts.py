"""Writes docs/pipeline-marts.md from the descriptions of the marts: `make docs`."""

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
        for mart in mine:
            parts += [f"### `{mart.name}`\n", f"{mart.about} Key: {_names(mart.key)}.\n", _columns(mart)]
    return "\n".join(parts)


def _columns(mart: Mart) -> str:
    return "\n".join(["| Column | Type | Unit | What |", "|---|---|---|---|", *map(_row, mart.columns), ""])


def _row(column: Field) -> str:
    return f"| `{column.name}` | {column.type} | {column.unit} | {column.text} |"


def _names(key: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in key)
