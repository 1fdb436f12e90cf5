"""What alerts on reassignments and throttles read like."""

import math
from typing import Final

from tests.alerts.reading import Reading, text
from tests.alerts.scenarios.changes import moving, stuck, throttle_problem
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, after, age, during

STUCK, LATE = "KafkaReassignmentStuck", "KafkaReassignmentWillMissItsTime"
LOW, INCONSISTENT, LEFT = "KafkaThrottleTooLow", "KafkaThrottleInconsistent", "KafkaThrottleLeftBehind"


def _moving(eta: float | None = None, minutes: float = 25, brokers: int = 3) -> Exporter:
    exporter = Exporter(minutes, brokers=range(1, brokers + 1))
    moving(exporter, value=12, remaining=1.8e12, eta=eta)
    return exporter


def _stuck_by_throttles() -> Reading:
    exporter = _moving()
    exporter.set("replication_throttle_recommended_bytes_per_second", 4.2e6)
    stuck(exporter, 1, "throttle_below_inbound", broker=1)
    exporter.set("partition_bytes_in_per_second", 2.1e6, topic="orders", partition=0)
    for number, topic in enumerate("abcde", start=1):
        for partition in range(number):
            where = {"topic": topic, "partition": partition, "broker": 2}
            exporter.set("reassignment_stuck", 1, **where, cause="throttle_blocked" if number > 1 else "no_progress")
            exporter.set("reassignment_bytes_remaining", 1e9, **where)
            exporter.set("reassignment_stalled_seconds", age(0), **where)
    # It advances.
    exporter.set("reassignment_bytes_remaining", 5e9, topic="f", partition=0, broker=2)
    exporter.set("reassignment_stalled_seconds", lambda t: t + HOUR, topic="f", partition=0, broker=2)
    raised = (
        "Raise the throttle of all brokers of the moves to 4.2MB/s: "
        "kafka-reassign-partitions --execute --additional --throttle 4200000."
    )
    one = text(
        10,
        STUCK,
        "prod: stuck moves to broker 1: 1",
        "Producers write more than the throttle lets through. For 10m 0s.",
        "Most affected topics: orders (1). Remaining: 1TB. Inbound: 2.1MB/s.",
        raised,
        broker="1",
    )
    many = text(
        10,
        STUCK,
        "prod: stuck moves to broker 2: 15",
        "A throttle of 0 blocks them. For 10m 0s.",
        "Most affected topics: c (3), d (4), e (5). Remaining: 15GB.",
        raised,
        broker="2",
    )
    return Reading("stuck by throttles", [exporter], [one, many])


