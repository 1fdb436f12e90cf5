"""Ongoing reassignments: remaining bytes, rate and ETA of each replica that they wait for (docs/spec/moves.md#eta)."""

import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from kafka_warden.arrays import as_finite, as_known
from kafka_warden.derive.columns import Saved
from kafka_warden.derive.copy_rates import (
    FLOWS,
    LONGEST_SLOPE,
    MOVES,
    Change,
    CopyProgress,
    Measured,
    Minimum,
    MoveKey,
    Stall,
    derive_changes,
    first_kept,
    follow_copies,
    longest_settling,
    measure,
    move_key,
    slope,
    stall,
)
from kafka_warden.derive.etas import flow_eta, replica_eta
from kafka_warden.derive.lag import Lag
from kafka_warden.derive.law import DEFAULT_WINDOW, Flow, FlowKey, Trend, group_by_flow
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.stuck import BLINDING, Cause, MoveProgress, Stuck, StuckMemory, evaluate_stuck, has_lasted
from kafka_warden.derive.throttle import ThrottledTraffic, Throttles, follow_floors
from kafka_warden.model import NO_LISTENER, UNKNOWN, Bools, Floats, Parameters


def progress(copied: float, remaining: float) -> float:
    """Share of a replica that is copied, copied / (copied + remaining); 1 where there is nothing to copy."""
    whole = copied + remaining
    return copied / whole if whole else 1.0


@dataclass(frozen=True, slots=True)
class Move:
    """One replica that a reassignment waits for. Bytes, seconds; `None` is unknown."""

    row: int
    topic: str
    partition: int
    broker: int
    adding: bool
    """False if the replica stays: the move copies nothing, and ends when this replica is in sync."""
    leader: Annotated[int | None, "broker that it is copied from"]
    remaining_bytes: Annotated[float | None, "bytes still to copy", "bytes"]
    remaining_messages: Annotated[int | None, "messages still to copy", "messages"]
    progress: Annotated[float | None, "copied part of the log", "ratio"]
    bytes_per_second: Annotated[float | None, "copy rate", "bytes/s"]
    eta: Annotated[float | None, "time until done; infinite: never", "s"]
    never_ends: Annotated[bool | None, "its throttle is too low"]
    stalled: Annotated[float | None, "time since its last progress", "s"]
    stuck: Annotated[Cause | None, "cause while stuck"]
    lasting: bool
    """It is stuck, and as long as its alert demands (`stuck.has_lasted`)."""


@dataclass(frozen=True, slots=True)
class Track:
    """State of one move: its last minute, and its last new minimum."""

    times: tuple[float, ...] = ()
    remaining: tuple[float, ...] = ()
    copied: tuple[float, ...] = ()
    minimum: Annotated[Minimum | None, Saved("least")] = None


@dataclass(frozen=True, slots=True)
class MovesMemory:
    """State from poll to poll."""

    tracks: Annotated[Mapping[MoveKey, Track], MOVES] = field(default_factory=dict)
    changes: Annotated[Mapping[FlowKey, Change], FLOWS] = field(default_factory=dict)
    copy_progress: Mapping[FlowKey, CopyProgress] = field(default_factory=dict)
    measured: Mapping[FlowKey, Measured] = field(default_factory=dict)
    """From `copy_progress`, since `changes`."""
    stuck: StuckMemory = field(default_factory=StuckMemory)
    traffic: ThrottledTraffic | None = None


