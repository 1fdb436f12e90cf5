"""Fleet: every cluster in a row, with links to its dashboards."""

from typing import Final

from grafana.kit import looks
from grafana.kit.links import cell
from grafana.kit.page import Board, Line, Section
from grafana.kit.panels import About, Query, lines
from grafana.kit.queries import EACH_CLUSTER, FINITE, REPLICA, number, series, total
from grafana.kit.tables import Value, rows

CLUSTER: Final = "Cluster"
MOVES: Final = (cell("moves", CLUSTER),)
REPLICAS: Final = (cell("replicas", CLUSTER),)
CAPACITY: Final = (cell("capacity", CLUSTER),)
SIDECAR: Final = (cell("sidecar", CLUSTER),)
ANSWERS: Final = looks.named(("no answer", "red"), ("answer", "green"))
OLD: Final[looks.Steps] = ((60, "orange"), (120, "red"))
"""From 120 s on, alerts do not use a snapshot at the default interval (alerts/README.md)."""


def _of(name: str) -> str:
    return series(name, narrowed_by=(), cluster=EACH_CLUSTER)


def _most(name: str, by: str = "") -> str:
    """The maximum over the sidecars of each cluster."""
    return f"max by ({f'cluster, {by}' if by else 'cluster'}) ({_of(name)})"


STUCK: Final = number(f"{_most('reassignment_stuck', REPLICA)} == 1", "cluster")
LIMIT: Final = f"min by (cluster, broker) ({_of('broker_partition_limit')}) {FINITE}"
OUT_OF_SYNC: Final = _most("broker_out_of_sync_replicas", "broker, state")

CLUSTERS: Final = (
    Line(
        8,
        [
            rows(
                About(
                    "Clusters",
                    "A cell opens the dashboard of its cluster. A dash is an unknown value. A cluster stays in the "
                    "table as long as one of its snapshots is in the selected time range.",
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
                    Value("Brokers", _most("cluster_reachable"), looks.COUNT, mappings=[ANSWERS], links=SIDECAR),
                    Value("Controller", _most("controller_reachable"), looks.COUNT, mappings=[ANSWERS], links=SIDECAR),
                    Value("Offline", _most("offline_partitions"), looks.COUNT, looks.RED_FROM_ONE, links=REPLICAS),
                    Value(
                        "Under min ISR",
                        _most("known_under_min_isr_partitions"),
                        looks.COUNT,
                        looks.RED_FROM_ONE,
                        links=REPLICAS,
                    ),
                    Value("Out of sync", total(OUT_OF_SYNC, "cluster"), looks.COUNT, links=REPLICAS),
                    Value("Moving", _most("reassigning_partitions"), looks.COUNT, links=MOVES),
                    Value(
                        "Moves end in",
                        _most("reassignment_total_eta_seconds"),
                        looks.SECONDS,
                        mappings=[looks.NEVER],
                        links=MOVES,
                    ),
                    Value(
                        "Stuck",
                        f"{STUCK} or 0 * {_most('reassigning_partitions')}",
                        looks.COUNT,
                        looks.RED_FROM_ONE,
                        links=MOVES,
                    ),
                    Value(
                        "Limit used",
                        f"max by (cluster) ({_most('broker_partitions', 'broker')} / ({LIMIT}))",
                        looks.RATIO,
                        ((0.8, "orange"), (1, "red")),
                        absent="no limit set",
                        links=CAPACITY,
                    ),
                    Value(
                        "Snapshot age",
                        f"time() - max by (cluster) (max_over_time({_of('snapshot_timestamp_seconds')}[$__range]))",
                        looks.SECONDS,
                        OLD,
                        links=SIDECAR,
                    ),
                ],
                label_links=REPLICAS,
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
                    "Followers outside the ISR. Moving and bootstrapping replicas have not joined the ISR yet, "
                    "recovering replicas catch up, slow and stuck replicas do not.",
                    runbooks=("KafkaReplicasOutOfSync",),
                    no_value="all replicas are in sync",
                ),
                {"cluster": CLUSTER, "state": "State"},
                [Value("Followers", f"{total(OUT_OF_SYNC, 'cluster, state')} > 0", looks.COUNT, links=REPLICAS)],
                label_links=REPLICAS,
            ),
            lines(
                About("Out of sync, by cluster", "Followers outside the ISR, those of moves included."),
                [Query(total(OUT_OF_SYNC, "cluster"), "{{cluster}}")],
                looks.COUNT,
            ),
            lines(
                About("Bytes to copy, by cluster", "Bytes that all adding replicas of a cluster lack."),
                [Query(_most("reassignment_total_bytes_remaining"), "{{cluster}}")],
                looks.BYTES,
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
