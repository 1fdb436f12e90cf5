"""What alerts on the sidecar itself read like."""

import math
from typing import Final

from tests.alerts.reading import Reading, text
from tests.alerts.scenarios.changes import moving
from tests.alerts.scenarios.sidecars import SMALL, frozen, pair, pod
from tests.alerts.scenarios.upkeep import DAY, certificate, history
from tests.support.exporter_pages import Exporter
from tests.support.over_time import after, during

DOWN, BLIND, LOST = "KafkaWardenDown", "KafkaWardenBlind", "KafkaWardenHistoryLost"
STAYS: Final = "Firing alerts stay as they are, and no new alert can fire."
START: Final = "Look at the log of the sidecar, and start it."
CHECK: Final = "Run kafka-warden check with the configuration of the sidecar."


def _down() -> Reading:
    exporters = [
        Exporter(30, brokers=SMALL, instance=f"{name}:10073", outages=[(300, math.inf)] if name in "ab" else [])
        for name in "abcde"
    ]
    frozen(exporters[2], 300)
    exporters[3].set("snapshot_timestamp_seconds", None)
    some = text(
        25,
        DOWN,
        "prod: sidecars without current data: 4",
        "Sidecars with current data: 1.",
        "Down: a:10073, b:10073.",
        "Data too old, or clocks that differ: c:10073 (20m 0s), d:10073 (none).",
        START,
    )
    return Reading("some sidecars have no current data", exporters, [some])


def _all_down() -> Reading:
    exporters = [
        Exporter(30, brokers=SMALL, outages=[(300, math.inf)]),
        Exporter(30, brokers=SMALL, instance="b:10073"),
    ]
    frozen(exporters[1], 300)
    down = text(
        25,
        DOWN,
        "prod: sidecars without current data: 2",
        f"Sidecars with current data: 0. {STAYS}",
        "Down: a:10073.",
        "Data too old, or clocks that differ: b:10073 (20m 0s).",
        START,
    )
    blind = text(
        25,
        BLIND,
        "prod: the cluster is not monitored",
        f"No sidecar has current data. {STAYS}",
        "a:10073 is down. b:10073 answers Prometheus, without current data.",
        "Look whether the brokers run, then start a sidecar.",
        severity="critical",
        data="none",
    )
    return Reading("no sidecar has current data", exporters, [down, blind])


def _no_target() -> Reading:
    gone = text(
        30,
        DOWN,
        "prod: Prometheus has no sidecar as a target any more",
        f"Sidecars with current data: 0. {STAYS}",
        "Look at the scrape configuration of Prometheus.",
    )
    blind = text(
        30,
        BLIND,
        "prod: the cluster is not monitored",
        f"No sidecar has current data. {STAYS}",
        "Look whether the brokers run, then start a sidecar.",
        severity="critical",
        data="none",
    )
    return Reading("there is no target", [Exporter(30, brokers=SMALL, target=(0, 300))], [gone, blind])


