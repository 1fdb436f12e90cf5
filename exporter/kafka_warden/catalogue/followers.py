"""Followers that are behind, out of sync or moving: how far, for how long, and in which state."""

from collections.abc import Iterator

import numpy as np

from kafka_warden.catalogue.metric import Metric, Sample, View, worst_first
from kafka_warden.formulas.replica_state import STATES, ReplicaState
from kafka_warden.model import UNKNOWN, Bools

REPLICA = ("topic", "partition", "broker")

CALM = [STATES.index(state) for state in (ReplicaState.UNKNOWN, ReplicaState.IN_SYNC, ReplicaState.MOVING)]
"""States that nobody has to look at."""


def _shown(view: View) -> Bools:
    shown: Bools = view.derived.replicas.times.shown
    return shown


def _lag_messages(view: View) -> Iterator[Sample]:
    messages = view.derived.lag.messages
    return view.replicas(messages, worst_first(messages, _shown(view) & (messages != UNKNOWN)))


def _lag_bytes(view: View) -> Iterator[Sample]:
    return _known(view, view.derived.lag.bytes)


def _lag_seconds(view: View) -> Iterator[Sample]:
    return _known(view, view.derived.replicas.times.lag_seconds)


def _behind(view: View) -> Iterator[Sample]:
    return _known(view, view.derived.replicas.times.behind_seconds)


def _known(view: View, column: np.ndarray) -> Iterator[Sample]:
    return view.replicas(column, worst_first(column, _shown(view) & ~np.isnan(column)))


def _states(view: View) -> Iterator[Sample]:
    """Troubled ones first, the longest behind of them at the head: the budget cuts from the end."""
    replicas = view.derived.replicas
    rows = np.flatnonzero(_shown(view))
    behind = np.nan_to_num(replicas.times.behind_seconds[rows])
    order = np.lexsort((-behind, np.isin(replicas.state[rows], CALM)))
    states = replicas.state.astype(np.int64)
    for labels, code in view.replicas(states, rows[order]):
        yield (*labels, STATES[int(code)]), 1


def _out_of_sync(view: View) -> Iterator[Sample]:
    rows = zip(view.derived.indexed.brokers.tolist(), view.derived.replicas.out_of_sync.tolist(), strict=True)
    for broker, counts in rows:
        for state, count in zip(STATES, counts, strict=True):
            yield (str(broker), state), count


FOLLOWERS = (
    Metric(
        "replica_state",
        "1 for the state of the follower, shown once two polls agree (Metadata, ListOffsets, DescribeConfigs, beans "
        "LeaderReplication and FollowerReplication). Only followers that are behind, out of sync or moving. Hands-free "
        "Kafka replication",
        (*REPLICA, "state"),
        _states,
    ),
    Metric(
        "replica_lag_messages",
        "Leader's log end less the follower's (ListOffsets, replica id -2). The same followers",
        REPLICA,
        _lag_messages,
    ),
    Metric(
        "replica_lag_bytes",
        "Lag in messages times the leader's bytes per offset; what remains of adding replicas (ListOffsets, "
        "DescribeLogDirs). The same followers",
        REPLICA,
        _lag_bytes,
    ),
    Metric(
        "replica_lag_seconds",
        "Age of the oldest record that the follower lacks, by its leader's log ends of the last 60 s (ListOffsets); "
        "at least that old where the record is older. The same followers",
        REPLICA,
        _lag_seconds,
    ),
    Metric(
        "replica_behind_seconds",
        "Seconds since the follower was last seen caught up, which is what replica.lag.time.max.ms limits (ListOffsets)"
        "; absent while its leader does not answer. The same followers. Hands-free Kafka replication",
        REPLICA,
        _behind,
    ),
    Metric(
        "broker_out_of_sync_replicas",
        "Followers outside the ISR that the broker hosts, adding ones included, by the state that is shown (Metadata, "
        "ListOffsets); the sum over states is what kafka-topics lists under Replicas and not under Isr. in_sync: left "
        "the ISR just now",
        ("broker", "state"),
        _out_of_sync,
    ),
)
