"""`moves`: one row per replica that a reassignment adds, and per replica that goes to another log directory."""

from dataclasses import dataclass
from typing import Any, Final

from kafka_warden.derive.moves.log_dirs import LogDirMove
from kafka_warden.derive.moves.moves import Move
from kafka_warden.history.column import Column, Role, Table
from kafka_warden.history.poll import Poll, topic_id_text
from kafka_warden.history.shapes import BIGINT, INT, STRING
from kafka_warden.history.tables.entities import (
    MAYBE,
    MAYBE_BROKER,
    MAYBE_NUMBER,
    MAYBE_REAL,
    MAYBE_TEXT,
    Entities,
    column,
    judged,
)
from kafka_warden.model import FutureReplica

REASSIGNMENT: Final = "reassignment"
LOG_DIR: Final = "log_dir"


@dataclass(frozen=True, slots=True)
class Moving:
    """One move; of a reassignment `told` is in `replicas`."""

    topic: str
    topic_id: str | None
    partition: int
    broker: int
    told: FutureReplica | None = None
    judged: Move | LogDirMove | None = None

    def of(self, attribute: str) -> Any:
        """Read what was judged; `None` where nothing was."""
        return getattr(self.judged, attribute, None)


def _rows(poll: Poll) -> Entities[Moving]:
    snapshot, judged_moves = poll.snapshot, poll.derived.throttling.log_dir_moves
    if not poll.derived.moves and not snapshot.future_replicas:
        return Entities(poll, [])
    ids = {topic: topic_id_text(uid) for topic, uid in zip(snapshot.topics, snapshot.topic_ids, strict=True)}
    found = {_key(move): move for move in judged_moves}
    reassigned = [
        Moving(move.topic, ids[move.topic], move.partition, move.broker, judged=move) for move in poll.derived.moves
    ]
    between = [
        Moving(told.topic, ids.get(told.topic), told.partition, told.broker, told, found.get(_key(told)))
        for told in snapshot.future_replicas
    ]
    return Entities(poll, [*reassigned, *between])


def _size(poll: Poll) -> int:
    return len(poll.derived.moves) + len(poll.snapshot.future_replicas)


def _key(move: FutureReplica | LogDirMove) -> tuple[str, int, int]:
    return move.topic, move.partition, move.broker


def _kind(_: Poll, item: Moving) -> str:
    return REASSIGNMENT if item.told is None else LOG_DIR


def _told(name: str, shape: Any, unit: str, text: str) -> Column[Any]:
    sources = (f"snapshot.future_replicas[].{name}",)
    return column(name, shape, unit, text, sources, lambda _, item: getattr(item.told, name, None))


def _judged(name: str, shape: Any, unit: str, text: str, *more: str) -> Column[Any]:
    sources = (f"derived.moves[].{name}", *(f"derived.throttling.log_dir_moves[].{each}" for each in more))
    return judged(name, shape, unit, text, sources, lambda _, item: item.of(name))


def _places(name: str) -> tuple[str, ...]:
    roots = ("derived.moves[]", "snapshot.future_replicas[]", "derived.throttling.log_dir_moves[]")
    return tuple(f"{root}.{name}" for root in roots)


MOVES: Final = Table(
    "moves",
    "One row per replica that a reassignment adds, and per replica on its way to another log directory. Empty while "
    "nobody tells what is being reassigned.",
    ("kind", "topic", "topic_id", "partition", "broker"),
    (
        column("kind", STRING, "", "`reassignment` or `log_dir`", (), _kind, Role.KEY),
        column("topic", STRING, "", "topic name", _places("topic"), lambda _, item: item.topic, Role.KEY),
        column("topic_id", MAYBE_TEXT, "", "topic id", (), lambda _, item: item.topic_id, Role.KEY),
        column("partition", INT, "", "its number", _places("partition"), lambda _, item: item.partition, Role.KEY),
        column("broker", INT, "", "where it goes", _places("broker"), lambda _, item: item.broker, Role.KEY),
        _told("log_dir", MAYBE_TEXT, "", "the directory where it goes; of `log_dir` only"),
        _told("size", BIGINT, "bytes", "what is there; of `log_dir` only"),
        _told("offset_lag", BIGINT, "messages", "as the broker tells; of `log_dir` only"),
        _judged("leader", MAYBE_BROKER, "", "broker that it is copied from; of `reassignment` only"),
        _judged("remaining_bytes", MAYBE_REAL, "bytes", "what it lacks", "remaining_bytes"),
        _judged("remaining_messages", MAYBE_NUMBER, "messages", "the same; of `reassignment` only"),
        _judged("progress", MAYBE_REAL, "ratio", "copied of all; of `reassignment` only"),
        _judged("bytes_per_second", MAYBE_REAL, "bytes/s", "what is copied; of `reassignment` only"),
        _judged("eta", MAYBE_REAL, "s", "until it is done; infinite where it never is", "eta"),
        _judged("never_ends", MAYBE, "", "its throttle does not let it; of `reassignment` only"),
        _judged("stalled", MAYBE_REAL, "s", "since it last got further; of `reassignment` only"),
        _judged("stuck", MAYBE_TEXT, "", "the cause while it is stuck; of `reassignment` only"),
    ),
    _rows,
    _size,
)
