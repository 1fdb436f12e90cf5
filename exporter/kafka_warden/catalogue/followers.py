"""Followers that are behind, out of sync or moving: how far, for how long, and in which state."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from kafka_warden.catalogue.metric import Metric, Sample, View, worst_first
from kafka_warden.derive.replica_state import STATES, ReplicaState
from kafka_warden.model import UNKNOWN, Bools

REPLICA = ("topic", "partition", "broker")

ROUTINE = [STATES.index(state) for state in (ReplicaState.UNKNOWN, ReplicaState.IN_SYNC, ReplicaState.MOVING)]
"""States without a problem to look at."""


def _shown(view: View) -> Bools:
    shown: Bools = view.derived.replicas.times.shown
    return shown


def _lag_messages(view: View) -> Iterator[Sample]:
    messages = view.derived.lag.messages
    return view.replicas(messages, worst_first(messages, _shown(view) & (messages != UNKNOWN)))


def _known(name: str, about: str, column: Callable[[View], np.ndarray]) -> Metric:
    def read(view: View) -> Iterator[Sample]:
        values = column(view)
        return view.replicas(values, worst_first(values, _shown(view) & ~np.isnan(values)))

    return Metric(name, about, REPLICA, read)


def _states(view: View, *, routine: bool) -> Iterator[Sample]:
    """The longest behind first: the budget cuts from the end."""
    replicas = view.derived.replicas
    chosen = _shown(view) & (np.isin(replicas.state, ROUTINE) == routine)
    behind = np.nan_to_num(replicas.times.behind_seconds)
    for labels, code in view.replicas(replicas.state.astype(np.int64), worst_first(behind, chosen)):
        yield (*labels, STATES[int(code)]), 1


def _out_of_sync(view: View) -> Iterator[Sample]:
    rows = zip(view.derived.indexed.brokers.tolist(), view.derived.replicas.out_of_sync.tolist(), strict=True)
    for broker, counts in rows:
        for state, count in zip(STATES, counts, strict=True):
            yield (str(broker), state), count


FOLLOWERS = (
    Metric(
        "replica_state",
        "1 for the state of the follower, shown when two polls agree (Metadata, ListOffsets, DescribeConfigs, beans "
        "LeaderReplication and FollowerReplication). Only for followers that are behind, out of sync or moving. "
        "Hands-free Kafka replication",
        (*REPLICA, "state"),
        partial(_states, routine=False),
        rest=partial(_states, routine=True),
    ),
    Metric(
        "replica_lag_messages",
        "Log end offset of the leader minus that of the follower (ListOffsets, replica id -2). Only for followers that "
        "are behind, out of sync or moving",
        REPLICA,
        _lag_messages,
    ),
    _known(
        "replica_lag_bytes",
        "Lag in messages times the leader's bytes per offset; for adding replicas the remaining bytes (ListOffsets, "
        "DescribeLogDirs). Only for followers that are behind, out of sync or moving",
        lambda view: view.derived.lag.bytes,
    ),
    _known(
        "replica_lag_seconds",
        "Age of the oldest record that the follower lacks, from the leader's log end offsets of the last 60 s "
        "(ListOffsets); a lower bound for older records. Only for followers that are behind, out of sync or moving",
        lambda view: view.derived.replicas.times.lag_seconds,
    ),
    _known(
        "replica_behind_seconds",
        "Seconds since the follower was last caught up, which replica.lag.time.max.ms limits (ListOffsets); absent "
        "while its leader does not answer. Only for followers that are behind, out of sync or moving. Hands-free Kafka "
        "replication",
        lambda view: view.derived.replicas.times.behind_seconds,
    ),
    Metric(
        "broker_out_of_sync_replicas",
        "Followers outside the ISR that the broker hosts, adding replicas included, by state (Metadata, ListOffsets); "
        "the sum over all states is the replicas that kafka-topics lists under Replicas but not under Isr. State "
        "in_sync: left the ISR just now",
        ("broker", "state"),
        _out_of_sync,
    ),
)
