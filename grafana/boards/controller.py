"""Controller quotas: KIP-599, and the controller that they protect."""

from typing import Final

from grafana.kit import alerts, looks
from grafana.kit.links import Link, board
from grafana.kit.page import Board, Line, Section
from grafana.kit.panels import About, Panel, Query, lines, number_panel
from grafana.kit.queries import FINITE, busiest, chosen, in_range, least, most, number, or_zero
from grafana.kit.tables import Value, rows

CLIENT: Final = "user, client_id"
LEGEND: Final = "user {{user}} client {{client_id}}"
COLUMNS: Final = {"user": "User", "client_id": "Client id"}
THROTTLED: Final = ("KafkaControllerMutationThrottled",)
NO_QUOTA: Final = looks.infinite("no quota", "blue")
NO_CLIENTS: Final = "no quota is configured"

WAIT: Final = most("controller_mutation_admission_delay_seconds", CLIENT)
WAITS_OR_SENDS: Final = f"({WAIT} > 0 or -{least('controller_mutation_tokens', CLIENT)})"
"""Clients that wait first, then those with the fewest tokens."""
QUOTAS: Final = most("controller_mutation_quota_config_per_second", CLIENT)
FEWEST: Final = in_range("controller_mutation_tokens", CLIENT, "min", "min_over_time")
MUTATIONS: Final = in_range("controller_mutations_per_second", CLIENT)


def active(*see: Link) -> Panel:
    """The node that leads the quorum."""
    about = About("Active controller", "The node that leads the quorum.", see=see)
    return number_panel(about, Query(most("controller_info", "node"), "node {{node}}"), looks.TEXT)


NOW: Final = (
    Line(
        4,
        [
            number_panel(
                About(
                    "Clients over quota",
                    (
                        "Clients with tokens below 0: their requests to create or delete topics, or to add "
                        "partitions, are refused until the tokens are back at 0."
                    ),
                    runbooks=THROTTLED,
                    no_value=NO_CLIENTS,
                ),
                or_zero(number(f"{least('controller_mutation_tokens', CLIENT)} < 0"), "controller_mutation_tokens"),
                steps=looks.RED_FROM_ONE,
            ),
            number_panel(
                About(
                    "Longest wait",
                    "Time until the next mutation of the client that waits longest is admitted: -K / R.",
                    runbooks=THROTTLED,
                    no_value=NO_CLIENTS,
                ),
                most("controller_mutation_admission_delay_seconds"),
                looks.SECONDS,
                ((0.001, "orange"), (60, "red")),
            ),
            number_panel(
                About(
                    "Fewest tokens",
                    "Lowest tokens of all clients with a quota. Below 0 requests are refused.",
                    runbooks=THROTTLED,
                    no_value=NO_CLIENTS,
                ),
                least("controller_mutation_tokens"),
                # The colour below the first step is that of the text without a quota, too.
                steps=((-1e12, "red"), (0, "green")),
                mappings=[NO_QUOTA],
                base="text",
            ),
            number_panel(
                About(
                    "Event queue time",
                    ("Time in the queue of the active controller, 99th percentile. The quotas exist to keep it short."),
                ),
                most("controller_event_queue_seconds", matchers='quantile="0.99"'),
                looks.SECONDS,
                ((1, "orange"), (10, "red")),
            ),
        ],
    ),
)

