"""Lag of every follower, and SumReplicaLag (KIP-73; docs/spec/lag.md#sums)."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kafka_warden.derive.followers.first_offsets import first_offsets
from kafka_warden.derive.followers.remaining import RemainingEstimate, estimate_remaining
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.formulas import lag as formulas
from kafka_warden.model import UNKNOWN, Bools, Floats, Longs


@dataclass(frozen=True, slots=True)
class Lag:
    """R replicas, B brokers. NaN and `UNKNOWN` are unknown."""

    messages: Annotated[Longs, "messages that it is behind", "messages"]
    """(R,)"""
    bytes: Annotated[Floats, "bytes that it is behind", "bytes"]
    """(R,)"""
    estimate: RemainingEstimate
    """For adding replicas."""
    estimate_reset: Annotated[Bools, "an adding replica whose bytes cannot be compared with the previous poll"]
    """(R,)"""
    end: Annotated[Longs, "last known log end", "offset"]
    """(R,)"""
    clamped: Annotated[int, "negative differences set to 0 in this poll"]
    following: Annotated[Bools, "its partition has several replicas, and it does not lead; true without a leader, too"]
    """(R,)"""
    shown: Annotated[Bools, "it is behind, out of sync or moving"]
    """(R,) only these have series of their own."""
    sum_messages: Annotated[formulas.Sums, "SumReplicaLag of the replicas that it hosts", "messages"]
    """(B,) by hosting broker."""
    sum_bytes: Annotated[formulas.Sums, "SumReplicaLag in bytes of the replicas that it hosts", "bytes"]
    led_bytes: Annotated[formulas.Sums, "SumReplicaLag in bytes of the followers of partitions that it leads", "bytes"]
    """(B,) by leader."""


def derive_lag(
    indexed: IndexedSnapshot,
    known_end: Longs,
    previous_leader_end: Longs,
    per_offset: Floats,
    elected: Bools,
    compacted: Bools,
    estimate: RemainingEstimate,
) -> Lag:
    """Compute the lag of every follower.

    `known_end` and `estimate` (R,) and `previous_leader_end` (P,) are as of the previous poll; `per_offset` (P,) is in
    bytes of the leader's log; `elected` (P,) marks another leader or epoch since the previous poll.
    """
    replicas, partitions = indexed.snapshot.replicas, indexed.snapshot.partitions
    # A follower on a broker that cannot be asked goes on, unlike one that is down.
    unseen = np.isin(replicas.broker, list(indexed.hidden))
    end = formulas.last_known(replicas.end, np.where(unseen, UNKNOWN, known_end))
    leader_end = indexed.leader_end[replicas.partition]
    # The remembered end of a silent follower is not compared where it is above, like one from before an election.
    silent = replicas.end == UNKNOWN
    messages = formulas.messages(end, leader_end, elected[replicas.partition] | silent)
    first = first_offsets(indexed)
    held = np.where((leader_end == UNKNOWN) | (first == UNKNOWN), UNKNOWN, leader_end - first)
    lacking = formulas.to_copy(messages.values, held)
    estimate, adding = estimate_remaining(indexed, lacking, per_offset, compacted, estimate)
    lag_bytes = formulas.offsets_to_bytes(lacking, per_offset[replicas.partition])
    lag_bytes[adding.rows] = adding.bytes
    estimate_reset = np.zeros(len(replicas), bool)
    estimate_reset[adding.rows] = adding.estimate_reset
    # The only replica of a partition has no leader to follow, also while the partition has no leader.
    replicated = np.bincount(replicas.partition, minlength=len(partitions)) > 1
    following = ~indexed.is_leader & replicated[replicas.partition]
    brokers = len(indexed.brokers)
    return Lag(
        messages=messages.values,
        bytes=lag_bytes,
        estimate=estimate,
        estimate_reset=estimate_reset,
        end=end,
        clamped=messages.clamped,
        following=following,
        shown=following & _behind(indexed, end, messages.values, previous_leader_end),
        sum_messages=formulas.sums(indexed.host, formulas.as_parts(messages.values), brokers, following),
        sum_bytes=formulas.sums(indexed.host, lag_bytes, brokers, following),
        led_bytes=formulas.sums(indexed.led_by[replicas.partition], lag_bytes, brokers, following),
    )


def _behind(indexed: IndexedSnapshot, end: Longs, messages: Longs, previous_leader_end: Longs) -> Bools:
    """(R,) replicas that are out of sync or moving, below their leader's last end, or lag and do not answer."""
    replicas = indexed.snapshot.replicas
    before = previous_leader_end[replicas.partition]
    late = (end != UNKNOWN) & (before != UNKNOWN) & (end < before)
    silent = replicas.end == UNKNOWN
    behind: Bools = ~replicas.in_isr | replicas.adding | ((messages > 0) & (late | silent))
    return behind
