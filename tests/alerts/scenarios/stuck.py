"""Moves that do not progress."""

import math

from tests.alerts.scenarios.changes import STILL, broker_down, moving, stuck, throttle_problem
from tests.alerts.scenarios.scenario import Story, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, after, age, during, in_each
from tests.support.promtool import Check

STUCK = "KafkaReassignmentStuck"
FOR_GOOD = "throttle_below_inbound"


def stuck_replicas(minute: float, expected: float | None) -> Check:
    """The number of stuck replicas, which is the value of the alert."""
    return Check(minute * MINUTE, "sum(broker:kafka_warden_move_stuck_replicas:last)", expected)


@scenario("ST01", core=True)
def stuck_for_good() -> Story:
    """A move is stuck for good from 1 to 20 min: an alert from 1.75 to 25 min, which stays resolved."""
    exporter = Exporter(40, brokers=(1, 2))
    moving(exporter, eta=None)
    stuck(exporter, during(60, 1200, 1, None), FOR_GOOD, since=60)
    checks = [silent(until=1.5), *steady(STUCK, 2, 24.75), over(STUCK, at=25.5), silent(since=26, until=40)]
    return Story([exporter], checks)


@scenario("ST02", core=True)
def stuck_without_a_known_reason() -> Story:
    """A move is stuck from 1 min on: an alert at 6 min. One that advances, if too slowly, is none."""
    exporter = Exporter(20, brokers=(1, 2))
    moving(exporter, eta=None)
    stuck(exporter, after(60, 1, None), since=60, broker=1)
    exporter.set("reassignment_never_ends", 1, topic="orders", partition=0, broker=2)
    checks = [silent(until=5.75), firing(STUCK, at=6.25, broker="1"), silent(STUCK, until=20, broker="2")]
    return Story([exporter], checks)


@scenario("ST03")
def restart_during_a_move() -> Story:
    """A rolling restart in the middle of a throttled move, 4 min for each broker: no alert."""
    exporter = Exporter(60)
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
    return Story([exporter], [silent(until=60)])


@scenario("ST04")
def bursts_during_a_move() -> Story:
    """Bursts above the throttle, of 2 min for one replica and of 10 min for the ETA: no alert."""
    exporter = Exporter(90)
    moving(exporter, eta=in_each(900, 600, math.inf, 3000))
    stuck(exporter, in_each(300, 120, 1, None))
    throttle_problem(exporter, "below_inbound", in_each(900, 420, lambda t: t % 900, None), side="follower")
    throttle_problem(exporter, "holds_original", in_each(900, 180, lambda t: t % 900, None), side="follower")
    return Story([exporter], [silent(until=90)])


@scenario("ST05")
def faults_of_brokers() -> Story:
    """Leaders do not answer, or one of two sidecars is cut off from a target: no alert. A target that is down: one."""
    first, second = (Exporter(30, brokers=(1, 2, 3, 4), instance=instance) for instance in ("a:10073", "b:10073"))
    moving(first, eta=None)
    for broker, cause in enumerate(("no_leader", "leader_unresponsive", "target_down", "target_down"), start=1):
        stuck(first, after(60, 1, None), cause, since=60, broker=broker)
    for exporter, broker in ((first, 3), (first, 4), (second, 4)):
        exporter.set("up", after(60, 0, 1), source="offsets", broker=broker)
    checks = [over(STUCK, at=5.75), firing(STUCK, at=10, count=1, broker="4"), silent(STUCK, until=30, broker="[123]")]
    return Story([first, second], checks)


@scenario("ST06")
def two_causes() -> Story:
    """Two sidecars have different causes of one stuck move: one alert of one move."""
    exporters = [Exporter(30, brokers=(1, 2), instance=instance) for instance in ("a:10073", "b:10073")]
    for exporter, cause in zip(exporters, ("no_progress", FOR_GOOD), strict=True):
        moving(exporter, eta=None)
        stuck(exporter, after(60, 1, None), cause, since=60)
    return Story(exporters, [*steady(STUCK, 2.25, 30), stuck_replicas(20, 1)])


@scenario("ST07")
def restart_of_the_sidecar() -> Story:
    """The sidecar restarts, and finds another cause: one alert of one move, without a gap. If all is well, none."""
    outages = [(600.0, 660.0)]
    exporter, well = (Exporter(30, brokers=(1, 2), cluster=name, outages=outages) for name in ("prod", "well"))
    for each in (exporter, well):
        moving(each, eta=3600)
    stuck(exporter, during(60, 605, 1, None), since=60)
    stuck(exporter, after(605, 1, None), FOR_GOOD, since=60)
    alert = "count by (cluster, broker) (broker:kafka_warden_move_stuck_replicas:last > 1)"
    checks = [
        *steady(STUCK, 6.25, 29),
        Check(29 * MINUTE, f"count(max_over_time(({alert})[28m:15s]))", None),
        silent(cluster="well", until=30),
    ]
    return Story([exporter, well], checks)


