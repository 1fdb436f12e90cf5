"""The catalogue keeps its contract: alerts, dashboards and people rely on these names, labels and types."""

import re
from collections import Counter
from typing import Final

import pytest

from kafka_warden.catalogue import CATALOGUE, PREFIX, SIDECAR, Kind, Metric, SidecarMetric
from kafka_warden.catalogue.mutations import QUANTILES
from kafka_warden.sources.beans import BEANS

CONTRACT: Final = """
leader_replication_throttled_bytes_per_second follower_replication_throttled_bytes_per_second: broker
broker_catch_up_bytes_per_second replication_throttle_bytes_per_second: broker side
replication_throttle_origin_info: broker side origin
replication_throttled_replicas: broker side
replication_throttle_floor_bytes_per_second replication_throttle_headroom_bytes_per_second: broker side
replication_throttle_lower_bound_bytes_per_second replication_throttle_upper_bound_bytes_per_second: broker
replication_throttle_recommended_bytes_per_second:
replication_throttle_problem_seconds: broker side problem
partition_bytes_in_per_second: topic partition
broker_sum_replica_lag_messages broker_sum_replica_lag_bytes broker_led_replica_lag_bytes: broker
broker_replica_lag_unknown_replicas: broker
broker_bytes_in_total broker_bytes_out_total: broker
broker_replication_bytes_in_total broker_replication_bytes_out_total: broker
broker_reassignment_bytes_in_total broker_reassignment_bytes_out_total: broker
reassigning_partitions reassignment_move_ratio:
reassignment_replicas: broker change
reassignment_bytes_remaining reassignment_messages_remaining reassignment_progress_ratio: topic partition broker
reassignment_bytes_per_second reassignment_eta_seconds reassignment_never_ends: topic partition broker
reassignment_stalled_seconds: topic partition broker
reassignment_stuck: topic partition broker cause
reassignment_total_bytes_remaining reassignment_total_eta_seconds reassignment_deadline_seconds:
reassignment_predicted_seconds reassignment_predicted_bottleneck_seconds:
reassignment_bottleneck_info: broker side
log_dir_move_bytes_remaining log_dir_move_eta_seconds: topic partition broker
replica_lag_messages replica_lag_bytes replica_lag_seconds replica_behind_seconds: topic partition broker
replica_state: topic partition broker state
broker_out_of_sync_replicas: broker state
replica_out_of_sync_seconds: topic partition broker
under_replicated_partitions under_min_isr_partitions at_min_isr_partitions offline_partitions:
broker_under_replicated_partitions broker_under_min_isr_partitions: broker
partition_under_replicated_seconds: topic partition
broker_isr_shrinks_total broker_isr_expands_total: broker
unclean_leader_elections_total:
broker_info: broker host rack
broker_state: broker state
broker_replicas broker_leaders: broker
controller_info: node
quorum_lag_offsets quorum_last_caught_up_timestamp_seconds: node role
cluster_info: cluster_id kafka_version
controller_mutation_tokens controller_mutations_per_second controller_mutation_throttle_seconds: user client_id
controller_mutation_quota_per_second controller_mutation_burst: user client_id
controller_mutation_admission_delay_seconds controller_mutation_quota_config: user client_id
client_request_throttle_seconds: broker user client_id
controller_event_queue_seconds: quantile
remote_copy_bytes_per_second remote_fetch_bytes_per_second: broker
remote_copy_quota_bytes_per_second remote_fetch_quota_bytes_per_second: broker
remote_copy_throttle_avg_seconds remote_copy_throttle_max_seconds: broker
remote_fetch_throttle_avg_seconds remote_fetch_throttle_max_seconds: broker
remote_copy_bytes_total remote_fetch_bytes_total: broker
remote_copy_errors_total remote_fetch_errors_total remote_delete_errors_total: broker
remote_copy_lag_bytes remote_copy_lag_segments remote_delete_lag_bytes remote_delete_lag_segments: broker
topic_remote_copy_overdue_bytes topic_remote_copy_stalled_seconds: topic
tiered_storage_problem_seconds: broker problem
broker_partitions broker_partition_limit broker_partition_headroom: broker
broker_replicas_without_log broker_stray_replicas: broker
cluster_partitions cluster_replicas cluster_partition_limit cluster_partition_headroom:
log_dir_bytes log_dir_usable_bytes log_dir_total_bytes log_dir_online: broker log_dir
up source_duration_seconds source_last_success_timestamp_seconds: source broker
source_errors_total: source broker reason
snapshot_timestamp_seconds:
dropped_series: family
sink_up sink_rows_total sink_last_success_timestamp_seconds: sink
sink_dropped_total: sink reason
clamped_total: what
build_info: version revision python
"""
"""Names without the prefix, and their labels. A change here is a change for everybody: the changelog says why."""

