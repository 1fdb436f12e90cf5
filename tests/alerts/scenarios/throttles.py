"""Replication throttles that are wrong."""

import math

from tests.alerts.scenarios.changes import moving, stuck, throttle_problem
from tests.alerts.scenarios.scenario import Story, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import MINUTE, after, age, during, in_each
from tests.support.promtool import Check

LOW, INCONSISTENT, LEFT = "KafkaThrottleTooLow", "KafkaThrottleInconsistent", "KafkaThrottleLeftBehind"
EACH = f"{LOW}|{INCONSISTENT}|{LEFT}"


@scenario("TH01", core=True)
def too_low() -> Story:
    """Throttles are too low from 1 to 26 min: an alert for each, after 5 or 10 min, which ends at 31 min."""
    exporter = Exporter(45)
    moving(exporter, eta=3600)
    begins = {
        1: ("blocked", "follower", 6.25),
        2: ("below_inbound", "leader", 11.25),
        3: ("holds_original", "follower", 6.25),
    }
    checks = [firing(LOW, at=30.75, count=3), over(LOW, at=31.5), silent(since=32, until=45)]
    for broker, (problem, side, minute) in begins.items():
        throttle_problem(exporter, problem, age(60, 1560), broker=broker, side=side)
        checks += [silent(until=minute - 0.25, broker=str(broker)), firing(LOW, at=minute + 0.25, broker=str(broker))]
    return Story([exporter], checks)


@scenario("TH02", core=True)
def inconsistent_or_left_behind() -> Story:
    """Throttles do not match, or are left behind: one alert of the cluster, or of the side, after 10 to 17 min."""
    begins = {"lopsided": (INCONSISTENT, 11.25), "uneven": (INCONSISTENT, 16.25), "left_behind": (LEFT, 17.25)}
    exporters, checks = [], []
    for problem, (alert, minute) in begins.items():
        exporters.append(exporter := Exporter(45, brokers=(1, 2), cluster=problem))
        moving(exporter, value=0 if alert == LEFT else 10, eta=None if alert == LEFT else 3600)
        throttle_problem(exporter, problem, age(60, 1560))
        checks += [
            silent(until=minute - 0.25, cluster=problem),
            *steady(alert, minute + 0.25, 30.75, cluster=problem),
            silent(since=31.5, until=45, cluster=problem),
        ]
    return Story(exporters, checks)


@scenario("TH03")
def throttled_by_hand() -> Story:
    """Rates and lists are set one after the other, a limit is 0 for 2 min, and all is removed in time: no alert."""
    exporter = Exporter(70)
    moving(exporter, value=during(60, 2400, 10), eta=during(60, 2400, lambda t: 2400 - t, None))
    throttle_problem(exporter, "lopsided", age(60, 300), broker=1)
    throttle_problem(exporter, "uneven", age(60, 180), broker=1)
    throttle_problem(exporter, "blocked", age(900, 1020), side="follower")
    throttle_problem(exporter, "left_behind", during(2460, 3120, lambda t: t - 2400, None), broker=1)
    throttle_problem(exporter, "fetch_size", lambda t: t, broker=1)
    throttle_problem(exporter, "idle_rate", lambda t: t)
    return Story([exporter], [silent(until=70)])


@scenario("TH04")
def restart_of_the_sidecar() -> Story:
    """The sidecar restarts without its state, so that ages begin again: one notification of each throttle."""
    exporters: list[Exporter] = []
    checks: list[Check] = []
    for problem, alert in {"blocked": LOW, "below_inbound": LOW, "uneven": INCONSISTENT, "left_behind": LEFT}.items():
        exporters.append(exporter := Exporter(60, brokers=(1, 2), cluster=problem, outages=[(1800, 1845)]))
        throttle_problem(exporter, problem, during(1800, 1840, None, lambda t: t % 1800))
        checks += steady(alert, 20, 60, cluster=problem)
    well = Exporter(60, brokers=(1, 2), cluster="well", outages=[(1800, 1845)])
    return Story([*exporters, well], [*checks, silent(cluster="well", until=60)])


@scenario("TH05")
def two_sidecars() -> Story:
    """Two sidecars have different ages of a problem: one alert, by the lower age."""
    first, second = (Exporter(30, brokers=(1, 2), instance=instance) for instance in ("a:10073", "b:10073"))
    for exporter, earlier in ((first, 0), (second, 600)):
        throttle_problem(exporter, "blocked", after(60, age(60 - earlier), None))
    lower = Check(20 * MINUTE, "max(broker:kafka_warden_throttle_problem_seconds:last)", 1140)
    return Story([first, second], [silent(LOW, until=6), *steady(LOW, 6.5, 30), lower])


@scenario("TH06")
def configuration_unknown() -> Story:
    """A broker does not report its configuration for half an hour: alerts stay until it does, or is removed."""
    back, removed = (Exporter(80, brokers=(1, 2), cluster=cluster) for cluster in ("back", "removed"))
    for exporter in (back, removed):
        exporter.set("up", during(1200, 3000, 0, 1), source="configs", broker=2)
        for problem in ("blocked", "uneven", "left_behind"):
            throttle_problem(exporter, problem, age(0, 1380))
    removed.end(2700, broker=2)
    checks = [
        *steady(EACH, 20, 44.5, count=6),
        over(EACH, at=54.5, cluster="removed"),
        *steady(EACH, 20, 50, count=3, cluster="back"),
        over(EACH, at=56),
    ]
    return Story([back, removed], checks)


@scenario("TH07")
def explained_by_a_stuck_move() -> Story:
    """Throttles are too low while moves are stuck by them: these explain them, except one that holds an old replica."""
    exporter, other = Exporter(20), Exporter(20, cluster="other")
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
    checks = [
        firing("KafkaReassignmentStuck", at=15, count=2, cluster="prod", broker="2|3"),
        firing(LOW, at=15, count=3, cluster="prod", explained="yes"),
        firing(LOW, at=15, count=4, cluster="prod"),
        firing(LOW, at=15, count=1, cluster="prod", explained="no", broker="2", side="leader"),
        firing("KafkaReassignmentStuck", at=15, count=1, cluster="other"),
        firing(LOW, at=15, count=1, cluster="other", explained="no"),
    ]
    return Story([exporter, other], checks)


@scenario("TH08")
def too_low_at_times() -> Story:
    """A throttle is below the inbound rate for 5 of every 10 min, for 4 h: no alert."""
    exporter = Exporter(240, step=30, brokers=(1, 2))
    throttle_problem(exporter, "below_inbound", in_each(600, 300, lambda t: t % 600, None))
    return Story([exporter], [silent(until=240)], evaluation=30)
