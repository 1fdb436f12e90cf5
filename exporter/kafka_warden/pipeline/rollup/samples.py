"""The input of a roll-up: some columns of six tables, one row per key and poll."""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.history import History, row_key
from kafka_warden.pipeline.session import shuffle_partitions
from kafka_warden.pipeline.store import Store, raw

Samples = Mapping[str, DataFrame]
"""Table to its rows without duplicates, with the columns of `COLUMNS`."""

POLL: Final = ("cluster_id", "run", "sequence", "time")
"""The columns that all rows of a poll share."""

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "replicas": (
        *("topic", "topic_id", "partition", "broker", "position", "in_isr", "size"),
        *("lag_messages", "lag_bytes", "following", "lag_seconds", "behind_seconds", "late", "state"),
    ),
    "partitions": (
        *("topic", "topic_id", "partition", "leader", "bytes_in"),
        *("under_replicated", "under_min_isr", "offline"),
    ),
    "brokers": (
        *("broker", "gone", "replicas", "leaders", "counted", "lag_messages", "lag_bytes", "out_of_sync"),
        "log_dirs",
        *("leader_floor", "leader_headroom", "leader_load", "leader_catch_up"),
        *("follower_floor", "follower_headroom", "follower_load", "follower_catch_up"),
    ),
    "configs": ("kind", "broker", "topic", "topic_id", "broker_config"),
    "quotas": ("kind", "process", "node", "user", "client_id", "tokens"),
    "polls": ("partitions", "under_replicated_known", "min_isr_known", "rows", "parameters"),
}
"""Table to its columns besides `POLL`, including its key."""

REPLICA: Final = ("cluster_id", "topic", "topic_id", "partition", "broker")
"""The key of a replica."""

TEXTS: Final = {"replicas": ("state",)}
"""Table to its text columns outside its key."""

KINDS: Final = {"configs": "broker", "quotas": "mutation"}
"""Table to the only kind of rows that is read."""


def of_history(history: History) -> Samples:
    """Read the samples of files. All files are checked before the first row is read.

    Raises:
        HistoryFileError: names the file and what is wrong with it.
    """
    tables = {name: narrowed(name, history.table(name, distinct=False)) for name in COLUMNS}
    # One shuffle of the largest table serves duplicates and minutes. The number is explicit: Spark would merge
    # partitions by their compressed size until the rows of one spill.
    tables["replicas"] = tables["replicas"].repartition(shuffle_partitions(history.spark), *REPLICA)
    return {name: distinct(name, rows) for name, rows in tables.items()}


def of_tables(store: Store, where: str) -> Samples:
    """Read the samples of a store's raw tables, which have each row once. `where`: an SQL condition on their rows."""
    return {name: narrowed(name, store.read(raw(name)).where(where)) for name in COLUMNS}


def narrowed(name: str, rows: DataFrame) -> DataFrame:
    """Return the columns of `COLUMNS` and the rows of `needed`."""
    return needed(name, rows).select(*POLL, *COLUMNS[name])


def needed(name: str, rows: DataFrame) -> DataFrame:
    """Return the rows that marts use: no topic configs, and only the quotas of controller mutation beans."""
    return rows.where(F.col("kind") == KINDS[name]) if name in KINDS else rows


def distinct(name: str, rows: DataFrame) -> DataFrame:
    """Drop duplicates."""
    # Text columns are part of the key here; otherwise Spark sorts all rows to keep the first text.
    return rows.dropDuplicates([*row_key(name), *TEXTS.get(name, ())])
