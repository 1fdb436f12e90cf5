"""`brokers`: one row per broker that anything is known of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kafka_warden.derive.flows.side_loads import Load
from kafka_warden.formulas.replica_state import STATES
from kafka_warden.history.column import Column, Role, Table
from kafka_warden.history.poll import Poll
from kafka_warden.history.shapes import BIGINT, DOUBLE, INT, STRING, ListOf, MapOf, Shape, shape_of
from kafka_warden.history.tables.entities import (
    MAYBE,
    MAYBE_NUMBER,
    MAYBE_REAL,
    MAYBE_TEXT,
    Entities,
    column,
    judged,
)
from kafka_warden.history.tables.records import Beans, Directory, FlowJudged, Gaps, Outcome, PlacedLog, Problem
from kafka_warden.model import Floats, Side

SIDES: Final = (Side.LEADER, Side.FOLLOWER)


@dataclass(frozen=True, slots=True)
class Host:
    """A broker; `place` is its index in the columns (B,) of the judgement."""

    id: int
    place: int | None


def _rows(poll: Poll) -> Entities[Host]:
    places = {broker: place for place, broker in enumerate(poll.derived.frame.brokers.tolist())}
    return Entities(poll, [Host(broker, places.get(broker)) for broker in broker_ids(poll)])


def broker_ids(poll: Poll) -> list[int]:
    """List every broker that something is known of."""
    snapshot = poll.snapshot
    known = {*snapshot.brokers, *poll.derived.frame.brokers.tolist(), *snapshot.offsets_at, *snapshot.placed}
    return sorted({*known, *snapshot.log_gaps, *snapshot.broker_beans, *(each.broker for each in snapshot.log_dirs)})


def _of_broker(name: str, shape: Shape, text: str) -> Column[Any]:
    def read(poll: Poll, item: Host) -> Any:
        return getattr(poll.snapshot.brokers.get(item.id), name, None)

    return column(name, shape, "", text, (f"snapshot.brokers[].{name}",), read)


def _by_id(attribute: str) -> Callable[[Poll, Host], Any]:
    def read(poll: Poll, item: Host) -> Any:
        return getattr(poll.snapshot, attribute).get(item.id)

    return read


def _log_dirs(poll: Poll, item: Host) -> list[Directory] | None:
    told = [each for each in poll.snapshot.log_dirs if each.broker == item.id]
    return [Directory(each.path, each.online, each.bytes, each.usable_bytes, each.total_bytes) for each in told] or None


def _placed(poll: Poll, item: Host) -> list[PlacedLog] | None:
    placed = poll.snapshot.placed.get(item.id)
    return None if placed is None else [PlacedLog(*key, path) for key, path in sorted(placed.items())]


def _gaps(poll: Poll, item: Host) -> Gaps | None:
    gaps = poll.snapshot.log_gaps.get(item.id)
    return None if gaps is None else Gaps.of(gaps)


def _beans(poll: Poll, item: Host) -> Beans | None:
    beans = poll.snapshot.broker_beans.get(item.id)
    return None if beans is None else Beans(beans.at, beans.values)


def _outcomes(poll: Poll, item: Host) -> list[Outcome]:
    return [Outcome.of(key, status) for key, status in poll.snapshot.status.items() if key[1] == str(item.id)]


def _column(name: str, shape: Shape, unit: str, text: str, source: str) -> Column[Any]:
    """Make a judged column that stands in `derived` as a column (B,)."""

    def read(poll: Poll, item: Host) -> Any:
        values: Any = poll.derived
        for part in source.split("."):
            values = getattr(values, part)
        return None if item.place is None or values is None else values[item.place]

    return judged(name, shape, unit, text, (f"derived.{source}",), read)


def _sums(name: str, unit: str, text: str, source: str) -> tuple[Column[Any], ...]:
    return (
        _column(name, DOUBLE, unit, f"{text}; null while a part is not known", f"{source}.values"),
        _column(f"{name}_unknown", BIGINT, "", "how many parts are not", f"{source}.unknown"),
    )


def _sided(name: str, unit: str, text: str, source: str) -> tuple[Column[Any], ...]:
    """Make two judged columns of a dict of side to a column (B,)."""

    def reader(side: Side) -> Callable[[Poll, Host], Any]:
        def read(poll: Poll, item: Host) -> Any:
            columns: Mapping[Side, Floats] = getattr(poll.derived.throttles, source)
            return None if item.place is None else columns[side][item.place]

        return read

    sources = (f"derived.throttles.{source}",)
    return tuple(
        judged(f"{side}_{name}", DOUBLE, unit, f"{side} side: {text}", sources, reader(side)) for side in SIDES
    )


def _by_side(name: str, shape: Shape, unit: str, text: str, sources: tuple[str, ...], read: Any) -> Any:
    """Make two judged columns of a mapping of (broker, side); `read` finds it in a poll."""

    def reader(side: Side) -> Callable[[Poll, Host], Any]:
        return lambda poll, item: read(poll).get((item.id, side))

    return tuple(judged(f"{side}_{name}", shape, unit, f"{side} side: {text}", sources, reader(side)) for side in SIDES)


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


def _flows(poll: Poll, item: Host) -> list[FlowJudged]:
    throttling = poll.derived.throttling
    return [
        FlowJudged(
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

    return judged(name, MAYBE_NUMBER, "", text, (f"derived.log_counts[].{attribute}",), read)


_RAW: Final = (
    column("broker", INT, "", "broker id", ("snapshot.brokers[].id",), lambda _, item: item.id, Role.KEY),
    _of_broker("host", MAYBE_TEXT, "as it advertises; null where the cluster never described this broker"),
    _of_broker("port", MAYBE_NUMBER, "the same"),
    _of_broker("rack", MAYBE_TEXT, "`broker.rack`"),
    _of_broker("fenced", MAYBE, "is fenced"),
    _of_broker("gone", MAYBE, "the cluster no longer lists it; what it told last"),
    column(
        "offsets_at",
        DOUBLE,
        "monotonic s",
        "when it told the ends of what it leads",
        ("snapshot.offsets_at",),
        _by_id("offsets_at"),
    ),
    column(
        "log_dirs",
        shape_of(tuple[Directory, ...]),
        "",
        "its log directories",
        tuple(f"snapshot.log_dirs[].{name}" for name in ("broker", *Directory.__slots__)),
        _log_dirs,
    ),
    column(
        "placed",
        shape_of(tuple[PlacedLog, ...]),
        "",
        "directories of the logs that are asked about in every poll, of a broker that told them",
        ("snapshot.placed",),
        _placed,
    ),
    column(
        "log_gaps",
        shape_of(Gaps),
        "",
        "where its disks and the metadata of one poll differ",
        tuple(f"snapshot.log_gaps[].{name}" for name in Gaps.__slots__),
        _gaps,
    ),
    column(
        "beans",
        shape_of(Beans),
        "",
        "what JMX told; those of clients are in `quotas`",
        ("snapshot.broker_beans[].at", "snapshot.broker_beans[].values"),
        _beans,
    ),
    column(
        "outcomes",
        shape_of(tuple[Outcome, ...]),
        "",
        "how each question to it fares; others are in `polls`",
        tuple(f"snapshot.status[].{name}" for name in ("up", "duration", "last_success", "errors")),
        _outcomes,
    ),
)

_JUDGED: Final = (
    judged(
        "state",
        STRING,
        "",
        "state that is shown",
        ("derived.cluster.states",),
        lambda poll, item: poll.derived.cluster.states.get(item.id),
    ),
    _column("replicas", BIGINT, "", "hosted, adding ones included", "cluster.replicas"),
    _column("leaders", BIGINT, "", "led", "cluster.leaders"),
    _column("counted", BIGINT, "", "replicas that count against KIP-578's limit", "cluster.counted"),
    _column("adding", BIGINT, "", "replicas being added", "cluster.adding"),
    _column("removing", BIGINT, "", "replicas being removed", "cluster.removing"),
    *_sums("lag_messages", "messages", "SumReplicaLag of what it hosts", "lag.sum_messages"),
    *_sums("lag_bytes", "bytes", "the same in bytes", "lag.sum_bytes"),
    *_sums("led_lag_bytes", "bytes", "the same of what it leads", "lag.led_bytes"),
    judged(
        "out_of_sync",
        MapOf(BIGINT),
        "",
        "state to followers outside the ISR, none left out but zeros",
        ("derived.replicas.out_of_sync",),
        _out_of_sync,
    ),
    *_sided("throttled", "", "replicas that the lists name", "throttled"),
    *_sided("floor", "bytes/s", "in-sync traffic that counts against the limit", "floor"),
    *_sided("headroom", "bytes/s", "what that leaves", "headroom"),
    _column("lower_bound", DOUBLE, "bytes/s", "of the throttle, KIP-73", "throttles.lower_bound"),
    _column("upper_bound", DOUBLE, "bytes/s", "of the throttle, KIP-73", "throttles.upper_bound"),
    *_by_side(
        "load",
        shape_of(Load),
        "",
        "what its limit holds back; all that catches up through it where its lists name nothing of that",
        ("derived.throttling.sides[]",),
        lambda poll: poll.derived.throttling.sides,
    ),
    *_by_side(
        "catch_up",
        MAYBE_REAL,
        "bytes/s",
        "what adding replicas copy through it",
        ("derived.totals.catch_up",),
        lambda poll: poll.derived.totals.catch_up,
    ),
    judged(
        "throttle_problems",
        shape_of(tuple[Problem, ...]),
        "",
        "problems of its throttle that are raised",
        ("derived.throttling.problems",),
        _problems,
    ),
    judged(
        "tiered_problems",
        MapOf(DOUBLE),
        "s",
        "problem of tiered storage to its age; 0 where it is not there, missing where that cannot be told",
        ("derived.tiered.problems",),
        _tiered,
    ),
    judged(
        "flows",
        ListOf(shape_of(FlowJudged)),
        "",
        "what catches up here, by leader and by whose limits hold it back",
        ("derived.throttling.remaining", "derived.throttling.etas", "derived.throttling.side_etas"),
        _flows,
    ),
    _logs("without_log", "replicas of which it shows no log", "without_log"),
    _logs("stray", "logs that are not assigned to it", "stray"),
)

BROKERS: Final = Table(
    "brokers", "One row per broker that anything is known of.", ("broker",), (*_RAW, *_JUDGED), _rows
)
