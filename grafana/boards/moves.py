"""Moves: reassignments, whoever started them, and moves between log directories."""

from typing import Final

from grafana.boards.move_limits import LIMITS, NOTHING_MOVES, SETTINGS
from grafana.kit import looks
from grafana.kit.page import Board, Line, Section
from grafana.kit.panels import About, Query, lines, number_panel
from grafana.kit.queries import FINITE, REPLICA, busiest, least, most, number, or_zero
from grafana.kit.tables import Value, rows

CAUSE: Final = f"{REPLICA}, cause"
# Two sidecars may name different causes for a poll: one of the two, so that a replica counts once.
ONE_CAUSE: Final = f"topk by ({REPLICA}) (1, {most('reassignment_stuck', CAUSE)})"
STUCK_ONLY: Final = f" and on ({REPLICA}) {most('reassignment_stuck', REPLICA)} == 1"
MOVING: Final = {"topic": "Topic", "partition": "Partition", "broker": "To broker"}

OVERVIEW: Final = (
    Line(
        4,
        [
            number_panel(
                About("Partitions under reassignment", "Of the whole cluster, whoever started it."),
                most("reassigning_partitions"),
            ),
            number_panel(
                About("To copy", "What all adding replicas lack. Unknown while a part of it is."),
                most("reassignment_total_bytes_remaining"),
                looks.BYTES,
            ),
            number_panel(
                About(
                    "All moves end in",
                    "Until the last adding replica has caught up, by the law of throttled moves (docs/throttle-law.md) "
                    "and by what was measured. Never: what is produced outruns what a throttle lets through.",
                    runbooks=("KafkaReassignmentWillMissItsTime", "KafkaThrottleBelowInbound"),
                    no_value=NOTHING_MOVES,
                ),
                most("reassignment_total_eta_seconds"),
                looks.SECONDS,
                ((14400, "orange"),),
                [looks.NEVER],
            ),
            number_panel(
                About(
                    "Stuck replicas",
                    "Adding replicas that have stopped getting closer to their leader.",
                    runbooks=("KafkaReassignmentStuck",),
                ),
                or_zero(number(f"{most('reassignment_stuck', REPLICA)} == 1"), "reassigning_partitions"),
                steps=looks.RED_FROM_ONE,
            ),
        ],
    ),
    Line(
        4,
        [
            number_panel(
                About(
                    "Throttle to set",
                    "The lowest throttle for all brokers that ends the moves within the option moves.deadline, inside "
                    "the bounds of KIP-73.",
                    runbooks=("KafkaReassignmentWillMissItsTime",),
                    no_value="none fits, or nothing moves",
                ),
                most("replication_throttle_recommended_bytes_per_second"),
                looks.BYTES_PER_SECOND,
            ),
            number_panel(
                About(
                    "What binds",
                    "The throttled broker and side that ends last: raise this one.",
                    no_value="nothing is limited, or nothing moves",
                ),
                Query(most("reassignment_bottleneck_info", "broker, side"), "broker {{broker}}, {{side}}"),
                looks.TEXT,
            ),
            number_panel(
                About(
                    "There, it ends in",
                    "What remains at the broker and side that ends last, over what the law of throttled moves lets "
                    "through there.",
                    no_value=NOTHING_MOVES,
                ),
                most("reassignment_predicted_bottleneck_seconds"),
                looks.SECONDS,
                mappings=[looks.NEVER],
            ),
            number_panel(
                About(
                    "MoveRatio",
                    "Partitions under reassignment over all partitions (KIP-73).",
                ),
                most("reassignment_move_ratio"),
                looks.RATIO,
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
                    "How far each one is and when it has caught up. Never: what is produced outruns what its throttle "
                    "lets through.",
                    runbooks=("KafkaReassignmentWillMissItsTime",),
                    no_value=NOTHING_MOVES,
                ),
                MOVING,
                [
                    Value("Copied", most("reassignment_progress_ratio", REPLICA), looks.RATIO, gauge=True),
                    Value("Ends in", most("reassignment_eta_seconds", REPLICA), looks.SECONDS, mappings=[looks.NEVER]),
                ],
                sort="Ends in",
            ),
            rows(
                About(
                    "Stuck, with the cause",
                    "One cause at a time: the first that explains it. The runbook has a line for each.",
                    runbooks=("KafkaReassignmentStuck",),
                    no_value="nothing is stuck",
                ),
                MOVING | {"cause": "Cause"},
                [
                    Value(
                        "No progress for", least("reassignment_stalled_seconds", REPLICA) + STUCK_ONLY, looks.SECONDS
                    ),
                    Value("Stuck", f"{most('reassignment_stuck', CAUSE)} == 1", looks.COUNT, hidden=True),
                ],
            ),
        ],
    ),
    Line(
        8,
        [
            lines(
                About("Bytes to copy, by replica", "What each adding replica lacks: the 20 largest."),
                [
                    Query(
                        busiest(20, most("reassignment_bytes_remaining", REPLICA)),
                        "{{topic}}-{{partition}} to {{broker}}",
                    )
                ],
                looks.BYTES,
            ),
            lines(
                About(
                    "Time left, as it was foretold",
                    "A line that falls by one second in a second was right. A break is a time without an end: never. "
                    "MoveTime is KIP-73's, of the cluster's bytes by one broker's limit.",
                    runbooks=("KafkaReassignmentWillMissItsTime",),
                ),
                [
                    Query(f"{most('reassignment_total_eta_seconds')} {FINITE}", "all moves"),
                    Query(f"{most('reassignment_predicted_bottleneck_seconds')} {FINITE}", "what binds"),
                    Query(f"{most('reassignment_predicted_seconds')} {FINITE}", "MoveTime"),
                ],
                looks.SECONDS,
            ),
            lines(
                About(
                    "Stuck, by cause",
                    "How many adding replicas are stuck, by the cause of that moment. Nothing is drawn while none is.",
                    runbooks=("KafkaReassignmentStuck",),
                    no_value="nothing is stuck",
                ),
                [Query(number(f"{ONE_CAUSE} == 1", "cause"), "{{cause}}")],
                looks.COUNT,
                stack=True,
            ),
        ],
    ),
    Line(
        8,
        [
            lines(
                About(
                    "Speed, by replica",
                    "What each adding replica copies, over multiples of 12 s, which is all that can be measured under "
                    "a throttle: the 20 fastest.",
                ),
                [
                    Query(
                        busiest(20, most("reassignment_bytes_per_second", REPLICA)),
                        "{{topic}}-{{partition}} to {{broker}}",
                    )
                ],
                looks.BYTES_PER_SECOND,
            ),
            lines(
                About(
                    "No progress for",
                    "Since the bytes that remain last reached a new minimum, of the 20 replicas where that is longest.",
                    runbooks=("KafkaReassignmentStuck",),
                ),
                [
                    Query(
                        busiest(20, least("reassignment_stalled_seconds", REPLICA)),
                        "{{topic}}-{{partition}} to {{broker}}",
                    )
                ],
                looks.SECONDS,
            ),
        ],
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
        Section("Speed against throttle", LIMITS),
        Section("What is set", SETTINGS),
    ],
)
