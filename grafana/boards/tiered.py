"""Tiered storage: KIP-405 and the quotas of KIP-956."""

from typing import Final

from grafana.kit import alerts, looks
from grafana.kit.links import board
from grafana.kit.page import Board, Line, Section
from grafana.kit.panels import About, Query, lines, number_panel
from grafana.kit.queries import FINITE, busiest, increase, least, most, number, or_zero, rate, total
from grafana.kit.tables import Value, rows

BROKER: Final = "broker {{broker}}"
COPY: Final = ("KafkaRemoteCopyHeldBack",)
FETCH: Final = ("KafkaRemoteFetchHeldBack",)
ERRORS: Final = ("KafkaRemoteCopyHeldBack", "KafkaRemoteFetchHeldBack")
PROBLEM: Final = "broker, problem"
PROBLEMS: Final = f"{least('tiered_storage_problem_seconds', PROBLEM)} > 0"
COPY_HELD_BACK: Final = 'problem="copy_held_back"'
FETCH_HELD_BACK: Final = 'problem="fetch_held_back"'
NOT_USED: Final = "no topic has remote storage"
STALLED: Final[looks.Steps] = ((alerts.threshold("copy_stalled"), "orange"),)


def _limit(title: str, name: str, by: str, unit: str) -> Value:
    return Value(title, most(name, by), unit, mappings=[looks.UNLIMITED])


def _errors(what: str) -> str:
    """The errors of a kind by broker, with the kind: `or` drops what has the same labels."""
    return f'label_replace({increase(f"remote_{what}_errors_total", "broker", "$__range")}, "kind", "{what}", "", "")'


NOW: Final = (
    Line(
        4,
        [
            number_panel(
                About(
                    "Overdue",
                    (
                        "Bytes of the chosen topics that should be in remote storage and are not, more than active "
                        "segments may hold. Unlike the lag of the beans, this does not freeze while the quota limits "
                        "copies."
                    ),
                    runbooks=COPY,
                    no_value=NOT_USED,
                ),
                total(most("topic_remote_copy_overdue_bytes", "topic")),
                looks.BYTES,
                ((alerts.threshold("copy_overdue"), "orange"),),
            ),
            number_panel(
                About(
                    "Brokers at their copy quota",
                    "Brokers that copy at their quota while bytes are overdue.",
                    runbooks=COPY,
                    no_value=NOT_USED,
                ),
                or_zero(
                    number(f"{least('tiered_storage_problem_seconds', 'broker', COPY_HELD_BACK)} > 0"),
                    "remote_copy_quota_bytes_per_second",
                ),
                steps=looks.ORANGE_FROM_ONE,
            ),
            number_panel(
                About(
                    "Brokers at their fetch quota",
                    "Brokers that read from remote storage at their quota: consumers of old records wait.",
                    runbooks=FETCH,
                    no_value=NOT_USED,
                ),
                or_zero(
                    number(f"{least('tiered_storage_problem_seconds', 'broker', FETCH_HELD_BACK)} > 0"),
                    "remote_fetch_quota_bytes_per_second",
                ),
                steps=looks.ORANGE_FROM_ONE,
            ),
            number_panel(
                About(
                    "Errors",
                    "Copies, reads and deletions that failed in the time range: the sum of those that are known.",
                    runbooks=ERRORS,
                    no_value=NOT_USED,
                ),
                total(" or ".join(_errors(what) for what in ("copy", "fetch", "delete"))),
                steps=looks.RED_FROM_ONE,
            ),
        ],
    ),
)


def _against_quota(what: str, done: str, runbooks: tuple[str, ...]) -> Line:
    """Rate and quota of a direction, and how long its requests wait."""
    return Line(
        8,
        [
            lines(
                About(
                    f"{done}: rate and quota",
                    (
                        "The rate that is compared with the quota; the dashed line is the quota. Without JMX there is "
                        "no rate."
                    ),
                    runbooks=runbooks,
                ),
                [
                    Query(most(f"remote_{what}_bytes_per_second", "broker"), BROKER),
                    Query(
                        f"{most(f'remote_{what}_quota_bytes_per_second', 'broker')} {FINITE}",
                        "quota of {{broker}}",
                        limit=True,
                    ),
                ],
                looks.BYTES_PER_SECOND,
            ),
            lines(
                About(
                    f"{done}: throttle time",
                    (
                        "Time that a request waits for the quota, mean and maximum of the last minute. Empty while no "
                        "request waits."
                    ),
                    runbooks=runbooks,
                    no_value="nothing waits",
                ),
                [
                    Query(most(f"remote_{what}_throttle_avg_seconds", "broker"), "mean on {{broker}}"),
                    Query(most(f"remote_{what}_throttle_max_seconds", "broker"), "greatest on {{broker}}"),
                ],
                looks.SECONDS,
            ),
        ],
    )


