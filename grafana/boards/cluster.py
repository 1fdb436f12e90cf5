"""Cluster: one cluster at a glance, with links to the dashboards that say why."""

from typing import Final

from grafana.kit import alerts, looks
from grafana.kit.links import board
from grafana.kit.page import Board, Line, Section
from grafana.kit.panels import About, Query, lines, number_panel
from grafana.kit.queries import FINITE, NAMED, NOT_NAMED, ONE_CLUSTER, REPLICA, or_zero, series, total
from grafana.kit.tables import Value, rows

DIRECTORY: Final = "broker, log_dir"
REPLICAS: Final = (board("replicas", "Replica health"),)
CAPACITY: Final = (board("capacity", "Capacity"),)


def _most(name: str, by: str = "", matchers: str = "", how: str = "max") -> str:
    """The maximum over the sidecars, of all brokers and topics."""
    return f"{how} {f'by ({by}) ' if by else ''}({series(name, matchers, narrowed_by=())})"


def _limit_used(scope: str, by: str = "") -> str:
    return f"{_most(f'{scope}_partitions', by)} / ({_most(f'{scope}_partition_limit', by, how='min')} {FINITE})"


STUCK: Final = total(
    f"{_most('reassignment_stuck', REPLICA, NAMED)} or {_most('reassignment_stuck', f'{REPLICA}, cause', NOT_NAMED)}"
)
PROBLEM: Final = "broker, side, problem"
PROBLEMS: Final = _most("replication_throttle_problem_seconds", PROBLEM, how="min")
VOLUME_LEFT: Final = (
    f"{_most('log_dir_usable_bytes', DIRECTORY, how='min')} / {_most('log_dir_total_bytes', DIRECTORY)}"
)

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
            number_panel(
                About(
                    "Active controller",
                    "The node that leads the quorum.",
                    see=(board("controller", "Controller quotas"),),
                ),
                Query(_most("controller_info", "node"), "node {{node}}"),
                looks.TEXT,
            ),
            number_panel(
                About(
                    "Offline partitions",
                    "Partitions without a leader: clients can neither read nor write them.",
                    runbooks=("KafkaPartitionOffline",),
                    see=REPLICAS,
                ),
                _most("offline_partitions"),
                steps=looks.RED_FROM_ONE,
            ),
            number_panel(
                About(
                    "Under min ISR",
                    "Partitions that refuse writes of producers with acks=all.",
                    runbooks=("KafkaPartitionUnderMinIsr",),
                    see=REPLICAS,
                ),
                _most("under_min_isr_partitions"),
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
                _most("at_min_isr_partitions"),
                steps=looks.ORANGE_FROM_ONE,
            ),
            number_panel(
                About(
                    "Under-replicated partitions",
                    "Partitions with a replica outside the ISR; replicas that a move is adding do not count.",
                    runbooks=("KafkaReplicasOutOfSync",),
                    see=REPLICAS,
                ),
                _most("under_replicated_partitions"),
                steps=looks.ORANGE_FROM_ONE,
            ),
            number_panel(
                About(
                    "Volume used, highest log directory",
                    "Used share of the volume of a log directory, including files of other programs.",
                    runbooks=("KafkaLogDirFilling",),
                    see=CAPACITY,
                ),
                f"max (1 - {VOLUME_LEFT})",
                looks.RATIO,
                alerts.VOLUME_USED,
            ),
            number_panel(
                About(
                    "Partition limit used",
                    "Partitions divided by the limit: of the cluster, or of the broker that uses most (KIP-578).",
                    runbooks=("KafkaPartitionLimit",),
                    see=CAPACITY,
                    no_value="no limit set",
                ),
                f"max ({_limit_used('broker', 'broker')} or {_limit_used('cluster')})",
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
                        _most("replication_throttle_lower_bound_bytes_per_second", "broker"),
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
                    Value("Partitions", _most("reassigning_partitions"), looks.COUNT),
                    Value("Bytes to copy", _most("reassignment_total_bytes_remaining"), looks.BYTES),
                    Value("End in", _most("reassignment_total_eta_seconds"), looks.SECONDS, mappings=[looks.NEVER]),
                    Value("Stuck", or_zero(STUCK, "reassigning_partitions"), looks.COUNT, looks.RED_FROM_ONE),
                ],
            ),
            rows(
                About(
                    "Throttle problems",
                    "Problems by name, from the third poll on; docs/spec/throttles.md#problems explains each.",
                    see=(board("throttles", "Throttles"),),
                    no_value="nothing is wrong",
                ),
                {"broker": "Broker", "side": "Side", "problem": "Problem"},
                [Value("For", PROBLEMS, looks.SECONDS)],
                ranked=(PROBLEM, PROBLEMS),
            ),
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
