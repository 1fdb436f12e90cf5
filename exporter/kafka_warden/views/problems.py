"""What needs a look, as sentences: what is wrong with the rows (`conditions`), and with how many of them."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from kafka_warden.errors import OtherClusterError
from kafka_warden.formatting import in_count
from kafka_warden.model import BrokerState, Source
from kafka_warden.views.alerts import SEVERITIES, worst
from kafka_warden.views.conditions import FILLING_ABOVE, FULL_ABOVE, UNAVAILABLE, Condition, conditions
from kafka_warden.views.rows import Cluster, Move, Problem, Views

NAMED: Final = 8
"""Ids that a sentence names."""


class _Found(NamedTuple):
    """The rows of a condition, and its label."""

    rows: list[Any]
    label: str
    views: Views

    @property
    def first(self) -> Any:
        """Return the first row: all of them if there can be one only."""
        return self.rows[0]

    @property
    def moves(self) -> list[Move]:
        """Return the moves among the rows."""
        return [row for row in self.rows if isinstance(row, Move)]


Sentence = Callable[[_Found], str]


class _Kind(NamedTuple):
    """How the rows of a condition are written.

    Attributes:
        section: Of the status page.
        sentence: None at all if it is empty.
        seconds: For how long it is known.
        apart: Rows for which it differs have problems of their own.
    """

    section: str
    sentence: Sentence
    seconds: Callable[[_Found], float | None] = lambda _: None
    apart: Callable[[Any], object] = lambda _: None


def problems(views: Views) -> list[Problem]:
    """Return all problems, in the order of their kinds."""
    found = defaultdict[tuple[Condition, object], list[Any]](list)
    for row in _rows(views):
        for each in conditions(row):
            found[each, _KINDS[each.name].apart(row)].append(row)
    made = []
    for name, kind in _KINDS.items():
        for (each, _), rows in found.items():
            group = _Found(rows, each.label, views)
            if each.name == name and (sentence := kind.sentence(group)):
                made.append(
                    Problem(each.severity, each.kind, sentence, kind.seconds(group), kind.section, each.runbook)
                )
    return made


def _rows(views: Views) -> Iterator[Any]:
    """Return the rows that are counted. Of replicas and topics the cluster has numbers, also without rows."""
    yield views.cluster
    for table in (views.brokers, views.log_dirs, views.moves, views.log_dir_moves, views.throttle_problems):
        yield from table.rows
    for more in (views.clients, views.tiered_problems, views.sources):
        yield from more.rows
    yield from (views, views.sidecar)


def by_severity(found: Iterable[Problem]) -> Mapping[str, int]:
    """Return how many problems each severity has, of those that occur, the worst first."""
    counted = Counter(problem.severity for problem in found)
    return {each: counted[each] for each in SEVERITIES if counted[each]}


def severity_of(found: Iterable[Problem], *kinds: str) -> str | None:
    """Return the worst severity of the problems whose kind begins with one of these texts; `None` without any."""
    return worst(problem.severity for problem in found if problem.kind.startswith(kinds))


def _other_cluster(views: Views, source: Source, brokers: Collection[str]) -> str:
    """Return a sentence if another cluster has answered for these brokers since the start, and nothing answers now."""
    rows = [row for row in views.sources.rows if row.source == source and row.broker in brokers and not row.up]
    polls = max((row.errors.get(OtherClusterError.reason, 0) for row in rows), default=0)
    if not polls:
        return ""
    return f" Another cluster has answered instead in {in_count(polls, 'poll')}, and is not used: the log names both."


def _partitions(field: str, text: str) -> Sentence:
    return lambda found: f"{in_count(getattr(found.first, field), 'partition')} {text}"


def _offline(found: _Found) -> str:
    """Name the brokers that do not run and may lead partitions without a leader, those of most partitions first."""
    brokers = found.views.brokers.rows
    down = [row for row in brokers if row.leader_candidate_partitions and row.state != BrokerState.ACTIVE]
    down.sort(key=lambda row: -(row.leader_candidate_partitions or 0))
    names = _listed(f"{row.broker} (in the ISR or ELR of {row.leader_candidate_partitions:,.0f})" for row in down)
    start = f" Start broker {names}." if down else ""
    return f"{in_count(found.first.offline_partitions, 'partition')} without a leader.{start}"


def _longest_out_of_sync(found: _Found) -> float | None:
    """Return the greatest age. Topics without rows have none."""
    ages = [row.out_of_sync_seconds for row in found.views.replicas.rows]
    return max((age for age in ages if age is not None), default=None)


def _uncounted(found: _Found) -> str:
    states = {state.replace("_", " ").replace("isr", "ISR"): count for state, count in found.first.uncounted.items()}
    left_out = _listed(f"{count:,} {state}" for state, count in states.items())
    return f"Partitions that topics.uncounted leaves out of the counts and critical alerts: {left_out}."


def _broker(found: _Found) -> str:
    brokers, state = [str(row.broker) for row in found.rows], UNAVAILABLE[found.label][0]
    who = "Broker {} is" if len(brokers) == 1 else "Brokers {} are"
    answers = ", and answers" if found.first.fenced_responding else ""
    return f"{who.format(_listed(brokers))} {state}{answers}.{_other_cluster(found.views, Source.OFFSETS, brokers)}"


def _brokers(text: str) -> Sentence:
    return lambda found: text.format(_listed(row.broker for row in found.rows))


def _log_dirs(what: str) -> _Kind:
    def sentence(found: _Found) -> str:
        return f"Log directories {what}: {_listed(f'{row.log_dir} of broker {row.broker}' for row in found.rows)}."

    return _Kind("brokers", sentence)


def _stuck(found: _Found) -> str:
    """Name the cause, also of moves without rows: the cluster counts these."""
    hidden = sum(row.stuck_without_row[found.label] for row in found.rows if isinstance(row, Cluster))
    number, cause = in_count(len(found.moves) + hidden, "move"), found.label.replace("_", " ")
    if len({move.sentence for move in found.moves}) > 1:
        return f"{number} to broker {_listed(sorted({move.broker for move in found.moves}))} stuck: {cause}."
    return f"{number} stuck. {found.moves[0].sentence}" if found.moves else f"{number} stuck: {cause}."


def _never_ends(found: _Found) -> str:
    """Count the moves; without one of them, a stuck one is the reason why all together have no end."""
    if found.moves:
        return f"{in_count(len(found.moves), 'move')} never ending: producers write more than is copied."
    stuck = found.first.stuck_without_row or any(move.cause for move in found.views.moves.rows)
    return "" if stuck else "Moves never end: producers write more than is copied."


def _log_dir_moves(found: _Found) -> str:
    names = _listed(sorted({move.broker for move in found.rows}))
    return f"{in_count(len(found.rows), 'move')} between log directories of broker {names} never ending."


def _throttle(found: _Found) -> str:
    who = _listed(f"{row.broker} ({row.side})" for row in found.rows)
    return f"Throttle of broker {who}: {found.first.sentence}" if found.first.runbook else ""


def _clients(found: _Found) -> str:
    names = _listed(f"{client.user or 'no user'} / {client.client_id or 'any client'}" for client in found.rows)
    return f"Refused until their controller mutation quota refills: {names}."


def _tiered(found: _Found) -> str:
    return f"Tiered storage of broker {found.first.broker}: {found.first.sentence}" if found.first.runbook else ""


def _unreachable(found: _Found) -> str:
    return f"No broker can be reached.{_other_cluster(found.views, Source.METADATA, [''])}"


def _no_snapshot(found: _Found) -> str:
    if found.views.time is None:
        return "No data yet: no poll has been complete since the start."
    return "No fresh data: no poll has been complete for three intervals."


def _undescribed(found: _Found) -> str:
    return f"{in_count(found.first.undescribed_topics, 'topic')} not shown: Describe on them was taken away."


def _sources(found: _Found) -> str:
    names = _listed(f"{row.source} of broker {row.broker}" if row.broker else row.source for row in found.rows)
    return f"Requests that are not answered: {names}. Values that need them are absent."


def _history(found: _Found) -> str:
    return f"History cannot be written to {_listed(name for name, up in found.first.history.items() if not up)}."


def _listed(names: Iterable[object]) -> str:
    known = list(map(str, names))
    more = f" and {len(known) - NAMED:,} more" if len(known) > NAMED else ""
    return ", ".join(known[:NAMED]) + more


def _says(text: str) -> Sentence:
    return lambda _: text


_KINDS: Final[Mapping[str, _Kind]] = {
    "offline_partitions": _Kind("replicas", _offline),
    "unknown_leaders": _Kind(
        "replicas",
        _partitions(
            "unknown_leader_partitions", "led by brokers without the exporter's listener: their lag is unknown."
        ),
    ),
    "under_min_isr": _Kind(
        "replicas",
        _partitions(
            "under_min_isr_partitions", "with fewer in-sync replicas than min.insync.replicas: writes may fail."
        ),
    ),
    "uncounted_partitions": _Kind("replicas", _uncounted),
    "out_of_sync": _Kind(
        "replicas",
        lambda found: f"{in_count(sum(found.first.out_of_sync.values()), 'replica')} out of sync.",
        _longest_out_of_sync,
    ),
    "cluster_partition_limit": _Kind(
        "brokers", lambda found: f"The cluster is {-found.first.partition_headroom:,.0f} partitions above its limit."
    ),
    "broker": _Kind("brokers", _broker, apart=lambda row: row.fenced_responding),
    "broker_metadata_stale": _Kind(
        "brokers",
        _brokers("Old metadata: broker {}. Other brokers are asked about the cluster."),
        lambda found: max(row.metadata_stale_seconds for row in found.rows),
    ),
    "broker_partition_limit": _Kind("brokers", _brokers("Above the partition limit: broker {}.")),
    "log_dir_offline": _log_dirs("offline"),
    "log_dir_full": _log_dirs(f"more than {FULL_ABOVE:.0%} full"),
    "log_dir_filling": _log_dirs(f"more than {FILLING_ABOVE:.0%} full"),
    "stuck": _Kind("moves", _stuck, lambda found: max((move.stalled or 0.0 for move in found.moves), default=None)),
    "never_ends": _Kind("moves", _never_ends),
    "log_dir_moves_never_end": _Kind("moves", _log_dir_moves),
    "throttle": _Kind("throttles", _throttle, lambda found: max(row.seconds or 0.0 for row in found.rows)),
    "mutations_throttled": _Kind("clients", _clients),
    "tiered": _Kind("tiered", _tiered, lambda found: found.first.seconds, apart=lambda row: row.broker),
    "cluster_unreachable": _Kind("exporter", _unreachable),
    "no_fresh_snapshot": _Kind("exporter", _no_snapshot),
    "controller_unreachable": _Kind("exporter", _says("The active controller does not answer.")),
    "undescribed_topics": _Kind("exporter", _undescribed),
    "sources_down": _Kind("exporter", _sources),
    "jmx_down": _Kind("exporter", _sources),
    "configuration_not_used": _Kind(
        "exporter",
        _says("The configuration as it is now is not in use: it cannot be used, or it needs a restart."),
    ),
    "series_dropped": _Kind(
        "exporter",
        lambda found: (
            f"Series left out of /metrics because of limits.series: {sum(found.first.dropped_series.values()):,}."
        ),
    ),
    "history_lost": _Kind("exporter", _history),
    "state_not_saved": _Kind(
        "exporter", _says("The state file cannot be written: after a restart all ages start at 0.")
    ),
}
"""By the name of the condition, in the order of the problems of one severity."""
