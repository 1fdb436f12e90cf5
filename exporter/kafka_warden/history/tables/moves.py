"""`moves`: one row per replica that a reassignment waits for, and per replica that moves to another log directory."""

from dataclasses import dataclass
from typing import Any, Final

from kafka_warden.derive.moves.log_dirs import LogDirMove
from kafka_warden.derive.moves.moves import Move
from kafka_warden.history.column import Column, Role, Table
from kafka_warden.history.column_types import BIGINT, INT, STRING
from kafka_warden.history.poll import Poll, topic_id_text
from kafka_warden.history.tables.entities import (
    OPTIONAL_BIGINT,
    OPTIONAL_BOOLEAN,
    OPTIONAL_DOUBLE,
    OPTIONAL_INT,
    OPTIONAL_STRING,
    Entities,
    column,
)
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


def _rows(poll: Poll) -> Entities[Moving]:
    snapshot = poll.snapshot
    if not poll.derived.moves and not snapshot.future_replicas:
        return Entities(poll, [])
    ids = {topic: topic_id_text(uid) for topic, uid in zip(snapshot.topics, snapshot.topic_ids, strict=True)}
    found = {_key(move): move for move in poll.derived.throttling.log_dir_moves}
    reassigned = [
        Moving(move.topic, ids[move.topic], move.partition, move.broker, derived=move) for move in poll.derived.moves
    ]
    between = [
        Moving(raw.topic, ids.get(raw.topic), raw.partition, raw.broker, raw, found.get(_key(raw)))
        for raw in snapshot.future_replicas
    ]
    return Entities(poll, [*reassigned, *between])


def _key(move: FutureReplica | LogDirMove) -> tuple[str, int, int]:
    return move.topic, move.partition, move.broker


def _kind(moving: Moving) -> str:
    if moving.raw is not None:
        return LOG_DIR
    return REASSIGNMENT if getattr(moving.derived, "adding", True) else WAITING


def _raw(name: str, type_: Any, text: str, unit: str = "") -> Column[Any]:
    sources = (f"snapshot.future_replicas[].{name}",)
    text = f"{text}; `log_dir` only"
    return column(name, type_, text, sources, lambda _, item: getattr(item.raw, name, None), unit=unit)


def _derived(name: str, type_: Any, text: str, *more: str, unit: str = "") -> Column[Any]:
    sources = (f"derived.moves[].{name}", *(f"derived.throttling.log_dir_moves[].{each}" for each in more))
    text = text if more else f"{text}; not of `log_dir`"
    return column(name, type_, text, sources, lambda _, item: getattr(item.derived, name, None), unit=unit)


def _places(name: str) -> tuple[str, ...]:
    roots = ("derived.moves[]", "snapshot.future_replicas[]", "derived.throttling.log_dir_moves[]")
    return tuple(f"{root}.{name}" for root in roots)


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
            ("derived.moves[].adding",),
            lambda _, item: _kind(item),
            role=Role.KEY,
        ),
        column("topic", STRING, "topic name", _places("topic"), role=Role.KEY),
        column("topic_id", OPTIONAL_STRING, "topic id", role=Role.KEY),
        column("partition", INT, "partition number", _places("partition"), role=Role.KEY),
        column("broker", INT, "id of the broker of the replica", _places("broker"), role=Role.KEY),
        _raw("log_dir", OPTIONAL_STRING, "path of the new log directory"),
        _raw("size", BIGINT, "size of the log in the new directory", "bytes"),
        _raw("offset_lag", BIGINT, "lag that the broker reports", "messages"),
        _derived("leader", OPTIONAL_INT, "id of the broker that it is copied from"),
        _derived("remaining_bytes", OPTIONAL_DOUBLE, "bytes still to copy", "remaining_bytes", unit="bytes"),
        _derived("remaining_messages", OPTIONAL_BIGINT, "messages still to copy", unit="messages"),
        _derived("progress", OPTIONAL_DOUBLE, "copied part of the log", unit="ratio"),
        _derived("bytes_per_second", OPTIONAL_DOUBLE, "copy rate", unit="bytes/s"),
        _derived("eta", OPTIONAL_DOUBLE, "time until it is done; infinite if it never ends", "eta", unit="s"),
        _derived("never_ends", OPTIONAL_BOOLEAN, "its throttle is too low for it to end"),
        _derived("stalled", OPTIONAL_DOUBLE, "time since its last progress", unit="s"),
        _derived("stuck", OPTIONAL_STRING, "cause, while it is stuck"),
    ),
    _rows,
    lambda poll: len(poll.derived.moves) + len(poll.snapshot.future_replicas),
)
