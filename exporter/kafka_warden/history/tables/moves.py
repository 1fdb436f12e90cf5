"""`moves`: one row per replica that a reassignment waits for, and per replica that moves to another log directory."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final

from kafka_warden.derive.log_dir_moves import LogDirMove
from kafka_warden.derive.moves import Move
from kafka_warden.history.column import Columns, HistoryColumn, HistoryTable, columns, part_column, records, row_columns
from kafka_warden.history.column_types import INT
from kafka_warden.history.poll import Poll, topic_id_text
from kafka_warden.replies import FutureReplica

REASSIGNMENT: Final = "reassignment"
WAITING: Final = "waiting"
LOG_DIR: Final = "log_dir"


@dataclass(frozen=True, slots=True)
class MoveRow:
    """One move. The raw values of a reassignment are in `replicas`."""

    kind: Annotated[str, "`reassignment`, `log_dir`, or `waiting`: it stays, and a reassignment waits for it"]
    topic: Annotated[str, "topic name"]
    topic_id: Annotated[str | None, "topic id"]
    partition: Annotated[int, "partition number"]
    broker: Annotated[int, "broker of the replica"]
    raw: FutureReplica | None = None
    derived: Move | LogDirMove | None = None


def _rows(poll: Poll) -> list[MoveRow]:
    snapshot = poll.snapshot
    if not poll.derived.moves and not snapshot.future_replicas:
        return []
    ids = {topic: topic_id_text(uid) for topic, uid in zip(snapshot.topics, snapshot.topic_ids, strict=True)}
    found = {_key(move): move for move in poll.derived.throttling.log_dir_moves}
    reassigned = [
        MoveRow(
            REASSIGNMENT if move.adding else WAITING,
            move.topic,
            ids[move.topic],
            move.partition,
            move.broker,
            derived=move,
        )
        for move in poll.derived.moves
    ]
    between = [
        MoveRow(LOG_DIR, raw.topic, ids.get(raw.topic), raw.partition, raw.broker, raw, found.get(_key(raw)))
        for raw in snapshot.future_replicas
    ]
    return [*reassigned, *between]


def _key(move: FutureReplica | LogDirMove) -> tuple[str, int, int]:
    return move.topic, move.partition, move.broker


def _derived(name: str, path: str, type_: Any = None) -> HistoryColumn:
    """Make a column of a derived value. Moves between log directories have only some."""
    text = "{}" if name in LogDirMove.__slots__ else "{}; not of `log_dir`"
    return part_column("derived", name, path, type_=type_, text=text)


MOVES: Final = HistoryTable(
    "moves",
    "One row per replica that a reassignment adds or waits for, or that moves to another log directory."
    " Empty while reassignments are unknown.",
    ("kind", "topic", "topic_id", "partition", "broker"),
    (
        *row_columns(MoveRow, "snapshot.future_replicas[]", partition=INT, broker=INT),
        *columns(
            partial(part_column, "raw", text="{}; `log_dir` only"),
            "snapshot.future_replicas[]",
            "log_dir",
            "size",
            "offset_lag",
        ),
        _derived("leader", "derived.moves[].leader", INT),
        *columns(_derived, "derived.moves[]", "remaining_bytes", "remaining_messages", "progress", "bytes_per_second"),
        *columns(_derived, "derived.moves[]", "eta", "never_ends", "stalled", "stuck"),
    ),
    _rows,
    lambda poll: len(poll.derived.moves) + len(poll.snapshot.future_replicas),
    (
        *(f"derived.moves[].{name}" for name in ("topic", "partition", "broker", "adding")),
        *(f"derived.throttling.log_dir_moves[].{name}" for name in LogDirMove.__slots__),
    ),
)


def restore(rows: Columns) -> tuple[FutureReplica, ...]:
    """Restore the moves between log directories."""
    stored = zip(rows["kind"], records(MOVES.columns, "snapshot.future_replicas[].", rows), strict=True)
    found = (FutureReplica(**each) for kind, each in stored if kind == LOG_DIR)
    return tuple(sorted(found, key=lambda each: (each.broker, each.topic, each.partition)))
