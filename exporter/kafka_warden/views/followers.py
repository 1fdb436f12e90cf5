"""Rows by partition and replica: moves, and followers that are out of sync. Made of columns, as there may be many."""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from kafka_warden.catalogue import View
from kafka_warden.catalogue.replicas import ROUTINE
from kafka_warden.derive.moves import Move as DerivedMove
from kafka_warden.derive.replica_state import STATES
from kafka_warden.model import NO_LISTENER, UNKNOWN
from kafka_warden.views.alerts import WAITS, cause_of, of_move, of_replica, runbook, why_no_eta
from kafka_warden.views.fields import fields_of
from kafka_warden.views.rows import MOST, Move, Replica, Table

_SAME: Final = fields_of(Move).keys() - {"cause", "sentence", "runbook", "severity"}
"""Fields that a row has of the derived move."""


def moves(view: View) -> Table[Move]:
    """Return the moves: stuck ones first, then those that never end, then the latest ETA."""
    allowed = {name for name, may in zip(view.snapshot.topics, view.topics.tolist(), strict=True) if may}
    shown = sorted((move for move in view.derived.moves if move.topic in allowed), key=_worst_move)
    return Table(tuple(_move(move) for move in shown[:MOST]), len(shown))


def replicas(view: View) -> Table[Replica]:
    """Return followers out of sync or with a problem, the longest out of sync first."""
    derived = view.derived
    table, partitions = view.snapshot.replicas, view.snapshot.partitions
    out, times, state = derived.ages.out_seconds, derived.replicas.times, derived.replicas.state
    chosen = (times.shown & ~np.isin(state, ROUTINE)) | ~np.isnan(out)
    rows = np.flatnonzero(chosen & view.topics[partitions.topic[table.partition]])
    order = np.lexsort((-np.nan_to_num(times.behind_seconds[rows]), -np.nan_to_num(out[rows], nan=-1.0)))
    return Table(tuple(_replicas(view, rows[order][:MOST])), len(rows))


def _worst_move(move: DerivedMove) -> tuple[bool, bool, float]:
    latest = -math.inf if move.eta is None else -move.eta
    return move.stuck is None, not move.never_ends, latest


def _move(move: DerivedMove) -> Move:
    stuck = move.stuck
    alert = of_move(stuck, never_ends=bool(move.never_ends))
    if stuck is not None:
        sentence: str | None = cause_of(stuck, move.broker, move.leader, adding=move.adding)
    elif not move.adding and not move.never_ends:
        sentence = WAITS.format(broker=move.broker)
    else:
        sentence = why_no_eta(known=move.eta is not None, never=move.never_ends)
    return Move(
        **{name: getattr(move, name) for name in _SAME},
        cause=None if stuck is None else str(stuck),
        sentence=sentence,
        runbook=None if alert is None else runbook(alert.name),
        severity=None if alert is None else alert.severity,
    )


def _replicas(view: View, rows: np.ndarray) -> Iterator[Replica]:
    derived, names = view.derived, view.snapshot.topics
    table, partitions = view.snapshot.replicas, view.snapshot.partitions
    partition = table.partition[rows]
    times, shown = derived.replicas.times, derived.replicas.times.shown[rows]
    columns = (
        partitions.topic[partition].tolist(),
        partitions.number[partition].tolist(),
        table.broker[rows].tolist(),
        partitions.leader[partition].tolist(),
        np.where(shown, derived.replicas.state[rows], UNKNOWN).tolist(),
        _known(derived.ages.out_seconds[rows]),
        _known(np.where(shown, times.behind_seconds[rows], np.nan)),
        np.where(shown, derived.lag.messages[rows], UNKNOWN).tolist(),
        _known(np.where(shown, derived.lag.bytes[rows], np.nan)),
        _known(np.where(shown, times.lag_seconds[rows], np.nan)),
    )
    for topic, number, broker, leader, code, out, behind, messages, size, seconds in zip(*columns, strict=True):
        state = None if code == UNKNOWN else str(STATES[code])
        yield Replica(
            topic=names[topic],
            partition=number,
            broker=broker,
            leader=None if leader in {UNKNOWN, NO_LISTENER} else leader,
            state=state,
            out_of_sync_seconds=out,
            behind_seconds=behind,
            lag_messages=None if messages == UNKNOWN else messages,
            lag_bytes=size,
            lag_seconds=seconds,
            severity=of_replica(state, out),
        )


def _known(column: np.ndarray) -> list[float | None]:
    return [None if math.isnan(value) else value for value in column.tolist()]
