"""Moves: reassignments of any tool, and moves between log directories."""

from typing import Final

from grafana.kit import looks
from grafana.kit.links import board
from grafana.kit.page import Board, Line, Section
from grafana.kit.panels import About, Query, lines, number_panel
from grafana.kit.queries import FINITE, NAMED, NOT_NAMED, REPLICA, busiest, least, most, or_zero, rate, total
from grafana.kit.tables import Value, rows

NOTHING_MOVES: Final = "nothing moves"
LATE: Final[looks.Steps] = ((1, "orange"),)
CAUSE: Final = f"{REPLICA}, cause"
# Two sidecars may name different causes for a poll: one of the two, so that a replica counts once.
# Topics without series have one number for each cause.
ONE_CAUSE: Final = (
    f"topk by ({REPLICA}) (1, {most('reassignment_stuck', CAUSE, NAMED)})"
    f" or {most('reassignment_stuck', CAUSE, NOT_NAMED)}"
)
STUCK_ONLY: Final = f" and on ({REPLICA}) {most('reassignment_stuck', REPLICA)} > 0"
ETA: Final = most("reassignment_eta_seconds", REPLICA)
PROGRESS: Final = most("reassignment_progress_ratio", REPLICA)
STALLED: Final = least("reassignment_stalled_seconds", REPLICA)
LOG_DIR_LEFT: Final = most("log_dir_move_bytes_remaining", REPLICA)


MOVES_END: Final = f"{most('reassignment_total_eta_seconds')} {FINITE}"


def _changed(change: str) -> str:
    return total(most("reassignment_replicas", "broker", f'change="{change}"'))


MOVING: Final = {"topic": "Topic", "partition": "Partition", "broker": "To broker"}

OVERVIEW: Final = (
    Line(
        4,
        [
            number_panel(
                About(
                    "Partitions under reassignment",
                    ("Partitions under reassignment in the whole cluster, started by any tool."),
                ),
                most("reassigning_partitions"),
            ),
            number_panel(
                About("Bytes to copy", "Bytes that all adding replicas lack. Unknown while a part is unknown."),
                most("reassignment_total_bytes_remaining"),
                looks.BYTES,
            ),
            number_panel(
                About(
                    "ETA of all moves",
                    (
                        "Time until the last adding replica has caught up, from the law of throttled moves "
                        "(docs/spec/throttle-law.md) and from measured rates. Never: producers write more than a "
                        "throttle lets through."
                    ),
                    runbooks=("KafkaThrottleTooLow",),
                    no_value=NOTHING_MOVES,
                ),
                most("reassignment_total_eta_seconds"),
                looks.SECONDS,
                mappings=[looks.NEVER],
            ),
            number_panel(
                About(
                    "Stuck replicas",
                    "Replicas that moves wait for and that have stopped getting closer to their leader.",
                    runbooks=("KafkaReassignmentStuck",),
                ),
                or_zero(total(ONE_CAUSE), "reassigning_partitions"),
                steps=looks.RED_FROM_ONE,
            ),
        ],
    ),
    Line(
        4,
        [
            number_panel(
                About(
                    "Recommended throttle",
                    "The lowest throttle for all brokers that ends the moves within the option moves.deadline, inside "
                    "the bounds of KIP-73.",
                    no_value="no throttle is enough, or nothing moves",
                ),
                most("replication_throttle_recommended_bytes_per_second"),
                looks.BYTES_PER_SECOND,
            ),
            number_panel(
                About(
                    "Bottleneck",
                    "The throttled broker and side that end last: raise this limit.",
                    no_value="nothing is limited, or nothing moves",
                ),
                Query(most("reassignment_bottleneck_info", "broker, side"), "broker {{broker}}, {{side}}"),
                looks.TEXT,
            ),
            number_panel(
                About(
                    "Deadline used",
                    "ETA of all moves divided by the option moves.deadline. Above 100 % the moves are late.",
                    runbooks=("KafkaReassignmentWillMissItsTime",),
                    no_value=NOTHING_MOVES,
                ),
                f"{most('reassignment_total_eta_seconds')} / {most('reassignment_deadline_seconds')}",
                looks.RATIO,
                LATE,
                [looks.infinite("over 100%", "red")],
            ),
        ],
    ),
)

