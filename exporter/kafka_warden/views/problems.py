"""What needs a look, as sentences: what is wrong with the rows (`conditions`), and with how many of them."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from kafka_warden.errors import OtherClusterError
from kafka_warden.formatting import in_count
from kafka_warden.model import BrokerState, Source
from kafka_warden.views.alerts import SEVERITIES, worst
from kafka_warden.views.conditions import FILLING_ABOVE, FULL_ABOVE, HINT, UNAVAILABLE, Condition, conditions
from kafka_warden.views.rows import Cluster, Move, Problem, Replica, Topic, Views
from kafka_warden.views.specs import TABLES

NAMED: Final = 8
"""Ids that a sentence names."""


class _Found:
    """The rows of each condition. Of replicas and topics the cluster has numbers, also of those without rows."""

    def __init__(self, views: Views) -> None:
        self.views = views
        self._rows = defaultdict[Condition, list[Any]](list)
        tables = (views.tables[spec.name] for spec in TABLES if spec.row not in (Replica, Topic))
        for row in (views.cluster, *(row for table in tables for row in table.rows), views, views.sidecar):
            for condition in conditions(row):
                self._rows[condition].append(row)

    def of(self, name: str) -> list[tuple[Condition, list[Any]]]:
        """Return the conditions of this name, with their rows."""
        return [(condition, rows) for condition, rows in self._rows.items() if condition.name == name]

    def rows(self, name: str) -> list[Any]:
        """Return the rows of these conditions."""
        return [row for _, rows in self.of(name) for row in rows]

    def say(self, name: str, section: str, sentence: str, seconds: float | None = None) -> list[Problem]:
        """Return the problem with this sentence if there is such a condition."""
        return [_problem(condition, section, sentence, seconds) for condition, _ in self.of(name)]


def problems(views: Views) -> list[Problem]:
    """Return all problems, by section of the status page."""
    found = _Found(views)
    made = list(_sidecar(found))
    if views.cluster is not None:
        made[:0] = [*_partitions(found, views.cluster), *_brokers(found), *_moves(found, views.cluster), *_rest(found)]
    return made


def by_severity(found: Iterable[Problem]) -> Mapping[str, int]:
    """Return how many problems each severity has, of those that occur, the worst first."""
    counted = Counter(problem.severity for problem in found)
    return {each: counted[each] for each in SEVERITIES if counted[each]}


def severity_of(found: Iterable[Problem], *kinds: str) -> str | None:
    """Return the worst severity of the problems whose kind begins with one of these texts; `None` without any."""
    return worst(problem.severity for problem in found if problem.kind.startswith(kinds))


def _partitions(found: _Found, cluster: Cluster) -> Iterator[Problem]:
    offline, unknown, under = (
        in_count(number or 0, "partition")
        for number in (cluster.offline_partitions, cluster.unknown_leader_partitions, cluster.under_min_isr_partitions)
    )
    uncounted = _listed(
        f"{count:,} {state.replace('_', ' ').replace('isr', 'ISR')}" for state, count in cluster.uncounted.items()
    )
    out = in_count(sum(cluster.out_of_sync.values()), "replica")
    # Topics without rows have no age either.
    known = (row.out_of_sync_seconds for row in found.views.tables["replicas"].rows)
    ages = [age for age in known if age is not None]
    left_out = f"Partitions that topics.uncounted leaves out of the counts and critical alerts: {uncounted}."
    hidden = f"{unknown} led by brokers without the exporter's listener: their lag is unknown."
    refused = f"{under} with fewer in-sync replicas than min.insync.replicas: writes may fail."
    yield from found.say("offline_partitions", "replicas", f"{offline} without a leader.{_to_start(found.views)}")
    yield from found.say("unknown_leaders", "replicas", hidden)
    yield from found.say("under_min_isr", "replicas", refused)
    yield from found.say("uncounted_partitions", "replicas", left_out)
    yield from found.say("out_of_sync", "replicas", f"{out} out of sync.", max(ages, default=None))
    yield from found.say("cluster_partition_limit", "brokers", "The cluster is near its limit of partitions.")


def _to_start(views: Views) -> str:
    """Name the brokers that do not run and may lead partitions without a leader, those of most partitions first."""
    brokers = views.tables["brokers"].rows
    down = [row for row in brokers if row.leader_candidate_partitions and row.state != BrokerState.ACTIVE]
    down.sort(key=lambda row: -(row.leader_candidate_partitions or 0))
    names = _listed(f"{row.broker} (in the ISR or ELR of {row.leader_candidate_partitions:,.0f})" for row in down)
    return f" Start broker {names}." if down else ""


def _brokers(found: _Found) -> Iterator[Problem]:
    states: dict[tuple[Condition, bool], list[str]] = defaultdict(list)
    for row in found.views.tables["brokers"].rows:
        for each in conditions(row):
            if each.name == "broker":
                states[each, row.fenced_responding].append(str(row.broker))
    for (condition, answers), brokers in states.items():
        who = "Broker {} is" if len(brokers) == 1 else "Brokers {} are"
        text = f"{who.format(_listed(brokers))} {UNAVAILABLE[condition.label][0]}{', and answers' if answers else ''}."
        yield _problem(condition, "brokers", text + _other_cluster(found.views, Source.OFFSETS, brokers))
    stale = found.rows("broker_metadata_stale")
    full = _listed(row.broker for row in found.rows("broker_partition_limit"))
    text = f"Old metadata: broker {_listed(row.broker for row in stale)}. Other brokers are asked about the cluster."
    oldest = max((row.metadata_stale_seconds for row in stale), default=None)
    yield from found.say("broker_metadata_stale", "brokers", text, oldest)
    yield from found.say("broker_partition_limit", "brokers", f"Near the limit of partitions: broker {full}.")
    for name, what in (
        ("log_dir_offline", "offline"),
        ("log_dir_full", f"more than {FULL_ABOVE:.0%} full"),
        ("log_dir_filling", f"more than {FILLING_ABOVE:.0%} full"),
    ):
        names = _listed(f"{row.log_dir} of broker {row.broker}" for row in found.rows(name))
        yield from found.say(name, "brokers", f"Log directories {what}: {names}.")


def _moves(found: _Found, cluster: Cluster) -> Iterator[Problem]:
    for condition, rows in found.of("stuck"):
        moves, cause = [row for row in rows if isinstance(row, Move)], condition.label.replace("_", " ")
        number = in_count(cluster.stuck[condition.label], "move")
        text = f"{number} stuck. {moves[0].sentence}" if moves else f"{number} stuck: {cause}."
        if len({move.sentence for move in moves}) > 1:
            text = f"{number} to broker {_listed(sorted({move.broker for move in moves}))} stuck: {cause}."
        yield _problem(condition, "moves", text, max((move.stalled or 0.0 for move in moves), default=None))
    never = f"{in_count(cluster.never_ending, 'move')} never ending" if cluster.never_ending else "Moves never end"
    # All together have no end, either, if one of them is stuck.
    if cluster.never_ending or not cluster.stuck:
        yield from found.say("never_ends", "moves", f"{never}: producers write more than is copied.")
    within = cluster.log_dir_moves_never_ending
    number, names = in_count(sum(within.values()), "move"), _listed(sorted(map(int, within)))
    text = f"{number} between log directories of broker {names} never ending."
    yield from found.say("log_dir_moves_never_end", "moves", text)


def _rest(found: _Found) -> Iterator[Problem]:
    for condition, rows in found.of("throttle"):
        names, oldest = _listed(f"{row.broker} ({row.side})" for row in rows), max(row.seconds or 0.0 for row in rows)
        yield _problem(condition, "throttles", f"Throttle of broker {names}: {rows[0].sentence}", oldest)
    names = _listed(
        f"{row.user or 'no user'} / {row.client_id or 'any client'}" for row in found.rows("mutations_throttled")
    )
    text = f"Refused until their controller mutation quota refills: {names}."
    yield from found.say("mutations_throttled", "clients", text)
    for row in found.views.tables["tiered-problems"].rows:
        text = f"Tiered storage of broker {row.broker}: {row.sentence}"
        yield from (_problem(each, "tiered", text, row.seconds) for each in conditions(row) if each.name != HINT)


def _sidecar(found: _Found) -> Iterator[Problem]:
    own, polled = found.views.sidecar, found.views.time is not None
    unreachable = f"No broker can be reached.{_other_cluster(found.views, Source.METADATA, [''])}"
    no_poll = "No data yet: no poll has been complete since the start."
    not_shown = in_count(own.undescribed_topics or 0, "topic")
    yield from found.say("cluster_unreachable", "exporter", unreachable)
    yield from found.say(
        "no_fresh_snapshot",
        "exporter",
        "No fresh data: no poll has been complete for three intervals." if polled else no_poll,
    )
    yield from found.say("controller_unreachable", "exporter", "The active controller does not answer.")
    yield from found.say("undescribed_topics", "exporter", f"{not_shown} not shown: Describe on them was taken away.")
    for name in ("sources_down", "jmx_down"):
        names = _listed(
            f"{row.source} of broker {row.broker}" if row.broker else row.source for row in found.rows(name)
        )
        text = f"Requests that are not answered: {names}. Values that need them are absent."
        yield from found.say(name, "exporter", text)
    text = "The configuration as it is now is not in use: it cannot be used, or it needs a restart."
    yield from found.say("configuration_not_used", "exporter", text)
    text = f"Series left out of /metrics because of limits.series: {sum(own.dropped_series.values()):,}."
    yield from found.say("series_dropped", "exporter", text)
    lost = _listed(name for name, up in own.history.items() if not up)
    yield from found.say("history_lost", "exporter", f"History cannot be written to {lost}.")
    text = "The state file cannot be written: after a restart all ages start at 0."
    yield from found.say("state_not_saved", "exporter", text)


def _other_cluster(views: Views, source: Source, brokers: Collection[str]) -> str:
    """Return a sentence if another cluster has answered for these brokers since the start, and nothing answers now."""
    sources = views.tables["sources"].rows
    rows = [row for row in sources if row.source == source and row.broker in brokers and not row.up]
    polls = max((row.errors.get(OtherClusterError.reason, 0) for row in rows), default=0)
    if not polls:
        return ""
    return f" Another cluster has answered instead in {in_count(polls, 'poll')}, and is not used: the log names both."


def _problem(condition: Condition, section: str, sentence: str, seconds: float | None = None) -> Problem:
    return Problem(condition.severity, condition.kind, sentence, seconds, section, condition.runbook)


def _listed(names: Iterable[object]) -> str:
    known = list(map(str, names))
    more = f" and {len(known) - NAMED:,} more" if len(known) > NAMED else ""
    return ", ".join(known[:NAMED]) + more
