"""Fleet: every cluster in a row, the worst first, with links to its dashboards."""

from typing import Final

from grafana.kit import alerts, looks
from grafana.kit.links import cell
from grafana.kit.page import Board, Line, Section
from grafana.kit.panels import About, Query, lines
from grafana.kit.queries import EACH, EACH_CLUSTER, series, total
from grafana.kit.tables import Value, rows

CLUSTER: Final = "Cluster"
OVERVIEW: Final = (cell("cluster", CLUSTER),)
MOVES: Final = (cell("moves", CLUSTER),)
REPLICAS: Final = (cell("replicas", CLUSTER),)
CAPACITY: Final = (cell("capacity", CLUSTER),)
SIDECAR: Final = (cell("sidecar", CLUSTER),)


OUT_OF_SYNC: Final = EACH.most("broker_out_of_sync_replicas", "broker, state", 'state!="moving"')
"""As KafkaReplicasOutOfSync counts: without replicas that a reassignment adds."""
SNAPSHOTS: Final = series("snapshot_timestamp_seconds", narrowed_by=(), cluster=EACH_CLUSTER)

CLUSTERS: Final = (
    Line(
        9,
        [
            rows(
                About(
                    "Clusters",
                    "The worst cluster first. A cell opens the dashboard of its cluster. A dash is an unknown value, "
                    "and no alert under Critical and Warning. No data: no exporter serves numbers of the cluster now. "
                    "A cluster stays in the table as long as one of its snapshots is in the selected time range.",
                    runbooks=(
                        "KafkaPartitionOffline",
                        "KafkaPartitionUnderMinIsr",
                        "KafkaReassignmentStuck",
                        "KafkaWardenBlind",
                    ),
                    no_value="no cluster in this time range",
                ),
                {"cluster": CLUSTER},
                [
                    Value("State", alerts.state(), looks.COUNT, mappings=[alerts.STATE], links=OVERVIEW),
                    Value(
                        "Critical",
                        alerts.number_firing("cluster", "critical"),
                        looks.COUNT,
                        looks.RED_FROM_ONE,
                        links=OVERVIEW,
                    ),
                    Value(
                        "Warning",
                        alerts.number_firing("cluster", "warning"),
                        looks.COUNT,
                        looks.ORANGE_FROM_ONE,
                        links=OVERVIEW,
                    ),
                    Value("Offline", EACH.most("offline_partitions"), looks.COUNT, looks.RED_FROM_ONE, links=REPLICAS),
                    Value(
                        "Under min ISR",
                        EACH.most("under_min_isr_partitions"),
                        looks.COUNT,
                        looks.RED_FROM_ONE,
                        links=REPLICAS,
                    ),
                    Value("Out of sync", total(OUT_OF_SYNC, "cluster"), looks.COUNT, links=REPLICAS),
                    Value("Moving", EACH.most("reassigning_partitions"), looks.COUNT, links=MOVES),
                    Value(
                        "Moves end in",
                        EACH.most("reassignment_total_eta_seconds"),
                        looks.SECONDS,
                        mappings=[looks.NEVER],
                        links=MOVES,
                    ),
                    Value(
                        "Stuck",
                        f"{EACH.stuck()} or 0 * {EACH.most('reassigning_partitions')}",
                        looks.COUNT,
                        looks.RED_FROM_ONE,
                        links=MOVES,
                    ),
                    Value(
                        "Limit used",
                        f"max by (cluster) ({EACH.limit_used('broker', 'broker')} or {EACH.limit_used('cluster')})",
                        looks.RATIO,
                        alerts.LIMIT_USED,
                        absent="no limit set",
                        links=CAPACITY,
                    ),
                    Value(
                        "Snapshot age",
                        f"time() - max by (cluster) (max_over_time({SNAPSHOTS}[$__range]))",
                        looks.SECONDS,
                        alerts.OLD,
                        links=SIDECAR,
                    ),
                ],
                sort=("State", "Critical", "Warning"),
                label_links=OVERVIEW,
            ),
        ],
    ),
    Line(
        9,
        [
            rows(
                About(
                    "Firing alerts",
                    "Alerts of kafka-warden that fire, without those that Alertmanager mutes. A name opens the "
                    "dashboard of its cluster, a severity opens the runbook. Empty, too, where the rules are not "
                    "loaded in this Prometheus.",
                    no_value="no alert fires",
                ),
                {"cluster": CLUSTER, "alertname": "Alert"},
                alerts.columns("cluster, alertname", EACH_CLUSTER, alerts.RUNBOOK),
                label_links=OVERVIEW,
                ranked=("cluster, alertname", alerts.severity("cluster, alertname", EACH_CLUSTER)),
            ),
        ],
    ),
)

CAUSES: Final = (
    Line(
        9,
        [
            rows(
                About(
                    "Out of sync, by state",
                    "Followers outside the ISR, without those that moves add. Bootstrapping replicas have not joined "
                    "the ISR yet, recovering replicas catch up, slow and stuck replicas do not.",
                    no_value="all replicas are in sync",
                ),
                {"cluster": CLUSTER, "state": "State"},
                [Value("Followers", f"{total(OUT_OF_SYNC, 'cluster, state')} > 0", looks.COUNT, links=REPLICAS)],
                label_links=REPLICAS,
            ),
            lines(
                About("Out of sync, by cluster", "Followers outside the ISR, without those that moves add."),
                [Query(total(OUT_OF_SYNC, "cluster"), "{{cluster}}")],
                looks.COUNT,
                narrow=True,
            ),
            lines(
                About("Bytes to copy, by cluster", "Bytes that all adding replicas of a cluster lack."),
                [Query(EACH.most("reassignment_total_bytes_remaining"), "{{cluster}}")],
                looks.BYTES,
                narrow=True,
            ),
        ],
    ),
)

FLEET: Final = Board(
    "fleet",
    "Fleet",
    "Which clusters need attention, and why?",
    (),
    [
        Section("Which cluster?", CLUSTERS),
        Section("What is out of sync, and what moves?", CAUSES),
    ],
    one_cluster=False,
)
