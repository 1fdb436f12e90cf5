"""Tiered storage: KIP-405, KIP-956."""

from collections.abc import Callable, Iterator

from kafka_warden.catalogue.bean_metrics import broker_counter, broker_gauge
from kafka_warden.catalogue.metric import Metric, Sample, View, keyed, known
from kafka_warden.model import BrokerConfig, Floats

COPY_LAG = "freezes while the quota limits copies"


def _quota(name: str, about: str, value: Callable[[BrokerConfig], float | None]) -> Metric:
    def read(view: View) -> Iterator[Sample]:
        return known(((str(broker),), value(config)) for broker, config in view.snapshot.broker_configs.items())

    return Metric(name, about, ("broker",), read)


def _topics(name: str, about: str, column: Callable[[View], Floats]) -> Metric:
    def read(view: View) -> Iterator[Sample]:
        named = zip(view.snapshot.topics, view.topics.tolist(), column(view).tolist(), strict=True)
        return (((topic,), value) for topic, allowed, value in named if allowed)

    return Metric(name, about, ("topic",), read)


TIERED = (
    broker_gauge(
        "remote_copy_bytes_per_second",
        "Rate that is compared with the copy quota (bean RLMCopy, byte-rate). KIP-956",
        "remote_copy_byte_rate",
    ),
    broker_gauge(
        "remote_fetch_bytes_per_second",
        "Rate that is compared with the fetch quota (bean RLMFetch, byte-rate). KIP-956",
        "remote_fetch_byte_rate",
    ),
    _quota(
        "remote_copy_quota_bytes_per_second",
        "remote.log.manager.copy.max.bytes.per.second (DescribeConfigs); absent without tiered storage. KIP-956",
        lambda config: config.remote_copy_quota,
    ),
    _quota(
        "remote_fetch_quota_bytes_per_second",
        "remote.log.manager.fetch.max.bytes.per.second (DescribeConfigs); absent without tiered storage. KIP-956",
        lambda config: config.remote_fetch_quota,
    ),
    *(
        broker_gauge(
            f"remote_{what}_throttle_{statistic}_seconds",
            f"Throttle time of remote {what} (bean RemoteLogManager, remote-{what}-throttle-time-{statistic}). KIP-956",
            f"remote_{what}_throttle_time_{statistic}",
        )
        for what in ("copy", "fetch")
        for statistic in ("avg", "max")
    ),
    broker_counter(
        "remote_copy_bytes_total", "Bytes copied to remote storage (bean RemoteCopyBytesPerSec, Count). KIP-405"
    ),
    broker_counter(
        "remote_fetch_bytes_total", "Bytes read from remote storage (bean RemoteFetchBytesPerSec, Count). KIP-405"
    ),
    broker_counter("remote_copy_errors_total", "Failed remote copies (bean RemoteCopyErrorsPerSec, Count). KIP-405"),
    broker_counter("remote_fetch_errors_total", "Failed remote reads (bean RemoteFetchErrorsPerSec, Count). KIP-405"),
    broker_counter(
        "remote_delete_errors_total", "Failed remote deletions (bean RemoteDeleteErrorsPerSec, Count). KIP-405"
    ),
    broker_gauge("remote_copy_lag_bytes", f"Bytes not copied yet (bean RemoteCopyLagBytes, which {COPY_LAG}). KIP-405"),
    broker_gauge(
        "remote_copy_lag_segments", f"Segments not copied yet (bean RemoteCopyLagSegments, which {COPY_LAG}). KIP-405"
    ),
    broker_gauge("remote_delete_lag_bytes", "Bytes not deleted yet (bean RemoteDeleteLagBytes). KIP-405"),
    broker_gauge("remote_delete_lag_segments", "Segments not deleted yet (bean RemoteDeleteLagSegments). KIP-405"),
    _topics(
        "topic_remote_copy_overdue_bytes",
        "Bytes that should be in remote storage and are not: more than active segments may hold, summed over all "
        "partitions (ListOffsets, DescribeLogDirs, DescribeConfigs). It does not freeze. Kafka 3.9 and later. KIP-956",
        lambda view: view.derived.tiered.overdue,
    ),
    _topics(
        "topic_remote_copy_stalled_seconds",
        "Seconds since the latest offset in remote storage last advanced while bytes are overdue, for the partition "
        "with the longest time; 0 while nothing is overdue (ListOffsets). Kafka 3.9 and later. KIP-956",
        lambda view: view.derived.tiered.stalled,
    ),
    Metric(
        "tiered_storage_problem_seconds",
        "Seconds for which the quotas of tiered storage have had a problem, after two polls that agree; 0 without the "
        "problem, absent while no topic has remote storage (DescribeConfigs, DescribeClientQuotas, ListOffsets, beans "
        "RLMCopy, RLMFetch). KIP-956",
        ("broker", "problem"),
        lambda view: keyed(view.derived.tiered.problems.items()),
    ),
)
