"""The part of the memory that survives a restart, as a document of plain JSON values and back.

What is kept: since when (out of the ISR, behind, under-replicated, a problem, a stalled copy), and where a move started
from (its least remaining, its cause, its last change). Rates, samples and windows are learned again in a few polls.
Times are Unix seconds, because the monotonic clock ends with the machine.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from kafka_warden.derive import topics
from kafka_warden.derive.memory import Memory, remembered, take
from kafka_warden.derive.moves.throttle_use import ThrottlingMemory
from kafka_warden.derive.saved import moves, problems, rows
from kafka_warden.derive.saved.values import Clock
from kafka_warden.derive.snapshot_index import index_snapshot
from kafka_warden.derive.throttle_problems.ages import ProblemsMemory
from kafka_warden.derive.tiered import TieredMemory
from kafka_warden.errors import StateError
from kafka_warden.formulas import bytes_in
from kafka_warden.model import SIDES, BrokerConfig, Snapshot

LONGEST_ABSENCE: Final = 14 * 86400.0
"""Seconds after which a document is not used: a condition that holds again has most likely ended in between."""

AHEAD: Final = 86400.0
"""Seconds by which a document may be newer than the clock. One that was set to local time is wrong by hours."""

FORMAT: Final = 1
"""Version of the document: others are not read."""

Document = Mapping[str, Any]


def to_document(memory: Memory, snapshot: Snapshot) -> Document:
    """Return the document. `snapshot` is the last one of the memory."""
    replicas = np.flatnonzero(rows.lasting_replicas(memory, snapshot))
    of_replicas = memory.keys.partition[replicas]
    partitions = np.unique(np.concatenate([np.flatnonzero(rows.lasting_partitions(memory)), of_replicas]))
    kept = take(memory, rows.subset(memory.keys, partitions, replicas), partitions, replicas)
    clock = Clock(snapshot)
    moving, pairs = moves.write_moves(memory.moves, clock)
    return {
        "format": FORMAT,
        "cluster_id": snapshot.cluster_id,
        "saved_at": snapshot.time,
        "partitions": rows.write_partitions(kept, clock),
        "replicas": rows.write_replicas(kept, clock),
        "moves": moving,
        "pairs": pairs,
        "throttle_problems": problems.write_held(memory.throttling.problems.held, clock),
        "tiered_problems": problems.write_holdings(memory.tiered.problems, clock),
    }


def from_document(document: Document, snapshot: Snapshot) -> Memory:
    """Read it, for the first snapshot of a new process; the next step drops rows that no longer exist.

    Raises:
        StateError: it is of another cluster, format or time, or damaged.
    """
    found, cluster = document.get("format"), document.get("cluster_id")
    if found != FORMAT:
        raise StateError(f"its format is {found!r}, and this version reads {FORMAT}")
    if cluster != snapshot.cluster_id:
        raise StateError(f"it belongs to the cluster {cluster!r}, and this is {snapshot.cluster_id!r}")
    try:
        absence = snapshot.time - float(document["saved_at"])
        if not -AHEAD <= absence <= LONGEST_ABSENCE:
            saved = "after now" if absence < 0 else f"{absence / 86400:.0f} days ago"
            raise StateError(f"it was saved {saved}: one of the clocks was wrong, or it is too old")
        return _after_absence(_read(document, Clock(snapshot)), snapshot, absence)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError, OverflowError) as problem:
        raise StateError(f"it is damaged: {type(problem).__name__}: {problem}") from problem


def _after_absence(memory: Memory, snapshot: Snapshot, seconds: float) -> Memory:
    """Reset the times of followers in the ISR after a long absence: they caught up within replica.lag.time.max."""
    configs = snapshot.broker_configs.values()
    longest = max((config.replica_lag_time_max for config in configs), default=BrokerConfig().replica_lag_time_max)
    if seconds <= longest:
        return memory
    kept = remembered(memory, index_snapshot(snapshot))
    in_isr, before = snapshot.replicas.in_isr, kept.replicas
    caught_up_at, passed_at = (np.where(in_isr, np.nan, times) for times in (before.caught_up_at, before.passed_at))
    return replace(kept, replicas=replace(before, caught_up_at=caught_up_at, passed_at=passed_at))


def _read(document: Document, clock: Clock) -> Memory:
    partitions, replicas = document["partitions"], document["replicas"]
    keys = rows.read_keys(partitions, replicas)
    return Memory(
        keys=keys,
        bytes_in=bytes_in.blank(len(partitions)),
        known_end=np.array([row["end"] for row in replicas], np.int64),
        estimate=rows.read_estimate(replicas),
        out_since=clock.column(replicas, "out_since"),
        under_since=clock.column(partitions, "under_since"),
        replicas=rows.read_replicas(replicas, clock),
        topics=topics.blank(len(keys.topics), len(replicas)),
        moves=moves.read_moves(document["moves"], document["pairs"], clock),
        throttling=ThrottlingMemory(
            ProblemsMemory(
                held=problems.read_held(document["throttle_problems"], clock),
                in_sync={side: np.array([side in row["was_in_sync"] for row in replicas], bool) for side in SIDES},
            )
        ),
        tiered=TieredMemory(
            rows.read_copying(partitions, clock), problems.read_holdings(document["tiered_problems"], clock)
        ),
    )
