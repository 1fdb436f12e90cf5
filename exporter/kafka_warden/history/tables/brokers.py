"""`brokers`: one row per known broker."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from kafka_warden.derive.flows.side_loads import Load
from kafka_warden.formulas.replica_state import STATES
from kafka_warden.history.column import Column, Role, Table
from kafka_warden.history.column_types import BIGINT, DOUBLE, INT, STRING, ColumnType, ListOf, MapOf, column_type_of
from kafka_warden.history.poll import Poll
from kafka_warden.history.tables.entities import (
    OPTIONAL_BIGINT,
    OPTIONAL_BOOLEAN,
    OPTIONAL_DOUBLE,
    OPTIONAL_STRING,
    Entities,
    column,
    derived_column,
)
from kafka_warden.history.tables.records import Beans, DerivedFlow, Directory, Gaps, Outcome, PlacedLog, Problem
from kafka_warden.model import SIDES, Floats, Side


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
    known = {*snapshot.brokers, *poll.derived.indexed.brokers.tolist(), *snapshot.offsets_at, *snapshot.placed}
    return sorted({*known, *snapshot.log_gaps, *snapshot.broker_beans, *(each.broker for each in snapshot.log_dirs)})


def _of_broker(name: str, type_: ColumnType, text: str) -> Column[Any]:
    def read(poll: Poll, item: Host) -> Any:
        return getattr(poll.snapshot.brokers.get(item.id), name, None)

    return column(name, type_, "", text, (f"snapshot.brokers[].{name}",), read)


def _log_dirs(poll: Poll, item: Host) -> list[Directory] | None:
    found = [each for each in poll.snapshot.log_dirs if each.broker == item.id]
    return [
        Directory(each.path, each.online, each.bytes, each.usable_bytes, each.total_bytes) for each in found
    ] or None


def _placed(poll: Poll, item: Host) -> list[PlacedLog] | None:
    placed = poll.snapshot.placed.get(item.id)
    return None if placed is None else [PlacedLog(*key, path) for key, path in sorted(placed.items())]


def _gaps(poll: Poll, item: Host) -> Gaps | None:
    gaps = poll.snapshot.log_gaps.get(item.id)
    return None if gaps is None else Gaps.from_model(gaps)


def _beans(poll: Poll, item: Host) -> Beans | None:
    beans = poll.snapshot.broker_beans.get(item.id)
    return None if beans is None else Beans(beans.at, beans.values)


def _outcomes(poll: Poll, item: Host) -> list[Outcome]:
    return [Outcome.from_model(key, status) for key, status in poll.snapshot.status.items() if key[1] == str(item.id)]


def _column(name: str, type_: ColumnType, unit: str, text: str, source: str) -> Column[Any]:
    """Make a column from a derived column (B,)."""
    column_of = attrgetter(source)

    def read(poll: Poll, item: Host) -> Any:
        values = column_of(poll.derived)
        return None if item.place is None or values is None else values[item.place]

    return derived_column(name, type_, unit, text, (f"derived.{source}",), read)


def _sums(name: str, unit: str, text: str, source: str) -> tuple[Column[Any], ...]:
    return (
        _column(name, DOUBLE, unit, f"{text}; null while a part is unknown", f"{source}.values"),
        _column(f"{name}_unknown", BIGINT, "", "number of unknown parts", f"{source}.unknown"),
    )


def _sided(name: str, unit: str, text: str, source: str) -> tuple[Column[Any], ...]:
    """Make a column for each side from a dict of side to derived column (B,)."""

    def reader(side: Side) -> Callable[[Poll, Host], Any]:
        def read(poll: Poll, item: Host) -> Any:
            columns: Mapping[Side, Floats] = getattr(poll.derived.throttles, source)
            return None if item.place is None else columns[side][item.place]

        return read

    sources = (f"derived.throttles.{source}",)
    return tuple(
        derived_column(f"{side}_{name}", DOUBLE, unit, f"{side} side: {text}", sources, reader(side)) for side in SIDES
    )


def _by_side(name: str, type_: ColumnType, unit: str, text: str, sources: tuple[str, ...], read: Any) -> Any:
    """Make a column for each side from a mapping of (broker, side); `read` returns the mapping."""

    def reader(side: Side) -> Callable[[Poll, Host], Any]:
        return lambda poll, item: read(poll).get((item.id, side))

    return tuple(
        derived_column(f"{side}_{name}", type_, unit, f"{side} side: {text}", sources, reader(side)) for side in SIDES
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

    return derived_column(name, OPTIONAL_BIGINT, "", text, (f"derived.log_counts[].{attribute}",), read)


_RAW: Final = (
    column("broker", INT, "", "broker id", ("snapshot.brokers[].id",), lambda _, item: item.id, Role.KEY),
    _of_broker("host", OPTIONAL_STRING, "advertised host; null if the cluster never described this broker"),
    _of_broker("port", OPTIONAL_BIGINT, "advertised port"),
    _of_broker("rack", OPTIONAL_STRING, "`broker.rack`"),
    _of_broker("fenced", OPTIONAL_BOOLEAN, "it is fenced"),
    _of_broker("gone", OPTIONAL_BOOLEAN, "the cluster no longer lists it; the row has its last known values"),
    column(
        "offsets_at",
        DOUBLE,
        "monotonic s",
        "time at which it reported the log ends of the partitions that it leads",
        ("snapshot.offsets_at",),
        lambda poll, item: poll.snapshot.offsets_at.get(item.id),
    ),
    column(
        "log_dirs",
        column_type_of(tuple[Directory, ...]),
        "",
        "its log directories",
        tuple(f"snapshot.log_dirs[].{name}" for name in ("broker", *Directory.__slots__)),
        _log_dirs,
    ),
    column(
        "placed",
        column_type_of(tuple[PlacedLog, ...]),
        "",
        "log directories of the logs that are requested in every poll; null if they are unknown",
        ("snapshot.placed",),
        _placed,
    ),
    column(
        "log_gaps",
        column_type_of(Gaps),
        "",
        "differences between its log directories and the metadata of one poll",
        tuple(f"snapshot.log_gaps[].{name}" for name in Gaps.__slots__),
        _gaps,
    ),
    column(
        "beans",
        column_type_of(Beans),
        "",
        "JMX values; beans of clients are in `quotas`",
        ("snapshot.broker_beans[].at", "snapshot.broker_beans[].values"),
        _beans,
    ),
    column(
        "outcomes",
        column_type_of(tuple[Outcome, ...]),
        "",
        "result of each request to it; other results are in `polls`",
        tuple(f"snapshot.status[].{name}" for name in ("up", "duration", "last_success", "errors")),
        _outcomes,
    ),
)

_DERIVED: Final = (
    derived_column(
        "state",
        STRING,
        "",
        "state in `/metrics`",
        ("derived.cluster.states",),
        lambda poll, item: poll.derived.cluster.states.get(item.id),
    ),
    _column("replicas", BIGINT, "", "replicas that it hosts, adding ones included", "cluster.replicas"),
    _column("leaders", BIGINT, "", "partitions that it leads", "cluster.leaders"),
    _column("counted", BIGINT, "", "replicas that count against the limit of KIP-578", "cluster.counted"),
    _column("adding", BIGINT, "", "replicas being added", "cluster.adding"),
    _column("removing", BIGINT, "", "replicas being removed", "cluster.removing"),
    *_sums("lag_messages", "messages", "SumReplicaLag of the replicas that it hosts", "lag.sum_messages"),
    *_sums("lag_bytes", "bytes", "SumReplicaLag in bytes of the replicas that it hosts", "lag.sum_bytes"),
    *_sums(
        "led_lag_bytes", "bytes", "SumReplicaLag in bytes of the followers of partitions that it leads", "lag.led_bytes"
    ),
    derived_column(
        "out_of_sync",
        MapOf(BIGINT),
        "",
        "followers outside the ISR by state; zeros are left out",
        ("derived.replicas.out_of_sync",),
        _out_of_sync,
    ),
    *_sided("throttled", "", "replicas in the throttled lists", "throttled"),
    *_sided("floor", "bytes/s", "in-sync traffic that counts against the limit", "floor"),
    *_sided("headroom", "bytes/s", "limit minus floor", "headroom"),
    _column("lower_bound", DOUBLE, "bytes/s", "lower bound of the throttle, KIP-73", "throttles.lower_bound"),
    _column("upper_bound", DOUBLE, "bytes/s", "upper bound of the throttle, KIP-73", "throttles.upper_bound"),
    *_by_side(
        "load",
        column_type_of(Load),
        "",
        "catch-up traffic under its limit; all catch-up traffic if no listed replica catches up",
        ("derived.throttling.sides[]",),
        lambda poll: poll.derived.throttling.sides,
    ),
    *_by_side(
        "catch_up",
        OPTIONAL_DOUBLE,
        "bytes/s",
        "copy rate of adding replicas",
        ("derived.totals.catch_up",),
        lambda poll: poll.derived.totals.catch_up,
    ),
    derived_column(
        "throttle_problems",
        column_type_of(tuple[Problem, ...]),
        "",
        "problems of its throttle",
        ("derived.throttling.problems",),
        _problems,
    ),
    derived_column(
        "tiered_problems",
        MapOf(DOUBLE),
        "s",
        "age by problem of tiered storage; 0 if it does not exist, missing if that is unknown",
        ("derived.tiered.problems",),
        _tiered,
    ),
    derived_column(
        "flows",
        ListOf(column_type_of(DerivedFlow)),
        "",
        "catch-up traffic to this broker, by leader and by limits that apply",
        ("derived.throttling.remaining", "derived.throttling.etas", "derived.throttling.side_etas"),
        _flows,
    ),
    _logs("without_log", "replicas without a log", "without_log"),
    _logs("stray", "logs that are not assigned to the broker", "stray"),
)

BROKERS: Final = Table("brokers", "One row per known broker.", ("broker",), (*_RAW, *_DERIVED), _rows)
