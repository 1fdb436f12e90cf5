"""Tiered storage: KIP-405, KIP-956."""

from collections.abc import Callable, Iterator

import numpy as np

from kafka_warden.catalogue.metric import Metric, Sample, View, broker_counter, broker_gauge, keyed, known
from kafka_warden.model import BrokerConfig, Floats, TopicConfig

COPY_LAG = "what is delayed on purpose included; it freezes while the quota limits copies"


def _quota(name: str, about: str, value: Callable[[BrokerConfig], float | None]) -> Metric:
    def read(view: View) -> Iterator[Sample]:
        return known(((str(broker),), value(config)) for broker, config in view.snapshot.broker_configs.items())

    return Metric(name, about, ("broker",), read, source="DescribeConfigs. KIP-956")


def _is_copied(config: TopicConfig) -> bool:
    return config.remote_storage and not config.remote_copy_disabled


def _allowed_lag(unit: str, key: str, about: str, value: Callable[[TopicConfig], float]) -> Metric:
    def read(view: View) -> Iterator[Sample]:
        for topic, allowed in zip(view.snapshot.topics, view.topics.tolist(), strict=True):
            config = view.snapshot.topic_configs.get(topic)
            if allowed and config is not None and _is_copied(config):
                yield (topic,), value(config)

    return Metric(
        f"topic_remote_copy_allowed_lag_{unit}",
        f"{about} until it is copied: 0 if at once, +Inf without such a limit. The first limit reached counts",
        ("topic",),
        read,
        source=f"DescribeConfigs: {key}, resolved as Kafka does; Kafka 4.4. KIP-1241",
    )


def _topics(name: str, about: str, column: Callable[[View], Floats], combine: np.ufunc, *, source: str) -> Metric:
    """Make a gauge of the topics that may have series, and of the others combined: an alert must not miss them."""

    def read(view: View) -> Iterator[Sample]:
        values = column(view)
        # Polls of history lack configurations of topics, and no topic is without series there.
        without = (
            (row, view.snapshot.topic_configs.get(view.snapshot.topics[row])) for row in np.flatnonzero(~view.topics)
        )
        if rows := [row for row, config in without if config is not None and _is_copied(config)]:
            yield ("",), float(combine.reduce(values[rows]))
        for topic, allowed, value in zip(view.snapshot.topics, view.topics.tolist(), values.tolist(), strict=True):
            if allowed:
                yield (topic,), value

    return Metric(name, about, ("topic",), read, source=source)


TIERED = (
    broker_gauge(
        "remote_copy_bytes_per_second",
        "Rate that the copy quota limits",
        "remote_copy_byte_rate",
        source="bean RLMCopy, byte-rate. KIP-956",
    ),
    broker_gauge(
        "remote_fetch_bytes_per_second",
        "Rate that the fetch quota limits",
        "remote_fetch_byte_rate",
        source="bean RLMFetch, byte-rate. KIP-956",
    ),
    _quota(
        "remote_copy_quota_bytes_per_second",
        "remote.log.manager.copy.max.bytes.per.second; absent without tiered storage",
        lambda config: config.remote_copy_quota,
    ),
    _quota(
        "remote_fetch_quota_bytes_per_second",
        "remote.log.manager.fetch.max.bytes.per.second; absent without tiered storage",
        lambda config: config.remote_fetch_quota,
    ),
    *(
        broker_gauge(
            f"remote_{what}_throttle_{statistic}_seconds",
            f"Throttle time of remote {what}",
            f"remote_{what}_throttle_time_{statistic}",
            source=f"bean RemoteLogManager, remote-{what}-throttle-time-{statistic}. KIP-956",
        )
        for what in ("copy", "fetch")
        for statistic in ("avg", "max")
    ),
    broker_counter(
        "remote_copy_bytes_total", "Bytes copied to remote storage", source="bean RemoteCopyBytesPerSec, Count. KIP-405"
    ),
    broker_counter(
        "remote_fetch_bytes_total",
        "Bytes read from remote storage",
        source="bean RemoteFetchBytesPerSec, Count. KIP-405",
    ),
    broker_counter(
        "remote_copy_errors_total", "Failed remote copies", source="bean RemoteCopyErrorsPerSec, Count. KIP-405"
    ),
    broker_counter(
        "remote_fetch_errors_total", "Failed remote reads", source="bean RemoteFetchErrorsPerSec, Count. KIP-405"
    ),
    broker_counter(
        "remote_delete_errors_total", "Failed remote deletions", source="bean RemoteDeleteErrorsPerSec, Count. KIP-405"
    ),
    broker_gauge(
        "remote_copy_lag_bytes", f"Bytes not copied yet, {COPY_LAG}", source="bean RemoteCopyLagBytes. KIP-405"
    ),
    broker_gauge(
        "remote_copy_lag_segments",
        f"Segments not copied yet, {COPY_LAG}",
        source="bean RemoteCopyLagSegments. KIP-405",
    ),
    broker_gauge("remote_delete_lag_bytes", "Bytes not deleted yet", source="bean RemoteDeleteLagBytes. KIP-405"),
    broker_gauge(
        "remote_delete_lag_segments", "Segments not deleted yet", source="bean RemoteDeleteLagSegments. KIP-405"
    ),
    _allowed_lag(
        "seconds", "remote.copy.lag.ms", "Age of a closed segment", lambda config: config.remote_copy_lag_seconds
    ),
    _allowed_lag(
        "bytes", "remote.copy.lag.bytes", "Bytes behind a closed segment", lambda config: config.remote_copy_lag_bytes
    ),
    _topics(
        "topic_remote_copy_overdue_bytes",
        "Bytes that should be in remote storage and are not: beyond active segments and the allowed lag. It "
        "does not freeze. Empty topic: sum without series",
        lambda view: view.derived.tiered.overdue,
        np.add,
        source="ListOffsets, DescribeLogDirs, DescribeConfigs; Kafka 3.9 and later. KIP-956",
    ),
    _topics(
        "topic_remote_copy_stalled_seconds",
        "Seconds since the latest remote offset last advanced while bytes are overdue, the longest of all "
        "partitions; 0 if none are. Empty topic: without series",
        lambda view: view.derived.tiered.stalled,
        np.maximum,
        source="ListOffsets; Kafka 3.9 and later. KIP-956",
    ),
    Metric(
        "tiered_storage_problem_seconds",
        "Seconds for which quotas of tiered storage have had a problem",
        ("broker", "problem"),
        lambda view: keyed((key, age) for key, age in view.derived.tiered.problems.items() if age),
        source="DescribeConfigs, DescribeClientQuotas, ListOffsets, beans RLMCopy, RLMFetch. KIP-956",
    ),
)
