"""Sidecars whose alerts are read."""

import math

from tests.alerts.reading import reading
from tests.alerts.scenarios.changes import moving
from tests.alerts.scenarios.sidecars import SMALL, frozen, pod
from tests.alerts.scenarios.upkeep import DAY, certificate, history
from tests.support.exporter_pages import Exporter
from tests.support.over_time import after, during

DOWN, BLIND, RESTARTING = "KafkaWardenDown", "KafkaWardenBlind", "KafkaWardenRestarting"
LOST = "KafkaWardenHistoryLost"


@reading("some sidecars have no current data", 30, (25, DOWN), brokers=SMALL, outages=[(300, math.inf)])
def down(exporter: Exporter) -> None:
    exporter.beside(instance="b:10073", outages=exporter.outages)
    old, without, _ = (exporter.beside(instance=f"{name}:10073") for name in "cde")
    frozen(old, 300)
    without.set("snapshot_timestamp_seconds", None)


@reading("no sidecar has current data", 30, (25, DOWN), (25, BLIND), brokers=SMALL, outages=[(300, math.inf)])
def all_down(exporter: Exporter) -> None:
    frozen(exporter.beside(instance="b:10073"), 300)


@reading("there is no target", 30, (30, DOWN), (30, BLIND), brokers=SMALL, target=(0, 300))
def no_target(_: Exporter) -> None:
    """Prometheus does not list it any more."""


@reading("sidecars restart", 60, (60, RESTARTING), brokers=SMALL, outages=[(n, n + 30) for n in range(600, 2401, 600)])
def restarts(exporter: Exporter) -> None:
    exporter.beside(instance="b:10073", lost=lambda t: t // 15 % 5 == 4)


@reading("pods are replaced", 90, (60, RESTARTING), step=30, brokers=SMALL, evaluation=15, **pod(0, 0, 9))
def replaced(exporter: Exporter) -> None:
    for number in range(1, 7):
        exporter.beside(**pod(number, 10 * number, 10 * number + 9))


@reading("two clusters have one label", 20, (15, "KafkaWardenClusterLabelAmbiguous"), brokers=SMALL)
def ambiguous(exporter: Exporter) -> None:
    other = exporter.beside(instance="b:10073")
    other.set("cluster_info", 1, cluster_id="other", cluster_name="", kafka_version="4.1.1")
    other.end(0, cluster_id="id-prod")


@reading("access is refused", 20, (15, "KafkaWardenAccessRefused"), brokers=SMALL)
def refused(exporter: Exporter) -> None:
    other = exporter.beside(instance="b:10073")
    exporter.set("source_errors_total", lambda t: t // 10, source="log_dirs", broker=2, reason="authorization")
    other.set("source_errors_total", lambda t: t // 10, source="configs", broker="", reason="tls")
    other.set("undescribed_topics", 3)


@reading("history is not written", 40, (29, LOST), (40, LOST), brokers=SMALL, outages=[(1800, math.inf)])
def history_lost(exporter: Exporter) -> None:
    other = exporter.beside(instance="b:10073", outages=exporter.outages)
    history(exporter, 0, lost=during(0, 1800, lambda t: 20 * t), written=0)
    history(other, 1, written=lambda t: t)
    other.set("state_last_save_successful", 0)


@reading("parts are not monitored", 25, (24, BLIND), brokers=SMALL)
def parts(exporter: Exporter) -> None:
    moving(exporter, value=3, remaining=None, eta=None)
    exporter.set("broker_replica_lag_unknown_replicas", 2, broker=2)
    exporter.set("up", 0, source="jmx", broker=2)
    exporter.set("source_errors_total", lambda t: t // 10, source="jmx", broker=2, reason="connect_timeout")


@reading("certificates expire", 75, (70, "KafkaWardenCertificateExpiring"), step=60, brokers=SMALL)
def certificates(exporter: Exporter) -> None:
    certificate(exporter, 5 * DAY, 90 * DAY)
    certificate(exporter.beside(instance="b:10073"), 6 * DAY, 90 * DAY)
    certificate(exporter, -60, 90 * DAY, "kafka_client")


@reading("configurations are not used", 30, (25, "KafkaWardenConfigurationNotUsed"), brokers=SMALL)
def configurations(exporter: Exporter) -> None:
    exporter.set("config_last_reload_successful", after(300, 0, 1))
    for each in (exporter, exporter.beside(instance="b:10073")):
        each.set("web_config_in_use", 0)
