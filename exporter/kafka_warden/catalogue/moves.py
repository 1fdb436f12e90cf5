"""Reassignments under way: KIP-73, KIP-455; moves between log directories: KIP-113."""

from collections import Counter
from collections.abc import Callable, Iterator

from kafka_warden.catalogue.metric import Kind, Labels, Metric, Sample, View, keyed, known
from kafka_warden.derive.log_dir_moves import LogDirMove
from kafka_warden.derive.move_totals import Totals
from kafka_warden.derive.moves import Move
from kafka_warden.derive.stuck import STUCK_WAIT

MOVE = ("topic", "partition", "broker")


def _each(name: str, about: str, value: Callable[[Move], float | None]) -> Metric:
    return Metric(name, about, MOVE, lambda view: known((_labels(move), value(move)) for move in _shown(view)))


def _shown(view: View) -> Iterator[Move]:
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


def _total(name: str, about: str, value: Callable[[Totals], float | None]) -> Metric:
    return Metric(name, about, (), lambda view: known([((), value(view.derived.totals))]))


def _log_dir_bytes(view: View) -> Iterator[Sample]:
    allowed, moves = _allowed(view), view.derived.throttling.log_dir_moves
    return known((_labels(move), move.remaining_bytes) for move in moves if move.topic in allowed)


def _log_dir_etas(view: View) -> Iterator[Sample]:
    """Name the copies of topics that may have series, after the longest of the others: an alert must not miss them."""
    allowed = _allowed(view)
    longest: dict[Labels, float] = {}
    named: list[Sample] = []
    for move in view.derived.throttling.log_dir_moves:
        if move.eta is not None and move.topic in allowed:
            named.append((_labels(move), move.eta))
        elif move.eta is not None:
            hidden = "", "", str(move.broker)
            longest[hidden] = max(move.eta, longest.get(hidden, 0.0))
    yield from longest.items()
    yield from named


MOVES = (
    _total(
        "reassigning_partitions",
        "Partitions under reassignment (ListPartitionReassignments). KIP-455",
        lambda totals: totals.reassigning_partitions,
    ),
    _total(
        "reassignment_move_ratio",
        "MoveRatio of KIP-73: partitions under reassignment divided by all partitions (ListPartitionReassignments)",
        lambda totals: totals.ratio,
    ),
    Metric(
        "reassignment_replicas",
        "Replicas being added or removed (ListPartitionReassignments). KIP-455",
        ("broker", "change"),
        _changes,
    ),
    _each(
        "reassignment_bytes_remaining",
        "Bytes that the adding replica lacks; 0 where a move only waits for a replica that stays (DescribeLogDirs, "
        "ListOffsets). KIP-73",
        lambda move: move.remaining_bytes,
    ),
    _each(
        "reassignment_messages_remaining",
        "Messages that the adding replica lacks; 0 where a move only waits for a replica that stays (ListOffsets). "
        "KIP-73",
        lambda move: move.remaining_messages,
    ),
    _each(
        "reassignment_progress_ratio",
        "Copied bytes of the adding replica divided by copied and remaining bytes (DescribeLogDirs, ListOffsets)",
        lambda move: move.progress,
    ),
    _each(
        "reassignment_bytes_per_second",
        "Bytes per second that the adding replica copies, measured over multiples of 12 s (DescribeLogDirs)",
        lambda move: move.bytes_per_second,
    ),
    _each(
        "reassignment_eta_seconds",
        "Seconds until the adding replica has caught up; +Inf when it never does (DescribeLogDirs, ListOffsets, "
        "DescribeConfigs). docs/spec/moves.md#eta",
        lambda move: move.eta,
    ),
    _each(
        "reassignment_never_ends",
        "1 when producers write more than the throttle lets through (DescribeConfigs, ListOffsets). "
        "docs/spec/throttle-law.md#never",
        lambda move: None if move.never_ends is None else float(move.never_ends),
    ),
    _each(
        "reassignment_stalled_seconds",
        "Seconds since the bytes that the replica lacks last reached a new minimum (DescribeLogDirs, ListOffsets)",
        lambda move: move.stalled,
    ),
    Metric(
        "reassignment_stuck",
        "1 for each move that is stuck, with the most likely cause. Empty topic and partition: number of stuck moves "
        f"of topics without series, each counted once it is stuck for {STUCK_WAIT:g} s, or at once if it cannot end by "
        "itself (all sources; topics.deny; alerts/runbooks)",
        (*MOVE, "cause"),
        _stuck,
    ),
    _total(
        "reassignment_total_bytes_remaining",
        "Bytes that all adding replicas lack; absent while a part is unknown (DescribeLogDirs, ListOffsets)",
        lambda totals: totals.remaining_bytes,
    ),
    _total(
        "reassignment_total_eta_seconds",
        "Seconds until the last adding replica has caught up; absent while a part is unknown or nothing moves "
        "(DescribeLogDirs, ListOffsets, DescribeConfigs)",
        lambda totals: totals.eta,
    ),
    Metric(
        "reassignment_deadline_seconds",
        "Time in which moves have to end (option moves.deadline), used for the recommended throttle",
        (),
        lambda view: [((), view.parameters.moves_deadline)],
    ),
    _total(
        "reassignment_predicted_seconds",
        "MoveTime of KIP-73; absent without moves or without a throttle (DescribeLogDirs, DescribeConfigs)",
        lambda totals: totals.predicted,
    ),
    _total(
        "reassignment_predicted_bottleneck_seconds",
        "Remaining bytes of the throttled broker and side that end last, divided by the rate that its throttle allows; "
        "absent without moves or without a throttle (DescribeLogDirs, ListOffsets, DescribeConfigs). "
        "docs/spec/moves.md#move-time",
        lambda totals: totals.predicted_bottleneck,
    ),
    Metric(
        "reassignment_bottleneck_info",
        "The throttled broker and side that ends last (DescribeLogDirs, ListOffsets, DescribeConfigs)",
        ("broker", "side"),
        lambda view: keyed([(key, 1)] if (key := view.derived.totals.bottleneck) is not None else []),
        Kind.INFO,
    ),
    Metric(
        "log_dir_move_bytes_remaining",
        "Bytes still to arrive in the new log directory of the replica (DescribeLogDirs). KIP-113",
        MOVE,
        _log_dir_bytes,
    ),
    Metric(
        "log_dir_move_eta_seconds",
        "Seconds until the copy in the new log directory has caught up, at the rate measured over multiples of 12 s, "
        "or at the limit while that rate is unknown. Empty topic and partition: the longest of topics without series "
        "(DescribeLogDirs, DescribeConfigs; topics.deny). KIP-113",
        MOVE,
        _log_dir_etas,
    ),
)
