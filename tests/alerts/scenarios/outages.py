"""Partitions without a leader, with too few replicas in sync, or with a leader that lacks records."""

import math

from tests.alerts.scenarios.changes import broker_down, moving
from tests.alerts.scenarios.scenario import Story, fires, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, after, during

OFFLINE = "KafkaPartitionOffline"
UNDER = "KafkaPartitionUnderMinIsr"
AT = "KafkaPartitionAtMinIsr"
UNCLEAN = "KafkaUncleanLeaderElection"


@scenario("OU01", core=True)
def outages_of_a_minute() -> Story:
    """Partitions are offline and under min ISR for 75 s, twice, as in quick restarts: no page. 20 min are one each.

    They begin after 90 s, and end after 5 min.
    """
    exporter = Exporter(60)
    for name in ("under_min_isr_partitions", "offline_partitions"):
        long = during(30 * MINUTE, 50 * MINUTE, 3)
        exporter.set(name, during(600, 675, 3, during(1200, 1275, 3, long)))
    checks = [silent(until=31.4)]
    for alert in (OFFLINE, UNDER):
        checks += [*steady(alert, 32, 54.75), over(alert, at=56)]
    return Story([exporter], checks)


@scenario("OU02")
def rare_polls() -> Story:
    """The exporter polls every 10 min only: an outage is a page without a gap, and nothing else."""
    exporter = Exporter(120, step=60, poll=600)
    exporter.set("offline_partitions", after(10 * MINUTE, 2))
    return Story(
        [exporter], [silent(until=11), *steady(OFFLINE, 13, 120), silent("KafkaW.+", until=120)], evaluation=60
    )


@scenario("OU03")
def power_loss_and_rare_scrapes() -> Story:
    """A broker loses its power, and samples come once a minute: the page on its partitions comes within 5 min."""
    exporters = [Exporter(20, step=60, cluster=f"after {second} s") for second in range(0, 60, 10)]
    for number, exporter in enumerate(exporters):
        broker_down(exporter, 2, 10 * MINUTE + 10 * number)
        exporter.set("offline_partitions", after(10 * MINUTE + 10 * number + 18, 30))
    return Story(exporters, [silent(until=10), *steady(OFFLINE, 15, 20, count=6)], evaluation=60)


@scenario("OU04")
def second_outage() -> Story:
    """20 partitions join the 5 that refuse writes since 20 min, as a broker dies: a second page. 15 are none.

    It explains the broker, and ends an hour later. Partitions that join in the first minutes are one outage.
    """
    more, less, staged = (Exporter(110, step=30, cluster=name) for name in ("more", "less", "staged"))
    more.set("under_min_isr_partitions", after(10 * MINUTE, after(30 * MINUTE, 25, 5)))
    less.set("under_min_isr_partitions", after(10 * MINUTE, after(30 * MINUTE, 20, 5)))
    staged.set("under_min_isr_partitions", after(10 * MINUTE, after(15 * MINUTE, 500, 5)))
    broker_down(more, 2, 30 * MINUTE)
    checks = [
        silent("KafkaP.+", tier="more", until=32),
        *steady(UNDER, 33.5, 90, cluster="more", tier="more"),
        *steady("KafkaBrokerUnreachable", 32.5, 90, cluster="more", explained="yes"),
        over(UNDER, at=98, tier="more"),
        silent("KafkaP.+", tier="more", cluster="less|staged", until=110),
        *steady(UNDER, 12.5, 110, count=3, tier=""),
    ]
    return Story([more, less, staged], checks, evaluation=30)


@scenario("OU05", core=True)
def one_failure_from_an_outage() -> Story:
    """Partitions are at min ISR for 50 min: a warning after 30 min, which ends a minute after them.

    While they move, or a broker with replicas is down, there is none: that has an alert. One without replicas explains
    nothing.
    """
    names = ("quiet", "moving", "restart", "emptied")
    exporters = [Exporter(80, step=30, cluster=name) for name in names]
    for exporter in exporters:
        exporter.set("at_min_isr_partitions", during(10 * MINUTE, 60 * MINUTE, 40))
    _, busy, restart, emptied = exporters
    moving(busy, during(20 * MINUTE, 70 * MINUTE, 5))
    broker_down(restart, 3, 20 * MINUTE, 24 * MINUTE, ordered=True)
    broker_down(emptied, 3, 20 * MINUTE, ordered=True, replicas=0)
    emptied.set("broker_replicas", 0, broker=3)
    checks = [
        silent(AT, until=39.75),
        silent(AT, cluster="moving", until=80),
        silent(AT, cluster="restart", until=53.75),
        *steady(AT, 55, 60.5, cluster="restart"),
        *steady(AT, 41, 60.5, count=2, cluster="quiet|emptied", severity="warning"),
        over(AT, at=62.5),
        silent(until=80, severity="critical"),
    ]
    return Story(exporters, checks, evaluation=30)


