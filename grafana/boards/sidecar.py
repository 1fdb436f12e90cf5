"""Sidecar: whether the other dashboards can be believed."""

from typing import Final

from grafana.kit import alerts, looks
from grafana.kit.page import Board, Line, Section
from grafana.kit.panels import About, Query, lines
from grafana.kit.queries import ONE_CLUSTER, series
from grafana.kit.tables import Value, rows

IN_USE: Final = looks.named(("no", "red"), ("yes", "green"))
WRITTEN: Final = looks.named(("not written", "red"), ("written", "green"))
OF_PROCESS: Final = f'{ONE_CLUSTER}, instance=~"$instance"'


def _of(name: str) -> str:
    """A family of the chosen sidecars: here each one is shown by itself."""
    return series(name, narrowed_by=("instance",))


def _least(name: str, by: str = "instance") -> str:
    return f"min by ({by}) ({_of(name)})"


AGE: Final = f"time() - max by (instance) ({_of('snapshot_timestamp_seconds')})"
BROKER_SOURCES: Final = "instance, source, broker"
ANSWERED: Final = _least("up", BROKER_SOURCES)
UNANSWERED: Final = f"1 - {ANSWERED} == 1"
UNANSWERED_FOR: Final = (
    f"time() - max by ({BROKER_SOURCES}) ({_of('source_last_success_timestamp_seconds')})"
    f" and on ({BROKER_SOURCES}) {ANSWERED} == 0"
)
WRITABLE: Final = f"min by (instance) ({_least('sink_up', 'instance, sink')} or {_least('state_last_save_successful')})"

SIDECARS: Final = (
    Line(
        6,
        [
            rows(
                About(
                    "Exporters",
                    "Exporters of this cluster that Prometheus can scrape now: whether the files of the configuration "
                    "and of web.config_file are in use as they are now, whether history and state file are written, "
                    "rows of history lost in the time range, and the time until the first certificate expires. If "
                    "there are two cluster ids, exporters of two clusters have the same label.",
                    no_value="none",
                ),
                {"instance": "Exporter", "version": "Version", "cluster_id": "Cluster id", "kafka_version": "Kafka"},
                [
                    Value("Snapshot age", AGE, looks.SECONDS, alerts.OLD),
                    Value("Configuration", _least("config_last_reload_successful"), looks.COUNT, mappings=[IN_USE]),
                    Value("Web config", _least("web_config_in_use"), looks.COUNT, mappings=[IN_USE]),
                    Value("History and state", WRITABLE, looks.COUNT, mappings=[WRITTEN], absent="off"),
                    Value(
                        "Rows lost",
                        f"sum by (instance) (increase({_of('sink_dropped_total')}[$__range]))",
                        looks.COUNT,
                        looks.RED_FROM_ONE,
                        absent="none",
                    ),
                    Value(
                        "Certificate left",
                        f"{_least('certificate_expiry_timestamp_seconds')} - time()",
                        looks.SECONDS,
                        ((alerts.threshold("certificate_left"), "green"),),
                        base="red",
                        absent="no certificate",
                    ),
                    Value("Build", f"max by (instance, version) ({_of('build_info')})", looks.COUNT, hidden=True),
                    Value(
                        "Kafka",
                        f"max by (instance, cluster_id, kafka_version) ({_of('cluster_info')})",
                        looks.COUNT,
                        hidden=True,
                    ),
                ],
            ),
        ],
    ),
    Line(
        8,
        [
            lines(
                About(
                    "Snapshot age",
                    "Time since the start of the poll that an exporter shows. After three intervals it shows only "
                    "self-metrics. Above the dashed line alerts do not use it.",
                ),
                [Query(AGE, "{{instance}}")],
                looks.SECONDS,
                alerts.OLD,
            ),
            rows(
                About(
                    "Unanswered requests, with age",
                    (
                        "Numbers from these requests are missing on the other dashboards, or as old as this. Without "
                        "a time: never answered."
                    ),
                    runbooks=("KafkaClusterUnreachable", "KafkaBrokerUnreachable"),
                    no_value="everything answers",
                ),
                {"source": "Request", "broker": "Broker", "instance": "Exporter"},
                [
                    Value("For", UNANSWERED_FOR, looks.SECONDS),
                    Value("Unanswered", UNANSWERED, looks.COUNT, hidden=True),
                ],
                ranked=(BROKER_SOURCES, f"({UNANSWERED_FOR} or {UNANSWERED})"),
            ),
        ],
    ),
    Line(
        8,
        [
            lines(
                About(
                    "Failed requests",
                    "Failed requests by reason. Empty before the first failure.",
                    runbooks=("KafkaBrokerUnreachable", "KafkaWardenBlind"),
                    no_value="no request ever failed",
                ),
                [
                    Query(
                        f"sum by (instance, source, reason) (increase({_of('source_errors_total')}[$__rate_interval]))",
                        "{{source}}: {{reason}} ({{instance}})",
                    )
                ],
                looks.COUNT,
            ),
            lines(
                About(
                    "Unknown lags and topics",
                    "Followers with unknown lag, by broker: the reason for missing sums on other dashboards. And "
                    "topics that may not be described any more: all numbers lack them.",
                    runbooks=("KafkaWardenBlind",),
                ),
                [
                    Query(
                        f"max by (broker) ({_of('broker_replica_lag_unknown_replicas')})",
                        "lags on {{broker}}",
                    ),
                    Query(f"max by (instance) ({_of('undescribed_topics')})", "topics refused to {{instance}}"),
                ],
                looks.COUNT,
            ),
        ],
    ),
)

PROCESS: Final = (
    Line(
        8,
        [
            lines(
                About(
                    "Series left out, by family",
                    "Series left out because of the option limits.series, or of the limit of 1,000 clients: bytes in "
                    "of the least busy partitions first.",
                    ("KafkaWardenBlind",),
                    no_value="none",
                ),
                [Query(f"max by (instance, family) ({_of('dropped_series')})", "{{family}} ({{instance}})")],
                looks.COUNT,
                narrow=True,
            ),
            lines(
                About(
                    "Descriptors in use",
                    "Open file descriptors divided by the limit of the process. Above the dashed line little room is "
                    "left for a burst of scrapes.",
                ),
                [
                    Query(
                        f"max by (instance) (process_open_fds{{{OF_PROCESS}}} / process_max_fds{{{OF_PROCESS}}})"
                        f" and on (instance) max by (instance) ({_of('build_info')})",
                        "{{instance}}",
                    )
                ],
                looks.RATIO,
                ((0.8, "red"),),
                narrow=True,
            ),
            lines(
                About(
                    "Refused logins",
                    "Refused logins per second, by reason. Five scrapers with a wrong password, each every 15 s, are "
                    "below the dashed line.",
                    no_value="none was refused",
                ),
                [
                    Query(
                        f"max by (instance, reason) (rate({_of('web_logins_refused_total')}[$__rate_interval]))",
                        "{{reason}} ({{instance}})",
                    )
                ],
                looks.PER_SECOND,
                ((0.5, "red"),),
                narrow=True,
            ),
        ],
    ),
)

SIDECAR: Final = Board(
    "sidecar",
    "Exporter",
    "Are the numbers on the other dashboards complete and current?",
    ("instance",),
    [
        Section("Are the data complete and current?", SIDECARS),
        Section("Limits of the process", PROCESS),
    ],
)
