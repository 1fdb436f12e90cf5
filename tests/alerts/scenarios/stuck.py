"""Moves that do not progress."""

import math

from tests.alerts.reading import reading
from tests.alerts.scenarios.changes import STILL, broker_down, moving, stuck, throttle_problem
from tests.alerts.scenarios.fault import fault
from tests.alerts.scenarios.scenario import Checks, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, after, age, during, in_each
from tests.support.promtool import Check

STUCK = "KafkaReassignmentStuck"
FOR_GOOD = "throttle_below_inbound"


def stuck_replicas(minute: float, expected: float | None) -> Check:
    """The number of stuck replicas, which is the value of the alert."""
    return Check(minute * MINUTE, "sum(broker:kafka_warden_move_stuck_replicas:last)", expected)


@scenario("ST01", 40, core=True, brokers=(1, 2))
def stuck_for_good(exporter: Exporter) -> Checks:
    """A move is stuck for good from 1 to 20 min: an alert from 1.75 to 25 min, which stays resolved."""
    moving(exporter, eta=None)
    stuck(exporter, during(60, 1200, 1, None), FOR_GOOD, since=60)
    return [silent(until=1.5), *steady(STUCK, 2, 24.75), over(STUCK, at=25.5), silent(since=26, until=40)]


@scenario("ST02", 20, core=True, brokers=(1, 2))
def stuck_without_a_known_reason(exporter: Exporter) -> Checks:
    """A move is stuck from 1 min on: an alert at 6 min. One that advances, if too slowly, is none."""
    moving(exporter, eta=None)
    stuck(exporter, after(60, 1, None), since=60, broker=1)
    exporter.set("reassignment_never_ends", 1, topic="orders", partition=0, broker=2)
    return [silent(until=5.75), firing(STUCK, at=6.25, broker="1"), silent(STUCK, until=20, broker="2")]


@scenario("ST03", 60)
def restart_during_a_move(exporter: Exporter) -> Checks:
    """A rolling restart in the middle of a throttled move, 4 min for each broker: no alert."""
    for number, broker in enumerate((2, 1)):
        start, end = 600 + number * 360.0, 840 + number * 360.0
        broker_down(exporter, broker, start, end, ordered=True, catch_up=60)
        cause = ("target_down", "leader_unresponsive")[number]
        where = {"topic": "orders", "partition": 0, "broker": 2}
        exporter.set("reassignment_stuck", during(start + 20, end, 1, None), **where, cause=cause)
        settled = end + 120
        throttle_problem(exporter, "holds_original", age(end, settled), broker=broker, side="follower")
        throttle_problem(exporter, "below_inbound", age(end, settled), broker=broker)
        throttle_problem(exporter, "uneven", age(start, settled), broker=3)
    eta = in_each(360, 240, None, in_each(360, 300, math.inf, 3000))
    moving(exporter, eta=during(600, 1320, lambda t: eta(t - 600), 3000))
    return [silent(until=60)]


@scenario("ST04", 90)
def bursts_during_a_move(exporter: Exporter) -> Checks:
    """Bursts above the throttle, of 2 min for one replica and of 10 min for the ETA: no alert."""
    moving(exporter, eta=in_each(900, 600, math.inf, 3000))
    stuck(exporter, in_each(300, 120, 1, None))
    throttle_problem(exporter, "below_inbound", in_each(900, 420, lambda t: t % 900, None), side="follower")
    throttle_problem(exporter, "holds_original", in_each(900, 180, lambda t: t % 900, None), side="follower")
    return [silent(until=90)]


@scenario("ST05", 30, brokers=(1, 2, 3, 4))
def faults_of_brokers(first: Exporter) -> Checks:
    """Leaders do not answer, or one of two sidecars is cut off from a target: no alert. A target that is down: one."""
    second = first.beside(instance="b:10073")
    moving(first, eta=None)
    for broker, cause in enumerate(("no_leader", "leader_unresponsive", "target_down", "target_down"), start=1):
        stuck(first, after(60, 1, None), cause, since=60, broker=broker)
    for exporter, broker in ((first, 3), (first, 4), (second, 4)):
        exporter.set("up", after(60, 0, 1), source="offsets", broker=broker)
    return [over(STUCK, at=5.75), firing(STUCK, at=10, count=1, broker="4"), silent(STUCK, until=30, broker="[123]")]


