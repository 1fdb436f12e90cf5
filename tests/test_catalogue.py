"""The catalogue: the rules that every metric follows. Names, types and labels are frozen by the golden page."""

import re
from collections import Counter
from typing import Final

import pytest

from kafka_warden.catalogue import CATALOGUE, OF_SNAPSHOT, PREFIX, Kind, Metric, SelfMetric
from kafka_warden.catalogue.replication import QUANTILES
from kafka_warden.catalogue.self_metrics import CLAMPED
from kafka_warden.sources.bean_list import BEANS

TARGET_LABELS: Final = {"job", "instance", "cluster"}
"""Prometheus sets these; a series with one of them would be renamed or would shadow it."""

ABBREVIATED: Final = re.compile(r"_(ms|millis|milliseconds|minutes|hours|kb|mb|kib|mib|percent|pct)(_|$)")
UNIT_LAST: Final = re.compile(r"_seconds(?!$)")
SOURCE: Final = re.compile(
    r"\b(Metadata|ListOffsets|DescribeCluster|DescribeConfigs|DescribeLogDirs|DescribeQuorum|DescribeClientQuotas"
    r"|ListPartitionReassignments|beans? \w+|option [a-z_.]+|all sources)\b"
)
"""A request of Kafka's protocol, a bean or an option of the configuration."""

LONGEST_HELP: Final = 160
METRICS: Final = [pytest.param(metric, id=metric.name) for metric in CATALOGUE]
AnyMetric = Metric | SelfMetric


def test_no_name_appears_twice() -> None:
    full = [metric.full_name for metric in CATALOGUE]
    families = [name.removesuffix("_total").removesuffix("_info") for name in full]
    assert [name for name, times in (Counter(full) | Counter(families)).items() if times > 1] == []


@pytest.mark.parametrize("metric", METRICS)
def test_type_follows_from_the_name(metric: AnyMetric) -> None:
    kinds = {"total": Kind.COUNTER, "info": Kind.INFO}
    suffix = metric.name.rpartition("_")[2]
    expected = Kind.SUMMARY if "quantile" in metric.labels else kinds.get(suffix, Kind.GAUGE)
    assert metric.kind is expected


@pytest.mark.parametrize("metric", METRICS)
def test_name_is_in_base_units(metric: AnyMetric) -> None:
    assert re.fullmatch(rf"{PREFIX}[a-z][a-z0-9]*(_[a-z0-9]+)*", metric.full_name)
    assert not ABBREVIATED.search(metric.name)
    assert not UNIT_LAST.search(metric.name)
    assert ("ratio" in metric.name.split("_")) == metric.name.endswith("_ratio")
    assert ("timestamp" in metric.name.split("_")) == metric.name.endswith("_timestamp_seconds")


@pytest.mark.parametrize("metric", METRICS)
def test_labels_leave_room_for_the_targets(metric: AnyMetric) -> None:
    assert len(set(metric.labels)) == len(metric.labels)
    assert not TARGET_LABELS & set(metric.labels)
    assert "le" not in metric.labels
    assert ("quantile" in metric.labels) == (metric.kind is Kind.SUMMARY)
    assert all(re.fullmatch(r"[a-z][a-z_]*", label) for label in metric.labels)


@pytest.mark.parametrize("metric", METRICS)
def test_help_is_one_short_line(metric: AnyMetric) -> None:
    """Grafana shows it in a tooltip: what it is, and no source."""
    assert metric.help.strip() == metric.help != ""
    assert len(metric.help) <= LONGEST_HELP
    assert not re.search(r"docs/|Hands-free|\.md\b|\bbean [A-Z]|\((Metadata|ListOffsets|Describe[A-Z])", metric.help)
    assert "\n" not in metric.help
    assert not metric.help.endswith(".")


@pytest.mark.parametrize("metric", [metric for metric in OF_SNAPSHOT if metric not in CLAMPED], ids=lambda it: it.name)
def test_source_is_named(metric: Metric) -> None:
    assert SOURCE.search(metric.source)


def test_quantiles_are_those_that_are_read() -> None:
    assert QUANTILES.keys() == {bean.name for bean in BEANS if bean.name.startswith("event_queue_time")}
