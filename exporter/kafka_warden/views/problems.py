"""What needs a look, as sentences: the worst first. Everything here is counted from the other rows."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from kafka_warden.errors import OtherClusterError
from kafka_warden.model import BrokerState, Source
from kafka_warden.views.alerts import (
    BLIND,
    FILLING_ABOVE,
    FULL_ABOVE,
    JMX,
    LOG_DIR_FILLING,
    LOG_DIR_FULL,
    LOG_DIR_OFFLINE,
    MUTATIONS,
    NEVER_ENDS,
    OFFLINE,
    OUT_OF_SYNC,
    PARTITION_LIMIT,
    SEVERITIES,
    UNAVAILABLE,
    UNDER_MIN_ISR,
    UNREACHABLE,
    Alert,
    alerts,
    named,
    of_stuck,
    runbook,
    severity,
    worst,
)
from kafka_warden.views.rows import Cluster, Move, Problem, ThrottleProblem, Views

NAMED = 8
"""Ids that a sentence names."""


def problems(views: Views) -> list[Problem]:
    """Return all problems, the most severe first."""
    found: list[Problem] = []
    if views.cluster is not None:
        found += _partitions(views, views.cluster)
        found += [*_brokers(views), *_moves(views, views.cluster), *_throttles(views), *_rest(views)]
    found += _sidecar(views)
    return sorted(found, key=lambda problem: SEVERITIES.index(problem.severity))


def by_severity(found: Iterable[Problem]) -> Mapping[str, int]:
    """Return how many problems each severity has, of those that occur, the worst first."""
    counted = Counter(problem.severity for problem in found)
    return {each: counted[each] for each in SEVERITIES if counted[each]}


def severity_of(found: Iterable[Problem], *kinds: str) -> str | None:
    """Return the worst severity of the problems whose kind begins with one of these texts; `None` without any."""
    return worst(problem.severity for problem in found if problem.kind.startswith(kinds))


def _sidecar(views: Views) -> Iterator[Problem]:
    own = views.sidecar
    if own.cluster_reachable == 0:
        text = f"No broker can be reached.{_other_cluster(views, Source.METADATA, [''])}"
        yield _problem("cluster_unreachable", text, None, "exporter", named("KafkaClusterUnreachable"))
    elif not views.fresh:
        text = "No fresh data: no poll has been complete for three intervals."
        if views.time is None:
            text = "No data yet: no poll has been complete since the start."
        yield _problem("no_fresh_snapshot", text, None, "exporter", named("KafkaWardenDown"))
    if own.controller_reachable == 0:
        text = "The active controller does not answer."
        yield _problem("controller_unreachable", text, None, "exporter", named("KafkaNoActiveController"))
    if own.undescribed_topics:
        text = f"{_count(own.undescribed_topics, 'topic')} not shown: Describe on them was taken away."
        yield _problem("undescribed_topics", text, None, "exporter", named("KafkaWardenAccessRefused"))
    for kind, alert in (("sources_down", BLIND), ("jmx_down", JMX)):
        down = [row for row in views.sources.rows if alert in alerts(row)]
        names = _listed(f"{row.source} of broker {row.broker}" if row.broker else row.source for row in down)
        if down:
            text = f"Requests that are not answered: {names}. Values that need them are absent."
            yield _problem(kind, text, None, "exporter", alert)
    yield from _files(views)


def _files(views: Views) -> Iterator[Problem]:
    own = views.sidecar
    if own.config_last_reload_successful == 0 or own.web_config_in_use == 0:
        text = "The configuration as it is now is not in use: it cannot be used, or it needs a restart."
        yield _problem("configuration_not_used", text, None, "exporter", named("KafkaWardenConfigurationNotUsed"))
    if own.dropped_series:
        text = f"Series left out of /metrics because of limits.series: {sum(own.dropped_series.values()):,}."
        yield _problem("series_dropped", text, None, "exporter", None)
    lost = [name for name, up in own.history.items() if not up]
    if lost:
        text = f"History cannot be written to {_listed(lost)}."
        yield _problem("history_lost", text, None, "exporter", named("KafkaWardenHistoryLost"))
    if own.state_last_save_successful == 0:
        text = "The state file cannot be written: after a restart all ages start at 0."
        yield _problem("state_not_saved", text, None, "exporter", named("KafkaWardenHistoryLost"))


def _other_cluster(views: Views, source: Source, brokers: Collection[str]) -> str:
    """Return a sentence if another cluster has answered for these brokers since the start, and nothing answers now."""
    rows = [row for row in views.sources.rows if row.source == source and row.broker in brokers and not row.up]
    polls = max((row.errors.get(OtherClusterError.reason, 0) for row in rows), default=0)
    if not polls:
        return ""
    return f" Another cluster has answered instead in {_count(polls, 'poll')}, and is not used: the log names both."


def _partitions(views: Views, cluster: Cluster) -> Iterator[Problem]:
    if offline := cluster.offline_partitions:
        text = f"{_count(offline, 'partition')} without a leader.{_to_start(views)}"
        yield _problem("offline_partitions", text, None, "replicas", OFFLINE)
    if hidden := cluster.unknown_leader_partitions:
        text = f"{_count(hidden, 'partition')} led by brokers without the exporter's listener: their lag is unknown."
        yield _problem("unknown_leaders", text, None, "replicas", BLIND)
    if under := cluster.under_min_isr_partitions:
        text = f"{_count(under, 'partition')} with fewer in-sync replicas than min.insync.replicas: writes may fail."
        yield _problem("under_min_isr", text, None, "replicas", UNDER_MIN_ISR)
    if cluster.uncounted:
        states = {state.replace("_", " ").replace("isr", "ISR"): count for state, count in cluster.uncounted.items()}
        left_out = _listed(f"{count:,} {state}" for state, count in states.items())
        text = f"Partitions that topics.uncounted leaves out of the counts and critical alerts: {left_out}."
        yield _problem("uncounted_partitions", text, None, "replicas", None)
    if out := sum(cluster.out_of_sync.values()):
        ages = [row.out_of_sync_seconds for row in views.replicas.rows if row.out_of_sync_seconds is not None]
        # Topics without rows have no age either.
        text = f"{_count(out, 'replica')} out of sync."
        yield _problem("out_of_sync", text, max(ages, default=None), "replicas", OUT_OF_SYNC)
    left = cluster.partition_headroom
    if left is not None and left < 0:
        text = f"The cluster is {-left:,.0f} partitions above its limit."
        yield _problem("cluster_partition_limit", text, None, "brokers", PARTITION_LIMIT)


def _to_start(views: Views) -> str:
    """Name the brokers that do not run and may lead partitions without a leader, those of most partitions first."""
    down = [row for row in views.brokers.rows if row.leader_candidate_partitions and row.state != BrokerState.ACTIVE]
    down.sort(key=lambda row: -(row.leader_candidate_partitions or 0))
    names = _listed(f"{row.broker} (in the ISR or ELR of {row.leader_candidate_partitions:,.0f})" for row in down)
    return f" Start broker {names}." if down else ""


def _brokers(views: Views) -> Iterator[Problem]:
    states: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for row in views.brokers.rows:
        if row.state is not None and row.state in UNAVAILABLE:
            states[row.state, row.fenced_responding].append(str(row.broker))
    for (state, answers), brokers in states.items():
        text, alert = UNAVAILABLE[state]
        who = "Broker {} is" if len(brokers) == 1 else "Brokers {} are"
        sentence = f"{who.format(_listed(brokers))} {text}{', and answers' if answers else ''}."
        sentence += _other_cluster(views, Source.OFFSETS, brokers)
        yield _problem(f"broker_{state}", sentence, None, "brokers", alert)
    stale = {
        str(row.broker): row.metadata_stale_seconds
        for row in views.brokers.rows
        if row.metadata_stale_seconds and row.state not in UNAVAILABLE
    }
    if stale:
        text = f"Old metadata: broker {_listed(stale)}. Other brokers are asked about the cluster."
        yield _problem("broker_metadata_stale", text, max(stale.values()), "brokers", UNREACHABLE)
    over = [str(row.broker) for row in views.brokers.rows if PARTITION_LIMIT in alerts(row)]
    if over:
        text = f"Above the partition limit: broker {_listed(over)}."
        yield _problem("broker_partition_limit", text, None, "brokers", PARTITION_LIMIT)
    for kind, what, alert in (
        ("log_dir_offline", "offline", LOG_DIR_OFFLINE),
        ("log_dir_full", f"more than {FULL_ABOVE:.0%} full", LOG_DIR_FULL),
        ("log_dir_filling", f"more than {FILLING_ABOVE:.0%} full", LOG_DIR_FILLING),
    ):
        found = [f"{row.log_dir} of broker {row.broker}" for row in views.log_dirs.rows if alert in alerts(row)]
        if found:
            yield _problem(kind, f"Log directories {what}: {_listed(found)}.", None, "brokers", alert)


def _moves(views: Views, cluster: Cluster) -> Iterator[Problem]:
    causes: dict[str, list[Move]] = {cause: [] for cause in cluster.stuck_without_row}
    for move in views.moves.rows:
        if move.cause is not None:
            causes.setdefault(move.cause, []).append(move)
    for cause, stuck in causes.items():
        number = len(stuck) + cluster.stuck_without_row.get(cause, 0)
        text = f"{_count(number, 'move')} stuck: {cause.replace('_', ' ')}."
        if len({move.sentence for move in stuck}) > 1:
            targets = _listed(map(str, sorted({move.broker for move in stuck})))
            text = f"{_count(number, 'move')} to broker {targets} stuck: {cause.replace('_', ' ')}."
        elif stuck:
            text = f"{_count(number, 'move')} stuck. {stuck[0].sentence}"
        longest = max((move.stalled or 0.0 for move in stuck), default=None)
        yield _problem(f"stuck_{cause}", text, longest, "moves", of_stuck(cause))
    never = sum(1 for move in views.moves.rows if move.never_ends and move.cause is None)
    if never:
        text = f"{_count(never, 'move')} never ending: producers write more than is copied."
        yield _problem("never_ends", text, None, "moves", NEVER_ENDS)
    elif not causes and cluster.eta == math.inf:
        text = "Moves never end: producers write more than is copied."
        yield _problem("never_ends", text, None, "moves", NEVER_ENDS)
    within = [move for move in views.log_dir_moves.rows if alerts(move)]
    if within:
        names = _listed(map(str, sorted({move.broker for move in within})))
        text = f"{_count(len(within), 'move')} between log directories of broker {names} never ending."
        yield _problem("log_dir_moves_never_end", text, None, "moves", *alerts(within[0]))


def _throttles(views: Views) -> Iterator[Problem]:
    found: dict[str, list[ThrottleProblem]] = defaultdict(list)
    for row in views.throttle_problems.rows:
        if row.runbook is not None:
            found[row.problem].append(row)
    for name, holding in found.items():
        text = f"Throttle of broker {_listed(f'{row.broker} ({row.side})' for row in holding)}: {holding[0].sentence}"
        yield _problem(
            f"throttle_{name}", text, max(row.seconds or 0.0 for row in holding), "throttles", *alerts(holding[0])
        )


def _rest(views: Views) -> Iterator[Problem]:
    short = [client for client in views.clients.rows if MUTATIONS in alerts(client)]
    if short:
        names = _listed([f"{client.user or 'no user'} / {client.client_id or 'any client'}" for client in short])
        text = f"Refused until their controller mutation quota refills: {names}."
        yield _problem("mutations_throttled", text, None, "clients", MUTATIONS)
    for row in views.tiered_problems.rows:
        if row.runbook is not None:
            text = f"Tiered storage of broker {row.broker}: {row.sentence}"
            yield _problem(f"tiered_{row.problem}", text, row.seconds, "tiered", *alerts(row))


def _problem(kind: str, text: str, seconds: float | None, section: str, alert: Alert | None) -> Problem:
    return Problem(severity(alert), kind, text, seconds, section, runbook(alert.name if alert else None))


def _count(number: float, thing: str) -> str:
    return f"{number:,.0f} {thing}{'' if number == 1 else 's'}"


def _listed(names: Iterable[str]) -> str:
    known = list(names)
    more = f" and {len(known) - NAMED:,} more" if len(known) > NAMED else ""
    return ", ".join(known[:NAMED]) + more
