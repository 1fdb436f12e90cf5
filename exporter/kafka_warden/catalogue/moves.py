"""Reassignments under way: KIP-73, KIP-455; moves between log directories: KIP-113."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from operator import add

from kafka_warden.catalogue.metric import Kind, Labels, Metric, Sample, View, keyed, known
from kafka_warden.derive.log_dir_moves import LogDirMove
from kafka_warden.derive.move_totals import Totals
from kafka_warden.derive.moves import Move
from kafka_warden.derive.stuck import STUCK_WAIT

MOVE = ("topic", "partition", "broker")


def _each(name: str, about: str, value: Callable[[Move], float | None], *, source: str) -> Metric:
    def read(view: View) -> Iterator[Sample]:
        return known((_labels(move), value(move)) for move in shown_moves(view))

    return Metric(name, about, MOVE, read, source=source, value=value)


def shown_moves(view: View) -> Iterator[Move]:
    """Return the moves of topics that may have series."""
    allowed = _allowed(view)
    return (move for move in view.derived.moves if move.topic in allowed)


def _allowed(view: View) -> set[str]:
    return {name for name, may in zip(view.snapshot.topics, view.topics.tolist(), strict=True) if may}


def _labels(move: Move | LogDirMove) -> Labels:
    return move.topic, str(move.partition), str(move.broker)


def _stuck(view: View) -> Iterator[Sample]:
    """Name the moves of topics that may have series, and count the others: an alert must not miss them.

    No series shows how long one of the others is stuck, so they count once they are stuck for long enough.
    """
    allowed = _allowed(view)
    hidden = Counter[Labels]()
    for move in view.derived.moves:
        if move.stuck is not None and move.topic in allowed:
            yield (*_labels(move), move.stuck), 1
        elif move.stuck is not None and move.lasting:
            hidden["", "", str(move.broker), move.stuck] += 1
    yield from hidden.items()


def _changes(view: View) -> Iterator[Sample]:
    cluster = view.derived.cluster
    if not view.snapshot.reassignments_known:
        return
    for change, column in (("adding", cluster.adding), ("removing", cluster.removing)):
        for (broker,), count in view.brokers(column):
            yield (broker, change), count


def _total(name: str, about: str, value: Callable[[Totals], float | None], *, source: str) -> Metric:
    return Metric(name, about, (), lambda view: known([((), value(view.derived.totals))]), source=source)


def _named(
    view: View, values: Iterable[tuple[Move | LogDirMove, float | None]], combine: Callable[[float, float], float]
) -> Iterator[Sample]:
    """Name the moves of topics that may have series, after the others of each broker combined, from 0.

    An alert must not miss those. Unknown values are left out.
    """
    allowed = _allowed(view)
    others: dict[Labels, float] = {}
    named: list[Sample] = []
    for move, value in values:
        if value is not None and move.topic in allowed:
            named.append((_labels(move), value))
        elif value is not None:
            hidden = "", "", str(move.broker)
            others[hidden] = combine(others.get(hidden, 0.0), value)
    yield from others.items()
    yield from named


def _bytes(view: View, moves: Iterable[Move | LogDirMove]) -> Iterator[Sample]:
    return _named(view, ((move, move.remaining_bytes) for move in moves), add)


def _log_dir_etas(view: View) -> Iterator[Sample]:
    return _named(view, ((move, move.eta) for move in view.derived.throttling.log_dir_moves), max)


MOVES = (
    _total(
        "reassigning_partitions",
        "Partitions under reassignment",
        lambda totals: totals.reassigning_partitions,
        source="ListPartitionReassignments. KIP-455",
    ),
    _total(
        "reassignment_move_ratio",
        "MoveRatio of KIP-73: partitions under reassignment / all partitions",
        lambda totals: totals.ratio,
        source="ListPartitionReassignments",
    ),
    Metric(
        "reassignment_replicas",
        "Replicas being added or removed",
        ("broker", "change"),
        _changes,
        source="ListPartitionReassignments. KIP-455",
    ),
    Metric(
        "reassignment_bytes_remaining",
        "Bytes that the adding replica lacks, 0 if it stays. Empty topic: sum without series",
        MOVE,
        lambda view: _bytes(view, view.derived.moves),
        source="DescribeLogDirs, ListOffsets. KIP-73",
        value=lambda move: move.remaining_bytes,
    ),
    _each(
        "reassignment_messages_remaining",
        "Messages that the adding replica lacks; 0 for a replica that stays",
        lambda move: move.remaining_messages,
        source="ListOffsets. KIP-73",
    ),
    _each(
        "reassignment_progress_ratio",
        "Copied / (copied + remaining) bytes",
        lambda move: move.progress,
        source="DescribeLogDirs, ListOffsets",
    ),
    _each(
        "reassignment_bytes_per_second",
        "Bytes per second that the adding replica copies",
        lambda move: move.bytes_per_second,
        source="DescribeLogDirs",
    ),
    _each(
        "reassignment_eta_seconds",
        "Seconds until the adding replica has caught up; +Inf when it never does",
        lambda move: move.eta,
        source="DescribeLogDirs, ListOffsets, DescribeConfigs",
    ),
    _each(
        "reassignment_never_ends",
        "1 when producers write more than the throttle lets through",
        lambda move: None if move.never_ends is None else float(move.never_ends),
        source="DescribeConfigs, ListOffsets",
    ),
    _each(
        "reassignment_stalled_seconds",
        "Seconds since the bytes to copy last reached a new minimum",
        lambda move: move.stalled,
        source="DescribeLogDirs, ListOffsets",
    ),
    Metric(
        "reassignment_stuck",
        "1 for each stuck move, with its likely cause. Empty topic and partition: number without series "
        f"that lasted {STUCK_WAIT:g} s, or cannot end by themselves",
        (*MOVE, "cause"),
        _stuck,
        source="all sources",
    ),
    _total(
        "reassignment_total_bytes_remaining",
        "Bytes that all adding replicas lack; absent while a part is unknown",
        lambda totals: totals.remaining_bytes,
        source="DescribeLogDirs, ListOffsets",
    ),
    _total(
        "reassignment_total_eta_seconds",
        "Seconds until the last adding replica has caught up; absent while a part is unknown or nothing moves",
        lambda totals: totals.eta,
        source="DescribeLogDirs, ListOffsets, DescribeConfigs",
    ),
    Metric(
        "reassignment_deadline_seconds",
        "Time in which moves have to end",
        (),
        lambda view: [((), view.parameters.moves_deadline)],
        source="option moves.deadline",
    ),
    _total(
        "reassignment_predicted_seconds",
        "MoveTime of KIP-73; absent without moves or without a throttle",
        lambda totals: totals.predicted,
        source="DescribeLogDirs, DescribeConfigs",
    ),
    _total(
        "reassignment_predicted_bottleneck_seconds",
        "Seconds until the throttled broker and side that end last are done, by the throttle law; absent "
        "without moves or without a throttle",
        lambda totals: totals.predicted_bottleneck,
        source="DescribeLogDirs, ListOffsets, DescribeConfigs",
    ),
    Metric(
        "reassignment_bottleneck_info",
        "The throttled broker and side that ends last",
        ("broker", "side"),
        lambda view: keyed([(key, 1)] if (key := view.derived.totals.bottleneck) is not None else []),
        Kind.INFO,
        source="DescribeLogDirs, ListOffsets, DescribeConfigs",
    ),
    Metric(
        "log_dir_move_bytes_remaining",
        "Bytes that the new log directory lacks. Empty topic: sum without series",
        MOVE,
        lambda view: _bytes(view, view.derived.throttling.log_dir_moves),
        source="DescribeLogDirs. KIP-113",
    ),
    Metric(
        "log_dir_move_eta_seconds",
        "Seconds until the copy in the new log directory has caught up. Empty topic and partition: longest "
        "without series",
        MOVE,
        _log_dir_etas,
        source="DescribeLogDirs, DescribeConfigs; topics.deny. KIP-113",
    ),
)
