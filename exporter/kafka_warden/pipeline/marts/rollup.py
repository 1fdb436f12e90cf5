"""Marts of the job `rollup`: eight, for replicas, topics, brokers and clusters by minute and by hour."""

from typing import Final

from kafka_warden.pipeline.marts.mart import Field, Mart

GRAINS: Final = ("minute", "hour")
FOLDERS: Final = ("date", "hour")
"""An hour is what a stream writes anew, and what a part of history is cut by."""

_CLUSTER: Final = Field("cluster_id", "string", "", "of the cluster, as Kafka tells it")
_START: Final = Field("start", "timestamp", "UTC", "when the window begins, by the sidecar's wall clock")
_FOLDERS: Final = (
    Field("date", "date", "UTC", "day in which the window begins"),
    Field("hour", "int", "UTC", "hour of day in which it begins"),
)


def _side(side: str) -> tuple[Field, ...]:
    of = f"{side} side"
    return (
        Field(
            f"{side}_limit_last", "double", "bytes/s", f"{of}: the limit in the last poll; infinite where none is set"
        ),
        Field(
            f"{side}_rate_mean", "double", "bytes/s", f"{of}: in-sync traffic of listed replicas and what adding copy"
        ),
        Field(f"{side}_rate_max", "double", "bytes/s", f"{of}: the same, at most"),
        Field(f"{side}_use_mean", "double", "ratio", f"{of}: rate / limit"),
        Field(f"{side}_use_max", "double", "ratio", f"{of}: the same, at most"),
        Field(f"{side}_headroom_min", "double", "bytes/s", f"{of}: limit less in-sync traffic, at least"),
    )


_BROKER: Final = (
    Field("broker", "int", "", "broker id"),
    Field("polls", "bigint", "", "polls that know of the broker"),
    Field("bytes_in_mean", "double", "bytes/s", "into what it leads"),
    Field("bytes_in_max", "double", "bytes/s", "the same, at most"),
    Field("lag_bytes_mean", "double", "bytes", "what the followers that it hosts lack"),
    Field("lag_bytes_max", "double", "bytes", "the same, at most"),
    Field("lag_messages_max", "double", "messages", "SumReplicaLag of what it hosts, at most"),
    Field("out_of_sync_max", "bigint", "", "followers outside the ISR that it hosts, at most"),
    *_side("leader"),
    *_side("follower"),
    Field("replicas_max", "bigint", "", "replicas that it hosts"),
    Field("leaders_max", "bigint", "", "partitions that it leads"),
    Field("counted_max", "bigint", "", "replicas that count against KIP-578's limit"),
)

_TOPIC: Final = (
    Field("topic", "string", "", "topic name"),
    Field("partitions_max", "bigint", "", "partitions"),
    Field("replicas_max", "bigint", "", "replicas, adding ones included"),
    Field("bytes_in_mean", "double", "bytes/s", "into all partitions"),
    Field("bytes_in_max", "double", "bytes/s", "the same, at most"),
    Field("bytes_stored_last", "double", "bytes", "local logs of all leaders in the last poll"),
    Field("lag_bytes_max", "double", "bytes", "what all followers lack, at most"),
    Field("under_replicated_max", "bigint", "", "under-replicated partitions, at most"),
    Field("under_min_isr_max", "bigint", "", "partitions under `min.insync.replicas`, at most"),
    Field("offline_max", "bigint", "", "partitions without a leader, at most"),
)

_REPLICA: Final = (
    Field("topic", "string", "", "topic name"),
    Field("topic_id", "string", "", "topic id"),
    Field("partition", "int", "", "partition number"),
    Field("broker", "int", "", "broker id"),
    Field("samples", "bigint", "", "polls that know of the replica"),
    Field("known_samples", "bigint", "", "those that know what it lacks"),
    Field("lag_messages_max", "bigint", "messages", "what it lacks, at most"),
    Field("lag_bytes_mean", "double", "bytes", "what it lacks, in the mean of `known_samples`"),
    Field("lag_bytes_max", "double", "bytes", "the same, at most"),
    Field("lag_seconds_max", "double", "s", "age of the oldest record that it lacks, at most"),
    Field("behind_seconds_max", "double", "s", "time since it was last caught up, at most"),
    Field("late_samples", "bigint", "", "polls in which it is behind for longer than its leader allows"),
    Field("out_of_sync_samples", "bigint", "", "polls in which it follows and is not in the ISR"),
    Field("states", "map<string,bigint>", "", "state to the polls that show it"),
)

_CLUSTER_WIDE: Final = (
    Field("polls", "bigint", "", "polls of all its sidecars"),
    Field("brokers_max", "bigint", "", "brokers that the cluster lists"),
    Field("partitions_max", "bigint", "", "partitions"),
    Field("replicas_max", "bigint", "", "replicas, adding ones included"),
    Field("counted_max", "bigint", "", "partitions that count against the cluster's limit"),
    Field("under_replicated_max", "bigint", "", "under-replicated partitions, at most"),
    Field("bytes_in_mean", "double", "bytes/s", "into all partitions"),
    Field("bytes_in_max", "double", "bytes/s", "the same, at most"),
    Field(
        "mutation_tokens_min", "double", "", "K of KIP-599 of the client that has the least; infinite without quotas"
    ),
)


def _mart(subject: str, grain: str, about: str, columns: tuple[Field, ...], key: tuple[str, ...]) -> Mart:
    return Mart(
        f"{subject}_{grain}",
        f"One row per {about} and {grain} in which a poll knows of it.",
        (_CLUSTER, _START, *columns, *_FOLDERS),
        ("cluster_id", "start", *key),
        FOLDERS,
    )


BROKERS: Final = {grain: _mart("broker", grain, "broker", _BROKER, ("broker",)) for grain in GRAINS}
TOPICS: Final = {grain: _mart("topic", grain, "topic", _TOPIC, ("topic",)) for grain in GRAINS}
REPLICAS: Final = {
    grain: _mart("replica", grain, "replica", _REPLICA, ("topic", "topic_id", "partition", "broker"))
    for grain in GRAINS
}
CLUSTERS: Final = {grain: _mart("cluster", grain, "cluster", _CLUSTER_WIDE, ()) for grain in GRAINS}
MARTS: Final = (*CLUSTERS.values(), *BROKERS.values(), *TOPICS.values(), *REPLICAS.values())
