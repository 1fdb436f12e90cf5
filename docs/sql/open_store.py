"""Opens a store in DuckDB, with its views: `python -i docs/sql/open_store.py STORE`, then `store.sql("FROM moves")`.

It needs `pip install deltalake duckdb pyarrow`, and no Spark.
"""

import sys
import warnings
from pathlib import Path
from typing import Final

import duckdb
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

HERE: Final = Path(__file__).parent
TABLES: Final = (
    *(
        "alarms",
        "rules",
        "moves",
        "reassignments",
        "move_samples",
        "forecasts",
        "forecast_paths",
        "plans",
        "series_day",
    ),
    *("cluster_hour", "broker_hour", "topic_hour", "replica_hour", "log_dir_hour"),
    *("cluster_minute", "broker_minute", "topic_minute", "replica_minute"),
    *("raw/polls", "raw/partitions", "raw/replicas", "raw/brokers", "raw/moves", "raw/quotas", "raw/configs"),
    "raw/restored",
)


def open_store(place: str) -> duckdb.DuckDBPyConnection:
    """Open the tables that the store has, and the views of them. `place`: a folder, or an address such as `s3://...`.

    A raw table is `raw_NAME`. Tables are read as they are now: open the store again to see later commits.
    """
    store = duckdb.connect()
    store.execute("SET TimeZone = 'UTC'")
    tables = 0
    for table in TABLES:
        try:
            found = DeltaTable(f"{place.rstrip('/')}/{table}")
        except TableNotFoundError:
            continue
        store.register(table.replace("/", "_"), found.to_pyarrow_dataset())
        tables += 1
    if not tables:
        raise FileNotFoundError(f"{place}: no table of a store is there")
    for view in sorted(HERE.glob("view-*.sql")):
        try:
            store.execute(view.read_text(encoding="utf-8"))
        except (duckdb.CatalogException, duckdb.BinderException) as failure:
            # Without DuckDB's guess of another name.
            missing = str(failure).splitlines()[0]
            warnings.warn(f"{view.stem}: the store does not have all that it needs: {missing}", stacklevel=2)
    return store


if __name__ == "__main__":
    store = open_store(sys.argv[1])
