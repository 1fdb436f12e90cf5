"""Makes all rows of one page: (View, Sidecar, Samples) -> Views. Pure, and made only when somebody asks."""

import math
from collections import Counter
from dataclasses import replace

from kafka_warden.catalogue import Sidecar, View
from kafka_warden.formulas.throttle_problems import Problem as ThrottleProblemName
from kafka_warden.formulas.tiered_problems import Problem as TieredProblemName
from kafka_warden.model import Source
from kafka_warden.views import notes
from kafka_warden.views.alerts import runbook
from kafka_warden.views.followers import moves, replicas
from kafka_warden.views.problems import problems
from kafka_warden.views.recent import Samples
from kafka_warden.views.rows import (
    BrokerRow,
    Candidate,
    Client,
    Cluster,
    LogDir,
    LogDirMove,
    SidecarRow,
    SourceRow,
    Throttle,
    ThrottleProblem,
    TieredBroker,
    TieredProblem,
    TieredTopic,
    Topic,
)
from kafka_warden.views.tables import Key, joined, largest, series, table
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
        sources=table(_sources(sidecar), lambda row: (row.up != 0, row.up is not None, row.source, row.broker)),
        history=history,
    )
    if view is not None:
        made = _with_cluster(made, view)
    return replace(made, problems=table(problems(made)))


def _with_cluster(made: Views, view: View) -> Views:
    shown, responding = set(series(view, "broker_info")), series(view.sidecar, "broker_fenced_responding")
    return replace(
        made,
        cluster=_cluster(view),
        brokers=table(
            joined(view, BrokerRow, ("broker",), fenced_responding=lambda key: bool(responding.get(key))),
            lambda row: (row.state == "active", (str(row.broker),) in shown),
        ),
        moves=moves(view),
        log_dir_moves=table(joined(view, LogDirMove, ("topic", "partition", "broker")), lambda row: largest(row.eta)),
        throttles=table(_throttles(view), lambda row: (row.limit is None or math.isinf(row.limit), row.broker)),
        throttle_problems=table(_throttle_problems(view), lambda row: largest(row.seconds)),
        replicas=replicas(view),
        topics=table(
            (row for row in _topics(view) if row.offline_partitions or row.under_min_isr_partitions),
            lambda row: (largest(row.offline_partitions), largest(row.under_min_isr_partitions)),
        ),
        leader_candidates=table(
            joined(view, Candidate, ("topic", "partition", "broker", "member_of")),
            lambda row: (row.topic, row.partition, row.member_of, row.broker),
        ),
        clients=table(joined(view, Client, ("user", "client_id")), _fewest_tokens),
        log_dirs=table(
            joined(view, LogDir, ("broker", "log_dir")), lambda row: (row.online != 0, row.broker, row.log_dir)
        ),
        tiered_brokers=table(joined(view, TieredBroker, ("broker",)), lambda row: row.broker),
        tiered_topics=table(joined(view, TieredTopic, ("topic",)), lambda row: largest(row.overdue_bytes)),
        tiered_problems=table(_tiered_problems(view), lambda row: largest(row.seconds)),
    )


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


def _topics(view: View) -> list[Topic]:
    uncounted = dict(zip(view.snapshot.topics, [] if view.uncounted is None else view.uncounted.tolist(), strict=False))
    return joined(view, Topic, ("topic",), uncounted=lambda key: uncounted.get(key[0], False))


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


def _fewest_tokens(client: Client) -> tuple[float, str, str]:
    tokens, burst = client.tokens, client.burst
    share = math.inf if tokens is None or math.isinf(tokens) else tokens / burst if burst else tokens
    return share, client.user, client.client_id


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
