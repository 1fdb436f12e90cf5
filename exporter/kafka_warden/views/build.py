"""Makes all rows of one page: (View, Sidecar, Samples) -> Views. Pure, and made only when somebody asks."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from kafka_warden.catalogue import Sidecar, View
from kafka_warden.derive.throttle_problems import Problem as ThrottleProblemName
from kafka_warden.derive.tiered import Problem as TieredProblemName
from kafka_warden.model import Source
from kafka_warden.views import notes
from kafka_warden.views.alerts import runbook
from kafka_warden.views.followers import moves, replicas
from kafka_warden.views.problems import problems
from kafka_warden.views.recent import Samples
from kafka_warden.views.rows import (
    BrokerRow,
    Cluster,
    SidecarRow,
    SourceRow,
    Throttle,
    ThrottleProblem,
    TieredProblem,
    Topic,
)
from kafka_warden.views.specs import BY_NAME, TABLES
from kafka_warden.views.tables import Key, joined, series, table
from kafka_warden.views.views import Views

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
        made = replace(made, cluster=_cluster(view), moves=moves(view), replicas=replicas(view), **tables)
    return replace(made, problems=table(problems(made)))


def _cluster(view: View) -> Cluster:
    states = Counter(key[-1] for key, value in series(view, "broker_state").items() if value)
    out = Counter[str]()
    for (_, state), count in series(view, "broker_out_of_sync_replicas").items():
        out[state] += int(count)
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


def _throttle_problems(view: View) -> list[ThrottleProblem]:
    def note(key: Key) -> tuple[str, str | None]:
        return notes.THROTTLES[ThrottleProblemName(key[2])]

    return joined(
        view,
        ThrottleProblem,
        ("broker", "side", "problem"),
        sentence=lambda key: note(key)[0],
        runbook=lambda key: runbook(note(key)[1]),
    )


def _tiered_problems(view: View) -> list[TieredProblem]:
    def note(key: Key) -> tuple[str, str | None]:
        return notes.TIERED[TieredProblemName(key[1])]

    rows = joined(
        view,
        TieredProblem,
        ("broker", "problem"),
        sentence=lambda key: note(key)[0],
        runbook=lambda key: runbook(note(key)[1]),
    )
    return [row for row in rows if row.seconds]


ROWS: Final[Mapping[str, Callable[[View], Iterable[Any]]]] = {
    "brokers": _brokers,
    "topics": _topics,
    "throttles": _throttles,
    "throttle-problems": _throttle_problems,
    "tiered-problems": _tiered_problems,
}
"""Tables with fields that are no metric."""


def _sources(sidecar: Sidecar) -> list[SourceRow]:
    errors = {(str(source), broker): dict(each.errors) for (source, broker), each in sidecar.status.items()}
    return joined(sidecar, SourceRow, ("source", "broker"), errors=lambda key: errors.get((key[0], key[1]), {}))


def _sidecar(sidecar: Sidecar) -> SidecarRow:
    dropped = {family: int(count) for (family,), count in series(sidecar, "dropped_series").items()}
    return joined(
        sidecar,
        SidecarRow,
        (),
        version=lambda _: sidecar.build.version,
        revision=lambda _: sidecar.build.revision,
        jmx=lambda _: any(source is Source.JMX for source, _ in sidecar.status),
        dropped_series=lambda _: dropped,
        history=lambda _: {name: sink.up for name, sink in sidecar.sinks.items()},
    )[0]
