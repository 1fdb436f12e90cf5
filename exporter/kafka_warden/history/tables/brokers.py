"""`brokers`: one row per known broker."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Annotated, Any, Final

from kafka_warden.derive.replica_state import STATES
from kafka_warden.derive.throttle_problems import Problem as ThrottleProblem
from kafka_warden.history.column import (
    Columns,
    HistoryColumn,
    HistoryTable,
    KeyedRow,
    column,
    columns,
    described_at,
    entries,
    entry_column,
    records,
)
from kafka_warden.history.column_types import INT, PythonValue, column_type_of
from kafka_warden.history.poll import Poll
from kafka_warden.model import SIDES, Broker, Floats, Side, Source, SourceStatus
from kafka_warden.replies import LogDir


@dataclass(frozen=True, slots=True)
class PlacedLog:
    """Log directory of one log that is requested in every poll."""

    topic: Annotated[str, "topic name"]
    partition: Annotated[int, "partition number"]
    log_dir: Annotated[str, "log directory"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`SourceStatus` of one source at one broker."""

    source: Annotated[Source, "name of the source"]
    broker: Annotated[str, "broker asked; empty: any"]
    up: Annotated[bool, "all were answered"]
    duration: Annotated[float, "total duration", "s"]
    last_success: Annotated[float | None, "time of the last answer", "Unix s"]
    errors: Annotated[Mapping[str, int], "errors by reason in this run"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A throttle problem of a broker."""

    side: Annotated[Side, "`leader`, `follower` or `log_dirs`"]
    problem: Annotated[ThrottleProblem, "name (docs/spec/throttles.md#problems)"]
    seconds: Annotated[float, "age", "s"]


@dataclass(frozen=True, slots=True)
class DerivedFlow:
    """The flow from one leader to a broker under the same limits."""

    leader: Annotated[int, "broker copied from"]
    leader_listed: Annotated[bool, "leader's list names them: its limit applies"]
    follower_listed: Annotated[bool, "follower's list names them: its limit applies"]
    remaining: Annotated[float | None, "bytes to copy", "bytes"]
    eta: Annotated[float | None, "time until the flow is done", "s"]
    side_eta: Annotated[float | None, "the same for all that share its limit", "s"]


OUTCOMES: Final = column_type_of(tuple[Outcome, ...])


def _rows(poll: Poll) -> list[KeyedRow]:
    places = {broker: place for place, broker in enumerate(poll.derived.indexed.brokers.tolist())}
    return [KeyedRow(broker, places.get(broker)) for broker in broker_ids(poll)]


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


def _log_dirs(poll: Poll, row: KeyedRow) -> list[LogDir] | None:
    return [each for each in poll.snapshot.log_dirs if each.broker == row.key] or None


def _placed(poll: Poll, row: KeyedRow) -> list[PlacedLog] | None:
    placed = poll.snapshot.placed.get(int(row.key))
    return None if placed is None else [PlacedLog(*key, path) for key, path in sorted(placed.items())]


def outcomes_of(poll: Poll, *, wanted: Callable[[str], bool]) -> list[Outcome]:
    """List the outcomes of the requests to wanted brokers."""
    return [
        Outcome(source, broker, each.up, each.duration, each.last_success, each.errors)
        for (source, broker), each in poll.snapshot.status.items()
        if wanted(broker)
    ]


def outcomes_column(each: Callable[[Poll, Any], list[Outcome]], asked: str) -> HistoryColumn:
    """Make a column of the outcomes of some requests."""
    held = tuple(f"snapshot.status[].{name}" for name in SourceStatus.__slots__)
    return column(
        "outcomes", each=each, type_=tuple[Outcome, ...], text=f"result of each request to {asked}", sources=held
    )


def _sums(name: str, path: str) -> tuple[HistoryColumn, ...]:
    found = described_at(path)
    return (
        entry_column(name, f"{path}.values", text=f"{found.text}; null while a part is unknown", unit=found.unit),
        entry_column(f"{name}_unknown", f"{path}.unknown"),
    )


def _by_side(name: str, path: str, read: Callable[[Any, KeyedRow, Side], Any]) -> tuple[HistoryColumn, ...]:
    """Make a column for each side; `read` takes the value at the path."""
    values_of = attrgetter(path)

    def of(side: Side) -> HistoryColumn:
        text = f"{side} side: {{}}"
        return column(f"{side}_{name}", f"{path}[]", lambda poll, row: read(values_of(poll), row, side), text=text)

    return tuple(map(of, SIDES))


def _in_array(values: Mapping[Side, Floats], row: KeyedRow, side: Side) -> float | None:
    return None if row.place is None else float(values[side][row.place])


def _in_mapping(values: Mapping[Any, Any], row: KeyedRow, side: Side) -> Any:
    return values.get((row.key, side))


def _out_of_sync(poll: Poll, row: KeyedRow) -> dict[str, int] | None:
    if row.place is None:
        return None
    counts = poll.derived.replicas.out_of_sync[row.place].tolist()
    return {state: count for state, count in zip(STATES, counts, strict=True) if count}


def _problems(poll: Poll, row: KeyedRow) -> list[Problem]:
    ages = poll.derived.throttling.problems.items()
    return [Problem(side, problem, age) for (broker, side, problem), age in ages if broker == row.key]


def _tiered(poll: Poll, row: KeyedRow) -> dict[str, float]:
    ages = poll.derived.tiered.problems.items()
    return {problem: age for (broker, problem), age in ages if broker == row.key}


def _flows(poll: Poll, row: KeyedRow) -> list[DerivedFlow]:
    found = poll.derived.throttling
    return [
        DerivedFlow(
            leader=key.leader,
            leader_listed=key.leader_listed,
            follower_listed=key.follower_listed,
            remaining=left,
            eta=found.etas.get(key),
            side_eta=found.side_etas.get(key),
        )
        for key, left in found.remaining.items()
        if key.target == row.key
    ]


BROKERS: Final = HistoryTable(
    "brokers",
    "One row per known broker.",
    ("broker",),
    (
        column(
            "broker",
            "snapshot.brokers[].id",
            lambda _, row: row.key,
            type_=INT,
            sources=("snapshot.brokers[].id", "snapshot.log_dirs[].broker"),
        ),
        *columns(entry_column, "snapshot.brokers[]", "host", "port", "rack", "fenced", "gone"),
        entry_column("offsets_at", "snapshot.offsets_at[]"),
        entry_column("metadata_stale", "snapshot.metadata_ages[]"),
        column("log_dirs", "snapshot.log_dirs", _log_dirs),
        column("placed", "snapshot.placed[]", _placed, type_=tuple[PlacedLog, ...]),
        entry_column("log_gaps", "snapshot.log_gaps[]"),
        entry_column("beans", "snapshot.broker_beans[]"),
        outcomes_column(lambda poll, row: outcomes_of(poll, wanted=str(row.key).__eq__), "it"),
        entry_column("state", "derived.cluster.states[]"),
        *columns(entry_column, "derived.cluster", "replicas", "leaders", "counted", "adding", "removing"),
        *_sums("lag_messages", "derived.lag.sum_messages"),
        *_sums("lag_bytes", "derived.lag.sum_bytes"),
        *_sums("led_lag_bytes", "derived.lag.led_bytes"),
        column("out_of_sync", "derived.replicas.out_of_sync", _out_of_sync, type_=Mapping[str, int]),
        *_by_side("throttled", "derived.throttles.throttled", _in_array),
        *_by_side("floor", "derived.throttles.floor", _in_array),
        *_by_side("headroom", "derived.throttles.headroom", _in_array),
        *columns(entry_column, "derived.throttles", "lower_bound", "upper_bound"),
        *_by_side("load", "derived.throttling.sides", _in_mapping),
        *_by_side("catch_up", "derived.totals.catch_up", _in_mapping),
        column("throttle_problems", "derived.throttling.problems", _problems, type_=tuple[Problem, ...]),
        column("tiered_problems", "derived.tiered.problems", _tiered, type_=Mapping[str, float]),
        column("flows", "derived.throttling.remaining", _flows, type_=tuple[DerivedFlow, ...]),
        *columns(entry_column, "derived.log_counts[]", "without_log", "stray"),
    ),
    _rows,
    sources=("derived.throttling.etas", "derived.throttling.side_etas"),
)


def restore(rows: Columns) -> dict[str, Any]:
    """Restore the fields of a `Snapshot` that have entries by broker; `broker_beans` lack the beans of clients."""
    stored, ids = BROKERS.columns, rows["broker"]
    found = {
        name: entries(stored, f"snapshot.{name}[]", ids, rows)
        for name in ("offsets_at", "metadata_ages", "log_gaps", "broker_beans")
    }
    brokers = (Broker(**each) for each in records(stored, "snapshot.brokers[].", rows))
    placed = entries(stored, "snapshot.placed[]", ids, rows)
    directories = entries(stored, "snapshot.log_dirs", ids, rows)
    return {
        **found,
        "brokers": {each.id: each for each in brokers if each.host is not None},
        "placed": {id_: {(log.topic, log.partition): log.log_dir for log in logs} for id_, logs in placed.items()},
        "log_dirs": tuple(replace(each, broker=id_) for id_, found in directories.items() for each in found),
    }


def status_of(outcomes: Sequence[PythonValue]) -> dict[tuple[Source, str], SourceStatus]:
    """Restore the outcomes of the rows of this table or of `polls`."""
    return {
        (each.source, each.broker): SourceStatus(each.up, each.duration, each.last_success, each.errors)
        for listed in outcomes
        for each in OUTCOMES.read(listed)
    }
