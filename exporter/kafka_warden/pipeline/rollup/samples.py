"""What a roll-up takes of history: a few columns of six tables, one row per key and poll."""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from kafka_warden.pipeline.history import History, row_key
from kafka_warden.pipeline.session import shuffle_partitions

Samples = Mapping[str, DataFrame]
"""Table to its rows, each once, with the columns of `COLUMNS`."""

POLL: Final = ("cluster_id", "run", "sequence", "time")
"""What the rows of one poll have in common."""

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
        *("leader_floor", "leader_headroom", "leader_load", "leader_catch_up"),
        *("follower_floor", "follower_headroom", "follower_load", "follower_catch_up"),
    ),
    "configs": ("kind", "broker", "topic", "topic_id", "broker_config"),
    "quotas": ("kind", "process", "node", "user", "client_id", "tokens"),
    "polls": ("partitions", "under_replicated_known", "min_isr_known", "rows"),
}
"""Table to the columns besides those of the poll, the table's key among them."""

REPLICA: Final = ("cluster_id", "topic", "topic_id", "partition", "broker")
"""What tells replicas apart."""

TEXTS: Final = {"replicas": ("state",)}
"""Table to its columns of text which are not of its key; duplicates have the same."""

KINDS: Final = {"configs": "broker", "quotas": "mutation"}
"""Table to the kind of its rows that are taken, of those that have several."""


def of_history(history: History) -> Samples:
    """Take them of files. Files of all tables are checked before the first row is read.

    Raises:
        HistoryFileError: one that names the file and says what is wrong with it.
    """
    tables = {name: narrowed(name, history.table(name, distinct=False)) for name in COLUMNS}
    # One shuffle of the largest table by far: duplicates of a replica meet there, and so do the polls of its minutes.
    # Of a given number, since Spark joins parts by their size when packed, until the rows of one spill.
    tables["replicas"] = tables["replicas"].repartition(shuffle_partitions(history.spark), *REPLICA)
    return {name: distinct(name, rows) for name, rows in tables.items()}


def narrowed(name: str, rows: DataFrame) -> DataFrame:
    """Take the columns of a table, and of `configs` and `quotas` the rows that are needed."""
    return needed(name, rows).select(*POLL, *COLUMNS[name])


def needed(name: str, rows: DataFrame) -> DataFrame:
    """Leave out what no mart is made of: configurations of topics, quotas that are no controller mutation bean."""
    return rows.where(F.col("kind") == KINDS[name]) if name in KINDS else rows


def distinct(name: str, rows: DataFrame) -> DataFrame:
    """Take duplicates away."""
    # Of a text that is no part of the key Spark could keep the first one only by sorting all rows.
    return rows.dropDuplicates([*row_key(name), *TEXTS.get(name, ())])