def _stuck_by_others() -> Reading:
    """The first cause ends; the moves of broker 3 have no series."""
    exporter = _moving(brokers=4)
    stuck(exporter, during(0, 600, 1, None), "target_down", broker=1)
    stuck(exporter, after(600, 1, None), "log_dir_full", broker=1)
    # The leaders of other moves do not answer: another alert.
    for number in range(5):
        where = {"topic": "hung", "partition": number, "broker": 1}
        exporter.set("reassignment_stuck", 1, **where, cause="leader_unresponsive")
    exporter.set("log_dir_move_eta_seconds", math.inf, topic="orders", partition=1, broker=2)
    exporter.set("log_dir_move_bytes_remaining", 3e10, topic="orders", partition=1, broker=2)
    exporter.set("reassignment_stuck", 5, topic="", partition="", broker=3, cause="no_progress")
    stuck(exporter, during(0, 800, 1, None), "throttle_blocked", broker=4)
    exporter.set("up", during(0, 600, 0, 1), source="offsets", broker=1)
    exporter.set("up", after(800, 0, 1), source="reassignments", broker="")
    of_1 = ("prod: stuck moves to broker 1: 1", "Most affected topics: orders (1). Remaining: 1TB.")
    of_2 = (
        "prod: stuck moves to broker 2: 1",
        "A copy to another log directory stands still.",
        "Most affected topics: orders (1). Remaining: 30GB.",
        "Raise replica.alter.log.dirs.io.max.bytes.per.second, or look at the disk.",
    )
    of_3 = (
        "prod: stuck moves to broker 3: 5",
        "No progress.",
        "Most affected topics: hidden by topics.deny (5).",
        "Look at the logs of this broker and of the leaders, at the network and at the disk.",
    )
    down, full = "Start it, or cancel the moves.", "Free space on the disk, or cancel the moves."
    old = "No sidecar has current data: these are the last known values."
    blocked = ("prod: stuck moves to broker 4: 1", "Most affected topics: orders (1). Remaining: 1TB.")
    raised = "Raise the throttle of all brokers of the moves."
    zero = "A throttle of 0 blocks them. For"
    texts = [
        text(9, STUCK, of_1[0], "The broker does not answer. For 9m 0s.", of_1[1], down, broker="1"),
        text(9, STUCK, *of_2, broker="2"),
        text(9, STUCK, *of_3, broker="3"),
        text(9, STUCK, blocked[0], f"{zero} 9m 0s.", blocked[1], raised, broker="4"),
        text(11, STUCK, of_1[0], "The disk has no room for them. For 11m 0s.", of_1[1], full, broker="1"),
        text(11, STUCK, *of_2, broker="2"),
        text(11, STUCK, *of_3, broker="3"),
        text(11, STUCK, blocked[0], f"{zero} 11m 0s.", blocked[1], raised, broker="4"),
        text(20, STUCK, of_1[0], "The disk has no room for them. For 20m 0s.", of_1[1], full, old, broker="1"),
        text(20, STUCK, *of_2, old, broker="2"),
        text(20, STUCK, *of_3, old, broker="3"),
        text(20, STUCK, blocked[0], f"{zero} 20m 0s.", blocked[1], raised, old, broker="4"),
    ]
    return Reading("stuck by other causes", [exporter], texts)


def _no_end() -> Reading:
    exporter = _moving()
    exporter.set("reassignment_total_eta_seconds", after(300, math.inf, 3600))
    exporter.set("reassignment_bottleneck_info", 1, broker=3, side="leader")
    exporter.set("replication_throttle_bytes_per_second", 1.05e6, broker=3, side="leader")
    exporter.set("replication_throttle_recommended_bytes_per_second", 4.2e6)
    never = text(
        21,
        LATE,
        "prod: moves never end",
        "Producers write more than is copied. Running for 21m 0s, allowed 4h 0m 0s.",
        "Partitions: 12. Remaining: 1.8TB. Limited by the leader throttle of broker 3, 1.05MB/s.",
        "Raise the throttle of all brokers of the moves to 4.2MB/s: "
        "kafka-reassign-partitions --execute --additional --throttle 4200000.",
    )
    return Reading("moves without an end", [exporter], [never])


def _late() -> Reading:
    late = text(
        16,
        LATE,
        "prod: moves need 1d 6h 0m 0s more",
        "They take longer than they may. Running for 16m 0s, allowed 1d 0h 0m 0s.",
        "Partitions: 12. Remaining: 1.8TB.",
        "No throttle ends them in time: wait for less traffic, or cancel some of them.",
    )
    return Reading("moves that are late", [_moving(30 * HOUR)], [late])


def _no_end_from_the_start() -> Reading:
    """There never was a finite ETA, and no broker answers any more."""
    exporter = _moving(math.inf, 40)
    exporter.set("up", after(1200, 0, 1), source="reassignments", broker="")
    for name in ("reassigning_partitions", "reassignment_total_bytes_remaining", "reassignment_total_eta_seconds"):
        exporter.add(name, during(0, 1230, 0, None))
    late = text(
        30,
        LATE,
        "prod: moves never end",
        "Producers write more than is copied. Running for 30m 0s.",
        "Partitions: 12. Remaining: 1.8TB.",
        "No throttle ends them in time: wait for less traffic, or cancel some of them.",
        "No sidecar has current data: these are the last known values.",
    )
    return Reading("moves without an end and without data", [exporter], [late])