@scenario("OU06")
def one_failure_from_an_outage_for_hours() -> Story:
    """Partitions are at min ISR for 5.5 h, and move after some hours: a warning, and a page after 4 h.

    Both stay without an exporter, and end with the fault.
    """
    exporter = Exporter(360, step=60, outages=[(280 * MINUTE, 310 * MINUTE)])
    exporter.set("at_min_isr_partitions", during(10 * MINUTE, 340 * MINUTE, 40))
    moving(exporter, after(2 * HOUR, 5))
    checks = [
        silent(severity="critical", until=249),
        *steady(AT, 252, 340, severity="critical"),
        *steady(AT, 42, 340, severity="warning"),
        over(AT, at=344),
    ]
    return Story([exporter], checks, evaluation=60)


@scenario("OU07")
def unclean_elections_of_a_new_controller() -> Story:
    """A controller dies, and the next one, or one that restarted before, elects unclean leaders: a page, for 75 min.

    An exporter that starts, and a controller that has taken over in order, may show old elections: no page.
    """
    died, again, new = (Exporter(120, step=30, cluster=name) for name in ("died", "again", "new"))
    for exporter in (died, new):
        exporter.set("unclean_leader_elections_total", during(0, 20 * MINUTE, 0, None), node=1)
        exporter.set("unclean_leader_elections_total", after(20 * MINUTE, 4, None), node=2)
    broker_down(died, 1, 20 * MINUTE)
    broker_down(new, 1, 20 * MINUTE, ordered=True)
    again.set("unclean_leader_elections_total", during(0, 10 * MINUTE, 5, after(20 * MINUTE, 2, None)), node=1)
    again.set("unclean_leader_elections_total", during(10 * MINUTE, 20 * MINUTE, 0, None), node=2)
    first = Exporter(120, step=30, cluster="first", target=(15 * MINUTE, math.inf))
    first.set("unclean_leader_elections_total", 9, node=1)
    broker_down(first, 2, 10 * MINUTE)
    checks = [
        silent(UNCLEAN, until=19.75),
        *steady(UNCLEAN, 21.5, 94, count=2, cluster="died|again", severity="critical"),
        over(UNCLEAN, at=98),
        silent(UNCLEAN, cluster="new|first", until=120),
    ]
    return Story([died, again, new, first], checks, evaluation=30)


@scenario("OU08")
def unclean_elections_of_two_exporters() -> Story:
    """Two exporters count an unclean election, and one restarts: one page. A restart or absent beans are none."""
    both = [Exporter(50), Exporter(50, instance="b:10073", outages=[(30 * MINUTE, 31 * MINUTE)])]
    quiet = Exporter(50, cluster="quiet", outages=[(20 * MINUTE, 21 * MINUTE)])
    for exporter in both:
        exporter.set("unclean_leader_elections_total", after(20 * MINUTE, 1), node=1)
    quiet.set("unclean_leader_elections_total", during(30 * MINUTE, 33 * MINUTE, None, 6), node=1)
    checks = [*steady(UNCLEAN, 21, 50, cluster="prod"), silent(UNCLEAN, until=19.9), silent(cluster="quiet", until=50)]
    return Story([*both, quiet], checks)


@scenario("OU09")
def pages_without_exporter() -> Story:
    """No exporter runs for an hour, and partitions recover meanwhile: their pages stay, and end 6 min later."""
    exporter = Exporter(110, step=30, outages=[(30 * MINUTE, 90 * MINUTE)])
    for name in ("under_min_isr_partitions", "offline_partitions"):
        exporter.set(name, during(10 * MINUTE, HOUR, 3))
    checks = [fires(OFFLINE, until=13)]
    for alert in (OFFLINE, UNDER):
        checks += [*steady(alert, 13, 94.5), over(alert, at=97)]
    return Story([exporter], checks, evaluation=30)