def follow_moves(
    indexed: IndexedSnapshot,
    lag: Lag,
    flows: Mapping[FlowKey, Flow],
    throttles: Throttles,
    bytes_in: Floats,
    memory: MovesMemory,
    parameters: Parameters,
) -> tuple[MovesMemory, MoveProgress | None]:
    """Follow every replica that a reassignment of the latest snapshot waits for.

    Returns the memory and the progress in this poll. `None` while reassignments are unknown: the memory is kept.
    """
    if not indexed.snapshot.reassignments_known:
        return memory, None
    copied = _copied(indexed)
    rows = np.flatnonzero(copied | _staying_out_of_sync(indexed, copied))
    remaining = {row: as_known(left) for row, left in zip(rows.tolist(), lag.bytes[rows].tolist(), strict=True)}
    tracks: dict[MoveKey, Track] = {}
    stalls: dict[int, Stall | None] = {}
    keys = {row: move_key(indexed, row) for row in rows.tolist()}
    reset = {key for row, key in keys.items() if lag.estimate_reset[row]}
    memory = _forget(memory, reset)
    oldest = indexed.snapshot.clock - (LONGEST_SLOPE + 2) * longest_settling(indexed)
    for row, key in keys.items():
        tracks[key], stalls[row] = _follow(memory.tracks.get(key, Track()), indexed, row, remaining[row], oldest)
    groups = group_by_flow(indexed, throttles, rows)
    traffic, floors = follow_floors(indexed, throttles, memory.traffic)
    changes = derive_changes(indexed, throttles, groups, keys, memory.changes, floors)
    copy_progress = follow_copies(indexed, groups, keys, remaining, bytes_in, throttles, memory.copy_progress)
    measured = {
        flow: measure(found, changes[flow], flows[flow].window if flow in flows else DEFAULT_WINDOW)
        for flow, found in copy_progress.items()
        if not found.ended
    }
    inputs = MoveProgress(indexed, flows, remaining, stalls, groups, changes, measured, keys, parameters)
    same = {
        flow: together
        for flow, together in memory.stuck.flows.items()
        if flow in changes
        and changes[flow].moves.keys() == memory.changes[flow].moves.keys()
        and not changes[flow].moves.keys() & reset
    }
    stuck = evaluate_stuck(inputs, replace(memory.stuck, flows=same))
    return MovesMemory(tracks, changes, copy_progress, measured, stuck, traffic), inputs


def derive_moves(
    lag: Lag, bytes_in: Floats, memory: MovesMemory, inputs: MoveProgress, side_etas: Mapping[FlowKey, float]
) -> tuple[Move, ...]:
    """Return every replica that a reassignment waits for as a move.

    `side_etas` limit the ETA of each move: flows that share a limit take turns. For a minute one is faster, then the
    other, and the slope of the slower one alone gives an ETA that is a quarter too long. Their sum is steady.
    """
    copied, stuck = _copied(inputs.indexed), memory.stuck
    flow_of = {row: key for key, group in inputs.groups.items() for row in group}
    flow_etas = {key: _flow_eta(inputs, key, flow) for key, flow in inputs.flows.items() if key in inputs.measured}
    moves = []
    for row, key in inputs.keys.items():
        flow = flow_of[row]
        move = _waiting(inputs, flow, row, stuck.shown.get(key))
        if copied[row]:
            eta = _eta(inputs, flow, row, memory.tracks[key], bytes_in, flow_etas.get(flow))
            move = _move(move, lag, inputs, memory.tracks[key], eta, side_etas.get(flow, math.inf))
        # A move that cannot go on at present has no ETA, unless it is complete.
        hidden = stuck.facts[key][0] in BLINDING and move.remaining_bytes != 0
        moves.append(replace(move, eta=None, never_ends=None) if hidden else move)
    return tuple(moves)


def _copied(indexed: IndexedSnapshot) -> Bools:
    """(R,) replicas that a reassignment adds, except leaders."""
    copied: Bools = indexed.snapshot.replicas.adding & ~indexed.is_leader
    return copied


def _staying_out_of_sync(indexed: IndexedSnapshot, copied: Bools) -> Bools:
    """(R,) replicas that stay and are not in sync, of partitions whose reassignment copies nothing (any more).

    Kafka completes such a reassignment at once if they are in sync, so it is only listed while it waits for them.
    """
    replicas, reassigning = indexed.snapshot.replicas, indexed.snapshot.partitions.reassigning
    waits = reassigning & (indexed.of_partitions(copied) == 0)
    staying = ~(replicas.adding | replicas.removing | replicas.in_isr | indexed.is_leader)
    found: Bools = waits[replicas.partition] & staying
    return found


def measured_nets(indexed: IndexedSnapshot, flows: Mapping[FlowKey, Flow], memory: MovesMemory) -> dict[FlowKey, Trend]:
    """Measured net rates for ETAs, of flows whose replicas are all being added."""
    moving = indexed.snapshot.replicas.adding
    return {
        key: steady
        for key, measured in memory.measured.items()
        if (steady := measured.steady) is not None and key in flows and moving[flows[key].rows].all()
    }


