"""Followers that are behind, out of sync or moving: how far, for how long, and in which state."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

import numpy as np

from kafka_warden.catalogue.metric import Kind, Metric, Sample, View, broker_counter, worst_first
from kafka_warden.derive.lag import as_parts
from kafka_warden.derive.mutation import active_controller
from kafka_warden.derive.replica_state import STATES, ReplicaState
from kafka_warden.model import UNKNOWN, Floats

REPLICA = ("topic", "partition", "broker")

ROUTINE = [STATES.index(state) for state in (ReplicaState.UNKNOWN, ReplicaState.IN_SYNC, ReplicaState.MOVING)]
"""States without a problem to look at."""


def states(view: View) -> np.ndarray:
    """Return the shown states (R,) as an index into `STATES`, `UNKNOWN` for none."""
    return np.where(view.derived.replicas.times.shown, view.derived.replicas.state, UNKNOWN)


def in_trouble(view: View) -> np.ndarray:
    """Return the rows (N,) of followers out of sync or in a state with a problem, of topics that may have series."""
    chosen = ~np.isin(states(view), [UNKNOWN, *ROUTINE]) | ~np.isnan(view.derived.ages.out_seconds)
    partitions = view.snapshot.partitions
    return np.flatnonzero(chosen & view.topics[partitions.topic[view.snapshot.replicas.partition]])


def _column(name: str, about: str, column: Callable[[View], Floats], *, source: str) -> Metric:
    def read(view: View) -> Iterator[Sample]:
        values = column(view)
        return view.replicas(values, worst_first(values, ~np.isnan(values)))

    return Metric(name, about, REPLICA, read, source=source, column=column)


def _shown(name: str, about: str, column: Callable[[View], np.ndarray], *, source: str) -> Metric:
    return _column(
        name, about, lambda view: np.where(view.derived.replicas.times.shown, column(view), np.nan), source=source
    )


def _states(view: View, *, routine: bool) -> Iterator[Sample]:
    """The longest behind first: the budget cuts from the end."""
    shown = states(view)
    chosen = (shown != UNKNOWN) & (np.isin(shown, ROUTINE) == routine)
    behind = np.nan_to_num(view.derived.replicas.times.behind_seconds)
    for labels, code in view.replicas(shown, worst_first(behind, chosen)):
        yield (*labels, STATES[int(code)]), 1


def _out_of_sync(view: View) -> Iterator[Sample]:
    rows = zip(view.derived.indexed.brokers.tolist(), view.derived.replicas.out_of_sync.tolist(), strict=True)
    for broker, counts in rows:
        for state, count in zip(STATES, counts, strict=True):
            yield (str(broker), state), count


FOLLOWERS = (
    Metric(
        "replica_state",
        "1 for the state of the follower, shown when two polls agree",
        (*REPLICA, "state"),
        partial(_states, routine=False),
        rest=partial(_states, routine=True),
        source="Metadata, ListOffsets, DescribeConfigs, beans LeaderReplication and FollowerReplication",
    ),
    _shown(
        "replica_lag_messages",
        "Log end offset of the leader minus the follower's",
        lambda view: as_parts(view.derived.lag.messages),
        source="ListOffsets, replica id -2",
    ),
    _shown(
        "replica_lag_bytes",
        "Lag in messages times the leader's bytes per offset; for adding replicas the remaining bytes",
        lambda view: view.derived.lag.bytes,
        source="ListOffsets, DescribeLogDirs",
    ),
    _shown(
        "replica_lag_seconds",
        "Age of the oldest record that the follower lacks; a lower bound above 60 s",
        lambda view: view.derived.replicas.times.lag_seconds,
        source="ListOffsets",
    ),
    _shown(
        "replica_behind_seconds",
        "Seconds since the follower was last caught up, which replica.lag.time.max.ms limits; absent without "
        "its leader",
        lambda view: view.derived.replicas.times.behind_seconds,
        source="ListOffsets",
    ),
    Metric(
        "broker_out_of_sync_replicas",
        "Hosted followers outside the ISR by state: moving ones are being added, all others are out of sync. "
        "State in_sync: left the ISR just now",
        ("broker", "state"),
        _out_of_sync,
        source="Metadata, ListOffsets",
    ),
)


def _is_known(view: View, name: str) -> bool:
    cluster = view.derived.cluster
    known = {"under_replicated": cluster.under_replicated_known, "offline": True}
    return known.get(name, cluster.min_isr_known)


def _count(name: str, about: str, *, source: str) -> Metric:
    column = name.removesuffix("_partitions")

    def read(view: View) -> Iterator[Sample]:
        if _is_known(view, column):
            partitions = getattr(view.derived.cluster, column)
            yield (), view.count(partitions)[0] if column in CRITICAL else int(partitions.sum())

    return Metric(name, about, (), read, source=source)


CRITICAL: Final = ("offline", "under_min_isr", "at_min_isr")
"""States of partitions whose number a critical alert reads."""


def _uncounted(view: View) -> Iterator[Sample]:
    if view.uncounted is not None and view.uncounted.any():
        # Under it counts at least those that are known, as the number of the cluster does.
        for state in (each for each in CRITICAL if each == "under_min_isr" or _is_known(view, each)):
            yield (state,), view.count(getattr(view.derived.cluster, state))[1]


def _by_leader(name: str, about: str, *, source: str) -> Metric:
    column = name.removeprefix("broker_").removesuffix("_partitions")

    def read(view: View) -> Iterable[Sample]:
        if not _is_known(view, column):
            return ()
        return view.leaders(view.derived.indexed.led(getattr(view.derived.cluster, column)))

    return Metric(name, about, ("broker",), read, source=source)


LONGEST: Final = 1_000
"""Under-replicated partitions that are among the last to be left out: an alert on a dead broker needs a few of them."""


def _under_replicated(part: slice) -> Callable[[View], Iterable[Sample]]:
    def read(view: View) -> Iterable[Sample]:
        ages = view.derived.ages.under_seconds
        allowed = view.topics[view.snapshot.partitions.topic]
        return view.partitions(ages, worst_first(ages, allowed & ~np.isnan(ages))[part])

    return read


def _unclean(view: View) -> Iterator[Sample]:
    active = active_controller(view.snapshot)
    for node, beans in view.snapshot.controller_beans.items():
        if beans is active and "unclean_leader_elections_total" in beans.values:
            yield (node,), beans.values["unclean_leader_elections_total"]


def _candidates(view: View) -> Iterator[Sample]:
    for candidacy, rows in view.derived.candidates.rows.items():
        for labels, _ in view.replicas(view.snapshot.replicas.broker, rows):
            yield (*labels, candidacy), 1


def _partitions(view: View, column: Floats) -> Iterable[Sample]:
    """Moving partitions first, then the busiest: the budget cuts from the end."""
    rows = np.flatnonzero(~np.isnan(column))
    rates = np.nan_to_num(view.derived.bytes_in[rows])
    order = np.lexsort((-rates, ~view.snapshot.partitions.reassigning[rows]))
    return view.partitions(column, rows[order])


REPLICAS = (
    _column(
        "replica_out_of_sync_seconds",
        "Seconds for which the replica has been out of the ISR",
        lambda view: view.derived.ages.out_seconds,
        source="Metadata",
    ),
    Metric(
        "partition_under_replicated_seconds",
        "Seconds for which the partition has been under-replicated",
        ("topic", "partition"),
        _under_replicated(slice(LONGEST)),
        rest=_under_replicated(slice(LONGEST, None)),
        source="Metadata",
    ),
    *FOLLOWERS,
    _count(
        "under_replicated_partitions",
        "Partitions with a replica outside the ISR; adding replicas do not count",
        source="Metadata. KIP-352",
    ),
    Metric(
        "under_min_isr_partitions",
        "Partitions whose leader refuses acks=all: ISR below min.insync.replicas. A lower bound while "
        "unknown_min_isr_partitions is above 0",
        (),
        lambda view: [((), view.count(view.derived.cluster.under_min_isr)[0])],
        source="Metadata, DescribeConfigs. KAFKA-15583",
    ),
    Metric(
        "unknown_min_isr_partitions",
        "Partitions with unknown min.insync.replicas: they do not count as under or at it",
        (),
        lambda view: [((), view.derived.cluster.min_isr_unknown)],
        source="DescribeConfigs",
    ),
    _count(
        "at_min_isr_partitions",
        "Partitions with just min.insync.replicas in sync, and another replica missing",
        source="Metadata, DescribeConfigs",
    ),
    _count("offline_partitions", "Partitions without a leader", source="Metadata"),
    Metric(
        "uncounted_partitions",
        "Partitions of topics of topics.uncounted by state, which numbers of the cluster leave out; absent if "
        "it matches none",
        ("state",),
        _uncounted,
        source="Metadata, DescribeConfigs",
    ),
    Metric(
        "unknown_leader_partitions",
        "Partitions whose leader lacks the exporter's listener: they are not offline, their lag is unknown",
        (),
        lambda view: [((), int(view.derived.cluster.hidden.sum()))],
        source="Metadata, LISTENER_NOT_FOUND",
    ),
    Metric(
        "leader_candidate",
        "1 for a replica that may lead a partition without a leader once its broker runs, as a member of isr, "
        "elr, or last_known_elr",
        (*REPLICA, "member_of"),
        _candidates,
        source="Metadata, DescribeTopicPartitions. KIP-966",
    ),
    Metric(
        "broker_leader_candidate_partitions",
        "Partitions without a leader whose ISR or ELR has the broker",
        ("broker",),
        lambda view: () if (known := view.derived.candidates.partitions) is None else view.brokers(known),
        source="Metadata, DescribeTopicPartitions. KIP-966",
    ),
    _by_leader(
        "broker_under_replicated_partitions", "Under-replicated partitions by leader", source="Metadata. KIP-352"
    ),
    _by_leader(
        "broker_under_min_isr_partitions",
        "Partitions under min.insync.replicas by leader",
        source="Metadata, DescribeConfigs",
    ),
    broker_counter("broker_isr_shrinks_total", "ISR shrinks", source="bean IsrShrinksPerSec, Count"),
    broker_counter("broker_isr_expands_total", "ISR expansions", source="bean IsrExpandsPerSec, Count"),
    Metric(
        "unclean_leader_elections_total",
        "Unclean leader elections, by controller; node is its address if it has no id",
        ("node",),
        _unclean,
        Kind.COUNTER,
        source="bean UncleanLeaderElectionsPerSec of the active controller, Count",
    ),
    Metric(
        "partition_bytes_in_per_second",
        "PartitionBytesInRate of KIP-73: bytes per second appended to the leader's log",
        ("topic", "partition"),
        lambda view: _partitions(view, view.derived.bytes_in),
        source="ListOffsets, DescribeLogDirs",
    ),
    Metric(
        "partition_end_offset_total",
        "Log end offset of the leader: offsets ever appended, transaction markers included. An unclean leader "
        "election may lower it",
        ("topic", "partition"),
        lambda view: _partitions(view, as_parts(view.derived.indexed.leader_end)),
        Kind.COUNTER,
        source="ListOffsets",
    ),
)
