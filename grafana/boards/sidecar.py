"""Sidecar: whether the other dashboards can be believed."""

from typing import Final

from grafana.kit import looks
from grafana.kit.page import Board, Line, Section
from grafana.kit.panels import About, Query, lines, number_panel, states
from grafana.kit.queries import series
from grafana.kit.tables import Value, rows

BLIND: Final = ("KafkaWardenBlind",)
STALE: Final = ("KafkaWardenPageStale",)
DROPPED: Final = ("KafkaWardenSeriesDropped",)
LOST: Final = ("KafkaWardenHistoryLost",)
CERTIFICATE: Final = ("KafkaWardenCertificateExpiring",)
CONFIGURATION: Final = ("KafkaWardenConfigurationNotUsed",)
DESCRIPTORS: Final = ("KafkaWardenDescriptorsNearLimit",)
LOGINS: Final = ("KafkaWardenLoginsRefused",)
UNREACHABLE: Final = (
    "KafkaClusterUnreachable",
    "KafkaBrokerUnreachable",
    "KafkaWardenAccessRefused",
    "KafkaWardenJmxUnreachable",
)
OLD: Final[looks.Steps] = ((60, "orange"), (120, "red"))
"""From 120 s on, alerts do not use a snapshot at the default interval (alerts/README.md)."""


def _of(name: str) -> str:
    """A family of the chosen sidecars: here each one is shown by itself."""
    return series(name, narrowed_by=("instance",))


AGE: Final = f"time() - max by (instance) ({_of('snapshot_timestamp_seconds')})"
BROKER_SOURCES: Final = "instance, source, broker"
ANSWERED: Final = f"min by ({BROKER_SOURCES}) ({_of('up')})"

NOW: Final = (
    Line(
        4,
        [
            number_panel(
                About(
                    "Sidecars",
                    "Sidecars of this cluster that Prometheus can scrape now.",
                    runbooks=("KafkaWardenDown",),
                    no_value="none",
                ),
                f"count (max by (instance) ({_of('build_info')}))",
                steps=((1, "green"),),
                base="red",
            ),
            number_panel(
                About(
                    "Oldest snapshot",
                    (
                        "Time since the start of the poll that a sidecar shows. After three intervals it shows only "
                        "self-metrics."
                    ),
                    runbooks=STALE + BLIND,
                ),
                f"max ({AGE})",
                looks.SECONDS,
                OLD,
            ),
            number_panel(
                About(
                    "Unanswered requests",
                    "Kinds of request, by broker, with an unanswered request in the last poll.",
                    runbooks=UNREACHABLE,
                ),
                f"count ({ANSWERED} == 0) or 0 * max ({_of('up')})",
                steps=looks.ORANGE_FROM_ONE,
            ),
            number_panel(
                About(
                    "Series left out",
                    "Series left out because of the option limits.series: bytes in of the least busy partitions first.",
                    runbooks=DROPPED,
                ),
                f"sum (max by (family) ({_of('dropped_series')})) or 0 * max ({_of('up')})",
                steps=looks.ORANGE_FROM_ONE,
            ),
        ],
    ),
)

