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
UNREACHABLE: Final = ("KafkaWardenBrokerUnreachable", "KafkaWardenJmxUnreachable")
OLD: Final[looks.Steps] = ((60, "orange"), (120, "red"))
"""Past 120 s no alert believes a page at the default interval (alerts/README.md)."""


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
                    "Series left out because of the option limits.series: the least busy partitions.",
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
                    "Unknown lags",
                    "Followers with unknown lag, by broker: the reason for missing sums on other dashboards.",
                    runbooks=BLIND,
                ),
                [
                    Query(
                        f"max by (broker) ({_of('broker_replica_lag_unknown_replicas')})",
                        "broker {{broker}}",
                    )
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

HISTORY: Final = (
    Line(
        7,
        [
            states(
                About(
                    "History writable",
                    "By sidecar and destination: a directory (parquet) or a topic (kafka).",
                    runbooks=LOST,
                    no_value="history is off",
                ),
                Query(f"min by (instance, sink) ({_of('sink_up')})", "{{sink}} ({{instance}})"),
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
    ],
)
