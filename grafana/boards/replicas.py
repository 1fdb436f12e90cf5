"""Replica health: who is outside the ISR, why, since when, and what is no longer safe."""

from typing import Final

from grafana.kit import alerts, looks
from grafana.kit.links import board
from grafana.kit.page import Board, Line, Section
from grafana.kit.panels import About, Query, lines, number_panel, states
from grafana.kit.queries import REPLICA, busiest, chosen, in_range, increase, least, most, total
from grafana.kit.tables import Value, rows

LEGEND: Final = "{{topic}}-{{partition}} on {{broker}}"
TOO_LONG: Final[looks.Steps] = ((alerts.threshold("out_of_sync_for", "out_of_sync_restart"), "red"),)

# Two sidecars may show different states for one poll. Only one of them is shown, so that a replica has one row.
STATE: Final = f"topk by ({REPLICA}) (1, {most('replica_state', REPLICA + ', state')})"
OUT_OF_SYNC: Final = least("replica_out_of_sync_seconds", REPLICA)
COUNTS: Final = most("broker_out_of_sync_replicas", "broker, state", 'state!="moving"')
UNDER_REPLICATED: Final = least("partition_under_replicated_seconds", "topic, partition")
CANDIDATES: Final = most("leader_candidate", f"{REPLICA}, member_of")
THESE_ONLY: Final = f" and on ({REPLICA}) {OUT_OF_SYNC}"
WITH_STATE: Final = f"{OUT_OF_SYNC} * on ({REPLICA}) group_left (state) {STATE} or on ({REPLICA}) {OUT_OF_SYNC}"

_SHOWN: Final = ("active", "unanswering", "shutting_down", "fenced", "gone", "no_listener")
IN_STATE: Final = [
    f"({shown} == 1) * {value}"
    for value, shown in enumerate(most("broker_state", "broker", f'state="{name}"') for name in _SHOWN)
]
OLD_METADATA: Final = f"{len(_SHOWN)} + 0 * ({least('broker_metadata_stale_seconds', 'broker')} > 0)"

# Offline partitions first, then those that refuse writes, then the others.
AT_RISK: Final = (
    f"({most('topic_offline_partitions', 'topic')} > 0 or {most('topic_under_min_isr_partitions', 'topic')} > 0"
    f" or 0 * {most('topic_non_preferred_leader_partitions', 'topic')})"
)


def _most_changes(name: str) -> str:
    return chosen(increase(name, "topic"), "topic", in_range(name, "topic", over="increase"))


SAFETY: Final = (
    Line(
        8,
        [
            lines(
                About(
                    "Partitions at risk",
                    (
                        "Partitions of the whole cluster that are offline, under or at their minimum ISR, or "
                        "under-replicated. Under min ISR is a lower bound while the configuration of some topics is "
                        "unknown."
                    ),
                    runbooks=("KafkaReplicasOutOfSync",),
                    see=(board("cluster", "Cluster"),),
                ),
                [
                    Query(most("under_replicated_partitions"), "under-replicated"),
                    Query(most("at_min_isr_partitions"), "at min ISR"),
                    Query(most("under_min_isr_partitions"), "under min ISR"),
                    Query(most("offline_partitions"), "offline"),
                ],
                looks.COUNT,
            ),
            number_panel(
                About(
                    "Unclean leader elections",
                    (
                        "In the selected time range: a replica that was not in sync became leader, and records were "
                        "lost."
                    ),
                ),
                total(increase("unclean_leader_elections_total", "node", "$__range")),
                steps=looks.RED_FROM_ONE,
            ),
            number_panel(
                About(
                    "Stuck followers",
                    "Followers that do not advance although their leader is ahead, without moves.",
                    runbooks=("KafkaReplicasOutOfSync",),
                ),
                total(most("broker_out_of_sync_replicas", "broker, state", 'state="stuck"')),
                steps=looks.RED_FROM_ONE,
            ),
        ],
        (12, 6, 6),
    ),
    Line(
        8,
        [
            lines(
                About(
                    "Out of sync, by state",
                    (
                        "Followers outside the ISR on the chosen brokers, without those that moves add. Bootstrapping "
                        "replicas have not joined the ISR yet, recovering replicas catch up, slow and stuck replicas "
                        "do not."
                    ),
                    see=(board("moves", "Moves"),),
                ),
                [Query(total(COUNTS, "state"), "{{state}}")],
                looks.COUNT,
                stack=True,
            ),
            lines(
                About(
                    "Out of sync, by broker",
                    (
                        "Followers outside the ISR, without those that moves add, by the broker that hosts them: it "
                        "shows whether one broker is affected, or many."
                    ),
                    runbooks=("KafkaReplicasOutOfSync",),
                ),
                [Query(total(COUNTS, "broker"), "broker {{broker}}")],
                looks.COUNT,
                stack=True,
            ),
        ],
    ),
)

