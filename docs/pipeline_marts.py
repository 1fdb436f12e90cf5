"""Writes docs/pipeline-marts.md from the descriptions of the marts: `make docs`."""

from collections import Counter
from collections.abc import Iterable
from itertools import chain, groupby
from typing import Final

from docs.column_tables import table
from kafka_warden.pipeline.marts import MARTS, Field, Mart

INTRODUCTION: Final = """\
# Marts and SQL

Every table that the jobs of [pipeline.md](pipeline.md) write, and how to query them without Spark.

- **Unknown is null, unlimited is infinite, a known zero is 0.** NaN is never written.
- Types are Spark SQL's. Times are UTC.
- `_mean`, `_max`, `_min` and `_last` are values of the window: `_last` is that of its last poll.

## Common columns

The same in every mart that has them, and left out below.
"""


def render() -> str:
    """Render the whole document."""
    different = [list(same) for same in _different(chain.from_iterable(MARTS.values()))]
    times = Counter(column for same in different for column in same[0].columns)
    names = Counter(column.name for column in times)
    common = {column for column, found in times.items() if found > names[column.name]}
    parts = [INTRODUCTION, _columns(column for column in times if column in common)]
    for job, mine in MARTS.items():
        parts.append(f"## Job `{job}`\n")
        for same in map(list, _different(mine)):
            about = same[0].about.replace(" minute ", " minute or hour ")
            parts += [f"### {_names(mart.name for mart in same)}\n", f"{about} Key: {_names(same[0].key)}.\n"]
            parts.append(_columns(column for column in same[0].columns if column not in common))
    return "\n".join(parts)


def _different(marts: Iterable[Mart]) -> Iterable[Iterable[Mart]]:
    return (list(same) for _, same in groupby(marts, key=lambda mart: mart.columns))


def _columns(columns: Iterable[Field]) -> str:
    return table((column.name, column.type, column.unit, column.text) for column in columns)


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