TARGET_LABELS: Final = {"job", "instance", "cluster"}
"""Prometheus sets these; a series with one of them would be renamed or would shadow it."""

ABBREVIATED: Final = re.compile(r"_(ms|millis|milliseconds|minutes|hours|kb|mb|kib|mib|percent|pct)(_|$)")
UNIT_LAST: Final = re.compile(r"_seconds(?!$)")
SOURCE: Final = re.compile(
    r"\b(Metadata|ListOffsets|DescribeCluster|DescribeConfigs|DescribeLogDirs|DescribeQuorum|DescribeClientQuotas"
    r"|ListPartitionReassignments|beans? \w+|option [a-z_.]+|all sources)\b"
)
"""A request of Kafka's protocol, a bean or an option of the configuration."""

METRICS: Final = [pytest.param(metric, id=metric.name) for metric in CATALOGUE]
AnyMetric = Metric | SidecarMetric


def read(table: str) -> dict[str, tuple[str, ...]]:
    """Read names and labels out of a table above."""
    found = {}
    for line in table.strip().splitlines():
        names, labels = line.split(":")
        found |= {name: tuple(labels.split()) for name in names.split()}
    return found


def test_everything_promised_is_served_with_its_labels() -> None:
    """Every name of the contract is in the catalogue with its labels in their order, and nothing else is."""
    assert {metric.name: metric.labels for metric in CATALOGUE} == read(CONTRACT)


def test_no_name_appears_twice() -> None:
    """Every family has one entry, also after OpenMetrics takes the suffix off counters and infos."""
    full = [metric.full_name for metric in CATALOGUE]
    families = [name.removesuffix("_total").removesuffix("_info") for name in full]
    assert [name for name, times in (Counter(full) | Counter(families)).items() if times > 1] == []


@pytest.mark.parametrize("metric", METRICS)
def test_type_follows_from_the_name(metric: AnyMetric) -> None:
    """`_total` is a counter, `_info` an info, quantiles are a summary's, and everything else is a gauge."""
    kinds = {"total": Kind.COUNTER, "info": Kind.INFO}
    suffix = metric.name.rpartition("_")[2]
    expected = Kind.SUMMARY if "quantile" in metric.labels else kinds.get(suffix, Kind.GAUGE)
    assert metric.kind is expected


@pytest.mark.parametrize("metric", METRICS)
def test_name_is_in_base_units(metric: AnyMetric) -> None:
    """Seconds, bytes and ratios, spelled out, with seconds at the end of the name."""
    assert re.fullmatch(rf"{PREFIX}[a-z][a-z0-9]*(_[a-z0-9]+)*", metric.full_name)
    assert not ABBREVIATED.search(metric.name)
    assert not UNIT_LAST.search(metric.name)
    assert ("ratio" in metric.name.split("_")) == metric.name.endswith("_ratio")
    assert ("timestamp" in metric.name.split("_")) == metric.name.endswith("_timestamp_seconds")


@pytest.mark.parametrize("metric", METRICS)
def test_labels_leave_room_for_the_targets(metric: AnyMetric) -> None:
    """No label twice, none of Prometheus' own, and none of a summary or histogram on anything else."""
    assert len(set(metric.labels)) == len(metric.labels)
    assert not TARGET_LABELS & set(metric.labels)
    assert "le" not in metric.labels
    assert ("quantile" in metric.labels) == (metric.kind is Kind.SUMMARY)
    assert all(re.fullmatch(r"[a-z][a-z_]*", label) for label in metric.labels)


@pytest.mark.parametrize("metric", METRICS)
def test_help_says_what_it_is_and_where_it_comes_from(metric: AnyMetric) -> None:
    """HELP is a line of its own words that names the request, the bean or the option behind it."""
    assert metric.help.strip() == metric.help != ""
    assert "\n" not in metric.help
    assert not metric.help.endswith(".")
    assert metric in SIDECAR or metric.name == "clamped_total" or SOURCE.search(metric.help)


def test_quantiles_are_those_that_are_read() -> None:
    """Every quantile of the event queue that JMX gives is on the page, and no other name is looked for."""
    assert QUANTILES.keys() == {bean.name for bean in BEANS if bean.name.startswith("event_queue_time")}
