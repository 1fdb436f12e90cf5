"""Reassignments and throttles whose alerts are read."""

import math

from tests.alerts.reading import reading
from tests.alerts.scenarios.changes import moving, stuck, throttle_problem
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, after, age, during

STUCK, LATE = "KafkaReassignmentStuck", "KafkaReassignmentWillMissItsTime"
LOW, INCONSISTENT, LEFT = "KafkaThrottleTooLow", "KafkaThrottleInconsistent", "KafkaThrottleLeftBehind"


def moves(exporter: Exporter, eta: float | None = None) -> None:
    moving(exporter, value=12, remaining=1.8e12, eta=eta)


@reading("stuck by throttles", 25, (10, STUCK))
def stuck_by_throttles(exporter: Exporter) -> None:
    moves(exporter)
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


@reading("stuck by other causes", 25, (9, STUCK), (11, STUCK), (20, STUCK), brokers=(1, 2, 3, 4))
def stuck_by_others(exporter: Exporter) -> None:
    """The first cause ends; the moves of broker 3 have no series."""
    moves(exporter)
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


@reading("moves without an end", 25, (21, LATE))
def no_end(exporter: Exporter) -> None:
    moves(exporter)
    exporter.set("reassignment_total_eta_seconds", after(300, math.inf, 3600))
    exporter.set("reassignment_bottleneck_info", 1, broker=3, side="leader")
    exporter.set("replication_throttle_bytes_per_second", 1.05e6, broker=3, side="leader")
    exporter.set("replication_throttle_recommended_bytes_per_second", 4.2e6)


@reading("moves that are late", 25, (16, LATE))
def late(exporter: Exporter) -> None:
    moves(exporter, 30 * HOUR)


@reading("moves without an end and without data", 40, (30, LATE))
def no_end_from_the_start(exporter: Exporter) -> None:
    """There never was a finite ETA, and no broker answers any more."""
    moves(exporter, math.inf)
    exporter.set("up", after(1200, 0, 1), source="reassignments", broker="")
    for name in ("reassigning_partitions", "reassignment_total_bytes_remaining", "reassignment_total_eta_seconds"):
        exporter.add(name, during(0, 1230, 0, None))


@reading("throttles that are too low", 25, (15, LOW), brokers=(1, 2, 3, 4))
def too_low(exporter: Exporter) -> None:
    moves(exporter, 3600)
    exporter.set("replication_throttle_recommended_bytes_per_second", 4.2e6)
    throttle_problem(exporter, "below_inbound", age(0), broker=1)
    throttle_problem(exporter, "blocked", age(0), broker=2, side="follower")
    exporter.set("replication_throttle_bytes_per_second", 0, broker=2, side="follower")
    throttle_problem(exporter, "holds_original", age(0), broker=3, side="follower")
    throttle_problem(exporter, "below_inbound", age(0), broker=4, side="log_dirs")


@reading(
    "throttles that do not match or are left behind",
    40,
    (20, INCONSISTENT),
    (20, LEFT),
    (35, LEFT),
    brokers=(1, 2, 3),
)
def other_problems(exporter: Exporter) -> None:
    throttle_problem(exporter, "lopsided", age(0), broker=1)
    throttle_problem(exporter, "uneven", age(0), broker=2, side="follower")
    throttle_problem(exporter, "left_behind", age(0), broker=3)
    exporter.set("up", after(1500, 0, 1), source="configs", broker=3)
