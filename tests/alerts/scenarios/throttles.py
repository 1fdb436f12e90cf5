"""Replication throttles that are wrong."""

import math

from tests.alerts.reading import reading
from tests.alerts.scenarios.changes import moving, stuck, throttle_problem
from tests.alerts.scenarios.fault import fault
from tests.alerts.scenarios.scenario import Checks, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import MINUTE, after, age, during, in_each
from tests.support.promtool import Check

LOW, INCONSISTENT, LEFT = "KafkaThrottleTooLow", "KafkaThrottleInconsistent", "KafkaThrottleLeftBehind"
EACH = f"{LOW}|{INCONSISTENT}|{LEFT}"


@scenario("TH01", 45, core=True)
def too_low(exporter: Exporter) -> Checks:
    """Throttles are too low from 1 to 26 min: an alert for each, after 5 or 10 min, which ends at 31 min."""
    moving(exporter, eta=3600)
    begins = {
        1: ("blocked", "follower", 6.25),
        2: ("below_inbound", "leader", 11.25),
        3: ("holds_original", "follower", 6.25),
    }
    yield from (firing(LOW, at=30.75, count=3), over(LOW, at=31.5), silent(since=32, until=45))
    for broker, (problem, side, minute) in begins.items():
        throttle_problem(exporter, problem, age(60, 1560), broker=broker, side=side)
        yield silent(until=minute - 0.25, broker=str(broker))
        yield firing(LOW, at=minute + 0.25, broker=str(broker))


@scenario("TH02", 45, core=True, brokers=(1, 2), cluster="lopsided")
def inconsistent_or_left_behind(lopsided: Exporter) -> Checks:
    """Throttles do not match, or are left behind: one alert of the cluster, or of the side, after 10 to 17 min."""
    begins = {"lopsided": (INCONSISTENT, 11.25), "uneven": (INCONSISTENT, 16.25), "left_behind": (LEFT, 17.25)}
    for problem, (alert, minute) in begins.items():
        exporter = lopsided if problem == "lopsided" else lopsided.beside(cluster=problem)
        moving(exporter, value=0 if alert == LEFT else 10, eta=None if alert == LEFT else 3600)
        throttle_problem(exporter, problem, age(60, 1560))
        yield silent(until=minute - 0.25, cluster=problem)
        yield from steady(alert, minute + 0.25, 30.75, cluster=problem)
        yield silent(since=31.5, until=45, cluster=problem)


@scenario("TH03", 70)
def throttled_by_hand(exporter: Exporter) -> Checks:
    """Rates and lists are set one after the other, a limit is 0 for 2 min, and all is removed in time: no alert."""
    moving(exporter, value=during(60, 2400, 10), eta=during(60, 2400, lambda t: 2400 - t, None))
    throttle_problem(exporter, "lopsided", age(60, 300), broker=1)
    throttle_problem(exporter, "uneven", age(60, 180), broker=1)
    throttle_problem(exporter, "blocked", age(900, 1020), side="follower")
    throttle_problem(exporter, "left_behind", during(2460, 3120, lambda t: t - 2400, None), broker=1)
    throttle_problem(exporter, "fetch_size", lambda t: t, broker=1)
    throttle_problem(exporter, "idle_rate", lambda t: t)
    return [silent(until=70)]


@scenario("TH04", 60, brokers=(1, 2), cluster="well", outages=[(1800, 1845)])
def restart_of_the_sidecar(well: Exporter) -> Checks:
    """The sidecar restarts without its state, so that ages begin again: one notification of each throttle."""
    for problem, alert in {"blocked": LOW, "below_inbound": LOW, "uneven": INCONSISTENT, "left_behind": LEFT}.items():
        exporter = well.beside(cluster=problem, outages=well.outages)
        throttle_problem(exporter, problem, during(1800, 1840, None, lambda t: t % 1800))
        yield from steady(alert, 20, 60, cluster=problem)
    yield silent(cluster="well", until=60)


@scenario("TH05", 30, brokers=(1, 2))
def two_sidecars(first: Exporter) -> Checks:
    """Two sidecars have different ages of a problem: one alert, by the lower age."""
    second = first.beside(instance="b:10073")
    for exporter, earlier in ((first, 0), (second, 600)):
        throttle_problem(exporter, "blocked", after(60, age(60 - earlier), None))
    lower = Check(20 * MINUTE, "max(broker:kafka_warden_throttle_problem_seconds:last)", 1140)
    return [silent(LOW, until=6), *steady(LOW, 6.5, 30), lower]


