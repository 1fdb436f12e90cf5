"""`brokers`: one row per known broker."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Final

from kafka_warden.derive.flows.side_loads import Load
from kafka_warden.formulas.replica_state import STATES
from kafka_warden.history.column import Column, Role, Table, annotation_at
from kafka_warden.history.column_types import BIGINT, DOUBLE, INT, STRING, ColumnType, ListOf, MapOf, column_type_of
from kafka_warden.history.poll import Poll
from kafka_warden.history.tables.entities import OPTIONAL_BIGINT, OPTIONAL_DOUBLE, Entities, column
from kafka_warden.history.tables.records import Beans, DerivedFlow, Directory, Gaps, Outcome, PlacedLog, Problem
from kafka_warden.model import SIDES, Side


@dataclass(frozen=True, slots=True)
class Host:
    """A broker. `place` is its index in the derived columns (B,); `None` if they do not have it."""

    id: int
    place: int | None


def _rows(poll: Poll) -> Entities[Host]:
    places = {broker: place for place, broker in enumerate(poll.derived.indexed.brokers.tolist())}
    return Entities(poll, [Host(broker, places.get(broker)) for broker in broker_ids(poll)])


def broker_ids(poll: Poll) -> list[int]:
    """List the id of every broker that the poll has any value of."""
    snapshot = poll.snapshot
    known = {
        *snapshot.brokers,
        *poll.derived.indexed.brokers.tolist(),
        *snapshot.offsets_at,
        *snapshot.placed,
        *snapshot.metadata_ages,
    }
    return sorted({*known, *snapshot.log_gaps, *snapshot.broker_beans, *(each.broker for each in snapshot.log_dirs)})


def _of_broker(name: str, text: str) -> Column[Any]:
    source = f"snapshot.brokers[].{name}"
    type_ = column_type_of(annotation_at(source), optional=True)
    return column(
        name, type_, text, (source,), lambda poll, item: getattr(poll.snapshot.brokers.get(item.id), name, None)
    )


def _log_dirs(poll: Poll, item: Host) -> list[Directory] | None:
    found = [each for each in poll.snapshot.log_dirs if each.broker == item.id]
    return [
        Directory(each.path, each.online, each.bytes, each.usable_bytes, each.total_bytes, each.cordoned)
        for each in found
    ] or None


def _placed(poll: Poll, item: Host) -> list[PlacedLog] | None:
    placed = poll.snapshot.placed.get(item.id)
    return None if placed is None else [PlacedLog(*key, path) for key, path in sorted(placed.items())]


def _outcomes(poll: Poll, item: Host) -> list[Outcome]:
    return [Outcome.from_model(key, status) for key, status in poll.snapshot.status.items() if key[1] == str(item.id)]


def _column(name: str, text: str, source: str, unit: str = "") -> Column[Any]:
    """Make a column from a derived column (B,)."""
    column_of, path = attrgetter(source), f"derived.{source}"

    def read(poll: Poll, item: Host) -> Any:
        values = column_of(poll.derived)
        return None if item.place is None or values is None else values[item.place]

    return column(name, column_type_of(annotation_at(path)), text, (path,), read, unit=unit)


def _sums(name: str, text: str, source: str, unit: str) -> tuple[Column[Any], ...]:
    return (
        _column(name, f"{text}; null while a part is unknown", f"{source}.values", unit),
        _column(f"{name}_unknown", "number of unknown parts", f"{source}.unknown"),
    )


def _sided(name: str, text: str, source: str, unit: str = "") -> tuple[Column[Any], ...]:
    """Make a column for each side from a dict of side to derived column (B,)."""

    def read(side: Side, poll: Poll, item: Host) -> Any:
        return None if item.place is None else getattr(poll.derived.throttles, source)[side][item.place]

    return _by_side(name, DOUBLE, text, f"derived.throttles.{source}", read, unit)


def _by_side(
    name: str, type_: ColumnType, text: str, source: str, read: Callable[[Side, Poll, Host], Any], unit: str = ""
) -> tuple[Column[Any], ...]:
    return tuple(
        column(f"{side}_{name}", type_, f"{side} side: {text}", (source,), partial(read, side), unit=unit)
        for side in SIDES
    )


def _out_of_sync(poll: Poll, item: Host) -> dict[str, int] | None:
    if item.place is None:
        return None
    counts = poll.derived.replicas.out_of_sync[item.place].tolist()
    return {state: count for state, count in zip(STATES, counts, strict=True) if count}


def _problems(poll: Poll, item: Host) -> list[Problem]:
    ages = poll.derived.throttling.problems.items()
    return [Problem(side, problem, age) for (broker, side, problem), age in ages if broker == item.id]


def _tiered(poll: Poll, item: Host) -> dict[str, float]:
    ages = poll.derived.tiered.problems.items()
    return {problem: age for (broker, problem), age in ages if broker == item.id}


def _flows(poll: Poll, item: Host) -> list[DerivedFlow]:
    throttling = poll.derived.throttling
    return [
        DerivedFlow(
            leader=key.leader,
            leader_listed=key.leader_listed,
            follower_listed=key.follower_listed,
            remaining=left,
            eta=throttling.etas.get(key),
            side_eta=throttling.side_etas.get(key),
        )
        for key, left in throttling.remaining.items()
        if key.target == item.id
    ]


def _logs(name: str, text: str, attribute: str) -> Column[Any]:
    def read(poll: Poll, item: Host) -> int | None:
        counts = poll.derived.log_counts.get(item.id)
        return None if counts is None else getattr(counts, attribute)

    return column(name, OPTIONAL_BIGINT, text, (f"derived.log_counts[].{attribute}",), read)


_RAW: Final = (
    column("broker", INT, "broker id", ("snapshot.brokers[].id",), lambda _, item: item.id, role=Role.KEY),
    _of_broker("host", "advertised host; null if the cluster never described this broker"),
    _of_broker("port", "advertised port"),
    _of_broker("rack", "`broker.rack`"),
    _of_broker("fenced", "it is fenced"),
    _of_broker("gone", "the cluster no longer lists it; the row has its last known values"),
    column(
        "offsets_at",
        DOUBLE,
        "time at which it reported the log ends of the partitions that it leads",
        ("snapshot.offsets_at",),
        lambda poll, item: poll.snapshot.offsets_at.get(item.id),
        unit="monotonic s",
    ),
    column(
        "metadata_stale",
        DOUBLE,
        "time for which its image of the metadata has been old; 0 for a current one, null if that is unknown",
        ("snapshot.metadata_ages",),
        lambda poll, item: poll.snapshot.metadata_ages.get(item.id),
        unit="s",
    ),
    column(
        "log_dirs",
        column_type_of(tuple[Directory, ...]),
        "its log directories",
        tuple(f"snapshot.log_dirs[].{name}" for name in ("broker", *Directory.__slots__)),
        _log_dirs,
    ),
    column(
        "placed",
        column_type_of(tuple[PlacedLog, ...]),
        "log directories of the logs that are requested in every poll; null if they are unknown",
        ("snapshot.placed",),
        _placed,
    ),
    column(
        "log_gaps",
        column_type_of(Gaps),
        "differences between its log directories and the metadata of one poll",
        tuple(f"snapshot.log_gaps[].{name}" for name in Gaps.__slots__),
        lambda poll, item: None if (gaps := poll.snapshot.log_gaps.get(item.id)) is None else Gaps.from_model(gaps),
    ),
    column(
        "beans",
        column_type_of(Beans),
        "JMX values; beans of clients are in `quotas`",
        ("snapshot.broker_beans[].at", "snapshot.broker_beans[].values"),
        lambda poll, item: (
            None if (beans := poll.snapshot.broker_beans.get(item.id)) is None else Beans(beans.at, beans.values)
        ),
    ),
    column(
        "outcomes",
        column_type_of(tuple[Outcome, ...]),
        "result of each request to it; other results are in `polls`",
        tuple(f"snapshot.status[].{name}" for name in ("up", "duration", "last_success", "errors")),
        _outcomes,
    ),
)

_DERIVED: Final = (
    column(
        "state",
        STRING,
        "state in `/metrics`",
        ("derived.cluster.states",),
        lambda poll, item: poll.derived.cluster.states.get(item.id),
    ),
    _column("replicas", "replicas that it hosts, adding ones included", "cluster.replicas"),
    _column("leaders", "partitions that it leads", "cluster.leaders"),
    _column("counted", "replicas that count against the limit of KIP-578", "cluster.counted"),
    _column("adding", "replicas being added", "cluster.adding"),
    _column("removing", "replicas being removed", "cluster.removing"),
    *_sums("lag_messages", "SumReplicaLag of the replicas that it hosts", "lag.sum_messages", "messages"),
    *_sums("lag_bytes", "SumReplicaLag in bytes of the replicas that it hosts", "lag.sum_bytes", "bytes"),
    *_sums(
        "led_lag_bytes", "SumReplicaLag in bytes of the followers of partitions that it leads", "lag.led_bytes", "bytes"
    ),
    column(
        "out_of_sync",
        MapOf(BIGINT),
        "followers outside the ISR by state; zeros are left out",
        ("derived.replicas.out_of_sync",),
        _out_of_sync,
    ),
    *_sided("throttled", "replicas in the throttled lists", "throttled"),
    *_sided("floor", "in-sync traffic that counts against the limit", "floor", "bytes/s"),
    *_sided("headroom", "limit minus floor", "headroom", "bytes/s"),
    _column("lower_bound", "lower bound of the throttle, KIP-73", "throttles.lower_bound", "bytes/s"),
    _column("upper_bound", "upper bound of the throttle, KIP-73", "throttles.upper_bound", "bytes/s"),
    *_by_side(
        "load",
        column_type_of(Load),
        "catch-up traffic under its limit; all catch-up traffic if no listed replica catches up",
        "derived.throttling.sides[]",
        lambda side, poll, item: poll.derived.throttling.sides.get((item.id, side)),
    ),
    *_by_side(
        "catch_up",
        OPTIONAL_DOUBLE,
        "copy rate of adding replicas",
        "derived.totals.catch_up",
        lambda side, poll, item: poll.derived.totals.catch_up.get((item.id, side)),
        "bytes/s",
    ),
    column(
        "throttle_problems",
        column_type_of(tuple[Problem, ...]),
        "problems of its throttle",
        ("derived.throttling.problems",),
        _problems,
    ),
    column(
        "tiered_problems",
        MapOf(DOUBLE),
        "age by problem of tiered storage; 0 if it does not exist, missing if that is unknown",
        ("derived.tiered.problems",),
        _tiered,
        unit="s",
    ),
    column(
        "flows",
        ListOf(column_type_of(DerivedFlow)),
        "catch-up traffic to this broker, by leader and by limits that apply",
        ("derived.throttling.remaining", "derived.throttling.etas", "derived.throttling.side_etas"),
        _flows,
    ),
    _logs("without_log", "replicas without a log", "without_log"),
    _logs("stray", "logs that are not assigned to the broker", "stray"),
)

BROKERS: Final = Table("brokers", "One row per known broker.", ("broker",), (*_RAW, *_DERIVED), _rows)
