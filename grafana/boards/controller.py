"""Controller quotas: KIP-599, and the controller that they protect."""

from typing import Final

from grafana.kit import looks
from grafana.kit.links import board
from grafana.kit.page import Board, Line, Section
from grafana.kit.panels import About, Query, lines, number_panel
from grafana.kit.queries import FINITE, busiest, least, most, number, or_zero
from grafana.kit.tables import Value, rows

CLIENT: Final = "user, client_id"
LEGEND: Final = "user {{user}} client {{client_id}}"
COLUMNS: Final = {"user": "User", "client_id": "Client id"}
THROTTLED: Final = ("KafkaControllerMutationThrottled",)
DRAINING: Final = ("KafkaControllerMutationTokensDraining",)
NO_QUOTA: Final = looks.infinite("no quota", "blue")
NO_CLIENTS: Final = "no quota is configured"

NOW: Final = (
    Line(
        4,
        [
            number_panel(
                About(
                    "Clients refused",
                    "Whose tokens are below 0: creating or deleting topics and adding partitions is refused until "
                    "they are back at 0.",
                    runbooks=THROTTLED,
                    no_value=NO_CLIENTS,
                ),
                or_zero(number(f"{least('controller_mutation_tokens', CLIENT)} < 0"), "controller_mutation_tokens"),
                steps=looks.RED_FROM_ONE,
            ),
            number_panel(
                About(
                    "Longest wait",
                    "Until the next mutation of the client that waits longest is admitted: -K / R.",
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
                    "Of all clients with a quota. Below 0: refused.",
                    runbooks=DRAINING,
                    no_value=NO_CLIENTS,
                ),
                least("controller_mutation_tokens"),
                steps=((0, "green"),),
                mappings=[NO_QUOTA],
                base="red",
            ),
            number_panel(
                About(
                    "Events wait",
                    "Time in the active controller's queue, 99th percentile: what the quotas keep short.",
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
                    "Tokens left (K), what the quota lets come back a second (R), how many may be saved up (B), and "
                    "how long the next mutation waits.",
                    runbooks=THROTTLED + DRAINING,
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
                    Value("Burst", most("controller_mutation_burst", CLIENT), looks.COUNT, mappings=[NO_QUOTA]),
                    Value("Waits", most("controller_mutation_admission_delay_seconds", CLIENT), looks.SECONDS),
                ],
                sort="Waits",
            ),
            rows(
                About(
                    "Configured quotas",
                    "controller_mutation_rate as it is configured; <default> is the default of users or client ids.",
                    no_value=NO_CLIENTS,
                ),
                COLUMNS,
                [Value("Quota a second", most("controller_mutation_quota_config", CLIENT), looks.COUNT)],
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
                    "A client is admitted while it has any, however large what it asks for: then they fall below 0, "
                    "and come back at the rate of the quota. Draining: it asks for more than its quota for long. The "
                    "20 with most; a client without a quota is not drawn.",
                    runbooks=DRAINING,
                ),
                [Query(busiest(20, f"{least('controller_mutation_tokens', CLIENT)} {FINITE}"), LEGEND)],
                looks.COUNT,
                below_zero=True,
            ),
            lines(
                About(
                    "Mutations and quota",
                    "Partitions created, deleted or added a second, the 20 busiest clients; broken lines are quotas.",
                    runbooks=DRAINING,
                ),
                [
                    Query(busiest(20, most("controller_mutations_per_second", CLIENT)), LEGEND),
                    Query(
                        f"{most('controller_mutation_quota_per_second', CLIENT)} {FINITE}",
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
                    "How long the next mutation waits",
                    "-K / R while tokens are below 0.",
                    runbooks=THROTTLED,
                ),
                [Query(busiest(20, most("controller_mutation_admission_delay_seconds", CLIENT)), LEGEND)],
                looks.SECONDS,
            ),
            lines(
                About(
                    "What clients feel",
                    "Mean throttle time of requests at the brokers that they talk to: quotas of mutations and of "
                    "requests together. In KRaft the controller's own throttle time stays unknown. Without JMX there "
                    "is nothing here.",
                    runbooks=THROTTLED,
                ),
                [Query(busiest(20, most("client_request_throttle_seconds", CLIENT)), LEGEND)],
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
                About("Events in the queue", "Time that they wait for the active controller, by quantile."),
                [Query(most("controller_event_queue_seconds", "quantile"), "{{quantile}}")],
                looks.SECONDS,
            ),
            lines(
                About(
                    "Quorum: time since last level",
                    "Since a node was last level with the end of the metadata log: brokers that lag here act on old "
                    "metadata.",
                    see=(board("sidecar", "Sidecar"),),
                ),
                [
                    Query(
                        f"time() - {most('quorum_last_caught_up_timestamp_seconds', 'node, role')}",
                        "{{role}} {{node}}",
                    )
                ],
                looks.SECONDS,
                ((60, "orange"),),
            ),
        ],
    ),
    Line(
        7,
        [
            lines(
                About("Quorum: lag", "Offsets by which a node is behind the end of the metadata log."),
                [Query(most("quorum_lag_offsets", "node, role"), "{{role}} {{node}}")],
                looks.COUNT,
            ),
            number_panel(
                About("Active controller", "The node that leads the quorum."),
                Query(most("controller_info", "node"), "node {{node}}"),
                looks.TEXT,
            ),
        ],
        (18, 6),
    ),
)

CONTROLLER: Final = Board(
    "controller",
    "Controller quotas",
    "Which client does its mutation quota hold back, for how long, and which one is next?",
    ("broker",),
    [
        Section("Is anybody held back?", NOW),
        Section("Which client?", CLIENTS),
        Section("The controller itself", ITSELF),
    ],
)
