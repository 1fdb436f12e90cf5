"""Reassignments under way: KIP-73, KIP-455; moves between log directories: KIP-113."""

from collections.abc import Callable, Iterator

from kafka_warden.catalogue.metric import Kind, Labels, Metric, Read, Sample, View, keyed, known
from kafka_warden.derive.moves.log_dirs import LogDirMove
from kafka_warden.derive.moves.moves import Move

MOVE = ("topic", "partition", "broker")


def _each(value: Callable[[Move], float | None]) -> Read:
    return lambda view: known((_labels(move), value(move)) for move in _shown(view))


def _shown(view: View) -> Iterator[Move]:
    allowed = _allowed(view)
    return (move for move in view.derived.moves if move.topic in allowed)


def _allowed(view: View) -> set[str]:
    return {name for name, may in zip(view.snapshot.topics, view.topics.tolist(), strict=True) if may}


def _labels(move: Move | LogDirMove) -> Labels:
    return move.topic, str(move.partition), str(move.broker)


def _changes(view: View) -> Iterator[Sample]:
    cluster = view.derived.cluster
    if not view.snapshot.reassignments_known:
        return
    for change, column in (("adding", cluster.adding), ("removing", cluster.removing)):
        for (broker,), count in view.brokers(column):
            yield (broker, change), count


def _total(value: Callable[[View], float | None]) -> Read:
    return lambda view: known([((), value(view))])


def _each_log_dir(value: Callable[[LogDirMove], float | None]) -> Read:
    def read(view: View) -> Iterator[Sample]:
        allowed, moves = _allowed(view), view.derived.throttling.log_dir_moves
        return known((_labels(move), value(move)) for move in moves if move.topic in allowed)

    return read


MOVES = (
    Metric(
        "reassigning_partitions",
        "Partitions under reassignment (ListPartitionReassignments). KIP-455",
        (),
        _total(lambda view: view.derived.totals.reassigning_partitions),
    ),
    Metric(
        "reassignment_move_ratio",
        "MoveRatio of KIP-73: partitions under reassignment divided by all partitions (ListPartitionReassignments)",
        (),
        _total(lambda view: view.derived.totals.ratio),
    ),
    Metric(
        "reassignment_replicas",
        "Replicas being added or removed (ListPartitionReassignments). KIP-455",
        ("broker", "change"),
        _changes,
    ),
    Metric(
        "reassignment_bytes_remaining",
        "Bytes that the adding replica lacks (DescribeLogDirs, ListOffsets). KIP-73",
        MOVE,
        _each(lambda move: move.remaining_bytes),
    ),
    Metric(
        "reassignment_messages_remaining",
        "Messages that the adding replica lacks (ListOffsets). KIP-73",
        MOVE,
        _each(lambda move: move.remaining_messages),
    ),
    Metric(
        "reassignment_progress_ratio",
        "Copied bytes of the adding replica divided by copied and remaining bytes (DescribeLogDirs, ListOffsets)",
        MOVE,
        _each(lambda move: move.progress),
    ),
    Metric(
        "reassignment_bytes_per_second",
        "Bytes per second that the adding replica copies, measured over multiples of 12 s (DescribeLogDirs)",
        MOVE,
        _each(lambda move: move.bytes_per_second),
    ),
    Metric(
        "reassignment_eta_seconds",
        "Seconds until the adding replica has caught up; +Inf when it never does (DescribeLogDirs, ListOffsets, "
        "DescribeConfigs). docs/throttle-law.md",
        MOVE,
        _each(lambda move: move.eta),
    ),
    Metric(
        "reassignment_never_ends",
        "1 when producers write more than the throttle lets through (DescribeConfigs, ListOffsets). "
        "docs/throttle-law.md",
        MOVE,
        _each(lambda move: None if move.never_ends is None else float(move.never_ends)),
    ),
    Metric(
        "reassignment_stalled_seconds",
        "Seconds since the remaining bytes last reached a new minimum (DescribeLogDirs, ListOffsets)",
        MOVE,
        _each(lambda move: move.stalled),
    ),
    Metric(
        "reassignment_stuck",
        "1 while the move is stuck, with the most likely cause (all sources; alerts/runbooks)",
        (*MOVE, "cause"),
        lambda view: (((*_labels(move), move.stuck), 1) for move in _shown(view) if move.stuck is not None),
    ),
    Metric(
        "reassignment_total_bytes_remaining",
        "Bytes that all adding replicas lack; absent while a part is unknown (DescribeLogDirs, ListOffsets)",
        (),
        _total(lambda view: view.derived.totals.remaining_bytes),
    ),
    Metric(
        "reassignment_total_eta_seconds",
        "Seconds until the last adding replica has caught up; absent while a part is unknown or nothing moves "
        "(DescribeLogDirs, ListOffsets, DescribeConfigs)",
        (),
        _total(lambda view: view.derived.totals.eta),
    ),
    Metric(
        "reassignment_deadline_seconds",
        "Time in which moves have to end (option moves.deadline), used for the recommended throttle",
        (),
        lambda view: [((), view.parameters.moves_deadline)],
    ),
    Metric(
        "reassignment_predicted_seconds",
        "MoveTime of KIP-73; absent without moves or without a throttle (DescribeLogDirs, DescribeConfigs)",
        (),
        _total(lambda view: view.derived.totals.predicted),
    ),
    Metric(
        "reassignment_predicted_bottleneck_seconds",
        "Remaining bytes of the throttled broker and side that end last, divided by the rate that its throttle allows; "
        "absent without moves or without a throttle (DescribeLogDirs, ListOffsets, DescribeConfigs). "
        "docs/throttle-law.md",
        (),
        _total(lambda view: view.derived.totals.predicted_bottleneck),
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
        _each_log_dir(lambda move: move.remaining_bytes),
    ),
    Metric(
        "log_dir_move_eta_seconds",
        "Seconds until the copy in the new log directory has caught up, at the rate measured over multiples of 12 s, "
        "or at the limit while that rate is unknown (DescribeLogDirs, DescribeConfigs). KIP-113",
        MOVE,
        _each_log_dir(lambda move: move.eta),
    ),
)
