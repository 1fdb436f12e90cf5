"""Reassignments, moves between log directories, and their throttles."""

import math

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


@scenario("S12c")
def move_without_end() -> Story:
    """Producers write more than the throttle lets through, so the ETA is infinite: an alert within 40 min."""
    exporter = Exporter(120)
    moving(exporter, value=after(10 * MINUTE, 200), eta=after(10 * MINUTE, math.inf, None))
    return Story([exporter], [silent(until=10), fires("KafkaReassignmentWillMissItsTime", until=50)])


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


@scenario("S23")
def throttles_left_behind() -> Story:
    """A move ends, and the throttles of three brokers stay: six instances within 45 min, none in the first 15."""
    exporter = Exporter(90)
    moving(exporter, value=during(0, 600, 5), eta=None, remaining=during(0, 600, STILL))
    for broker in exporter.brokers:
        for side in ("leader", "follower"):
            throttle_problem(exporter, "left_behind", after(690, lambda t: t - 600, None), broker=broker, side=side)
    checks = [silent("KafkaThrottleLeftBehind", until=25), firing("KafkaThrottleLeftBehind", at=55, count=6)]
    return Story([exporter], checks)


@scenario("S23b")
def throttle_of_a_long_move() -> Story:
    """A move of 3 h ends, and its throttle stays: an alert within an hour."""
    exporter = Exporter(300, step=30)
    end = 190 * MINUTE
    value, left = during(600, end, 5), during(600, end, ramp(600, end, STILL, 0))
    moving(exporter, value=value, remaining=left, eta=during(600, end, lambda t: end - t, None))
    throttle_problem(exporter, "left_behind", after(end + 90, lambda t: t - end, None))
    checks = [silent(until=190), fires("KafkaThrottleLeftBehind", until=250), firing("KafkaThrottleLeftBehind", at=300)]
    return Story([exporter], checks, evaluation=30)


@scenario("S41")
def stuck_between_directories() -> Story:
    """A move between log directories copies nothing for 3 h: an alert within an hour; one that advances is none."""
    halted, running = Exporter(240, step=30, cluster="halted"), Exporter(240, step=30, cluster="running")
    where = {"topic": "orders", "partition": 0, "broker": 2}
    halted.set("log_dir_move_bytes_remaining", after(10 * MINUTE, 5e11, None), **where)
    halted.set("log_dir_move_eta_seconds", after(10 * MINUTE, math.inf, None), **where)
    end = 10 * MINUTE + 3 * HOUR
    running.set("log_dir_move_bytes_remaining", during(600, end, ramp(600, end, 5e11, 0), None), **where)
    running.set("log_dir_move_eta_seconds", during(600, end, lambda t: end - t, None), **where)
    checks = [
        silent(until=10),
        fires("KafkaReassignmentStuck", until=70, cluster="halted", broker="2"),
        firing("KafkaReassignmentStuck", at=230, cluster="halted"),
        silent(cluster="running", until=240),
    ]
    return Story([halted, running], checks, evaluation=30)


@scenario("S51")
def batches_with_pauses() -> Story:
    """Hourly batches of 35 min, whose throttles stay in the pauses of 25 min: they are not called left behind."""
    exporter = Exporter(240, step=30)
    moving(exporter, value=in_each(3600, 2100, 5), eta=in_each(3600, 2100, lambda t: 2100 - t % 3600, None))
    exporter.set("reassignment_total_bytes_remaining", in_each(3600, 2100, lambda t: 1e9 * (2100 - t % 3600)))
    throttle_problem(exporter, "left_behind", in_each(3600, 2190, None, lambda t: t % 3600 - 2100))
    return Story([exporter], [silent(until=240)], evaluation=30)


@scenario("S71")
def throttles_differ() -> Story:
    """Throttles of four brokers are uneven or set on one side only for an hour: one info of the cluster."""
    exporter = Exporter(90, brokers=(1, 2, 3, 4))
    moving(exporter, eta=3600)
    for broker in exporter.brokers:
        throttle_problem(exporter, ("uneven", "lopsided")[broker % 2], age(10 * MINUTE, 70 * MINUTE), broker=broker)
    checks = [
        firing("KafkaThrottleInconsistent", at=60, count=1, severity="info"),
        over("KafkaThrottleInconsistent", at=90),
    ]
    return Story([exporter], [*checks, silent(severity="warning|critical", until=90)])


@scenario("S72")
def normal_move() -> Story:
    """A move of an hour under a throttle, with a burst in which it advances slowly: no alert, then or later."""
    exporter = Exporter(120)
    start, end = 10 * MINUTE, 70 * MINUTE
    moving(
        exporter,
        value=during(start, end, 50),
        remaining=during(start, end, ramp(start, end, STILL, 0)),
        eta=during(start, end, during(30 * MINUTE, 33 * MINUTE, math.inf, lambda t: end - t), None),
    )
    for broker in exporter.brokers:
        for side in ("leader", "follower"):
            limit = during(start - 60, end + 60, 1e8, math.inf)
            exporter.set("replication_throttle_bytes_per_second", limit, broker=broker, side=side)
        exporter.set("broker_out_of_sync_replicas", during(start, end, 20), broker=broker, state="moving")
    throttle_problem(exporter, "below_inbound", age(30 * MINUTE, 33 * MINUTE))
    return Story([exporter], [silent(until=120)])
