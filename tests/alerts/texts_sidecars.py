"""Sidecars whose alerts are read."""

import math
from collections.abc import Sequence

from tests.alerts.reading import reading
from tests.alerts.scenarios.changes import moving
from tests.alerts.scenarios.sidecars import SMALL, frozen, pair, pod
from tests.alerts.scenarios.upkeep import DAY, certificate, history
from tests.support.exporter_pages import Exporter
from tests.support.over_time import after, during

DOWN, BLIND, RESTARTING = "KafkaWardenDown", "KafkaWardenBlind", "KafkaWardenRestarting"
LOST = "KafkaWardenHistoryLost"


@reading("some sidecars have no current data", (25, DOWN))
def down() -> Sequence[Exporter]:
    exporters = [
        Exporter(30, brokers=SMALL, instance=f"{name}:10073", outages=[(300, math.inf)] if name in "ab" else [])
        for name in "abcde"
    ]
    frozen(exporters[2], 300)
    exporters[3].set("snapshot_timestamp_seconds", None)
    return exporters


@reading("no sidecar has current data", (25, DOWN), (25, BLIND))
def all_down() -> Sequence[Exporter]:
    stopped = Exporter(30, brokers=SMALL, outages=[(300, math.inf)])
    old = Exporter(30, brokers=SMALL, instance="b:10073")
    frozen(old, 300)
    return [stopped, old]


@reading("there is no target", (30, DOWN), (30, BLIND))
def no_target() -> Sequence[Exporter]:
    return [Exporter(30, brokers=SMALL, target=(0, 300))]


@reading("sidecars restart", (60, RESTARTING))
def restarts() -> Sequence[Exporter]:
    return [
        Exporter(60, brokers=SMALL, outages=[(n * 60, n * 60 + 30) for n in (10, 20, 30, 40)]),
        Exporter(60, brokers=SMALL, instance="b:10073", lost=lambda t: t // 15 % 5 == 4),
    ]


@reading("pods are replaced", (60, RESTARTING))
def replaced() -> Sequence[Exporter]:
    return [pod("prod", number, 10 * number, 10 * number + 9) for number in range(7)]


@reading("two clusters have one label", (15, "KafkaWardenClusterLabelAmbiguous"))
def ambiguous() -> Sequence[Exporter]:
    one, other = pair(20)
    other.set("cluster_info", 1, cluster_id="other", cluster_name="", kafka_version="4.1.1")
    other.end(0, cluster_id="id-prod")
    return [one, other]


@reading("access is refused", (15, "KafkaWardenAccessRefused"))
def refused() -> Sequence[Exporter]:
    one, other = pair(20)
    one.set("source_errors_total", lambda t: t // 10, source="log_dirs", broker=2, reason="authorization")
    other.set("source_errors_total", lambda t: t // 10, source="configs", broker="", reason="tls")
    other.set("undescribed_topics", 3)
    return [one, other]


@reading("history is not written", (29, LOST), (40, LOST))
def history_lost() -> Sequence[Exporter]:
    exporters = [Exporter(40, brokers=SMALL, instance=f"{name}:10073", outages=[(1800, math.inf)]) for name in "ab"]
    lost = during(0, 1800, lambda t: 20 * t)
    history(exporters[0], 0, lost=lost, written=0)
    history(exporters[1], 1, written=lambda t: t)
    exporters[1].set("state_last_save_successful", 0)
    return exporters


@reading("parts are not monitored", (24, BLIND))
def parts() -> Sequence[Exporter]:
    exporter = Exporter(25, brokers=SMALL)
    moving(exporter, value=3, remaining=None, eta=None)
    exporter.set("broker_replica_lag_unknown_replicas", 2, broker=2)
    exporter.set("up", 0, source="jmx", broker=2)
    exporter.set("source_errors_total", lambda t: t // 10, source="jmx", broker=2, reason="connect_timeout")
    return [exporter]


@reading("certificates expire", (70, "KafkaWardenCertificateExpiring"), evaluation=60)
def certificates() -> Sequence[Exporter]:
    one, other = pair(75, step=60)
    certificate(one, 5 * DAY, 90 * DAY)
    certificate(other, 6 * DAY, 90 * DAY)
    certificate(one, -60, 90 * DAY, "kafka_client")
    return [one, other]


@reading("configurations are not used", (25, "KafkaWardenConfigurationNotUsed"))
def configurations() -> Sequence[Exporter]:
    one, other = pair(30)
    one.set("config_last_reload_successful", after(300, 0, 1))
    for exporter in (one, other):
        exporter.set("web_config_in_use", 0)
    return [one, other]
