"""Reassignments, moves between log directories, and their throttles."""

import math

from tests.alerts.reading import reading
from tests.alerts.scenarios.changes import STILL, moving, stuck, throttle_problem
from tests.alerts.scenarios.fault import fault
from tests.alerts.scenarios.scenario import Checks, fires, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, after, age, during, in_each, ramp

LATE = "KafkaReassignmentWillMissItsTime"


@scenario("S12", 24 * 60, step=60)
def deadline_that_moves(exporter: Exporter) -> Checks:
    """The ETA of a move is 3 h 53 min for a whole day, with a deadline of 4 h: an alert within 8 h."""
    moving(exporter, value=after(10 * MINUTE, 200), eta=after(10 * MINUTE, 14000, None))
    return [fires(LATE, until=490), firing(LATE, at=1430)]


@scenario("S12b", 12 * 60, step=60)
def long_move_on_plan(exporter: Exporter) -> Checks:
    """A move needs 10 h from the start, with a deadline of 4 h for others, and stays on its plan: no alert."""
    start, end = 10 * MINUTE, 10 * MINUTE + 10 * HOUR
    moving(
        exporter,
        value=during(start, end, 200),
        remaining=during(start, end, ramp(start, end, STILL, 0)),
        eta=during(start, end, lambda t: end - t, None),
    )
    return [silent(until=720)]


@scenario("S18", 240)
def throttle_too_low_most_of_the_time(exporter: Exporter) -> Checks:
    """A throttle is below the inbound rate for 8 of every 9 min, for 4 h: an alert within an hour."""
    throttle_problem(exporter, "below_inbound", in_each(540, 480, lambda t: t % 540, None), side="follower")
    return [fires("KafkaThrottleTooLow", until=60, broker="2", side="follower")]


@scenario("S20", 60, brokers=range(1, 31), evaluation=30)
def many_moves(exporter: Exporter) -> Checks:
    """300 moves to 30 brokers are stuck, and their cause changes: one alert for each broker, without a gap."""
    moving(exporter, value=after(10 * MINUTE, 300), eta=None)
    for number in range(300):
        where = {"topic": f"t{number % 7}", "partition": number, "broker": number % 30 + 1}
        first, second = during(10 * MINUTE, 35 * MINUTE, 1, None), after(35 * MINUTE, 1, None)
        exporter.set("reassignment_stuck", first, **where, cause="no_progress")
        exporter.set("reassignment_stuck", second, **where, cause="throttle_blocked")
        exporter.set("reassignment_stalled_seconds", age(10 * MINUTE), **where)
    return [silent(until=10), *steady("KafkaReassignmentStuck", 20, 60, count=30)]


@scenario("S22", 60)
def deleted_while_pending(exporter: Exporter) -> Checks:
    """The topic of a stuck move is deleted after 4 min: no alert."""
    moving(exporter, value=during(0, 840, 1), eta=None, remaining=during(0, 840, STILL))
    stuck(exporter, during(600, 840, 1, None), since=600)
    exporter.end(840, topic="orders")
    return [silent("KafkaReassignmentStuck", until=60)]


@scenario("S22b", 60)
def deleted_while_firing(exporter: Exporter) -> Checks:
    """The topic of a stuck move is deleted while the alert fires: it ends within 7 min."""
    moving(exporter, value=during(0, 1500, 1), eta=None, remaining=during(0, 1500, STILL))
    stuck(exporter, during(600, 1500, 1, None), since=600)
    exporter.end(1500, topic="orders")
    return [firing("KafkaReassignmentStuck", at=24), over("KafkaReassignmentStuck", at=32)]


@scenario("S51", 240, step=30)
def batches_with_pauses(exporter: Exporter) -> Checks:
    """Hourly batches of 35 min, whose throttles stay in the pauses of 25 min: they are not called left behind."""
    moving(exporter, value=in_each(3600, 2100, 5), eta=in_each(3600, 2100, lambda t: 2100 - t % 3600, None))
    exporter.set("reassignment_total_bytes_remaining", in_each(3600, 2100, lambda t: 1e9 * (2100 - t % 3600)))
    throttle_problem(exporter, "left_behind", in_each(3600, 2190, None, lambda t: t % 3600 - 2100))
    return [silent(until=240)]


@reading("moves without an end", 25, (21, LATE))
def read_no_end(exporter: Exporter) -> None:
    moving(exporter, 12, 1.8e12, None)
    exporter.set("reassignment_total_eta_seconds", after(300, math.inf, 3600))
    exporter.set("reassignment_bottleneck_info", 1, broker=3, side="leader")
    exporter.set("replication_throttle_bytes_per_second", 1.05e6, broker=3, side="leader")
    exporter.set("replication_throttle_recommended_bytes_per_second", 4.2e6)


@reading("moves that are late", 25, (16, LATE))
def read_late(exporter: Exporter) -> None:
    moving(exporter, 12, 1.8e12, 30 * HOUR)


@reading("moves without an end and without data", 40, (30, LATE))
def read_no_end_from_the_start(exporter: Exporter) -> None:
    """There never was a finite ETA, and no broker answers any more."""
    moving(exporter, 12, 1.8e12, math.inf)
    exporter.set("up", after(1200, 0, 1), source="reassignments", broker="")
    for name in ("reassigning_partitions", "reassignment_total_bytes_remaining", "reassignment_total_eta_seconds"):
        exporter.add(name, during(0, 1230, 0, None))


@fault(LATE, "the ETA is too late")
def endless(exporter: Exporter, start: float) -> None:
    moving(exporter, value=after(start, 10), eta=after(start, math.inf, None))
