"""Marts of the job `rollup`: replicas, topics, brokers and clusters by minute and by hour, log directories by hour.

And series by day, which `forecast` reads.
"""

from typing import Final

from kafka_warden.pipeline.marts.mart import Field, Mart

GRAINS: Final = ("minute", "hour")

_CLUSTER: Final = Field("cluster_id", "string", "", "Kafka's id of the cluster")
_START: Final = Field("start", "timestamp", "UTC", "start of the window, by the sidecar's wall clock")
_WHEN: Final = (
    Field("date", "date", "UTC", "day of the window's start"),
    Field("hour", "int", "UTC", "hour of day of the window's start"),
)


def _side(side: str) -> tuple[Field, ...]:
    of = f"{side} side"
    return (
        Field(f"{side}_limit_last", "double", "bytes/s", f"{of}: limit in the last poll; infinite if none is set"),
        Field(f"{side}_rate_mean", "double", "bytes/s", f"{of}: throttled traffic, in sync and catching up, mean"),
        Field(f"{side}_rate_max", "double", "bytes/s", f"{of}: throttled traffic, maximum"),
        Field(f"{side}_use_mean", "double", "ratio", f"{of}: rate / limit, mean"),
        Field(f"{side}_use_max", "double", "ratio", f"{of}: rate / limit, maximum"),
        Field(f"{side}_headroom_min", "double", "bytes/s", f"{of}: limit minus in-sync traffic, minimum"),
    )


_BROKER: Final = (
    Field("broker", "int", "", "broker id"),
    Field("polls", "bigint", "", "polls with the broker"),
    Field("bytes_in_mean", "double", "bytes/s", "into the partitions that it leads, mean"),
    Field("bytes_in_max", "double", "bytes/s", "into the partitions that it leads, maximum"),
    Field("lag_bytes_mean", "double", "bytes", "lag of the followers that it hosts, mean"),
    Field("lag_bytes_max", "double", "bytes", "lag of the followers that it hosts, maximum"),
    Field("lag_messages_max", "double", "messages", "lag of the followers that it hosts, maximum"),
    Field("out_of_sync_max", "bigint", "", "followers outside the ISR that it hosts, maximum"),
    *_side("leader"),
    *_side("follower"),
    Field("replicas_max", "bigint", "", "replicas that it hosts, maximum"),
    Field("leaders_max", "bigint", "", "partitions that it leads, maximum"),
    Field("counted_max", "bigint", "", "replicas that count against KIP-578's limit, maximum"),
)

_TOPIC: Final = (
    Field("topic", "string", "", "topic name"),
    Field("topic_id", "string", "", "topic id"),
    Field("partitions_max", "bigint", "", "partitions, maximum"),
    Field("replicas_max", "bigint", "", "replicas including adding ones, maximum"),
    Field("bytes_in_mean", "double", "bytes/s", "into all partitions, mean"),
    Field("bytes_in_max", "double", "bytes/s", "into all partitions, maximum"),
    Field("bytes_stored_last", "double", "bytes", "local logs of all leaders in the last poll"),
    Field("lag_bytes_max", "double", "bytes", "lag of all followers, maximum"),
    Field("under_replicated_max", "bigint", "", "under-replicated partitions, maximum"),
    Field("under_min_isr_max", "bigint", "", "partitions under `min.insync.replicas`, maximum"),
    Field("offline_max", "bigint", "", "partitions without a leader, maximum"),
)

_REPLICA: Final = (
    Field("topic", "string", "", "topic name"),
    Field("topic_id", "string", "", "topic id"),
    Field("partition", "int", "", "partition number"),
    Field("broker", "int", "", "broker id"),
    Field("samples", "bigint", "", "polls with the replica"),
    Field("known_samples", "bigint", "", "polls that know its lag in bytes"),
    Field("lag_messages_max", "bigint", "messages", "lag, maximum"),
    Field("lag_bytes_mean", "double", "bytes", "lag, mean of `known_samples`"),
    Field("lag_bytes_max", "double", "bytes", "lag, maximum"),
    Field("lag_seconds_max", "double", "s", "age of the oldest record that it lacks, maximum"),
    Field("behind_seconds_max", "double", "s", "time since it was last caught up, maximum"),
    Field("late_samples", "bigint", "", "polls in which it is behind for longer than its leader allows"),
    Field("out_of_sync_samples", "bigint", "", "polls in which it follows and is not in the ISR"),
    Field("states", "map<string,bigint>", "", "state to the number of polls with it"),
)

