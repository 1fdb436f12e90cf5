"""The tables of the status page, of `/api/v1` and of `top`: each described once, with its columns and order."""

import math
from collections.abc import Mapping
from typing import Any, Final

from kafka_warden.formatting import in_words
from kafka_warden.views import recent, rows
from kafka_warden.views.alerts import SEVERITIES, STATES, source_state
from kafka_warden.views.conditions import conditions
from kafka_warden.views.recent import Curve, History
from kafka_warden.views.table_spec import TableSpec

MOST_SIDES: Final = 100
"""Brokers and sides in one answer of the history."""


def largest(value: Any) -> Any:
    """Return a key that orders the largest first and the unknown last: of a number, or of a column with NaN."""
    return math.inf if value is None else -value


def _as_it_is(value: Any) -> Any:
    return value


def _side(history: History, row: Any) -> Curve | None:
    of = {(each.broker, each.side): each for each in history.sides}
    return recent.of_side(history, of[row.broker, row.side]) if (row.broker, row.side) in of else None


def _move_state(row: rows.Move) -> str:
    return "stuck" if row.cause else "never ends" if row.never_ends else "copying" if row.adding else "waiting"


_BESIDE_STATE: Final = {"broker_metadata_stale": "old metadata", "broker_partition_limit": "near its limit"}
"""Condition of a broker to words."""


def _broker_state(row: rows.BrokerRow) -> str | None:
    if row.state is None:
        return None
    found = {each.name for each in conditions(row)}
    return ", ".join([in_words(row.state), *(words for name, words in _BESIDE_STATE.items() if name in found)])


def _log_dir_state(row: rows.LogDir) -> str:
    return f"{row.state}, nearly full" if row.severity and row.online else row.state


def _failures(row: rows.SourceRow) -> str:
    return ", ".join(f"{count} {in_words(reason)}" for reason, count in row.errors.items()) or "none"


_PARTITION: Final = {"topic": lambda row: f"{row.topic}-{row.partition}"}
_REPLICA: Final = ("topic", "partition", "broker")

