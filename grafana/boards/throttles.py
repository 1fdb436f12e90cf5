"""Throttles: what is set, what is wrong with it, and the rates against the limits."""

from typing import Final

from grafana.kit import looks
from grafana.kit.links import Link, board
from grafana.kit.page import Board, Line, Section
from grafana.kit.panels import About, Panel, Query, lines, number_panel
from grafana.kit.queries import CHOSEN, FINITE, Scope, least, most
from grafana.kit.tables import Value, rows

SIDE: Final = {"broker": "Broker", "side": "Side"}
BETWEEN_BROKERS: Final = 'side=~"leader|follower"'
PROBLEM: Final = "broker, side, problem"


def problems(scope: Scope, *see: Link) -> Panel:
    """The table of problems, the longest first."""
    ages = scope.least("replication_throttle_problem_seconds", PROBLEM)
    return rows(
        About(
            "Throttle problems",
            "Problems by name, from the third poll on; docs/spec/throttles.md#problems explains each.",
            see=see,
            no_value="nothing is wrong",
        ),
        SIDE | {"problem": "Problem"},
        [Value("For", ages, looks.SECONDS)],
        ranked=(PROBLEM, ages),
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
                    f"Traffic that brokers count against the limit: all that they {listed} for replicas of the "
                    "throttled lists. This includes in-sync replicas, which are never throttled, so a rate above its "
                    "limit is normal. The mean over 11 s can be up to 3.5 times too high in bursts. Without a limit "
                    "no limit is drawn.",
                    runbooks=("KafkaThrottleTooLow",),
                    see=(board("moves", "Moves"),),
                ),
                [
                    Query(most(metric, "broker"), "broker {{broker}}"),
                    Query(f"{limit} {FINITE}", "limit of {{broker}}", limit=True),
                ],
                looks.BYTES_PER_SECOND,
            ),
            lines(
                About(
                    f"{what}: catch-up rate and headroom",
                    (
                        "Growth of the adding replicas, and the limit minus the traffic of in-sync replicas. At or "
                        "below 0 nothing is left."
                    ),
                    runbooks=("KafkaThrottleTooLow",),
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
                    (
                        "The lower limit of a broker, the bytes in of all replicas that it hosts (lower bound), and "
                        "the free network rate (upper bound, with the option network.bytes_per_second). This is "
                        "advice: a move can also end outside the bounds."
                    ),
                    runbooks=("KafkaThrottleTooLow",),
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
            number_panel(
                About(
                    "MoveRatio",
                    "Partitions under reassignment divided by all partitions (KIP-73).",
                ),
                most("reassignment_move_ratio"),
                looks.RATIO,
            ),
        ],
        (18, 6),
    ),
)

SETTINGS: Final = (
    Line(
        9,
        [
            problems(CHOSEN),
            rows(
                About(
                    "Throttles in effect",
                    (
                        "The limit of every broker and side, the number of its replicas in the throttled lists of "
                        "topics, and the origin of the limit."
                    ),
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
                sort=("Listed replicas",),
            ),
        ],
    ),
)

THROTTLES: Final = Board(
    "throttles",
    "Throttles",
    "Which replication throttles are set, do they bind, and which are wrong?",
    ("broker",),
    [
        Section("What is set, and what is wrong?", SETTINGS),
        Section("Rates against limits", LIMITS),
    ],
)