def _forget(memory: MovesMemory, estimate_reset: AbstractSet[MoveKey]) -> MovesMemory:
    """Drop the progress of some moves."""
    if not estimate_reset:
        return memory
    return replace(
        memory,
        tracks={key: track for key, track in memory.tracks.items() if key not in estimate_reset},
        copy_progress={
            flow: replace(
                copy_progress, left={key: left for key, left in copy_progress.left.items() if key not in estimate_reset}
            )
            for flow, copy_progress in memory.copy_progress.items()
        },
    )


def _follow(
    track: Track, indexed: IndexedSnapshot, row: int, remaining: float | None, oldest: float
) -> tuple[Track, Stall | None]:
    clock = indexed.snapshot.clock
    minimum, stalled = stall(track.minimum, clock, remaining)
    size = int(indexed.snapshot.replicas.size[row])
    if remaining is None or size == UNKNOWN:
        return Track(track.times, track.remaining, track.copied, minimum), stalled
    kept = first_kept(track.times, oldest)
    return (
        Track(
            (*track.times[kept:], clock),
            (*track.remaining[kept:], remaining),
            (*track.copied[kept:], float(size)),
            minimum,
        ),
        stalled,
    )


def _move(move: Move, lag: Lag, inputs: MoveProgress, track: Track, eta: float | None, side_eta: float) -> Move:
    replicas, row = inputs.indexed.snapshot.replicas, move.row
    remaining, size, messages = inputs.remaining[row], int(replicas.size[row]), int(lag.messages[row])
    copied = slope(track.times, track.copied)
    return replace(
        move,
        adding=True,
        remaining_bytes=remaining,
        remaining_messages=messages if messages != UNKNOWN else None,
        progress=progress(float(size), remaining) if remaining is not None and size >= 0 else None,
        bytes_per_second=max(copied.rate, 0.0) if copied is not None else None,
        eta=eta if eta is None or math.isinf(eta) else min(eta, side_eta),
    )


def _waiting(inputs: MoveProgress, flow: FlowKey, row: int, stuck: Stuck | None) -> Move:
    """Return the move of a replica that stays: nothing is left to copy, and how long it waits is not known."""
    _, topic, number, broker = inputs.keys[row]
    leader = flow.leader if flow.leader not in {UNKNOWN, NO_LISTENER} else None
    never, stalled = None if leader is None else inputs.never(flow, inputs.remaining[row]), inputs.stalls[row]
    return Move(
        row=row,
        topic=topic,
        partition=number,
        broker=broker,
        adding=False,
        leader=leader,
        remaining_bytes=0.0,
        remaining_messages=0,
        progress=None,
        bytes_per_second=None,
        eta=None,
        never_ends=never,
        stalled=stalled.seconds if stalled is not None else None,
        stuck=None if stuck is None else stuck.cause,
        lasting=stuck is not None and has_lasted(stuck.cause, inputs.indexed.snapshot.clock - stuck.since),
    )


def _flow_eta(inputs: MoveProgress, key: FlowKey, flow: Flow) -> float | None:
    """Seconds until a whole flow has caught up; `None` when unknown, for example before anything was copied."""
    moving = inputs.remaining.keys() >= set(flow.rows.tolist())
    eta = flow_eta(flow, inputs.measured[key].steady) if moving else None
    return None if eta is None else as_finite(eta)


def _eta(
    inputs: MoveProgress, key: FlowKey, row: int, track: Track, bytes_in: Floats, of_flow: float | None
) -> float | None:
    remaining = inputs.remaining[row]
    if remaining == 0:
        return 0.0
    flow = inputs.flows.get(key)
    if remaining is None or flow is None:
        return None
    if inputs.flow_never_ends(key):
        return math.inf if inputs.never(key, remaining) else None
    first = int(np.searchsorted(track.times, inputs.changes[key].at + flow.window.settling))
    measured = slope(track.times[first:], track.remaining[first:], flow.window)
    own = None if measured is None else Trend(-measured.rate, measured.seconds)
    rate = as_known(float(bytes_in[inputs.indexed.snapshot.replicas.partition[row]]))
    return replica_eta(flow, remaining, own, rate, of_flow)