def _restarts() -> Reading:
    exporters = [
        Exporter(60, brokers=SMALL, outages=[(n * 60, n * 60 + 30) for n in (10, 20, 30, 40)]),
        Exporter(60, brokers=SMALL, instance="b:10073", lost=lambda t: t // 15 % 5 == 4),
    ]
    both = text(
        60,
        "KafkaWardenRestarting",
        "prod: a sidecar restarts again and again, or its scrapes fail",
        "Alerts of this cluster may be late.",
        "Restarts lately: a:10073 4.",
        "Failed scrapes lately: a:10073 3.32%, b:10073 19.92%.",
        "Look at its log, its memory limit, and the scrape time-out.",
    )
    return Reading("sidecars restart", exporters, [both])


def _replaced() -> Reading:
    pods = [pod("prod", number, 10 * number, 10 * number + 9) for number in range(7)]
    one = text(
        60,
        "KafkaWardenRestarting",
        "prod: a sidecar restarts again and again, or its scrapes fail",
        "Alerts of this cluster may be late.",
        "Addresses that answered lately: 7.",
        "Look at its log, its memory limit, and the scrape time-out.",
    )
    return Reading("pods are replaced", pods, [one])


def _ambiguous() -> Reading:
    one, other = pair(20)
    other.set("cluster_info", 1, cluster_id="other", cluster_name="", kafka_version="4.1.1")
    other.end(0, cluster_id="id-prod")
    both = text(
        15,
        "KafkaWardenClusterLabelAmbiguous",
        'Kafka clusters with the label cluster="prod": 2',
        "Alerts mix them up: a broker of one hides a dead broker of the other.",
        "Cluster ids: id-prod (a:10073), other (b:10073).",
        "Give each Kafka cluster its own value of the label in the scrape configuration.",
    )
    return Reading("two clusters have one label", [one, other], [both])


def _refused() -> Reading:
    one, other = pair(20)
    one.set("source_errors_total", lambda t: t // 10, source="log_dirs", broker=2, reason="authorization")
    other.set("source_errors_total", lambda t: t // 10, source="configs", broker="", reason="tls")
    other.set("undescribed_topics", 3)
    all_of_it = text(
        15,
        "KafkaWardenAccessRefused",
        "prod: the brokers refuse requests of a sidecar",
        "Its password, its TLS files or its ACLs are wrong, so its data are incomplete. "
        "This says nothing about the brokers.",
        "Refused: configs of b:10073 (TLS), log dirs of a:10073 (ACL).",
        "Topics hidden from it since an ACL was removed: 3 (b:10073).",
        "Run kafka-warden check with its configuration: it names the missing right.",
    )
    return Reading("access is refused", [one, other], [all_of_it])


def _history() -> Reading:
    exporters = [Exporter(40, brokers=SMALL, instance=f"{name}:10073", outages=[(1800, math.inf)]) for name in "ab"]
    lost = during(0, 1800, lambda t: 20 * t)
    history(exporters[0], 0, lost=lost, written=0)
    history(exporters[1], 1, written=lambda t: t)
    exporters[1].set("state_last_save_successful", 0)
    parquet = ("prod: history is not written (parquet)", "Rows that do not fit into memory are lost.")
    state = (
        "prod: the state file is not written",
        "The file of the option state.path cannot be written: after a restart all ages start at 0.",
    )
    room = "Check the free space and the rights of its folder."
    old = "No sidecar has current data: these are the last known values."
    texts = [
        text(
            29,
            LOST,
            parquet[0],
            f"{parquet[1]} Cannot write: a:10073.",
            "Last written: 29m 0s ago (a:10073), 0s ago (b:10073). Rows lost lately: 18k.",
            room,
            sink="parquet",
        ),
        text(29, LOST, *state, "Cannot write: b:10073.", room, sink="state"),
        text(40, LOST, parquet[0], f"{parquet[1]} Rows lost lately: 5.747k.", room, old, sink="parquet"),
        text(40, LOST, *state, room, old, sink="state"),
    ]
    return Reading("history is not written", exporters, texts)


def _parts() -> Reading:
    exporter = Exporter(25, brokers=SMALL)
    moving(exporter, value=3, remaining=None, eta=None)
    exporter.set("broker_replica_lag_unknown_replicas", 2, broker=2)
    exporter.set("up", 0, source="jmx", broker=2)
    exporter.set("source_errors_total", lambda t: t // 10, source="jmx", broker=2, reason="connect_timeout")
    some = text(
        24,
        BLIND,
        "prod: a part of the cluster is not monitored",
        "No current data on: bytes left to move, lag of replicas.",
        "Alerts that need these data stay as they are, and new ones cannot fire.",
        CHECK,
        data="some",
    )
    beans = text(
        24,
        BLIND,
        "prod: JMX of node 2 cannot be read",
        "The metrics that come from its JMX beans are absent (docs/metrics.md). Reason: connect timeout.",
        CHECK,
        severity="info",
        data="beans",
        broker="2",
    )
    return Reading("parts are not monitored", [exporter], [some, beans])


def _certificates() -> Reading:
    one, other = pair(75, step=60)
    certificate(one, 5 * DAY, 90 * DAY)
    certificate(other, 6 * DAY, 90 * DAY)
    certificate(one, -60, 90 * DAY, "kafka_client")
    new = "Issue a new one, and replace the files: the sidecar reads them again."
    alert = "KafkaWardenCertificateExpiring"
    texts = [
        text(
            70,
            alert,
            "prod: the certificate web of a sidecar expires in 4d 22h 50m 0s",
            "Without it, Prometheus cannot scrape the sidecar.",
            "Sidecars: a:10073, b:10073.",
            new,
            certificate="web",
        ),
        text(
            70,
            alert,
            "prod: the certificate kafka client of a sidecar has expired",
            "Without it, no broker answers the sidecar.",
            "Sidecars: a:10073.",
            new,
            certificate="kafka_client",
        ),
    ]
    return Reading("certificates expire", [one, other], texts, evaluation=60)


def _configuration() -> Reading:
    one, other = pair(30)
    one.set("config_last_reload_successful", after(300, 0, 1))
    for exporter in (one, other):
        exporter.set("web_config_in_use", 0)
    both = text(
        25,
        "KafkaWardenConfigurationNotUsed",
        "prod: sidecars that do not use their current configuration: 2",
        "Changed files cannot be used, or an option needs a restart. "
        "The old values stay in force; the next start may fail.",
        "Configuration: a:10073.",
        "Web configuration: a:10073, b:10073.",
        "The log of the sidecar has the reason.",
    )
    return Reading("configurations are not used", [one, other], [both])


READINGS: Final = [
    _down(),
    _all_down(),
    _no_target(),
    _restarts(),
    _replaced(),
    _ambiguous(),
    _refused(),
    _history(),
    _parts(),
    _certificates(),
    _configuration(),
]
