"""`moves`: one row per replica that a reassignment waits for, and per replica that moves to another log directory."""

from dataclasses import dataclass, replace
from typing import Final

from kafka_warden.derive.moves.log_dirs import LogDirMove
from kafka_warden.derive.moves.moves import Move
from kafka_warden.history.column import Column, Columns, Role, Table, column, path_column, records
from kafka_warden.history.column_types import INT, STRING, ColumnType
from kafka_warden.history.poll import Poll, topic_id_text
from kafka_warden.model import FutureReplica

REASSIGNMENT: Final = "reassignment"
WAITING: Final = "waiting"
LOG_DIR: Final = "log_dir"


@dataclass(frozen=True, slots=True)
class Moving:
    """One move. The raw values of a reassignment are in `replicas`."""

    topic: str
    topic_id: str | None
    partition: int
    broker: int
    raw: FutureReplica | None = None
    derived: Move | LogDirMove | None = None


def _rows(poll: Poll) -> list[Moving]:
    snapshot = poll.snapshot
    if not poll.derived.moves and not snapshot.future_replicas:
        return []
    ids = {topic: topic_id_text(uid) for topic, uid in zip(snapshot.topics, snapshot.topic_ids, strict=True)}
    found = {_key(move): move for move in poll.derived.throttling.log_dir_moves}
    reassigned = [
        Moving(move.topic, ids[move.topic], move.partition, move.broker, derived=move) for move in poll.derived.moves
    ]
    between = [
        Moving(raw.topic, ids.get(raw.topic), raw.partition, raw.broker, raw, found.get(_key(raw)))
        for raw in snapshot.future_replicas
    ]
    return [*reassigned, *between]


def _key(move: FutureReplica | LogDirMove) -> tuple[str, int, int]:
    return move.topic, move.partition, move.broker


def _kind(_: Poll, row: Moving) -> str:
    if row.raw is not None:
        return LOG_DIR
    return REASSIGNMENT if getattr(row.derived, "adding", True) else WAITING


def _identity(name: str, type_: ColumnType, text: str) -> Column:
    roots = ("derived.moves[]", "snapshot.future_replicas[]", "derived.throttling.log_dir_moves[]")
    sources = tuple(f"{root}.{name}" for root in roots)
    return column(name, type_, text, lambda _, row: getattr(row, name), sources, role=Role.KEY)


def _raw(name: str) -> Column:
    path = f"snapshot.future_replicas[].{name}"
    return path_column(name, path, lambda _, row: getattr(row.raw, name, None), text="{}; `log_dir` only")


def _derived(name: str, type_: ColumnType | None = None) -> Column:
    """Make a column of a derived value; of both kinds of moves, if both have it."""
    path, both = f"derived.moves[].{name}", name in LogDirMove.__slots__
    text = "{}" if both else "{}; not of `log_dir`"
    made = path_column(name, path, lambda _, row: getattr(row.derived, name, None), type_=type_, text=text)
    return replace(made, sources=(path, f"derived.throttling.log_dir_moves[].{name}")) if both else made


MOVES: Final = Table(
    "moves",
    "One row per replica that a reassignment adds, per replica that stays and that a reassignment waits for, and per "
    "replica that moves to another log directory. Empty while the reassignments are not known.",
    ("kind", "topic", "topic_id", "partition", "broker"),
    (
        column(
            "kind",
            STRING,
            "`reassignment`, `log_dir`, or `waiting` of a replica that stays and that a reassignment waits for",
            _kind,
            ("derived.moves[].adding",),
            role=Role.KEY,
        ),
        _identity("topic", STRING, "topic name"),
        column("topic_id", STRING, "topic id", lambda _, row: row.topic_id, role=Role.KEY),
        _identity("partition", INT, "partition number"),
        _identity("broker", INT, "id of the broker of the replica"),
        _raw("log_dir"),
        _raw("size"),
        _raw("offset_lag"),
        _derived("leader", INT),
        _derived("remaining_bytes"),
        _derived("remaining_messages"),
        _derived("progress"),
        _derived("bytes_per_second"),
        _derived("eta"),
        _derived("never_ends"),
        _derived("stalled"),
        _derived("stuck"),
    ),
    _rows,
    lambda poll: len(poll.derived.moves) + len(poll.snapshot.future_replicas),
)


def restore(rows: Columns) -> tuple[FutureReplica, ...]:
    """Restore the moves between log directories."""
    stored = zip(rows["kind"], records(MOVES.columns, "snapshot.future_replicas[].", rows), strict=True)
    found = (FutureReplica(**each) for kind, each in stored if kind == LOG_DIR)
    return tuple(sorted(found, key=lambda each: (each.broker, each.topic, each.partition)))
