"""Moves: reassignments and moves between log directories."""

from typing import Final

from grafana.kit import looks
from grafana.kit.links import board
from grafana.kit.page import Board, Line, Section
from grafana.kit.panels import About, Query, lines, number_panel
from grafana.kit.queries import FINITE, busiest, least, most, number, or_zero, rate, total
from grafana.kit.tables import Value, rows

REPLICA: Final = "topic, partition, broker"
CAUSE: Final = f"{REPLICA}, cause"
STUCK_ONLY: Final = f" and on ({REPLICA}) {most('reassignment_stuck', REPLICA)} == 1"
MOVING: Final = {"topic": "Topic", "partition": "Partition", "broker": "To broker"}
SIDE: Final = {"broker": "Broker", "side": "Side"}
NOTHING_MOVES: Final = "nothing moves"
BETWEEN_BROKERS: Final = 'side=~"leader|follower"'
THROTTLES: Final = (
    "KafkaThrottleBelowInbound",
    "KafkaThrottleBlocked",
    "KafkaThrottleUneven",
    "KafkaThrottleLopsided",
    "KafkaThrottleLeftBehind",
    "KafkaThrottleHoldsOriginals",
)

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


def _against_limit(side: str, metric: str, what: str, listed: str) -> Line:
    """Rate and limit of a side, then what is left of the limit and what the adding replicas make of it."""
    limit = most("replication_throttle_bytes_per_second", "broker", f'side="{side}"')
    headroom = most("replication_throttle_headroom_bytes_per_second", "broker", f'side="{side}"')
    caught_up = most("broker_catch_up_bytes_per_second", "broker", f'side="{side}"')
    return Line(
        8,
        [
            lines(
                About(
                    f"{what}: throttled rate and limit",
                    f"What brokers count against the limit: all that they {listed} of replicas that a throttled list "
                    "names, in-sync ones too, which are never held back. So a rate above its limit is normal, and a "
                    "mean over 11 s reads up to 3.5 times too high in bursts. No limit is drawn where there is none.",
                    runbooks=("KafkaThrottleBelowInbound", "KafkaThrottleBlocked"),
                ),
                [
                    Query(most(metric, "broker"), "broker {{broker}}"),
                    Query(f"{limit} {FINITE}", "limit of {{broker}}", limit=True),
                ],
                looks.BYTES_PER_SECOND,
            ),
            lines(
                About(
                    f"{what}: catching up, and what is left for it",
                    "Growth of the adding replicas, and the limit less what in-sync replicas take of it. At or below "
                    "0 nothing is left.",
                    runbooks=("KafkaThrottleBelowInbound",),
                ),
                [
                    Query(caught_up, "broker {{broker}}"),
                    Query(f"{headroom} {FINITE}", "left on {{broker}}", limit=True),
                ],
                looks.BYTES_PER_SECOND,
                below_zero=True,
            ),
        ],
    )


LIMITS: Final = (
    _against_limit("leader", "leader_replication_throttled_bytes_per_second", "Leaders", "send"),
    _against_limit("follower", "follower_replication_throttled_bytes_per_second", "Followers", "receive"),
    Line(
        8,
        [
            lines(
                About(
                    "Limits within KIP-73's bounds",
                    "The lower of the limits of a broker, the bytes in over all replicas that it hosts (lower bound), "
                    "and what its network has left (upper bound, with the option network.bytes_per_second). Advice: "
                    "a move may end outside of them.",
                    runbooks=("KafkaThrottleBelowInbound",),
                ),
                [
                    Query(
                        f"{least('replication_throttle_bytes_per_second', 'broker', BETWEEN_BROKERS)} {FINITE}",
                        "limit of {{broker}}",
                        limit=True,
                    ),
                    Query(most("replication_throttle_lower_bound_bytes_per_second", "broker"), "lower of {{broker}}"),
                    Query(most("replication_throttle_upper_bound_bytes_per_second", "broker"), "upper of {{broker}}"),
                ],
                looks.BYTES_PER_SECOND,
            ),
            lines(
                About(
                    "Reassignment traffic",
                    "Bytes that adding replicas fetched, by the broker that received them.",
                    see=(board("replicas", "Replica health"),),
                ),
                [Query(rate("broker_reassignment_bytes_in_total", "broker"), "broker {{broker}}")],
                looks.BYTES_PER_SECOND,
                stack=True,
            ),
        ],
    ),
)

SETTINGS: Final = (
    Line(
        9,
        [
            rows(
                About(
                    "What is wrong with throttles",
                    "Problems by name, from the third poll on; docs/throttle-problems.md says what each means.",
                    runbooks=THROTTLES,
                    no_value="nothing is wrong",
                ),
                SIDE | {"problem": "Problem"},
                [
                    Value(
                        "For",
                        least("replication_throttle_problem_seconds", "broker, side, problem"),
                        looks.SECONDS,
                    )
                ],
            ),
            rows(
                About(
                    "Limits in effect",
                    "The limit of every broker and side, how many of its replicas the topics' throttled lists name, "
                    "and where the limit comes from.",
                    runbooks=("KafkaThrottleLeftBehind", "KafkaThrottleLopsided", "KafkaThrottleUneven"),
                ),
                SIDE | {"origin": "Set for"},
                [
                    Value(
                        "Limit",
                        most("replication_throttle_bytes_per_second", "broker, side"),
                        looks.BYTES_PER_SECOND,
                        mappings=[looks.UNLIMITED],
                    ),
                    Value(
                        "Origin",
                        most("replication_throttle_origin_info", "broker, side, origin"),
                        looks.COUNT,
                        hidden=True,
                    ),
                    Value("Listed replicas", most("replication_throttled_replicas", "broker, side"), looks.COUNT),
                ],
                sort="Listed replicas",
            ),
        ],
    ),
    Line(
        7,
        [
            lines(
                About(
                    "Replicas being added and removed",
                    "By all reassignments, of the chosen brokers.",
                ),
                [
                    Query(total(most("reassignment_replicas", "broker, change"), "change"), "{{change}}"),
                ],
                looks.COUNT,
            ),
            rows(
                About(
                    "Moves between log directories",
                    "Copies on the same broker, which only the throttle of side log_dirs holds back.",
                    no_value=NOTHING_MOVES,
                ),
                {"topic": "Topic", "partition": "Partition", "broker": "Broker"},
                [
                    Value("To copy", most("log_dir_move_bytes_remaining", REPLICA), looks.BYTES),
                    Value("Ends in", most("log_dir_move_eta_seconds", REPLICA), looks.SECONDS, mappings=[looks.NEVER]),
                ],
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