def _too_low() -> Reading:
    exporter = _moving(3600, brokers=4)
    exporter.set("replication_throttle_recommended_bytes_per_second", 4.2e6)
    throttle_problem(exporter, "below_inbound", age(0), broker=1)
    throttle_problem(exporter, "blocked", age(0), broker=2, side="follower")
    exporter.set("replication_throttle_bytes_per_second", 0, broker=2, side="follower")
    throttle_problem(exporter, "holds_original", age(0), broker=3, side="follower")
    throttle_problem(exporter, "below_inbound", age(0), broker=4, side="log_dirs")
    to = "kafka-configs --alter --entity-type brokers --entity-name"
    raised = "Raise it to 4.2MB/s:"
    texts = [
        text(
            15,
            LOW,
            "prod: the leader throttle of broker 1 is too low",
            "Producers write more than it lets through: the replicas never catch up. For 15m 0s. Limit: 1MB/s.",
            f"{raised} {to} 1 --add-config leader.replication.throttled.rate=4200000.",
            broker="1",
            side="leader",
            explained="no",
        ),
        text(
            15,
            LOW,
            "prod: the follower throttle of broker 2 is too low",
            "It is 0, and a replica that it limits is behind: nothing is copied. For 15m 0s.",
            f"{raised} {to} 2 --add-config follower.replication.throttled.rate=4200000.",
            broker="2",
            side="follower",
            explained="no",
        ),
        text(
            15,
            LOW,
            "prod: the follower throttle of broker 3 is too low",
            "It keeps a replica out of the ISR that no move adds. For 15m 0s. Limit: 1MB/s.",
            f"{raised} {to} 3 --add-config follower.replication.throttled.rate=4200000.",
            broker="3",
            side="follower",
            explained="no",
        ),
        text(
            15,
            LOW,
            "prod: the log directory throttle of broker 4 is too low",
            "Producers write more than it lets through: the replicas never catch up. For 15m 0s. Limit: 1MB/s.",
            f"Raise it: {to} 4 --add-config replica.alter.log.dirs.io.max.bytes.per.second=RATE.",
            broker="4",
            side="log_dirs",
            explained="no",
        ),
    ]
    return Reading("throttles that are too low", [exporter], texts)


def _others() -> Reading:
    exporter = Exporter(40, brokers=(1, 2, 3))
    throttle_problem(exporter, "lopsided", age(0), broker=1)
    throttle_problem(exporter, "uneven", age(0), broker=2, side="follower")
    throttle_problem(exporter, "left_behind", age(0), broker=3)
    exporter.set("up", after(1500, 0, 1), source="configs", broker=3)
    inconsistent = (
        "A rate or a list is missing on one side, or brokers of one move have different ones. For 20m 0s.",
        "Broker 1, leader: one side only. Broker 2, follower: differs.",
        "Set one rate and one list for all brokers of the move.",
    )
    behind = "Nothing moves, and the next replica that falls out of the ISR would be limited by it."
    left = (
        "prod: the leader throttle of broker 3 was left behind",
        f"{behind} For 20m 0s. Limit: 1MB/s.",
        "Remove the rate and the lists: kafka-reassign-partitions --verify with the file of the move.",
    )
    texts = [
        text(20, INCONSISTENT, "prod: the throttles of a move do not match", *inconsistent, severity="info"),
        text(20, LEFT, *left, broker="3", side="leader"),
        text(
            35,
            LEFT,
            left[0],
            left[1].replace("20m 0s", "24m 40s"),
            left[2],
            "No sidecar has current data: these are the last known values.",
            broker="3",
            side="leader",
        ),
    ]
    return Reading("throttles that do not match, or are left behind", [exporter], texts)


READINGS: Final = [
    _stuck_by_throttles(),
    _stuck_by_others(),
    _no_end(),
    _late(),
    _no_end_from_the_start(),
    _too_low(),
    _others(),
]
