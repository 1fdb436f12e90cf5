"""Makes all rows of one page: (View, Sidecar, Samples) -> Views. Pure, and made only when somebody asks."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

import numpy as np

from kafka_warden.arrays import listed
from kafka_warden.catalogue import Sidecar, View
from kafka_warden.catalogue.moves import shown_moves
from kafka_warden.catalogue.replicas import ROUTINE
from kafka_warden.derive.moves import Move as DerivedMove
from kafka_warden.derive.replica_state import STATES, ReplicaState
from kafka_warden.model import NO_LISTENER, UNKNOWN, Source
from kafka_warden.views.alerts import (
    THROTTLES,
    TIERED,
    WAITS,
    cause_of,
    of_move,
    of_replica,
    of_row,
    runbook,
    why_no_eta,
)
from kafka_warden.views.fields import FAMILIES, LabelOf, Of, fields_of
from kafka_warden.views.problems import problems
from kafka_warden.views.recent import Samples
from kafka_warden.views.rows import (
    MOST,
    BrokerRow,
    Cluster,
    ExporterRow,
    Move,
    Replica,
    SourceRow,
    Table,
    Throttle,
    ThrottleProblem,
    TieredProblem,
    Topic,
    Views,
)
from kafka_warden.views.specs import BY_NAME, TABLES

Row = TypeVar("Row")
Key = tuple[str, ...]
_SAME: Final = fields_of(Move).keys() - {"cause", "sentence", "runbook", "severity"}
"""Fields that a row has of the derived move."""


def series(data: View | Sidecar, metric: str) -> dict[Key, float]:
    """Return the series of a family by its labels, without unknown ones; the first where labels appear twice."""
    family: Any = FAMILIES[metric]
    found: dict[Key, float] = {}
    for read in filter(None, (family.read, family.rest)):
        for labels, value in read(data):
            if value is not None and not math.isnan(value):
                found.setdefault(tuple(map(str, labels)), int(value) if isinstance(value, bool) else value)
    return found


def joined(data: View | Sidecar, row: type[Row], keys: tuple[str, ...], **more: Callable[[Key], Any]) -> list[Row]:
    """Make one row for each label set that any family of the row's fields has.

    Args:
        data: what the families are read from.
        row: the type; each of its fields is a key, a field of a family whose labels are among the keys, or in `more`.
        keys: the names of the labels that identify a row, in the order of the families' labels.
        more: returns the value of another field for a label set.
    """
    fields = fields_of(row)
    columns: dict[str, tuple[tuple[int, ...], Mapping[Key, Any]]] = {}
    found: dict[Key, None] = {}
    for name, (_, about) in fields.items():
        if name in keys or name in more or not isinstance(about, Of | LabelOf):
            continue
        labels = FAMILIES[about.metric].labels
        values: Mapping[Key, Any] = series(data, about.metric)
        if isinstance(about, LabelOf):
            place = labels.index(about.label)
            labels = tuple(label for label in labels if label in keys)
            values = {key[: len(labels)]: key[place] for key, value in values.items() if value == 1}
        columns[name] = tuple(keys.index(label) for label in labels), values
        if labels == keys:
            # A series with an empty topic is that of all topics without rows.
            found |= dict.fromkeys(key for key in values if keys[:1] != ("topic",) or key[0])
    rows = []
    for key in found if keys else [()]:
        named = {name: int(part) if fields[name][0] is int else part for name, part in zip(keys, key, strict=True)}
        numbers = {name: values.get(tuple(key[place] for place in at)) for name, (at, values) in columns.items()}
        rows.append(row(**named, **numbers, **{name: value(key) for name, value in more.items()}))
    return rows


def table(rows: Iterable[Row], worst: Callable[[Row], Any] | None = None) -> Table[Row]:
    """Order rows by a key, lowest first, keep the first ones, and note how severe each is."""
    ordered = list(rows) if worst is None else sorted(rows, key=worst)
    return Table(tuple(map(_rated, ordered[:MOST])), len(ordered))


def _rated(row: Row) -> Row:
    found = of_row(row)
    return row if found is None else replace(row, severity=found)  # type: ignore[type-var]  # every row is a dataclass


THROTTLED_RATE = {
    "leader": "leader_replication_throttled_bytes_per_second",
    "follower": "follower_replication_throttled_bytes_per_second",
}


def make_views(view: View | None, sidecar: Sidecar, history: Samples) -> Views:
    """Make the rows; without a fresh `view` those of the sidecar only."""
    made = Views(
        time=sidecar.snapshot_time,
        fresh=view is not None,
        problems=table(()),
        sidecar=_sidecar(sidecar),
        sources=table(_sources(sidecar), BY_NAME["sources"].worst),
        history=history,
    )
    if view is not None:
        tables: dict[str, Any] = {
            spec.attribute: table(
                ROWS[spec.name](view) if spec.name in ROWS else joined(view, spec.row, spec.key), spec.worst
            )
            for spec in TABLES
            if not spec.of_sidecar and spec.name not in ("moves", "replicas")
        }
        made = replace(made, cluster=_cluster(view), moves=_moves(view), replicas=_replicas(view), **tables)
    return replace(made, problems=table(problems(made)))


def _moves(view: View) -> Table[Move]:
    """Return the moves: stuck ones first, then those that never end, then the latest ETA."""
    shown = sorted(shown_moves(view), key=_worst_move)
    return Table(tuple(map(_move, shown[:MOST])), len(shown))


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


def _replicas(view: View) -> Table[Replica]:
    """Return followers out of sync or with a problem, the longest out of sync first. Made of columns: many are left."""
    derived, table, partitions = view.derived, view.snapshot.replicas, view.snapshot.partitions
    ages, times, states = derived.ages.out_seconds, derived.replicas.times, derived.replicas.state
    chosen = (times.shown & ~np.isin(states, ROUTINE)) | ~np.isnan(ages)
    found = np.flatnonzero(chosen & view.topics[partitions.topic[table.partition]])
    order = np.lexsort((-np.nan_to_num(times.behind_seconds[found]), -np.nan_to_num(ages[found], nan=-1.0)))
    rows = found[order][:MOST]
    partition, shown, leader = table.partition[rows], times.shown[rows], partitions.leader[table.partition[rows]]
    columns = {
        "topic": [view.snapshot.topics[topic] for topic in partitions.topic[partition].tolist()],
        "partition": partitions.number[partition].tolist(),
        "broker": table.broker[rows].tolist(),
        "leader": listed(np.where(leader == NO_LISTENER, UNKNOWN, leader)),
        "state": [str(STATES[code]) if shows else None for code, shows in zip(states[rows], shown, strict=True)],
        "out_of_sync_seconds": listed(ages[rows]),
        "behind_seconds": listed(np.where(shown, times.behind_seconds[rows], np.nan)),
        "lag_messages": listed(np.where(shown, derived.lag.messages[rows], UNKNOWN)),
        "lag_bytes": listed(np.where(shown, derived.lag.bytes[rows], np.nan)),
        "lag_seconds": listed(np.where(shown, times.lag_seconds[rows], np.nan)),
    }
    columns["severity"] = list(map(of_replica, columns["state"], columns["out_of_sync_seconds"]))
    made = (Replica(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True))
    return Table(tuple(made), len(found))


def _cluster(view: View) -> Cluster:
    states = Counter(key[-1] for key, value in series(view, "broker_state").items() if value)
    out = Counter[str]()
    for (_, state), count in series(view, "broker_out_of_sync_replicas").items():
        out[state] += 0 if state == ReplicaState.MOVING else int(count)
    hidden = Counter[str]()
    for (topic, _, _, cause), count in series(view, "reassignment_stuck").items():
        hidden[cause] += 0 if topic else int(count)
    return joined(
        view,
        Cluster,
        (),
        brokers=lambda _: dict(states),
        topics=lambda _: len(view.snapshot.topics),
        uncounted=lambda _: {
            key[0]: int(count) for key, count in series(view, "uncounted_partitions").items() if count
        },
        out_of_sync=lambda _: {state: count for state, count in out.items() if count},
        stuck_without_row=lambda _: {cause: count for cause, count in hidden.items() if count},
    )[0]


def _brokers(view: View) -> list[BrokerRow]:
    responding = series(view.sidecar, "broker_fenced_responding")
    return joined(view, BrokerRow, ("broker",), fenced_responding=lambda key: bool(responding.get(key)))


def _topics(view: View) -> Iterable[Topic]:
    uncounted = dict(zip(view.snapshot.topics, [] if view.uncounted is None else view.uncounted.tolist(), strict=False))
    rows = joined(view, Topic, ("topic",), uncounted=lambda key: uncounted.get(key[0], False))
    return (row for row in rows if row.offline_partitions or row.under_min_isr_partitions)


def _throttles(view: View) -> list[Throttle]:
    rates = {side: series(view, metric) for side, metric in THROTTLED_RATE.items()}
    limits = series(view, "replication_throttle_bytes_per_second")

    def rate(key: Key) -> float | None:
        return rates.get(key[1], {}).get(key[:1])

    def use(key: Key) -> float | None:
        used, limit = rate(key), limits.get(key)
        return None if used is None or not limit or math.isinf(limit) else used / limit

    return joined(view, Throttle, ("broker", "side"), throttled_rate=rate, use=use)


def _noted(row: type[Row], *keys: str, notes: Mapping[str, tuple[str, str | None]]) -> Callable[[View], list[Row]]:
    """Make rows of problems, with sentence and runbook by the last key."""
    return lambda view: joined(
        view, row, keys, sentence=lambda key: notes[key[-1]][0], runbook=lambda key: runbook(notes[key[-1]][1])
    )


ROWS: Final[Mapping[str, Callable[[View], Iterable[Any]]]] = {
    "brokers": _brokers,
    "topics": _topics,
    "throttles": _throttles,
    "throttle-problems": _noted(ThrottleProblem, "broker", "side", "problem", notes=THROTTLES),
    "tiered-problems": _noted(TieredProblem, "broker", "problem", notes=TIERED),
}
"""Tables with fields that are no metric."""


def _sources(sidecar: Sidecar) -> list[SourceRow]:
    errors = {(str(source), broker): dict(each.errors) for (source, broker), each in sidecar.status.items()}
    return joined(sidecar, SourceRow, ("source", "broker"), errors=lambda key: errors.get((key[0], key[1]), {}))


def _sidecar(sidecar: Sidecar) -> ExporterRow:
    dropped = {family: int(count) for (family,), count in series(sidecar, "dropped_series").items()}
    return joined(
        sidecar,
        ExporterRow,
        (),
        version=lambda _: sidecar.build.version,
        revision=lambda _: sidecar.build.revision,
        jmx=lambda _: any(source is Source.JMX for source, _ in sidecar.status),
        dropped_series=lambda _: dropped,
        history=lambda _: {name: sink.up for name, sink in sidecar.sinks.items()},
    )[0]