@scenario("ST06", 30, brokers=(1, 2))
def two_causes(one: Exporter) -> Checks:
    """Two sidecars have different causes of one stuck move: one alert of one move."""
    for exporter, cause in ((one, "no_progress"), (one.beside(instance="b:10073"), FOR_GOOD)):
        moving(exporter, eta=None)
        stuck(exporter, after(60, 1, None), cause, since=60)
    return [*steady(STUCK, 2.25, 30), stuck_replicas(20, 1)]


@scenario("ST07", 30, brokers=(1, 2), outages=[(600, 660)])
def restart_of_the_sidecar(exporter: Exporter) -> Checks:
    """The sidecar restarts, and finds another cause: one alert of one move, without a gap. If all is well, none."""
    well = exporter.beside(cluster="well", outages=exporter.outages)
    for each in (exporter, well):
        moving(each, eta=3600)
    stuck(exporter, during(60, 605, 1, None), since=60)
    stuck(exporter, after(605, 1, None), FOR_GOOD, since=60)
    alert = "count by (cluster, broker) (broker:kafka_warden_move_stuck_replicas:last > 1)"
    yield from steady(STUCK, 6.25, 29)
    yield Check(29 * MINUTE, f"count(max_over_time(({alert})[28m:15s]))", None)
    yield silent(cluster="well", until=30)


@scenario("ST08", 60, brokers=(1, 2), cluster="prod")
def reassignments_unknown(exporter: Exporter) -> Checks:
    """Reassignments are not answered for 35 min: the alert stays until they are. One missing answer delays nothing."""
    once = exporter.beside(cluster="once")
    for each, unknown in ((exporter, during(600, 2700, 0, 1)), (once, during(150, 180, 0, 1))):
        moving(each, eta=None)
        each.set("up", unknown, source="reassignments", broker="")
    exporter.set("reassigning_partitions", during(630, 2700, None, during(0, 630, 3)))
    stuck(exporter, during(60, 630, 1, None), FOR_GOOD, since=60)
    stuck(once, after(60, 1, None), FOR_GOOD, since=60)
    yield from (*steady(STUCK, 2.25, 45, cluster="prod"), over(STUCK, at=51, cluster="prod"))
    yield firing(STUCK, at=2.25, cluster="once")


@scenario("ST09", 60, core=True, brokers=(1, 2))
def old_data(exporter: Exporter) -> Checks:
    """A proxy serves the results of the first minute for an hour: no alert on moves and throttles."""
    exporter.set("snapshot_timestamp_seconds", lambda t: min(t, MINUTE))
    moving(exporter, eta=math.inf)
    stuck(exporter, 1)
    for problem in ("blocked", "lopsided", "left_behind"):
        throttle_problem(exporter, problem, lambda t: t)
    return [silent("KafkaReassignment.*|KafkaThrottle.*", until=60)]


@scenario("ST10", 30, brokers=(1, 2))
def hidden_topics(first: Exporter) -> Checks:
    """Moves of topics without series are stuck: an alert after 45 s, with the sum of all causes."""
    second = first.beside(instance="b:10073")
    hidden = {"topic": "", "partition": "", "broker": 2}
    for exporter, counts in (
        (first, {"throttle_blocked": 3, "copied_not_completed": 2}),
        (second, {"no_progress": 1}),
    ):
        moving(exporter, eta=None)
        for cause, count in counts.items():
            exporter.set("reassignment_stuck", after(60, count, None), **hidden, cause=cause)
    return [silent(STUCK, until=1.5), *steady(STUCK, 2, 30), stuck_replicas(20, 5)]


@scenario("ST15", 60, brokers=(1, 2, 3))
def hidden_copies(first: Exporter) -> Checks:
    """A copy between directories of a topic without series stands still: an alert after as long as one with a name."""
    second = first.beside(instance="b:10073")
    for exporter in (first, second):
        for broker, eta in ((2, during(60, 1800, math.inf, None)), (3, during(60, 120, math.inf, 900))):
            exporter.set("log_dir_move_eta_seconds", eta, topic="", partition="", broker=broker)
    return [silent(STUCK, until=5.5), *steady(STUCK, 7, 29), stuck_replicas(20, 1), over(STUCK, at=37)]


