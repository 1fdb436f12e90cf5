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
                    "That Prometheus can scrape now, of this cluster.",
                    runbooks=("KafkaWardenDown",),
                    no_value="none",
                ),
                f"count (max by (instance) ({_of('build_info')}))",
                steps=((1, "green"),),
                base="red",
            ),
            number_panel(
                About(
                    "Age of the oldest page",
                    "Time since the poll began whose numbers a sidecar shows. Past three intervals it shows only its "
                    "own.",
                    runbooks=STALE + BLIND,
                ),
                f"max ({AGE})",
                looks.SECONDS,
                OLD,
            ),
            number_panel(
                About(
                    "Requests without an answer",
                    "Kinds of request, by broker, whose last one was not answered.",
                    runbooks=UNREACHABLE,
                ),
                f"count ({ANSWERED} == 0) or 0 * max ({_of('up')})",
                steps=looks.ORANGE_FROM_ONE,
            ),
            number_panel(
                About(
                    "Series left out",
                    "By the option limits.series: the least busy partitions.",
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
                    "Answers",
                    "Whether the last request of each kind was answered by all brokers that were asked. The table "
                    "beside says which were not.",
                    runbooks=UNREACHABLE,
                ),
                Query(f"min by (instance, source) ({_of('up')})", "{{source}} ({{instance}})"),
                looks.named(("no answer", "red"), ("answered", "green")),
            ),
            rows(
                About(
                    "Not answered, since when",
                    "What the other dashboards show of it is missing, or as old as this. Without a time: it never was.",
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
                About("How long requests take", "The last one of each kind, of the slowest broker."),
                [Query(f"max by (instance, source) ({_of('source_duration_seconds')})", "{{source}} ({{instance}})")],
                looks.SECONDS,
            ),
            lines(
                About(
                    "Requests that failed",
                    "By reason. Nothing is drawn before the first one of a reason.",
                    runbooks=UNREACHABLE,
                    no_value="none ever failed",
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
                About("Age of the page", "By sidecar. Above the dashed line no alert believes it.", STALE),
                [Query(AGE, "{{instance}}")],
                looks.SECONDS,
                ((120, "red"),),
            ),
            lines(
                About(
                    "Lags that are unknown",
                    "Followers whose lag nobody knows, by broker: why sums are withheld on other dashboards.",
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
                About("Series left out, by family", "By the option limits.series.", DROPPED, no_value="none"),
                [Query(f"max by (instance, family) ({_of('dropped_series')})", "{{family}} ({{instance}})")],
                looks.COUNT,
            ),
            lines(
                About(
                    "Negative differences",
                    "That were set to 0: a few are the order in which brokers answer, many would be a clock or a bug.",
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
                About("Versions", "Of the sidecars that are scraped."),
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
                    "History can be written",
                    "By sidecar and where it goes: a folder (parquet) or a topic (kafka).",
                    runbooks=LOST,
                    no_value="history is off",
                ),
                Query(f"min by (instance, sink) ({_of('sink_up')})", "{{sink}} ({{instance}})"),
                looks.named(("no", "red"), ("yes", "green")),
            ),
            lines(
                About(
                    "Rows of history written",
                    "To a topic with every poll, to files once an hour (option history.parquet.roll).",
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
                    "For good, by reason. Nothing is drawn before the first one of a reason.",
                    runbooks=LOST,
                    no_value="none ever was",
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
    "Can the numbers on the other dashboards be believed?",
    ("instance",),
    [
        Section("Can they?", NOW),
        Section("Who does not answer?", SOURCES),
        Section("The page", PAGE),
        Section("History", HISTORY),
    ],
)