CLIENTS: Final = (
    Line(
        9,
        [
            rows(
                About(
                    "Clients",
                    (
                        "Tokens left (K), tokens that come back per second (R), the largest number of tokens (B), and "
                        "the delay of the next mutation."
                    ),
                    no_value=NO_CLIENTS,
                ),
                COLUMNS,
                [
                    Value(
                        "Tokens",
                        least("controller_mutation_tokens", CLIENT),
                        looks.COUNT,
                        ((0, "green"),),
                        [NO_QUOTA],
                        base="red",
                    ),
                    Value(
                        "Quota a second",
                        most("controller_mutation_quota_per_second", CLIENT),
                        looks.COUNT,
                        mappings=[NO_QUOTA],
                    ),
                    Value("Burst", most("controller_mutation_burst_tokens", CLIENT), looks.COUNT, mappings=[NO_QUOTA]),
                    Value("Waits", WAIT, looks.SECONDS),
                ],
                sort=("Waits",),
                ranked=(CLIENT, WAITS_OR_SENDS),
            ),
            rows(
                About(
                    "Configured quotas",
                    "controller_mutation_rate as it is configured; <default> is the default of users or client ids.",
                    no_value=NO_CLIENTS,
                ),
                COLUMNS,
                [Value("Quota a second", QUOTAS, looks.COUNT)],
                ranked=(CLIENT, QUOTAS),
            ),
        ],
        (15, 9),
    ),
    Line(
        8,
        [
            lines(
                About(
                    "Tokens",
                    (
                        "A client with tokens is admitted, however large its request is. Then its tokens may fall "
                        "below 0, and they come back at the rate of the quota. Tokens that keep falling: the client "
                        "sends more than its quota. The 20 clients that had the fewest tokens; clients without a "
                        "quota are not drawn."
                    ),
                    runbooks=THROTTLED,
                ),
                [
                    Query(
                        chosen(f"{least('controller_mutation_tokens', CLIENT)} {FINITE}", CLIENT, FEWEST, "bottomk"),
                        LEGEND,
                    )
                ],
                looks.COUNT,
                below_zero=True,
            ),
            lines(
                About(
                    "Mutations and quota",
                    (
                        "Partitions created, deleted or added per second, by the 20 busiest clients; dashed lines are "
                        "quotas."
                    ),
                    runbooks=THROTTLED,
                ),
                [
                    Query(busiest("controller_mutations_per_second", CLIENT), LEGEND),
                    Query(
                        chosen(f"{most('controller_mutation_quota_per_second', CLIENT)} {FINITE}", CLIENT, MUTATIONS),
                        "quota of " + LEGEND,
                        limit=True,
                    ),
                ],
                looks.PER_SECOND,
            ),
        ],
    ),
    Line(
        8,
        [
            lines(
                About(
                    "Delay of the next mutation",
                    "-K / R while tokens are below 0.",
                ),
                [Query(busiest("controller_mutation_admission_delay_seconds", CLIENT), LEGEND)],
                looks.DURATION,
            ),
            lines(
                About(
                    "Throttle time of clients",
                    (
                        "Mean throttle time of requests at the brokers that clients are connected to, for quotas of "
                        "mutations and of requests together. In KRaft the throttle time of the controller is unknown. "
                        "Empty without JMX."
                    ),
                    runbooks=THROTTLED,
                ),
                [Query(busiest("client_request_throttle_seconds", CLIENT), LEGEND)],
                looks.SECONDS,
            ),
        ],
    ),
)

ITSELF: Final = (
    Line(
        8,
        [
            lines(
                About(
                    "Event queue time, by quantile",
                    ("Time that events wait in the queue of the active controller, by quantile."),
                ),
                [Query(most("controller_event_queue_seconds", "quantile"), "{{quantile}}")],
                looks.SECONDS,
            ),
            lines(
                About(
                    "Quorum: time since caught up",
                    (
                        "Time since a node last caught up with the end of the metadata log: brokers that lag here use "
                        "old metadata."
                    ),
                    see=(board("sidecar", "Exporter"),),
                ),
                [
                    Query(
                        f"time() - {most('quorum_last_caught_up_timestamp_seconds', 'node, role')}",
                        "{{role}} {{node}}",
                    )
                ],
                looks.SECONDS,
                ((alerts.threshold("metadata_stale"), "orange"),),
            ),
        ],
    ),
    Line(
        7,
        [
            lines(
                About(
                    "Quorum: lag",
                    "Offsets by which a node is behind the end of the metadata log.",
                ),
                [Query(most("quorum_lag_offsets", "node, role"), "{{role}} {{node}}")],
                looks.COUNT,
            ),
            active(),
        ],
        (18, 6),
    ),
)

CONTROLLER: Final = Board(
    "controller",
    "Controller quotas",
    "Which client is limited by its mutation quota, for how long, and which one is next?",
    ("broker",),
    [
        Section("Is a client throttled?", NOW),
        Section("Which client?", CLIENTS),
        Section("The controller itself", ITSELF),
    ],
)