EACH: Final = (
    Line(
        9,
        [
            rows(
                About(
                    "Out-of-sync replicas",
                    "Every follower that is missing from the ISR with its current state, the longest first.",
                    runbooks=("KafkaReplicasOutOfSync",),
                    no_value="all replicas are in sync",
                ),
                {"topic": "Topic", "partition": "Partition", "broker": "Broker", "state": "State"},
                [
                    Value("Missing for", WITH_STATE, looks.SECONDS, TOO_LONG),
                    Value("Lag", most("replica_lag_bytes", REPLICA) + THESE_ONLY, looks.BYTES),
                ],
                sort=("Missing for",),
                ranked=(REPLICA, OUT_OF_SYNC),
            ),
            rows(
                About(
                    "Under-replicated partitions, with age",
                    "The longest first. Replicas that a move is adding do not count.",
                    runbooks=("KafkaReplicasOutOfSync",),
                    no_value="no partition is under-replicated",
                ),
                {"topic": "Topic", "partition": "Partition"},
                [
                    Value("For", UNDER_REPLICATED, looks.SECONDS, TOO_LONG),
                ],
                ranked=("topic, partition", UNDER_REPLICATED),
            ),
        ],
        (15, 9),
    ),
    Line(
        8,
        [
            lines(
                About(
                    "Lag in seconds",
                    ("Age of the oldest record that a follower lacks: the 20 oldest. Above 60 s it is a lower bound."),
                    runbooks=("KafkaReplicasOutOfSync",),
                ),
                [Query(busiest("replica_lag_seconds", REPLICA), LEGEND)],
                looks.DURATION,
            ),
            lines(
                About(
                    "Time since it was caught up",
                    (
                        "The time that replica.lag.time.max.ms limits, 30 s by default: the 20 longest. Above it the "
                        "leader removes the follower from the ISR."
                    ),
                    runbooks=("KafkaReplicasOutOfSync",),
                ),
                [Query(busiest("replica_behind_seconds", REPLICA, "min"), LEGEND)],
                looks.DURATION,
                ((30, "orange"),),
            ),
        ],
    ),
)

TOPICS: Final = (
    Line(
        8,
        [
            rows(
                About(
                    "Topics with partitions at risk",
                    "Partitions by topic: offline, under min ISR, or led by another replica than the first one.",
                    runbooks=("KafkaPartitionOffline", "KafkaPartitionUnderMinIsr"),
                    no_value="no partition is at risk",
                ),
                {"topic": "Topic"},
                [
                    Value(
                        "Offline", f"{most('topic_offline_partitions', 'topic')} > 0", looks.COUNT, looks.RED_FROM_ONE
                    ),
                    Value(
                        "Under min ISR",
                        f"{most('topic_under_min_isr_partitions', 'topic')} > 0",
                        looks.COUNT,
                        looks.RED_FROM_ONE,
                    ),
                    Value(
                        "Not at preferred leader",
                        f"{most('topic_non_preferred_leader_partitions', 'topic')} > 0",
                        looks.COUNT,
                    ),
                ],
                ranked=("topic", AT_RISK),
            ),
            rows(
                About(
                    "Replicas that may lead offline partitions",
                    "Start their brokers to get the leaders back. With last_known_elr only the last leader is known: "
                    "records may be lost.",
                    no_value="no partition is offline",
                ),
                {"topic": "Topic", "partition": "Partition", "broker": "Broker", "member_of": "Member of"},
                [Value("Candidate", CANDIDATES, looks.COUNT, hidden=True)],
                sort=("Broker",),
                ranked=(f"{REPLICA}, member_of", CANDIDATES),
            ),
            lines(
                About(
                    "Changes of the ISR, by topic",
                    "Replicas that left the ISR (shrinks) and came back (expands) between two polls: the 20 topics "
                    "with the most changes. Replicas that a move adds or removes do not count.",
                    runbooks=("KafkaIsrFlapping",),
                ),
                [
                    Query(_most_changes("topic_isr_shrinks_total"), "shrinks of {{topic}}"),
                    Query(_most_changes("topic_isr_expands_total"), "expands of {{topic}}"),
                ],
                looks.COUNT,
                narrow=True,
            ),
        ],
    ),
)

BROKERS: Final = (
    Line(
        8,
        [
            lines(
                About(
                    "Lag of the followers on a broker",
                    (
                        "SumReplicaLag of KIP-73. A high value shows a broker that receives slowly, or is down. A "
                        "gap: a part of the sum is unknown (dashboard Exporter)."
                    ),
                    see=(board("sidecar", "Exporter"),),
                ),
                [Query(most("broker_sum_replica_lag_bytes", "broker"), "broker {{broker}}")],
                looks.BYTES,
            ),
            lines(
                About(
                    "Lag of the followers of a leader",
                    "Lag of the followers by their leader. A high value shows a broker that sends slowly.",
                ),
                [Query(most("broker_led_replica_lag_bytes", "broker"), "broker {{broker}}")],
                looks.BYTES,
            ),
        ],
    ),
    Line(
        8,
        [
            states(
                About(
                    "Brokers",
                    "State of each broker in the cluster, and whether it answers the exporter, from current metadata.",
                ),
                Query(
                    " or ".join([OLD_METADATA, *IN_STATE]),
                    "broker {{broker}}",
                ),
                looks.named(
                    ("active", "green"),
                    ("does not answer", "yellow"),
                    ("shutting down", "blue"),
                    ("fenced", "orange"),
                    ("gone", "red"),
                    ("lacks the listener", "purple"),
                    ("old metadata", "orange"),
                ),
            ),
            lines(
                About(
                    "Changes of the ISR",
                    "Replicas that left the ISR (shrinks) and came back (expands), by leader. Empty without JMX.",
                ),
                [
                    Query(increase("broker_isr_shrinks_total", "broker"), "shrinks on {{broker}}"),
                    Query(increase("broker_isr_expands_total", "broker"), "expands on {{broker}}"),
                ],
                looks.COUNT,
            ),
        ],
    ),
)

REPLICAS: Final = Board(
    "replicas",
    "Replica health",
    "Which replicas are out of sync, why and since when, and which partitions are no longer safe?",
    ("broker", "topic"),
    [
        Section("Which partitions are not safe?", SAFETY),
        Section("Which replicas?", EACH),
        Section("Which topics?", TOPICS),
        Section("Which broker?", BROKERS),
    ],
)
