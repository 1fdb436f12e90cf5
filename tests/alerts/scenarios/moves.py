"""Reassignments, moves between log directories, and their throttles."""

from tests.alerts.scenarios.changes import STILL, moving, stuck, throttle_problem
from tests.alerts.scenarios.scenario import Story, fires, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, after, age, during, in_each, ramp


@scenario("S12")
def deadline_that_moves() -> Story:
    """The ETA of a move is 3 h 53 min for a whole day, with a deadline of 4 h: an alert within 8 h."""
    exporter = Exporter(24 * 60, step=60)
    moving(exporter, value=after(10 * MINUTE, 200), eta=after(10 * MINUTE, 14000, None))
    checks = [fires("KafkaReassignmentWillMissItsTime", until=490), firing("KafkaReassignmentWillMissItsTime", at=1430)]
    return Story([exporter], checks, evaluation=60)


@scenario("S12b")
def long_move_on_plan() -> Story:
    """A move needs 10 h from the start, with a deadline of 4 h for others, and stays on its plan: no alert."""
    exporter = Exporter(12 * 60, step=60)
    start, end = 10 * MINUTE, 10 * MINUTE + 10 * HOUR
    moving(
        exporter,
        value=during(start, end, 200),
        remaining=during(start, end, ramp(start, end, STILL, 0)),
        eta=during(start, end, lambda t: end - t, None),
    )
    return Story([exporter], [silent(until=720)], evaluation=60)


@scenario("S18")
def throttle_too_low_most_of_the_time() -> Story:
    """A throttle is below the inbound rate for 8 of every 9 min, for 4 h: an alert within an hour."""
    exporter = Exporter(240)
    throttle_problem(exporter, "below_inbound", in_each(540, 480, lambda t: t % 540, None), side="follower")
    return Story([exporter], [fires("KafkaThrottleTooLow", until=60, broker="2", side="follower")])


@scenario("S20")
def many_moves() -> Story:
    """300 moves to 30 brokers are stuck, and their cause changes: one alert for each broker, without a gap."""
    exporter = Exporter(60, brokers=range(1, 31))
    moving(exporter, value=after(10 * MINUTE, 300), eta=None)
    for number in range(300):
        where = {"topic": f"t{number % 7}", "partition": number, "broker": number % 30 + 1}
        first, second = during(10 * MINUTE, 35 * MINUTE, 1, None), after(35 * MINUTE, 1, None)
        exporter.set("reassignment_stuck", first, **where, cause="no_progress")
        exporter.set("reassignment_stuck", second, **where, cause="throttle_blocked")
        exporter.set("reassignment_stalled_seconds", age(10 * MINUTE), **where)
    return Story([exporter], [silent(until=10), *steady("KafkaReassignmentStuck", 20, 60, count=30)], evaluation=30)


@scenario("S22")
def deleted_while_pending() -> Story:
    """The topic of a stuck move is deleted after 4 min: no alert."""
    exporter = Exporter(60)
    moving(exporter, value=during(0, 840, 1), eta=None, remaining=during(0, 840, STILL))
    stuck(exporter, during(600, 840, 1, None), since=600)
    exporter.end(840, topic="orders")
    return Story([exporter], [silent("KafkaReassignmentStuck", until=60)])


@scenario("S22b")
def deleted_while_firing() -> Story:
    """The topic of a stuck move is deleted while the alert fires: it ends within 7 min."""
    exporter = Exporter(60)
    moving(exporter, value=during(0, 1500, 1), eta=None, remaining=during(0, 1500, STILL))
    stuck(exporter, during(600, 1500, 1, None), since=600)
    exporter.end(1500, topic="orders")
    return Story([exporter], [firing("KafkaReassignmentStuck", at=24), over("KafkaReassignmentStuck", at=32)])


@scenario("S51")
def batches_with_pauses() -> Story:
    """Hourly batches of 35 min, whose throttles stay in the pauses of 25 min: they are not called left behind."""
    exporter = Exporter(240, step=30)
    moving(exporter, value=in_each(3600, 2100, 5), eta=in_each(3600, 2100, lambda t: 2100 - t % 3600, None))
    exporter.set("reassignment_total_bytes_remaining", in_each(3600, 2100, lambda t: 1e9 * (2100 - t % 3600)))
    throttle_problem(exporter, "left_behind", in_each(3600, 2190, None, lambda t: t % 3600 - 2100))
    return Story([exporter], [silent(until=240)], evaluation=30)