QUOTAS: Final = (
    _against_quota("copy", "Copies", COPY),
    _against_quota("fetch", "Reads", FETCH),
    Line(
        8,
        [
            rows(
                About(
                    "Quota problems",
                    (
                        "Problems by name. copy_quota_below_segment: a quota below one segment per window cannot be "
                        "kept. client_fetch_quota_above: one consumer can use the whole fetch quota."
                    ),
                    runbooks=COPY + FETCH,
                    no_value="nothing is wrong",
                ),
                {"broker": "Broker", "problem": "Problem"},
                [Value("For", PROBLEMS, looks.SECONDS)],
                ranked=(PROBLEM, PROBLEMS),
            ),
            rows(
                About("Quotas in effect", "Quotas of every broker with tiered storage.", no_value=NOT_USED),
                {"broker": "Broker"},
                [
                    _limit("Copies", "remote_copy_quota_bytes_per_second", "broker", looks.BYTES_PER_SECOND),
                    _limit("Reads", "remote_fetch_quota_bytes_per_second", "broker", looks.BYTES_PER_SECOND),
                ],
            ),
        ],
    ),
)

BEHIND: Final = (
    Line(
        8,
        [
            lines(
                About(
                    "Overdue, by topic", "The 20 topics with the most bytes that should be copied and are not.", COPY
                ),
                [Query(busiest("topic_remote_copy_overdue_bytes", "topic"), "{{topic}}")],
                looks.BYTES,
            ),
            lines(
                About(
                    "No progress for",
                    (
                        "Time since the latest offset in remote storage last advanced while bytes are overdue: the 20 "
                        "longest."
                    ),
                    runbooks=COPY,
                ),
                [Query(busiest("topic_remote_copy_stalled_seconds", "topic", "min"), "{{topic}}")],
                looks.DURATION,
                STALLED,
            ),
        ],
    ),
    Line(
        8,
        [
            lines(
                About(
                    "Copy lag of the beans",
                    (
                        "Bytes that a broker still had to copy when it last copied a segment: it freezes while the "
                        "quota limits copies."
                    ),
                    runbooks=COPY,
                ),
                [Query(most("remote_copy_lag_bytes", "broker"), BROKER)],
                looks.BYTES,
                narrow=True,
            ),
            rows(
                About(
                    "Allowed copy lag, by topic",
                    "How long, and behind how many bytes, copies of closed segments may be delayed. The limit that is "
                    "reached first counts.",
                    no_value=NOT_USED,
                ),
                {"topic": "Topic"},
                [
                    _limit("Time", "topic_remote_copy_allowed_lag_seconds", "topic", looks.SECONDS),
                    _limit("Bytes", "topic_remote_copy_allowed_lag_bytes", "topic", looks.BYTES),
                ],
                ranked=("topic", most("topic_remote_copy_allowed_lag_seconds", "topic")),
            ),
            lines(
                About("Bytes to delete", "Expired bytes that are still in remote storage and cost money."),
                [Query(most("remote_delete_lag_bytes", "broker"), BROKER)],
                looks.BYTES,
                narrow=True,
            ),
        ],
    ),
)

TRAFFIC: Final = (
    Line(
        8,
        [
            lines(
                About("Traffic", "Bytes copied to and read from remote storage.", see=(board("capacity", "Capacity"),)),
                [
                    Query(rate("remote_copy_bytes_total", "broker"), "copied by {{broker}}"),
                    Query(rate("remote_fetch_bytes_total", "broker"), "read by {{broker}}"),
                ],
                looks.BYTES_PER_SECOND,
            ),
            lines(
                About("Errors over time", "Copies, reads and deletions that failed.", ERRORS),
                [
                    Query(total(increase("remote_copy_errors_total", "broker")), "copies"),
                    Query(total(increase("remote_fetch_errors_total", "broker")), "reads"),
                    Query(total(increase("remote_delete_errors_total", "broker")), "deletions"),
                ],
                looks.COUNT,
            ),
        ],
    ),
)

TIERED: Final = Board(
    "tiered",
    "Tiered storage",
    "Do copies to remote storage keep up, and does a quota limit copies or reads?",
    ("broker", "topic"),
    [
        Section("Does it keep up?", NOW),
        Section("Against the quotas", QUOTAS),
        Section("What is overdue?", BEHIND),
        Section("Traffic and errors", TRAFFIC),
    ],
)