REPLICAS: Final = (
    Line(
        9,
        [
            rows(
                About(
                    "Adding replicas",
                    (
                        "Progress of each adding replica, and the time until it has caught up. Never: producers write "
                        "more than its throttle lets through."
                    ),
                    runbooks=("KafkaReassignmentWillMissItsTime",),
                    no_value=NOTHING_MOVES,
                ),
                MOVING,
                [
                    Value("Copied", PROGRESS, looks.RATIO, gauge=True),
                    Value("Ends in", ETA, looks.SECONDS, mappings=[looks.NEVER]),
                ],
                sort=("Ends in",),
                ranked=(REPLICA, f"({ETA} or 0 * {PROGRESS})"),
            ),
            rows(
                About(
                    "Stuck moves and causes",
                    "One cause at a time: the first one that applies. The runbook has a line for each.",
                    no_value="nothing is stuck",
                ),
                MOVING | {"cause": "Cause"},
                [
                    Value("Stalled", STALLED + STUCK_ONLY, looks.SECONDS),
                    Value("Stuck", f"{most('reassignment_stuck', CAUSE)} > 0", looks.COUNT, hidden=True),
                ],
                ranked=(REPLICA, f"({STALLED}{STUCK_ONLY} or {most('reassignment_stuck', REPLICA)} > 0)"),
            ),
        ],
    ),
    Line(
        8,
        [
            lines(
                About("Bytes to copy, by replica", "Bytes that each adding replica lacks: the 20 largest."),
                [Query(busiest("reassignment_bytes_remaining", REPLICA), "{{topic}}-{{partition}} to {{broker}}")],
                looks.BYTES,
                narrow=True,
            ),
            lines(
                About(
                    "Predicted time left",
                    (
                        "A line that falls by one second per second was right. A gap means that the moves never end. "
                        "MoveTime is that of KIP-73: the bytes of the cluster divided by the limit of one broker."
                    ),
                    runbooks=("KafkaReassignmentWillMissItsTime",),
                ),
                [
                    Query(MOVES_END, "all moves"),
                    Query(f"{most('reassignment_predicted_bottleneck_seconds')} {FINITE}", "bottleneck"),
                    # Beside an ETA that is never, it would look like one.
                    Query(f"{most('reassignment_predicted_seconds')} {FINITE} and {MOVES_END}", "MoveTime"),
                    Query(most("reassignment_deadline_seconds"), "deadline", limit=True),
                ],
                looks.DURATION,
            ),
            lines(
                About(
                    "Stuck, by cause",
                    "Number of stuck moves, by their cause at that time. Empty while none is stuck.",
                    runbooks=("KafkaReassignmentStuck",),
                    no_value="nothing is stuck",
                ),
                [Query(total(ONE_CAUSE, "cause"), "{{cause}}")],
                looks.COUNT,
                stack=True,
                narrow=True,
            ),
        ],
    ),
    Line(
        8,
        [
            lines(
                About(
                    "Speed, by replica",
                    (
                        "Rate of each adding replica over multiples of 12 s, the shortest time that can be measured "
                        "under a throttle: the 20 fastest."
                    ),
                ),
                [Query(busiest("reassignment_bytes_per_second", REPLICA), "{{topic}}-{{partition}} to {{broker}}")],
                looks.BYTES_PER_SECOND,
            ),
            lines(
                About(
                    "No progress for",
                    (
                        "Time since the remaining bytes last reached a new minimum: the 20 replicas with the longest "
                        "time."
                    ),
                    runbooks=("KafkaReassignmentStuck",),
                ),
                [
                    Query(
                        busiest("reassignment_stalled_seconds", REPLICA, "min"), "{{topic}}-{{partition}} to {{broker}}"
                    )
                ],
                looks.DURATION,
            ),
        ],
    ),
)

TRAFFIC: Final = (
    Line(
        8,
        [
            lines(
                About(
                    "Reassignment traffic",
                    "Bytes per second that adding replicas fetched, by the broker that received them.",
                    see=(board("throttles", "Throttles"), board("replicas", "Replica health")),
                ),
                [Query(rate("broker_reassignment_bytes_in_total", "broker"), "broker {{broker}}")],
                looks.BYTES_PER_SECOND,
                stack=True,
                narrow=True,
            ),
            lines(
                About(
                    "Replicas being added and removed",
                    "Replicas that all reassignments add or remove, on the chosen brokers.",
                ),
                [
                    Query(_changed("adding"), "adding"),
                    # Dashed: mostly as many as are added, and one line would hide the other.
                    Query(_changed("removing"), "removing", limit=True),
                ],
                looks.COUNT,
            ),
            rows(
                About(
                    "Moves between log directories",
                    "Copies on the same broker, which only the throttle of side log_dirs limits.",
                    no_value=NOTHING_MOVES,
                ),
                {"topic": "Topic", "partition": "Partition", "broker": "Broker"},
                [
                    Value("Bytes to copy", LOG_DIR_LEFT, looks.BYTES),
                    Value("Ends in", most("log_dir_move_eta_seconds", REPLICA), looks.SECONDS, mappings=[looks.NEVER]),
                ],
                ranked=(REPLICA, LOG_DIR_LEFT),
            ),
        ],
        (6, 6, 12),
    ),
)

MOVES: Final = Board(
    "moves",
    "Moves",
    "Will the moves end in time, and if not, what holds them back?",
    ("broker", "topic"),
    [
        Section("Will they end?", OVERVIEW),
        Section("Each replica", REPLICAS),
        Section("Traffic and log directories", TRAFFIC),
    ],
)
