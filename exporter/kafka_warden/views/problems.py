"""What needs a look, as sentences: the worst first. Everything here is counted from the other rows."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from kafka_warden.views.rows import Move, Problem
from kafka_warden.views.runbooks import runbook
from kafka_warden.views.views import Views

CRITICAL, WARNING = "critical", "warning"

CRITICAL_ALERTS = frozenset(
    ("KafkaClusterUnreachable", "KafkaNoActiveController", "KafkaPartitionOffline", "KafkaPartitionUnderMinIsr")
)
"""A problem is as severe as its alert."""

UNAVAILABLE = {
    "unanswering": ("not answering", "KafkaBrokerUnreachable"),
    "gone": ("gone from the cluster", "KafkaBrokerFenced"),
    "fenced": ("fenced", "KafkaBrokerFenced"),
    "shutting_down": ("shutting down", None),
}
"""State of a broker to words, and the alert."""

NAMED = 8
"""Ids that a sentence names."""


def problems(views: Views) -> list[Problem]:
    """Return all problems, critical ones first."""
    found: list[Problem] = []
    if views.cluster is not None:
        found += [*_partitions(views), *_brokers(views), *_moves(views), *_throttles(views), *_rest(views)]
    found += _sidecar(views)
    return sorted(found, key=lambda problem: problem.severity != CRITICAL)


def by_severity(found: Iterable[Problem]) -> Mapping[str, int]:
    """Return how many problems each severity has."""
    counted = Counter(problem.severity for problem in found)
    return {severity: counted[severity] for severity in (CRITICAL, WARNING)}


def _sidecar(views: Views) -> Iterator[Problem]:
    own = views.sidecar
    if own.cluster_reachable == 0:
        yield _problem("cluster_unreachable", "No broker can be reached.", None, "sidecar", "KafkaClusterUnreachable")
    elif not views.fresh:
        text = "No fresh data: no poll has been complete for three intervals."
        if views.time is None:
            text = "No data yet: no poll has been complete since the start."
        yield _problem("no_fresh_snapshot", text, None, "sidecar", "KafkaWardenPageStale")
    if own.controller_reachable == 0:
        text = "The active controller does not answer."
        yield _problem("controller_unreachable", text, None, "sidecar", "KafkaNoActiveController")
    down = [source for source in views.sources.rows if source.up == 0]
    if down:
        names = _listed(
            dict.fromkeys(f"{row.source} of broker {row.broker}" if row.broker else row.source for row in down)
        )
        text = f"Requests that are not answered: {names}. Values that need them are absent."
        yield _problem("sources_down", text, None, "sidecar", "KafkaWardenBlind")
    if own.config_last_reload_successful == 0 or own.web_config_in_use == 0:
        text = "The configuration as it is now is not in use: it cannot be used, or it needs a restart."
        yield _problem("configuration_not_used", text, None, "sidecar", "KafkaWardenConfigurationNotUsed")
    lost = [name for name, up in own.history.items() if not up]
    if lost:
        text = f"History cannot be written to {_listed(lost)}."
        yield _problem("history_lost", text, None, "sidecar", "KafkaWardenHistoryLost")


def _partitions(views: Views) -> Iterator[Problem]:
    cluster = views.cluster
    assert cluster is not None  # noqa: S101  # the caller checked
    if offline := cluster.offline_partitions:
        text = f"{_count(offline, 'partition')} without a leader."
        yield _problem("offline_partitions", text, None, "replicas", "KafkaPartitionOffline")
    if under := cluster.known_under_min_isr_partitions:
        text = f"{_count(under, 'partition')} with fewer in-sync replicas than min.insync.replicas: writes may fail."
        yield _problem("under_min_isr", text, None, "replicas", "KafkaPartitionUnderMinIsr")
    if out := sum(cluster.out_of_sync.values()) - cluster.out_of_sync.get("moving", 0):
        ages = [row.out_of_sync_seconds for row in views.replicas.rows if row.out_of_sync_seconds is not None]
        if ages:
            text = f"{_count(out, 'replica')} out of sync."
            yield _problem("out_of_sync", text, max(ages), "replicas", "KafkaReplicasOutOfSync")
    left = cluster.partition_headroom
    if left is not None and left < 0:
        text = f"The cluster is {-left:,.0f} partitions above its limit."
        yield _problem("cluster_partition_limit", text, None, "brokers", "KafkaClusterPartitionLimit")


def _brokers(views: Views) -> Iterator[Problem]:
    states: dict[str, list[str]] = defaultdict(list)
    for row in views.brokers.rows:
        if row.state in UNAVAILABLE:
            states[row.state].append(str(row.broker))
    for state, brokers in states.items():
        text, alert = UNAVAILABLE[state]
        who = "Broker {} is" if len(brokers) == 1 else "Brokers {} are"
        sentence = f"{who.format(_listed(brokers))} {text}."
        yield _problem(f"broker_{state}", sentence, None, "brokers", alert)
    over = [str(row.broker) for row in views.brokers.rows if (row.partition_headroom or 0) < 0]
    if over:
        text = f"Above the partition limit: broker {_listed(over)}."
        yield _problem("broker_partition_limit", text, None, "brokers", "KafkaBrokerPartitionLimit")
    offline = [f"{row.log_dir} of broker {row.broker}" for row in views.log_dirs.rows if row.online == 0]
    if offline:
        text = f"Log directories offline: {_listed(offline)}."
        yield _problem("log_dir_offline", text, None, "brokers", "KafkaLogDirOffline")


def _moves(views: Views) -> Iterator[Problem]:
    causes: dict[str, list[Move]] = defaultdict(list)
    for move in views.moves.rows:
        if move.cause is not None:
            causes[move.cause].append(move)
    for cause, stuck in causes.items():
        text = f"{_count(len(stuck), 'move')} stuck. {stuck[0].sentence}"
        if len({move.sentence for move in stuck}) > 1:
            targets = _listed(map(str, sorted({move.broker for move in stuck})))
            text = f"{_count(len(stuck), 'move')} to broker {targets} stuck: {cause.replace('_', ' ')}."
        longest = max(move.stalled or 0.0 for move in stuck)
        yield _problem(f"stuck_{cause}", text, longest, "moves", "KafkaReassignmentStuck")
    never = sum(1 for move in views.moves.rows if move.never_ends and move.cause is None)
    if never:
        text = f"{_count(never, 'move')} never ending: producers write more than is copied."
        yield _problem("never_ends", text, None, "moves", "KafkaReassignmentWillMissItsTime")


def _throttles(views: Views) -> Iterator[Problem]:
    found: dict[tuple[str, str, str | None], list[tuple[str, float]]] = defaultdict(list)
    for row in views.throttle_problems.rows:
        if row.runbook is not None:
            key = row.problem, row.sentence, row.runbook
            found[key].append((f"{row.broker} ({row.side})", row.seconds or 0.0))
    for (name, sentence, address), holding in found.items():
        text = f"Throttle of broker {_listed([where for where, _ in holding])}: {sentence}"
        yield Problem(WARNING, f"throttle_{name}", text, max(age for _, age in holding), "throttles", address)


def _rest(views: Views) -> Iterator[Problem]:
    short = [client for client in views.clients.rows if client.tokens is not None and client.tokens < 0]
    if short:
        names = _listed([f"{client.user or 'no user'} / {client.client_id or 'any client'}" for client in short])
        text = f"Refused until their controller mutation quota refills: {names}."
        yield _problem("mutations_throttled", text, None, "clients", "KafkaControllerMutationThrottled")
    for row in views.tiered_problems.rows:
        if row.runbook is not None:
            text = f"Tiered storage of broker {row.broker}: {row.sentence}"
            yield Problem(WARNING, f"tiered_{row.problem}", text, row.seconds, "tiered", row.runbook)


def _problem(kind: str, text: str, seconds: float | None, section: str, alert: str | None) -> Problem:
    return Problem(CRITICAL if alert in CRITICAL_ALERTS else WARNING, kind, text, seconds, section, runbook(alert))


def _count(number: float, thing: str) -> str:
    return f"{number:,.0f} {thing}{'' if number == 1 else 's'}"


def _listed(names: Iterable[str]) -> str:
    known = list(names)
    more = f" and {len(known) - NAMED:,} more" if len(known) > NAMED else ""
    return ", ".join(known[:NAMED]) + more
