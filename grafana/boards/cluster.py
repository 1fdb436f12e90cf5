"""Cluster: one cluster at a glance, with links to the dashboards that say why."""

from typing import Final

from grafana.boards import capacity, controller, throttles
from grafana.kit import alerts, looks
from grafana.kit.links import board
from grafana.kit.page import Board, Line, Section
from grafana.kit.panels import About, Query, lines, number_panel
from grafana.kit.queries import ONE_CLUSTER, WHOLE, or_zero
from grafana.kit.tables import Value, rows

REPLICAS: Final = (board("replicas", "Replica health"),)
CAPACITY: Final = (board("capacity", "Capacity"),)

HEALTH: Final = (
    Line(
        4,
        [
            number_panel(
                About(
                    "State",
                    "The worst that is known of the cluster, as on the dashboard Fleet.",
                    runbooks=("KafkaClusterUnreachable", "KafkaNoActiveController"),
                    see=(board("sidecar", "Exporter"),),
                ),
                f"max ({alerts.state(ONE_CLUSTER)})",
                mappings=[alerts.STATE],
            ),
            controller.active(board("controller", "Controller quotas")),
            number_panel(
                About(
                    "Offline partitions",
                    "Partitions without a leader: clients can neither read nor write them.",
                    runbooks=("KafkaPartitionOffline",),
                    see=REPLICAS,
                ),
                WHOLE.most("offline_partitions"),
                steps=looks.RED_FROM_ONE,
            ),
            number_panel(
                About(
                    "Under min ISR",
                    "Partitions that refuse writes of producers with acks=all.",
                    runbooks=("KafkaPartitionUnderMinIsr",),
                    see=REPLICAS,
                ),
                WHOLE.most("under_min_isr_partitions"),
                steps=looks.RED_FROM_ONE,
            ),
        ],
    ),
    Line(
        4,
        [
            number_panel(
                About(
                    "At min ISR",
                    "Partitions with just min.insync.replicas in sync: one more failure stops producers.",
                    runbooks=("KafkaPartitionAtMinIsr",),
                    see=REPLICAS,
                ),
                WHOLE.most("at_min_isr_partitions"),
                steps=looks.ORANGE_FROM_ONE,
            ),
            number_panel(
                About(
                    "Under-replicated partitions",
                    "Partitions with a replica outside the ISR; replicas that a move is adding do not count.",
                    runbooks=("KafkaReplicasOutOfSync",),
                    see=REPLICAS,
                ),
                WHOLE.most("under_replicated_partitions"),
                steps=looks.ORANGE_FROM_ONE,
            ),
            capacity.highest(WHOLE, *CAPACITY),
            number_panel(
                About(
                    "Partition limit used",
                    "Partitions divided by the limit: of the cluster, or of the broker that uses most (KIP-578).",
                    runbooks=("KafkaPartitionLimit",),
                    see=CAPACITY,
                    no_value="no limit set",
                ),
                f"max ({WHOLE.limit_used('broker', 'broker')} or {WHOLE.limit_used('cluster')})",
                looks.RATIO,
                alerts.LIMIT_USED,
            ),
        ],
    ),
    Line(
        8,
        [
            rows(
                About(
                    "Firing alerts",
                    "Alerts of kafka-warden that fire, without those that Alertmanager mutes. A severity opens the "
                    "runbook. Empty, too, where the rules are not loaded in this Prometheus.",
                    see=(board("fleet", "Fleet"),),
                    no_value="no alert fires",
                ),
                {"alertname": "Alert", "broker": "Broker"},
                alerts.columns("alertname, broker", ONE_CLUSTER, alerts.RUNBOOK),
                ranked=("alertname, broker", alerts.severity("alertname, broker", ONE_CLUSTER)),
            ),
            lines(
                About(
                    "Bytes in, by broker",
                    "Bytes per second that producers write to the replicas of each broker. A record counts on each "
                    "broker that has a replica of it.",
                    see=CAPACITY,
                ),
                [
                    Query(
                        WHOLE.most("replication_throttle_lower_bound_bytes_per_second", "broker"),
                        "broker {{broker}}",
                    )
                ],
                looks.BYTES_PER_SECOND,
            ),
        ],
    ),
    Line(
        7,
        [
            rows(
                About(
                    "Moves",
                    "Partitions under reassignment, bytes that their new replicas lack, the time until the last one "
                    "has caught up, and replicas that do not get closer to their leader.",
                    runbooks=("KafkaReassignmentStuck", "KafkaReassignmentWillMissItsTime"),
                    see=(board("moves", "Moves"),),
                ),
                {},
                [
                    Value("Partitions", WHOLE.most("reassigning_partitions"), looks.COUNT),
                    Value("Bytes to copy", WHOLE.most("reassignment_total_bytes_remaining"), looks.BYTES),
                    Value(
                        "End in", WHOLE.most("reassignment_total_eta_seconds"), looks.SECONDS, mappings=[looks.NEVER]
                    ),
                    Value("Stuck", or_zero(WHOLE.stuck(), "reassigning_partitions"), looks.COUNT, looks.RED_FROM_ONE),
                ],
            ),
            throttles.problems(WHOLE, board("throttles", "Throttles")),
        ],
    ),
)

CLUSTER: Final = Board(
    "cluster",
    "Cluster",
    "Is this cluster healthy, and which dashboard says more?",
    (),
    [Section("Is it healthy?", HEALTH)],
)