_CLUSTER_WIDE: Final = (
    Field("polls", "bigint", "", "polls of all its sidecars"),
    Field("brokers_max", "bigint", "", "brokers that the cluster lists, maximum"),
    Field("partitions_max", "bigint", "", "partitions, maximum"),
    Field("replicas_max", "bigint", "", "replicas including adding ones, maximum"),
    Field("counted_max", "bigint", "", "partitions that count against the cluster's limit, maximum"),
    Field("under_replicated_max", "bigint", "", "under-replicated partitions, maximum"),
    Field("bytes_in_mean", "double", "bytes/s", "into all partitions, mean"),
    Field("bytes_in_max", "double", "bytes/s", "into all partitions, maximum"),
    Field("mutation_tokens_min", "double", "", "lowest tokens (KIP-599's K) of a client; infinite without quotas"),
    Field("partitions_limit_last", "double", "", "limit of its partitions in the last poll; infinite if there is none"),
    Field("broker_limit_last", "double", "", "limit of each broker's replicas in the last poll; infinite without one"),
    Field("network_last", "double", "bytes/s", "capacity of one broker's network in the last poll; null if unknown"),
)

_LOG_DIR: Final = (
    Field("broker", "int", "", "broker id"),
    Field("log_dir", "string", "", "log directory, while it is online"),
    Field("polls", "bigint", "", "polls with its size"),
    Field("used_bytes_max", "double", "bytes", "used on its volume, maximum; of its logs if the volume is unknown"),
    Field("total_bytes_last", "double", "bytes", "size of its volume in the last poll; null if unknown"),
)

_SERIES_DAY: Final = (
    Field("subject", "string", "", "`cluster`, a broker id, or broker id and log directory such as `1:/data`"),
    Field("what", "string", "", "`partitions`, `replicas`, `bytes_in` or `disk_bytes`"),
    Field("broker", "int", "", "broker id, null of the cluster"),
    Field("log_dir", "string", "", "log directory, null of all but disks"),
    Field("day", "date", "UTC", "the day"),
    Field("value", "double", "of `what`", "the greatest of its hours that are known"),
    Field("hours", "bigint", "", "hours that are known"),
    Field("limit", "double", "of `what`", "in its last hour; infinite if there is none, null if unknown"),
)


def _mart(subject: str, grain: str, about: str, columns: tuple[Field, ...], key: tuple[str, ...]) -> Mart:
    return Mart(
        f"{subject}_{grain}",
        f"One row per {about} and {grain} with a poll of it.",
        (_CLUSTER, _START, *columns, *_WHEN),
        ("cluster_id", "start", *key),
    )


BROKERS: Final = {grain: _mart("broker", grain, "broker", _BROKER, ("broker",)) for grain in GRAINS}
TOPICS: Final = {grain: _mart("topic", grain, "topic", _TOPIC, ("topic", "topic_id")) for grain in GRAINS}
REPLICAS: Final = {
    grain: _mart("replica", grain, "replica", _REPLICA, ("topic", "topic_id", "partition", "broker"))
    for grain in GRAINS
}
CLUSTERS: Final = {grain: _mart("cluster", grain, "cluster", _CLUSTER_WIDE, ()) for grain in GRAINS}
LOG_DIR_HOURS: Final = _mart("log_dir", "hour", "log directory", _LOG_DIR, ("broker", "log_dir"))
SERIES_DAYS: Final = Mart(
    "series_day",
    "One row per day and series of those that `forecast` reads.",
    (_CLUSTER, *_SERIES_DAY),
    ("cluster_id", "subject", "what", "day"),
)
WINDOWS: Final = (*CLUSTERS.values(), *BROKERS.values(), *TOPICS.values(), *REPLICAS.values(), LOG_DIR_HOURS)
MARTS: Final = (*WINDOWS, SERIES_DAYS)
MINUTES: Final = tuple(marts["minute"] for marts in (CLUSTERS, BROKERS, TOPICS, REPLICAS))
