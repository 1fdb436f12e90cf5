"""Makes all rows of one page: (View, ExporterState, Samples) -> Views. Pure, and made only when somebody asks."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any, Final, TypeVar

import numpy as np

from kafka_warden.arrays import listed
from kafka_warden.catalogue import ExporterState, View
from kafka_warden.catalogue.moves import shown_moves
from kafka_warden.catalogue.replicas import in_trouble, states
from kafka_warden.derive.replica_state import STATES, ReplicaState
from kafka_warden.model import NO_LISTENER, UNKNOWN, Source
from kafka_warden.views.conditions import noted
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
    Topic,
    Views,
)
from kafka_warden.views.specs import BY_NAME, TABLES
from kafka_warden.views.table_spec import TableSpec

Row = TypeVar("Row")
Key = tuple[str, ...]
_WHOLE: Final[Mapping[Any, Callable[[float], Any]]] = {int | None: int, bool | None: bool}
"""Types of fields to what makes such a value of that of a series."""


def series(data: View | ExporterState, metric: str) -> dict[Key, float]:
    """Return the series of a family by its labels, without unknown ones; the first where labels appear twice."""
    family: Any = FAMILIES[metric]
    found: dict[Key, float] = {}
    for read in filter(None, (family.read, family.rest)):
        for labels, value in read(data):
            if value is not None and not math.isnan(value):
                found.setdefault(tuple(map(str, labels)), int(value) if isinstance(value, bool) else value)
    return found


def joined(
    data: View | ExporterState, row: type[Row], keys: tuple[str, ...], **more: Callable[[Key], Any]
) -> list[Row]:
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


def table(spec: TableSpec, rows: Iterable[Any]) -> Table[Any]:
    """Order rows, keep the worst ones, and note what is wrong with each."""
    ordered = spec.ordered(rows)
    return Table(tuple(map(noted, ordered[:MOST])), len(ordered))


THROTTLED_RATE = {
    "leader": "leader_replication_throttled_bytes_per_second",
    "follower": "follower_replication_throttled_bytes_per_second",
}


def make_views(view: View | None, sidecar: ExporterState, history: Samples) -> Views:
    """Make the rows; without a fresh `view` those of the sidecar only."""
    made = Views(
        time=sidecar.snapshot_time,
        fresh=view is not None,
        sidecar=_sidecar(sidecar),
        history=history,
        tables=dict.fromkeys(BY_NAME, Table()) | {"sources": table(BY_NAME["sources"], _sources(sidecar))},
    )
    if view is not None:
        tables = {
            spec.name: table(spec, ROWS[spec.name](view) if spec.name in ROWS else joined(view, spec.row, spec.key))
            for spec in TABLES
            if not spec.of_sidecar and spec.row not in (Move, Replica)
        }
        tables |= {"moves": _moves(view), "replicas": _replicas(view)}
        made = replace(made, cluster=_cluster(view), tables={**made.tables, **tables})
    return replace(made, tables={**made.tables, "problems": table(BY_NAME["problems"], problems(made))})


def _moves(view: View) -> Table[Move]:
    """Make rows of the worst moves only."""
    spec, read = BY_NAME["moves"], {name: family.value for name, family in _families(Move)}
    read["cause"] = attrgetter("stuck")
    moves = spec.ordered(shown_moves(view), read.__getitem__)
    worst = moves[:MOST]
    same = {name: [getattr(move, name) for move in worst] for name in (*spec.key, "adding", "leader")}
    return _made(Move, same | {name: [of(move) for move in worst] for name, of in read.items()}, len(moves))


def _replicas(view: View) -> Table[Replica]:
    """Make rows of the worst followers only."""
    found, snapshot = in_trouble(view), view.snapshot
    columns = {name: family.column(view) for name, family in _families(Replica)}
    rank = BY_NAME["replicas"].rank
    worst = found[np.lexsort([rank[name](columns[name][found]) for name in reversed(rank)])][:MOST]
    partition = snapshot.replicas.partition[worst]
    leader = snapshot.partitions.leader[partition]
    values = {
        "topic": [snapshot.topics[topic] for topic in snapshot.partitions.topic[partition].tolist()],
        "partition": snapshot.partitions.number[partition].tolist(),
        "broker": snapshot.replicas.broker[worst].tolist(),
        "leader": listed(np.where(leader == NO_LISTENER, UNKNOWN, leader)),
        "state": [None if code == UNKNOWN else str(STATES[code]) for code in states(view)[worst].tolist()],
    }
    return _made(Replica, values | {name: listed(column[worst]) for name, column in columns.items()}, len(found))


def _families(row: type) -> Iterator[tuple[str, Any]]:
    """Return the fields of a row that are values of a family, with the family."""
    return ((name, FAMILIES[about.metric]) for name, (_, about) in fields_of(row).items() if isinstance(about, Of))


def _made(row: type[Row], columns: Mapping[str, list[Any]], total: int) -> Table[Row]:
    """Make rows of the values of the first fields."""
    known = [_typed(hint, columns[name]) for name, (hint, _) in fields_of(row).items() if name in columns]
    return Table(tuple(map(noted, map(row, *known))), total)


def _typed(hint: Any, values: list[Any]) -> list[Any]:
    if hint not in _WHOLE:
        return values
    return [None if value is None else _WHOLE[hint](value) for value in values]


def _cluster(view: View) -> Cluster:
    states = Counter(key[-1] for key, value in series(view, "broker_state").items() if value)
    out = Counter[str]()
    for (_, state), count in series(view, "broker_out_of_sync_replicas").items():
        out[state] += 0 if state == ReplicaState.MOVING else int(count)
    stuck = series(view, "reassignment_stuck")
    causes = Counter[str]()
    for (*_, cause), count in stuck.items():
        causes[cause] += int(count)
    named = {key[:-1] for key in stuck}
    log_dir_etas = series(view, "log_dir_move_eta_seconds")
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
        throttles_known=lambda _: bool(series(view, "replication_throttle_bytes_per_second")),
        stuck=lambda _: dict(causes),
        never_ending=lambda _: sum(
            never == 1 and key not in named for key, never in series(view, "reassignment_never_ends").items()
        ),
        log_dir_moves_never_ending=lambda _: dict(
            Counter(key[-1] for key, eta in log_dir_etas.items() if eta == math.inf)
        ),
    )[0]


def _brokers(view: View) -> list[BrokerRow]:
    responding = series(view.exporter, "broker_fenced_responding")
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

    rows = joined(view, Throttle, ("broker", "side"), throttled_rate=rate, use=use)
    return [row for row in rows if row.in_use]


ROWS: Final[Mapping[str, Callable[[View], Iterable[Any]]]] = {
    "brokers": _brokers,
    "topics": _topics,
    "throttles": _throttles,
}
"""Tables with fields that are no metric."""


def _sources(sidecar: ExporterState) -> list[SourceRow]:
    errors = {(str(source), broker): dict(each.errors) for (source, broker), each in sidecar.polled.status.items()}
    return joined(sidecar, SourceRow, ("source", "broker"), errors=lambda key: errors.get((key[0], key[1]), {}))


def _sidecar(sidecar: ExporterState) -> ExporterRow:
    dropped = {family: int(count) for (family,), count in series(sidecar, "dropped_series").items()}
    return joined(
        sidecar,
        ExporterRow,
        (),
        version=lambda _: sidecar.build.version,
        revision=lambda _: sidecar.build.revision,
        jmx=lambda _: any(source is Source.JMX for source, _ in sidecar.polled.status),
        dropped_series=lambda _: dropped,
        history=lambda _: {name: sink.up for name, sink in sidecar.sinks.items()},
    )[0]
