"""The input of a roll-up: some columns of six raw tables, which have each row once."""

from collections.abc import Collection, Mapping
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.store import Store, raw

Samples = Mapping[str, DataFrame]
"""Table to its rows, with the columns of `COLUMNS`."""

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

KINDS: Final = {"configs": "broker", "quotas": "mutation"}
"""Table to the only kind of rows that marts use: no topic configs, and only the quotas of controller mutation beans."""


def read(store: Store, where: str, clusters: Collection[str]) -> Samples:
    """Read the samples. `where`: an SQL condition on the rows of raw tables, which are of these clusters."""
    rows = {name: store.read(raw(name)).where(where) for name in COLUMNS}
    if len(clusters) == 1:
        # Spark drops a constant from the keys of its aggregates: 9 % of the CPU time of a roll-up.
        (cluster,) = clusters
        rows = {name: frame.withColumn("cluster_id", F.lit(cluster)) for name, frame in rows.items()}
    for name, kind in KINDS.items():
        rows[name] = rows[name].where(F.col("kind") == kind)
    return {name: frame.select(*POLL, *COLUMNS[name]) for name, frame in rows.items()}
