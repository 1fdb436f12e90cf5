"""Writes the part on SQL of docs/pipeline-marts.md, and docs/sql/trino/, from the views and queries of docs/sql/."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import sqlglot

SQL: Final = Path(__file__).parent / "sql"
ELSEWHERE: Final = "trino"
VIEWS: Final = "view-*.sql"
QUERIES: Final = "[0-9]*.sql"
_NOT_TRIED: Final = "-- For Trino and Athena, translated from DuckDB's form by sqlglot. Not tried on either."

INTRODUCTION: Final = """\
## In SQL, without Spark

A store has Delta tables. `docs/sql/` has views and ten questions for DuckDB.

    pip install deltalake duckdb pyarrow
    python -i docs/sql/open_store.py /srv/store
    >>> store.sql("FROM moves")
    >>> store.sql(open("docs/sql/01-reassignments.sql").read())

- [`open_store.py`](sql/open_store.py) also works in a program; `store.sql(...).df()` is a frame of pandas.
- `raw_TABLE` has the columns of [history-schema.md](history-schema.md).
- Give a `cluster_id` and a `date`: tables are partitioned by them.
- **Trino and Athena** (not tried): `docs/sql/trino/` has each statement. In Trino, register each table by
  `CALL delta.system.register_table(...)`, a raw one as `raw_TABLE`. In Athena, use
  `CREATE EXTERNAL TABLE ... TBLPROPERTIES ('table_type' = 'DELTA')`.
"""


def render() -> str:
    """Render the part of the page on marts."""
    views = ", ".join(f"[`{name.removeprefix('view-')}`](sql/{name}.sql)" for name in sources(VIEWS))
    queries = (f"- [{_question(text)}](sql/{name}.sql)" for name, text in sources(QUERIES).items())
    return "\n".join([f"{INTRODUCTION}- Views: {views}.\n", "### Questions\n", *queries, ""])


def elsewhere() -> Mapping[str, str]:
    """Return the statements for Trino by their paths below docs/."""
    found = sources(VIEWS) | sources(QUERIES)
    return {f"sql/{ELSEWHERE}/{name}.sql": translated(text) for name, text in found.items()}


def sources(pattern: str) -> dict[str, str]:
    """Return the texts of files of docs/sql/ by their names without a suffix."""
    return {file.stem: file.read_text(encoding="utf-8") for file in sorted(SQL.glob(pattern))}


def split(text: str) -> tuple[str, str]:
    """Return the comment at the begin of a statement as text, and the statement."""
    lines = text.splitlines()
    about = [line.removeprefix("-- ") for line in lines if line.startswith("-- ")]
    return " ".join(about), "\n".join(lines[len(about) :])


def translated(text: str) -> str:
    """Return the statement for Trino."""
    about, statement = split(text)
    (found,) = sqlglot.transpile(statement, read="duckdb", write=ELSEWHERE, pretty=True)
    return f"{_NOT_TRIED}\n-- {about}\n{found}\n"


def _question(text: str) -> str:
    """The first sentence of what a statement is about."""
    return split(text)[0].replace("? ", "?\n").replace(". ", ".\n").splitlines()[0]