@scenario("ST08")
def reassignments_unknown() -> Story:
    """Reassignments are not answered for 35 min: the alert stays until they are. One missing answer delays nothing."""
    exporter, once = (Exporter(60, brokers=(1, 2), cluster=cluster) for cluster in ("prod", "once"))
    for each, unknown in ((exporter, during(600, 2700, 0, 1)), (once, during(150, 180, 0, 1))):
        moving(each, eta=None)
        each.set("up", unknown, source="reassignments", broker="")
    exporter.set("reassigning_partitions", during(630, 2700, None, during(0, 630, 3)))
    stuck(exporter, during(60, 630, 1, None), FOR_GOOD, since=60)
    stuck(once, after(60, 1, None), FOR_GOOD, since=60)
    checks = [*steady(STUCK, 2.25, 45, cluster="prod"), over(STUCK, at=51, cluster="prod")]
    return Story([exporter, once], [*checks, firing(STUCK, at=2.25, cluster="once")])


@scenario("ST09", core=True)
def old_data() -> Story:
    """A proxy serves the results of the first minute for an hour: no alert on moves and throttles."""
    exporter = Exporter(60, brokers=(1, 2))
    exporter.set("snapshot_timestamp_seconds", lambda t: min(t, MINUTE))
    moving(exporter, eta=math.inf)
    stuck(exporter, 1)
    for problem in ("blocked", "lopsided", "left_behind"):
        throttle_problem(exporter, problem, lambda t: t)
    return Story([exporter], [silent("KafkaReassignment.*|KafkaThrottle.*", until=60)])


@scenario("ST10")
def hidden_topics() -> Story:
    """Moves of topics without series are stuck: an alert after 45 s, with the sum of all causes."""
    first, second = (Exporter(30, brokers=(1, 2), instance=instance) for instance in ("a:10073", "b:10073"))
    hidden = {"topic": "", "partition": "", "broker": 2}
    for exporter, counts in (
        (first, {"throttle_blocked": 3, "copied_not_completed": 2}),
        (second, {"no_progress": 1}),
    ):
        moving(exporter, eta=None)
        for cause, count in counts.items():
            exporter.set("reassignment_stuck", after(60, count, None), **hidden, cause=cause)
    return Story([first, second], [silent(STUCK, until=1.5), *steady(STUCK, 2, 30), stuck_replicas(20, 5)])


@scenario("ST15")
def hidden_copies() -> Story:
    """A copy between directories of a topic without series stands still: an alert after as long as one with a name."""
    first, second = (Exporter(60, brokers=(1, 2, 3), instance=instance) for instance in ("a:10073", "b:10073"))
    for exporter in (first, second):
        for broker, eta in ((2, during(60, 1800, math.inf, None)), (3, during(60, 120, math.inf, 900))):
            exporter.set("log_dir_move_eta_seconds", eta, topic="", partition="", broker=broker)
    checks = [silent(STUCK, until=5.5), *steady(STUCK, 7, 29), stuck_replicas(20, 1), over(STUCK, at=37)]
    return Story([first, second], checks)


@scenario("ST11")
def verdicts_are_cut() -> Story:
    """The series budget cuts the verdict of a stuck move for 20 min: the alert stays until verdicts are shown."""
    exporter = Exporter(50, brokers=(1, 2))
    moving(exporter, eta=None)
    stuck(exporter, during(60, 600, 1, None), FOR_GOOD, since=60)
    exporter.set("dropped_verdicts", during(600, 1800, 5, 0))
    return Story([exporter], [*steady(STUCK, 2.25, 34.5), over(STUCK, at=36)])


@scenario("ST12")
def directories_unknown() -> Story:
    """A copy between directories stands still, and its broker does not report them for 30 min: the alert stays."""
    exporter, removed = (Exporter(90, step=30, brokers=(1, 2), cluster=cluster) for cluster in ("prod", "removed"))
    for each in (exporter, removed):
        eta = during(60, 1980, math.inf, None)
        each.set("log_dir_move_eta_seconds", eta, topic="orders", partition=0, broker=2)
        each.set("up", during(1800, 3600, 0, 1), source="log_dirs", broker=2)
    removed.end(2700, broker=2)
    checks = [
        silent(STUCK, until=5.5),
        *steady(STUCK, 7, 44, count=2),
        over(STUCK, at=52, cluster="removed"),
        firing(STUCK, at=60, cluster="prod"),
        over(STUCK, at=67),
    ]
    return Story([exporter, removed], checks, evaluation=30)


@scenario("ST13")
def reassignments_refused() -> Story:
    """Reassignments are refused, and a copy between directories that stood still ends: its alert ends."""
    exporter = Exporter(60, step=30, brokers=(1, 2))
    eta = during(60, 1800, math.inf, None)
    exporter.set("log_dir_move_eta_seconds", eta, topic="orders", partition=0, broker=2)
    exporter.set("up", after(1200, 0, 1), source="reassignments", broker="")
    return Story([exporter], [firing(STUCK, at=25), over(STUCK, at=37)], evaluation=30)


@scenario("ST14")
def no_sidecar_for_hours() -> Story:
    """The sidecar is gone for 6 h while moves are stuck and late: the alerts stay until it shows that they ended."""
    back = 7 * HOUR
    exporter = Exporter(8 * 60, step=60, brokers=(1, 2), outages=[(HOUR, back)])
    other = Exporter(8 * 60, step=60, brokers=(1, 2), cluster="test")
    moving(exporter, value=during(0, back, 3), eta=during(0, back, math.inf, None), remaining=during(0, back, STILL))
    stuck(exporter, during(0, back, 1, None), FOR_GOOD)
    late = "KafkaReassignmentWillMissItsTime"
    checks = [check for alert in (STUCK, late) for check in (*steady(alert, 30, 419), over(alert, at=435))]
    return Story([exporter, other], [*checks, silent(cluster="test", until=480)], evaluation=60)