TABLES: Final = (
    TableSpec(
        "problems",
        rows.Problem,
        "Needs a look",
        "What needs a look, critical first",
        "Nothing needs a look.",
        "Severity severity, For seconds, What sentence",
        ("kind", "sentence"),
        rank={"severity": SEVERITIES.index},
        filters=("severity", "kind"),
        of_sidecar=True,
    ),
    TableSpec(
        "moves",
        rows.Move,
        "Moves",
        "Replicas that reassignments add or wait for: stuck ones, then those that never end, then the latest ETA first",
        "No reassignment is in progress, or none is known.",
        "Partition topic, State cause, ETA eta, To broker, Done progress, Left remaining_bytes, Rate bytes_per_second, "
        "From leader, Stalled stalled, Why sentence",
        _REPLICA,
        rank={
            "cause": lambda cause: cause is None,
            "never_ends": lambda never: not never,
            "eta": lambda eta: -math.inf if eta is None else -eta,
        },
        filters=("topic", "broker", "leader", "cause"),
        of={**_PARTITION, "cause": _move_state},
        sides=0,
        curve=lambda history, _: recent.of_remaining(history),
    ),
    TableSpec(
        "log-dir-moves",
        rows.LogDirMove,
        "Between log directories",
        "Moves between log directories, the latest ETA first",
        "No replica moves to another log directory.",
        "Partition topic, Broker broker, ETA eta, Left remaining_bytes",
        _REPLICA,
        rank={"eta": largest},
        filters=("topic", "broker"),
        of=_PARTITION,
    ),
    TableSpec(
        "throttles",
        rows.Throttle,
        "Throttles",
        "Throttles that limit, copy or list something, by broker and side, those with a limit first",
        "No throttle is set, or the limits are not known.",
        "Broker broker, Side side, Limit limit, Copies catch_up, Use use, Headroom headroom, In-sync floor floor, "
        "Listed throttled_replicas, Origin origin",
        ("broker", "side"),
        rank={"limit": lambda limit: limit is None or math.isinf(limit), "broker": _as_it_is},
        filters=("broker", "side"),
        sides=MOST_SIDES,
        curve=_side,
    ),
    TableSpec(
        "throttle-problems",
        rows.ThrottleProblem,
        "Throttle problems",
        "Problems of throttles, the oldest first",
        "No throttle has a problem.",
        "Broker broker, Side side, Problem problem, For seconds, Means sentence",
        ("broker", "side", "problem"),
        rank={"seconds": largest},
        filters=("broker", "side", "problem"),
    ),
    TableSpec(
        "replicas",
        rows.Replica,
        "Out of sync",
        "Followers out of sync or with a problem, the longest out of sync first",
        "No replica is out of sync, or is being moved.",
        "Partition topic, State state, Out of sync out_of_sync_seconds, Broker broker, Behind behind_seconds, "
        "Bytes lag_bytes, Leader leader, Messages lag_messages, Means sentence",
        _REPLICA,
        rank={"out_of_sync_seconds": largest, "behind_seconds": largest},
        filters=("topic", "broker", "leader", "state"),
        of={**_PARTITION, "sentence": lambda row: STATES.get(row.state or "")},
        sides=0,
        curve=lambda history, _: recent.of_out_of_sync(history),
    ),
    TableSpec(
        "topics",
        rows.Topic,
        "Topics at risk",
        "Topics with partitions that are offline or under min.insync.replicas",
        "No topic has a partition that is offline or under min ISR.",
        "Topic topic, Offline offline_partitions, Under min ISR under_min_isr_partitions",
        ("topic",),
        rank={"offline_partitions": largest, "under_min_isr_partitions": largest},
        filters=("topic",),
    ),
    TableSpec(
        "leader-candidates",
        rows.Candidate,
        "Leader candidates",
        "Replicas that may lead a partition without a leader once their broker runs, by partition",
        "No partition is without a leader, or no replica of one may lead it.",
        "Partition topic, Broker broker, Member of member_of",
        (*_REPLICA, "member_of"),
        rank=dict.fromkeys(("topic", "partition", "member_of", "broker"), _as_it_is),
        filters=("topic", "broker"),
        of=_PARTITION,
    ),
    TableSpec(
        "brokers",
        rows.BrokerRow,
        "Brokers",
        "Brokers, those that are not active first",
        "No broker is known.",
        "Broker broker, State state, Under-replicated under_replicated_partitions, Lag lag_bytes, Hosts replicas, "
        "Leads leaders, Limit used limit_used, Headroom partition_headroom, Host host, Rack rack",
        ("broker",),
        rank={"state": lambda state: state == "active", "host": lambda host: host is not None},
        filters=("broker", "state"),
        of={"state": _broker_state},
    ),
    TableSpec(
        "log-dirs",
        rows.LogDir,
        "Log directories",
        "Log directories, offline ones first",
        "No log directory is known.",
        "Broker broker, Directory log_dir, State state, Used used, Free usable_bytes, Logs bytes, Volume total_bytes",
        ("broker", "log_dir"),
        rank={"online": lambda online: online != 0, "broker": _as_it_is, "log_dir": _as_it_is},
        filters=("broker",),
        of={"state": _log_dir_state},
    ),
    TableSpec(
        "clients",
        rows.Client,
        "Clients",
        "Clients with a quota of controller mutations, the fewest tokens first",
        "No client has a bucket of controller mutations, or JMX is off.",
        "User user, Client id client_id, Tokens tokens, Admitted in admission_delay, Quota/s quota, Burst burst, "
        "Mutations/s mutations_per_second",
        ("user", "client_id"),
        rank={
            "tokens_left": lambda left: math.inf if left is None else left,
            "user": _as_it_is,
            "client_id": _as_it_is,
        },
        filters=("user", "client_id"),
    ),
    TableSpec(
        "tiered-topics",
        rows.TieredTopic,
        "Tiered topics",
        "Topics with remote storage, the most overdue first",
        "No topic is known to have remote storage.",
        "Topic topic, Overdue overdue_bytes, Nothing copied for stalled_seconds, Allowed lag allowed_lag_bytes, "
        "Allowed age allowed_lag_seconds",
        ("topic",),
        rank={"overdue_bytes": largest},
        filters=("topic",),
    ),
    TableSpec(
        "tiered-brokers",
        rows.TieredBroker,
        "Tiered brokers",
        "Remote copies and reads by broker",
        "No broker reports remote storage.",
        "Broker broker, Copies copy_rate, Copy quota copy_quota, Reads fetch_rate, Read quota fetch_quota, "
        "Copy lag copy_lag_bytes, Copy errors copy_errors, Read errors fetch_errors",
        ("broker",),
        rank={"broker": _as_it_is},
        filters=("broker",),
    ),
    TableSpec(
        "tiered-problems",
        rows.TieredProblem,
        "Tiered problems",
        "Problems of the quotas of tiered storage, the oldest first",
        "No quota of tiered storage has a problem.",
        "Broker broker, Problem problem, For seconds, Means sentence",
        ("broker", "problem"),
        rank={"seconds": largest},
        filters=("broker", "problem"),
    ),
    TableSpec(
        "sources",
        rows.SourceRow,
        "Requests of the exporter",
        "What the exporter asks, what is not answered first",
        "No request was sent yet.",
        "Request source, Broker broker, State up, Failures errors, Last answered last_success, Took duration",
        ("source", "broker"),
        rank={"up": lambda up: (up != 0, up is not None), "source": _as_it_is, "broker": _as_it_is},
        filters=("source", "broker"),
        of_sidecar=True,
        of={"up": lambda row: source_state(row.up, row.not_available), "errors": _failures},
    ),
)
BY_NAME: Final[Mapping[str, TableSpec]] = {spec.name: spec for spec in TABLES}
