"""Moves that end late."""

import math

from tests.alerts.scenarios.changes import moving
from tests.alerts.scenarios.scenario import Checks, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, after, during

LATE = "KafkaReassignmentWillMissItsTime"


@scenario("LA01", 60, core=True, brokers=(1, 2))
def no_end_for_a_while(exporter: Exporter) -> Checks:
    """The ETA is infinite from 1 to 26 min: an alert from 16 to 28 min, which stays resolved."""
    moving(exporter, eta=during(60, 1560, math.inf, 3600))
    return [silent(until=15.75), *steady(LATE, 16.25, 27.75), over(LATE, at=28.5), silent(since=29, until=60)]


@scenario("LA02", 40, core=True, brokers=(1,), cluster="plan")
def first_estimates(plan: Exporter) -> Checks:
    """A first estimate above the deadline: it is the plan. One above six deadlines is late, by the shorter of two."""
    late = plan.beside(cluster="late")
    second = late.beside(instance="b:10073")
    for exporter, hours, deadline in ((plan, 5, 4), (late, 30, 6), (second, 29, 4)):
        moving(exporter, value=after(60, 10), eta=after(60, hours * HOUR, None))
        exporter.set("reassignment_deadline_seconds", deadline * HOUR)
    return [silent(until=15.75), silent(cluster="plan", until=40), *steady(LATE, 16.5, 40, cluster="late")]


@scenario("LA03", 180, step=30, brokers=(1, 2))
def slower_than_estimated(exporter: Exporter) -> Checks:
    """A move of 2 h becomes slow after an hour, with 4 h left and a deadline of 4 h: an alert 15 min later."""
    moving(exporter, value=after(600, 10), eta=during(600, 4200, lambda t: 7800 - t, after(4200, 4 * HOUR, None)))
    return [silent(until=84.5), *steady(LATE, 86, 180)]


@scenario("LA04", 10 * 60, step=60, brokers=(1, 2))
def batches_without_pauses(exporter: Exporter) -> Checks:
    """A tool moves batches of 20 min for 10 h, one after the other: each batch is in time, and there is no alert."""
    moving(exporter, value=lambda t: 10 - t % 1200 // 150, eta=lambda t: 1200 - t % 1200)
    return [silent(until=600)]


@scenario("LA05", 40, brokers=(1,), cluster="once")
def unknown_estimates(once: Exporter) -> Checks:
    """An infinite ETA is unknown for a moment: the alert is in time. Not if for 7 min, in time between, or over."""
    moving(once, value=2, eta=during(600, 615, None, math.inf))
    restart = once.beside(cluster="restart", outages=[(615, 660)])
    moving(restart, value=2, eta=during(615, 690, None, math.inf))
    moving(once.beside(cluster="unknown"), value=2, eta=during(300, 720, None, math.inf))
    moving(once.beside(cluster="better"), value=2, eta=during(720, 735, 3600, math.inf))
    moving(once.beside(cluster="over"), value=during(0, 840, 2), eta=during(0, 840, math.inf, None))
    yield silent(LATE, until=14.75)
    yield firing(LATE, at=15.5, count=2, cluster="once|restart")
    yield from steady(LATE, 15.5, 40, cluster="restart")
    yield silent(LATE, until=26.75, cluster="unknown|better")
    yield firing(LATE, at=27.75, count=2, cluster="unknown|better")
    yield silent(LATE, until=40, cluster="over")


@scenario("LA06", 70, brokers=(1, 2))
def estimate_lost_while_late(exporter: Exporter) -> Checks:
    """The ETA of late moves is unknown from 20 min on, and they end after 45 min: the alert ends 2 min later."""
    moving(exporter, value=during(0, 2700, 2), eta=during(0, 1200, math.inf, None))
    return [*steady(LATE, 15.5, 46.5), over(LATE, at=48)]


@scenario("LA07", 40, brokers=(1, 2))
def one_sidecar_sees_no_end(first: Exporter) -> Checks:
    """Two sidecars have different ETAs, one infinite: one alert."""
    second = first.beside(instance="b:10073")
    moving(first, eta=3600)
    moving(second, eta=after(60, math.inf, 3600))
    return [silent(until=15.75), *steady(LATE, 16.25, 40)]
