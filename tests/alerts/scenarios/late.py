"""Moves that end late."""

import math

from tests.alerts.scenarios.changes import moving
from tests.alerts.scenarios.scenario import Story, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, after, during

LATE = "KafkaReassignmentWillMissItsTime"


@scenario("LA01", core=True)
def no_end_for_a_while() -> Story:
    """The ETA is infinite from 1 to 26 min: an alert from 16 to 28 min, which stays resolved."""
    exporter = Exporter(60, brokers=(1, 2))
    moving(exporter, eta=during(60, 1560, math.inf, 3600))
    checks = [silent(until=15.75), *steady(LATE, 16.25, 27.75), over(LATE, at=28.5), silent(since=29, until=60)]
    return Story([exporter], checks)


@scenario("LA02", core=True)
def first_estimates() -> Story:
    """A first estimate above the deadline: it is the plan. One above six deadlines is late, by the shorter of two."""
    plan, late, second = (Exporter(40, brokers=(1,), cluster=cluster) for cluster in ("plan", "late", "late"))
    second = Exporter(40, brokers=(1,), cluster="late", instance="b:10073")
    for exporter, hours, deadline in ((plan, 5, 4), (late, 30, 6), (second, 29, 4)):
        moving(exporter, value=after(60, 10), eta=after(60, hours * HOUR, None))
        exporter.set("reassignment_deadline_seconds", deadline * HOUR)
    checks = [silent(until=15.75), silent(cluster="plan", until=40), *steady(LATE, 16.5, 40, cluster="late")]
    return Story([plan, late, second], checks)


@scenario("LA03")
def slower_than_estimated() -> Story:
    """A move of 2 h becomes slow after an hour, with 4 h left and a deadline of 4 h: an alert 15 min later."""
    exporter = Exporter(180, step=30, brokers=(1, 2))
    moving(exporter, value=after(600, 10), eta=during(600, 4200, lambda t: 7800 - t, after(4200, 4 * HOUR, None)))
    return Story([exporter], [silent(until=84.5), *steady(LATE, 86, 180)], evaluation=30)


@scenario("LA04")
def batches_without_pauses() -> Story:
    """A tool moves batches of 20 min for 10 h, one after the other: each batch is in time, and there is no alert."""
    exporter = Exporter(10 * 60, step=60, brokers=(1, 2))
    moving(exporter, value=lambda t: 10 - t % 1200 // 150, eta=lambda t: 1200 - t % 1200)
    return Story([exporter], [silent(until=600)], evaluation=60)


@scenario("LA05")
def unknown_estimates() -> Story:
    """An infinite ETA is unknown for a moment: the alert is in time. Not if for 7 min, in time between, or over."""
    names = ("once", "restart", "unknown", "better", "over")
    stories = {
        name: Exporter(40, brokers=(1,), cluster=name, outages=[(615, 660)] if name == "restart" else ())
        for name in names
    }
    etas = {
        "once": during(600, 615, None, math.inf),
        "restart": during(615, 690, None, math.inf),
        "unknown": during(300, 720, None, math.inf),
        "better": during(720, 735, 3600, math.inf),
        "over": during(0, 840, math.inf, None),
    }
    for name, exporter in stories.items():
        moving(exporter, value=during(0, 840, 2) if name == "over" else 2, eta=etas[name])
    checks = [
        silent(LATE, until=14.75),
        firing(LATE, at=15.5, count=2, cluster="once|restart"),
        *steady(LATE, 15.5, 40, cluster="restart"),
        silent(LATE, until=26.75, cluster="unknown|better"),
        firing(LATE, at=27.75, count=2, cluster="unknown|better"),
        silent(LATE, until=40, cluster="over"),
    ]
    return Story(list(stories.values()), checks)


@scenario("LA06")
def estimate_lost_while_late() -> Story:
    """The ETA of late moves is unknown from 20 min on, and they end after 45 min: the alert ends 2 min later."""
    exporter = Exporter(70, brokers=(1, 2))
    moving(exporter, value=during(0, 2700, 2), eta=during(0, 1200, math.inf, None))
    return Story([exporter], [*steady(LATE, 15.5, 46.5), over(LATE, at=48)])


@scenario("LA07")
def one_sidecar_sees_no_end() -> Story:
    """Two sidecars have different ETAs, one infinite: one alert."""
    first, second = (Exporter(40, brokers=(1, 2), instance=instance) for instance in ("a:10073", "b:10073"))
    moving(first, eta=3600)
    moving(second, eta=after(60, math.inf, 3600))
    return Story([first, second], [silent(until=15.75), *steady(LATE, 16.25, 40)])