@scenario("TH06", 80, brokers=(1, 2), cluster="back")
def configuration_unknown(back: Exporter) -> Checks:
    """A broker does not report its configuration for half an hour: alerts stay until it does, or is removed."""
    removed = back.beside(cluster="removed")
    for exporter in (back, removed):
        exporter.set("up", during(1200, 3000, 0, 1), source="configs", broker=2)
        for problem in ("blocked", "uneven", "left_behind"):
            throttle_problem(exporter, problem, age(0, 1380))
    removed.end(2700, broker=2)
    yield from steady(EACH, 20, 44.5, count=6)
    yield over(EACH, at=54.5, cluster="removed")
    yield from steady(EACH, 20, 50, count=3, cluster="back")
    yield over(EACH, at=56)


@scenario("TH07", 20)
def explained_by_a_stuck_move(exporter: Exporter) -> Checks:
    """Throttles are too low while moves are stuck by them: these explain them, except one that holds an old replica."""
    other = exporter.beside(cluster="other")
    moving(other, eta=None)
    stuck(other, after(60, 1, None), "fetcher_failed", since=60)
    throttle_problem(other, "blocked", age(60), broker=1)
    moving(exporter, eta=None)
    stuck(exporter, after(60, 1, None), "throttle_blocked", since=60)
    exporter.set("log_dir_move_eta_seconds", after(60, math.inf, None), topic="orders", partition=1, broker=3)
    throttle_problem(exporter, "blocked", age(60), broker=1)
    throttle_problem(exporter, "blocked", age(60), broker=2, side="follower")
    throttle_problem(exporter, "blocked", age(60), broker=3, side="log_dirs")
    throttle_problem(exporter, "below_inbound", age(60), broker=2)
    throttle_problem(exporter, "holds_original", age(60), broker=2)
    yield firing("KafkaReassignmentStuck", at=15, count=2, cluster="prod", broker="2|3")
    yield firing(LOW, at=15, count=3, cluster="prod", explained="yes")
    yield firing(LOW, at=15, count=4, cluster="prod")
    yield firing(LOW, at=15, count=1, cluster="prod", explained="no", broker="2", side="leader")
    yield firing("KafkaReassignmentStuck", at=15, count=1, cluster="other")
    yield firing(LOW, at=15, count=1, cluster="other", explained="no")


@scenario("TH08", 240, step=30, brokers=(1, 2))
def too_low_at_times(exporter: Exporter) -> Checks:
    """A throttle is below the inbound rate for 5 of every 10 min, for 4 h: no alert."""
    throttle_problem(exporter, "below_inbound", in_each(600, 300, lambda t: t % 600, None))
    return [silent(until=240)]


@reading("throttles that are too low", 25, (15, LOW), brokers=(1, 2, 3, 4))
def read_too_low(exporter: Exporter) -> None:
    moving(exporter, 12, 1.8e12, 3600)
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
def read_other_problems(exporter: Exporter) -> None:
    throttle_problem(exporter, "lopsided", age(0), broker=1)
    throttle_problem(exporter, "uneven", age(0), broker=2, side="follower")
    throttle_problem(exporter, "left_behind", age(0), broker=3)
    exporter.set("up", after(1500, 0, 1), source="configs", broker=3)


@fault(LOW, "blocked")
def blocked(exporter: Exporter, start: float) -> None:
    throttle_problem(exporter, "blocked", age(start), side="follower")


@fault(LOW, "below the inbound rate")
def below_inbound(exporter: Exporter, start: float) -> None:
    throttle_problem(exporter, "below_inbound", age(start))


@fault(LOW, "holds replicas")
def holds_original(exporter: Exporter, start: float) -> None:
    throttle_problem(exporter, "holds_original", age(start), side="follower")


@fault(INCONSISTENT, "one side")
def lopsided(exporter: Exporter, start: float) -> None:
    throttle_problem(exporter, "lopsided", age(start), side="follower")


@fault(INCONSISTENT, "rates differ")
def uneven(exporter: Exporter, start: float) -> None:
    throttle_problem(exporter, "uneven", age(start), side="follower")


@fault(LEFT, "after one move")
def left_behind(exporter: Exporter, start: float) -> None:
    throttle_problem(exporter, "left_behind", age(start), side="follower")