@scenario("ST11", 50, brokers=(1, 2))
def verdicts_are_cut(exporter: Exporter) -> Checks:
    """The series budget cuts the verdict of a stuck move for 20 min: the alert stays until verdicts are shown."""
    moving(exporter, eta=None)
    stuck(exporter, during(60, 600, 1, None), FOR_GOOD, since=60)
    exporter.set("dropped_verdicts", during(600, 1800, 5, 0))
    return [*steady(STUCK, 2.25, 34.5), over(STUCK, at=36)]


@scenario("ST12", 90, step=30, brokers=(1, 2), cluster="prod")
def directories_unknown(exporter: Exporter) -> Checks:
    """A copy between directories stands still, and its broker does not report them for 30 min: the alert stays."""
    removed = exporter.beside(cluster="removed")
    for each in (exporter, removed):
        eta = during(60, 1980, math.inf, None)
        each.set("log_dir_move_eta_seconds", eta, topic="orders", partition=0, broker=2)
        each.set("up", during(1800, 3600, 0, 1), source="log_dirs", broker=2)
    removed.end(2700, broker=2)
    yield silent(STUCK, until=5.5)
    yield from steady(STUCK, 7, 44, count=2)
    yield over(STUCK, at=52, cluster="removed")
    yield firing(STUCK, at=60, cluster="prod")
    yield over(STUCK, at=67)


@scenario("ST13", 60, step=30, brokers=(1, 2))
def reassignments_refused(exporter: Exporter) -> Checks:
    """Reassignments are refused, and a copy between directories that stood still ends: its alert ends."""
    eta = during(60, 1800, math.inf, None)
    exporter.set("log_dir_move_eta_seconds", eta, topic="orders", partition=0, broker=2)
    exporter.set("up", after(1200, 0, 1), source="reassignments", broker="")
    return [firing(STUCK, at=25), over(STUCK, at=37)]


@scenario("ST14", 8 * 60, step=60, brokers=(1, 2), outages=[(HOUR, 7 * HOUR)])
def no_sidecar_for_hours(exporter: Exporter) -> Checks:
    """The sidecar is gone for 6 h while moves are stuck and late: the alerts stay until it shows that they ended."""
    back = 7 * HOUR
    exporter.beside(cluster="test")
    moving(exporter, value=during(0, back, 3), eta=during(0, back, math.inf, None), remaining=during(0, back, STILL))
    stuck(exporter, during(0, back, 1, None), FOR_GOOD)
    for alert in (STUCK, "KafkaReassignmentWillMissItsTime"):
        yield from (*steady(alert, 30, 419), over(alert, at=435))
    yield silent(cluster="test", until=480)


@reading("stuck by throttles", 25, (10, STUCK))
def read_stuck_by_throttles(exporter: Exporter) -> None:
    moving(exporter, 12, 1.8e12, None)
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
def read_stuck_by_others(exporter: Exporter) -> None:
    """The first cause ends; the moves of broker 3 have no series."""
    moving(exporter, 12, 1.8e12, None)
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


def _stuck(exporter: Exporter, cause: str, start: float) -> None:
    moving(exporter, value=after(start - 60, 10), eta=None)
    stuck(exporter, after(start, 1, None), cause, since=start)


@fault(STUCK, "cannot go on by itself")
def blocked(exporter: Exporter, start: float) -> None:
    _stuck(exporter, "throttle_blocked", start)


@fault(STUCK, "other causes")
def no_progress(exporter: Exporter, start: float) -> None:
    _stuck(exporter, "no_progress", start)


@fault(STUCK, "other causes")
def stuck_between_directories(exporter: Exporter, start: float) -> None:
    where = {"topic": "orders", "partition": 0, "broker": 2}
    exporter.set("log_dir_move_bytes_remaining", after(start, 5e11, None), **where)
    exporter.set("log_dir_move_eta_seconds", after(start, math.inf, None), **where)