SOURCES: Final = (
    Line(
        10,
        [
            states(
                About(
                    "Answered requests",
                    (
                        "Whether all brokers answered all requests of each kind in the last poll. The table beside it "
                        "lists those that did not."
                    ),
                    runbooks=UNREACHABLE,
                ),
                Query(f"min by (instance, source) ({_of('up')})", "{{source}} ({{instance}})"),
                looks.named(("no answer", "red"), ("answered", "green")),
            ),
            rows(
                About(
                    "Unanswered requests, with age",
                    (
                        "Numbers from these requests are missing on the other dashboards, or as old as this. Without "
                        "a time: never answered."
                    ),
                    runbooks=UNREACHABLE + BLIND,
                    no_value="everything answers",
                ),
                {"source": "Request", "broker": "Broker", "instance": "Sidecar"},
                [
                    Value(
                        "For",
                        f"time() - max by ({BROKER_SOURCES}) ({_of('source_last_success_timestamp_seconds')})"
                        f" and on ({BROKER_SOURCES}) {ANSWERED} == 0",
                        looks.SECONDS,
                    ),
                    Value("Unanswered", f"1 - {ANSWERED} == 1", looks.COUNT, hidden=True),
                ],
            ),
        ],
    ),
    Line(
        8,
        [
            lines(
                About("Request duration", "Total duration of the requests of a kind in one poll, slowest broker."),
                [Query(f"max by (instance, source) ({_of('source_duration_seconds')})", "{{source}} ({{instance}})")],
                looks.SECONDS,
            ),
            lines(
                About(
                    "Failed requests",
                    "Failed requests by reason. Empty before the first failure.",
                    runbooks=UNREACHABLE,
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
        ],
    ),
)

PAGE: Final = (
    Line(
        8,
        [
            lines(
                About(
                    "Snapshot age",
                    ("Age of the snapshot by sidecar. Above the dashed line alerts do not use it."),
                    STALE,
                ),
                [Query(AGE, "{{instance}}")],
                looks.SECONDS,
                ((120, "red"),),
            ),
            lines(
                About(
                    "Unknown lags and topics",
                    "Followers with unknown lag, by broker: the reason for missing sums on other dashboards. And "
                    "topics that may not be described any more: all numbers lack them.",
                    runbooks=(*BLIND, "KafkaWardenAccessRefused"),
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
    Line(
        7,
        [
            lines(
                About(
                    "Series left out, by family",
                    "Series left out because of the option limits.series.",
                    DROPPED,
                    no_value="none",
                ),
                [Query(f"max by (instance, family) ({_of('dropped_series')})", "{{family}} ({{instance}})")],
                looks.COUNT,
            ),
            lines(
                About(
                    "Negative differences",
                    (
                        "Negative differences that were set to 0. A few come from the order in which brokers answer; "
                        "many show a clock problem or a bug."
                    ),
                ),
                [
                    Query(
                        f"max by (instance, what) (increase({_of('clamped_total')}[$__rate_interval]))",
                        "{{what}} ({{instance}})",
                    )
                ],
                looks.COUNT,
            ),
            rows(
                About("Versions", "Versions of the sidecars that are scraped."),
                {"instance": "Sidecar", "version": "Version", "python": "Python"},
                [
                    Value(
                        "Build",
                        f"max by (instance, version, python) ({_of('build_info')})",
                        looks.COUNT,
                        hidden=True,
                    )
                ],
                sort="Sidecar",
            ),
        ],
    ),
)

STATE_FILE: Final = f'label_replace(min by (instance) ({_of("state_last_save_successful")}), "sink", "state", "", "")'

HISTORY: Final = (
    Line(
        7,
        [
            states(
                About(
                    "History and state file writable",
                    "By sidecar and destination: a directory (parquet), a topic (kafka), or the file of state.path "
                    "(state).",
                    runbooks=LOST,
                ),
                Query(
                    f"min by (instance, sink) ({_of('sink_up')}) or {STATE_FILE}",
                    "{{sink}} ({{instance}})",
                ),
                looks.named(("no", "red"), ("yes", "green")),
            ),
            lines(
                About(
                    "Rows of history written",
                    (
                        "Rows are written to a topic with every poll, and to files once an hour (option "
                        "history.parquet.roll)."
                    ),
                    runbooks=LOST,
                    no_value="history is off",
                ),
                [
                    Query(
                        f"max by (instance, sink) (increase({_of('sink_rows_total')}[$__rate_interval]))",
                        "{{sink}} ({{instance}})",
                    )
                ],
                looks.COUNT,
            ),
            lines(
                About(
                    "Rows of history lost",
                    "Lost rows by reason. Empty before the first loss.",
                    runbooks=LOST,
                    no_value="no row was ever lost",
                ),
                [
                    Query(
                        f"max by (instance, sink, reason) (increase({_of('sink_dropped_total')}[$__rate_interval]))",
                        "{{sink}}: {{reason}} ({{instance}})",
                    )
                ],
                looks.COUNT,
            ),
        ],
    ),
)

IN_USE: Final = looks.named(("no", "red"), ("yes", "green"))
OF_PROCESS: Final = 'cluster="$cluster", instance=~"$instance"'

PROCESS: Final = (
    Line(
        7,
        [
            lines(
                About(
                    "Time left of certificates",
                    "Time until a certificate of the sidecar expires. Below the dashed line it must be replaced.",
                    CERTIFICATE,
                    no_value="no certificate",
                ),
                [
                    Query(
                        f"min by (instance, certificate) ({_of('certificate_expiry_timestamp_seconds')}) - time()",
                        "{{certificate}} ({{instance}})",
                    )
                ],
                looks.SECONDS,
                ((1_209_600, "red"),),
                below_zero=True,
            ),
            states(
                About("Configuration in use", "Whether the last reload of the configuration succeeded.", CONFIGURATION),
                Query(f"min by (instance) ({_of('config_last_reload_successful')})", "{{instance}}"),
                IN_USE,
            ),
            states(
                About(
                    "Web configuration in use",
                    "Whether the files of the option web.config_file are in use as they are now.",
                    CONFIGURATION,
                    no_value="no web.config_file",
                ),
                Query(f"min by (instance) ({_of('web_config_in_use')})", "{{instance}}"),
                IN_USE,
            ),
        ],
    ),
    Line(
        7,
        [
            lines(
                About("Descriptors in use", "Open file descriptors divided by the limit of the process.", DESCRIPTORS),
                [
                    Query(
                        f"max by (instance) (process_open_fds{{{OF_PROCESS}}} / process_max_fds{{{OF_PROCESS}}})"
                        f" and on (instance) max by (instance) ({_of('build_info')})",
                        "{{instance}}",
                    )
                ],
                looks.RATIO,
                ((0.8, "red"),),
            ),
            lines(
                About("Web connections", "Open connections of the web server.", DESCRIPTORS + LOGINS),
                [Query(f"max by (instance) ({_of('web_connections')})", "{{instance}}")],
                looks.COUNT,
            ),
            lines(
                About("Refused logins", "Refused logins per second, by reason.", LOGINS, no_value="none was refused"),
                [
                    Query(
                        f"max by (instance, reason) (rate({_of('web_logins_refused_total')}[$__rate_interval]))",
                        "{{reason}} ({{instance}})",
                    )
                ],
                looks.PER_SECOND,
            ),
        ],
    ),
)

SIDECAR: Final = Board(
    "sidecar",
    "Sidecar",
    "Are the numbers on the other dashboards complete and current?",
    ("instance",),
    [
        Section("Are the data complete and current?", NOW),
        Section("Which requests are not answered?", SOURCES),
        Section("The snapshot", PAGE),
        Section("History", HISTORY),
        Section("The process", PROCESS),
    ],
)
