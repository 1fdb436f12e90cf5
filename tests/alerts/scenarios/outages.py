"""Partitions without a leader, with too few replicas in sync, or with a leader that lacks records."""

import math

from tests.alerts.reading import reading
from tests.alerts.scenarios.changes import ENDS, broker_down, moving
from tests.alerts.scenarios.fault import fault
from tests.alerts.scenarios.scenario import Checks, fires, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, after, during

OFFLINE = "KafkaPartitionOffline"
UNDER = "KafkaPartitionUnderMinIsr"
AT = "KafkaPartitionAtMinIsr"
UNCLEAN = "KafkaUncleanLeaderElection"


@scenario("OU01", 60, core=True)
def outages_of_a_minute(exporter: Exporter) -> Checks:
    """Partitions are offline and under min ISR for 75 s, twice, as in quick restarts: no page. 20 min are one each.

    They begin after 90 s, and end after 5 min.
    """
    for name in ("under_min_isr_partitions", "offline_partitions"):
        long = during(30 * MINUTE, 50 * MINUTE, 3)
        exporter.set(name, during(600, 675, 3, during(1200, 1275, 3, long)))
    yield silent(until=31.4)
    for alert in (OFFLINE, UNDER):
        yield from (*steady(alert, 32, 54.75), over(alert, at=56))


@scenario("OU02", 120, step=60, poll=600)
def rare_polls(exporter: Exporter) -> Checks:
    """The exporter polls every 10 min only: an outage is a page without a gap, and nothing else."""
    exporter.set("offline_partitions", after(10 * MINUTE, 2))
    return [silent(until=11), *steady(OFFLINE, 13, 120), silent("KafkaW.+", until=120)]


@scenario("OU03", 20, step=60, cluster="after 0 s")
def power_loss_and_rare_scrapes(first: Exporter) -> Checks:
    """A broker loses its power, and samples come once a minute: the page on its partitions comes within 5 min."""
    for seconds in range(0, 60, 10):
        exporter = first.beside(cluster=f"after {seconds} s") if seconds else first
        broker_down(exporter, 2, 10 * MINUTE + seconds)
        exporter.set("offline_partitions", after(10 * MINUTE + seconds + 18, 30))
    return [silent(until=10), *steady(OFFLINE, 15, 20, count=6)]


@scenario("OU04", 110, step=30, cluster="more")
def second_outage(more: Exporter) -> Checks:
    """20 partitions join the 5 that refuse writes since 20 min, as a broker dies: a second page. 15 are none.

    It explains the broker, and ends an hour later. Partitions that join in the first minutes are one outage.
    """
    less, staged = (more.beside(cluster=name) for name in ("less", "staged"))
    more.set("under_min_isr_partitions", after(10 * MINUTE, after(30 * MINUTE, 25, 5)))
    less.set("under_min_isr_partitions", after(10 * MINUTE, after(30 * MINUTE, 20, 5)))
    staged.set("under_min_isr_partitions", after(10 * MINUTE, after(15 * MINUTE, 500, 5)))
    broker_down(more, 2, 30 * MINUTE)
    yield silent("KafkaP.+", tier="more", until=32)
    yield from steady(UNDER, 33.5, 90, cluster="more", tier="more")
    yield from steady("KafkaBrokerUnreachable", 32.5, 90, cluster="more", explained="yes")
    yield over(UNDER, at=98, tier="more")
    yield silent("KafkaP.+", tier="more", cluster="less|staged", until=110)
    yield from steady(UNDER, 12.5, 110, count=3, tier="")


@scenario("OU05", 80, core=True, step=30, cluster="quiet")
def one_failure_from_an_outage(quiet: Exporter) -> Checks:
    """Partitions are at min ISR for 50 min: a warning after 30 min, which ends a minute after them.

    While they move, or a broker with replicas is down, there is none: that has an alert. One without replicas explains
    nothing.
    """
    busy, restart, emptied = (quiet.beside(cluster=name) for name in ("moving", "restart", "emptied"))
    for exporter in (quiet, busy, restart, emptied):
        exporter.set("at_min_isr_partitions", during(10 * MINUTE, 60 * MINUTE, 40))
    moving(busy, during(20 * MINUTE, 70 * MINUTE, 5))
    broker_down(restart, 3, 20 * MINUTE, 24 * MINUTE, ordered=True)
    broker_down(emptied, 3, 20 * MINUTE, ordered=True, replicas=0)
    emptied.set("broker_replicas", 0, broker=3)
    yield silent(AT, until=39.75)
    yield silent(AT, cluster="moving", until=80)
    yield silent(AT, cluster="restart", until=53.75)
    yield from steady(AT, 55, 60.5, cluster="restart")
    yield from steady(AT, 41, 60.5, count=2, cluster="quiet|emptied", severity="warning")
    yield over(AT, at=62.5)
    yield silent(until=80, severity="critical")


@scenario("OU06", 360, step=60, outages=[(280 * MINUTE, 310 * MINUTE)])
def one_failure_from_an_outage_for_hours(exporter: Exporter) -> Checks:
    """Partitions are at min ISR for 5.5 h, and move after some hours: a warning, and a page after 4 h.

    Both stay without an exporter, and end with the fault.
    """
    exporter.set("at_min_isr_partitions", during(10 * MINUTE, 340 * MINUTE, 40))
    moving(exporter, after(2 * HOUR, 5))
    yield silent(severity="critical", until=249)
    yield from steady(AT, 252, 340, severity="critical")
    yield from steady(AT, 42, 340, severity="warning")
    yield over(AT, at=344)


@scenario("OU07", 120, step=30, cluster="died")
def unclean_elections_of_a_new_controller(died: Exporter) -> Checks:
    """A controller dies, and the next one, or one that restarted before, elects unclean leaders: a page, for 75 min.

    An exporter that starts, and a controller that has taken over in order, may show old elections: no page.
    """
    again, new = (died.beside(cluster=name) for name in ("again", "new"))
    for exporter in (died, new):
        exporter.set("unclean_leader_elections_total", during(0, 20 * MINUTE, 0, None), node=1)
        exporter.set("unclean_leader_elections_total", after(20 * MINUTE, 4, None), node=2)
    broker_down(died, 1, 20 * MINUTE)
    broker_down(new, 1, 20 * MINUTE, ordered=True)
    again.set("unclean_leader_elections_total", during(0, 10 * MINUTE, 5, after(20 * MINUTE, 2, None)), node=1)
    again.set("unclean_leader_elections_total", during(10 * MINUTE, 20 * MINUTE, 0, None), node=2)
    first = died.beside(cluster="first", target=(15 * MINUTE, math.inf))
    first.set("unclean_leader_elections_total", 9, node=1)
    broker_down(first, 2, 10 * MINUTE)
    yield silent(UNCLEAN, until=19.75)
    yield from steady(UNCLEAN, 21.5, 94, count=2, cluster="died|again", severity="critical")
    yield over(UNCLEAN, at=98)
    yield silent(UNCLEAN, cluster="new|first", until=120)


@scenario("OU08", 50)
def unclean_elections_of_two_exporters(one: Exporter) -> Checks:
    """Two exporters count an unclean election, and one restarts: one page. A restart or absent beans are none."""
    quiet = one.beside(cluster="quiet", outages=[(20 * MINUTE, 21 * MINUTE)])
    for exporter in (one, one.beside(instance="b:10073", outages=[(30 * MINUTE, 31 * MINUTE)])):
        exporter.set("unclean_leader_elections_total", after(20 * MINUTE, 1), node=1)
    quiet.set("unclean_leader_elections_total", during(30 * MINUTE, 33 * MINUTE, None, 6), node=1)
    return [*steady(UNCLEAN, 21, 50, cluster="prod"), silent(UNCLEAN, until=19.9), silent(cluster="quiet", until=50)]


@scenario("OU09", 110, step=30, outages=[(30 * MINUTE, 90 * MINUTE)])
def pages_without_exporter(exporter: Exporter) -> Checks:
    """No exporter runs for an hour, and partitions recover meanwhile: their pages stay, and end 6 min later."""
    for name in ("under_min_isr_partitions", "offline_partitions"):
        exporter.set(name, during(10 * MINUTE, HOUR, 3))
    yield fires(OFFLINE, until=13)
    for alert in (OFFLINE, UNDER):
        yield from (*steady(alert, 13, 94.5), over(alert, at=97))


@reading(
    "partitions offline and under min ISR",
    40,
    *((10, OFFLINE), (10, UNDER), (22, "KafkaUncleanLeaderElection"), (35, OFFLINE), (35, UNDER)),
)
def read_partitions(exporter: Exporter) -> None:
    """Broker 2 dies, and broker 3 loses a log directory; half an hour later more follows."""
    broker_down(exporter, 2, MINUTE)
    exporter.set("log_dir_online", after(2 * MINUTE, 0, 1), broker=3, log_dir="/data/a")
    for name in ("offline", "under_min_isr"):
        exporter.set(f"{name}_partitions", after(MINUTE + 18, after(30 * MINUTE, 4000, 13)))
        for topic, count in (("single", 12), ("orders", 1), ("quiet", 0)):
            exporter.set(f"topic_{name}_partitions", after(MINUTE, count), topic=topic)
    exporter.set("broker_leader_candidate_partitions", after(MINUTE, 12), broker=2)
    exporter.set("broker_leader_candidate_partitions", after(MINUTE, 3), broker=1)
    exporter.set("unclean_leader_elections_total", after(20 * MINUTE, 1), node=1)


@reading(
    "partitions and many brokers",
    35,
    (10, OFFLINE),
    (10, UNDER),
    (35, OFFLINE),
    (35, UNDER),
    brokers=range(1, 10),
    outages=ENDS,
)
def read_partitions_and_many_brokers(exporter: Exporter) -> None:
    """Seven of nine brokers are gone."""
    for broker in range(1, 8):
        for state, value in (("active", 0), ("unanswering" if broker == 1 else "gone", 1)):
            exporter.set("broker_state", value, broker=broker, state=state)
    for name in ("offline", "under_min_isr"):
        exporter.set(f"{name}_partitions", 1)


@reading(
    "partitions at min ISR",
    300,
    (40, AT),
    (260, AT),
    (290, AT),
    step=60,
    outages=[(270 * MINUTE, 400 * MINUTE)],
)
def read_at_min_isr(exporter: Exporter) -> None:
    exporter.set("at_min_isr_partitions", 1)


@fault(OFFLINE)
def offline(exporter: Exporter, start: float) -> None:
    exporter.set("offline_partitions", after(start, 9, 0))


@fault(UNDER)
def under_min_isr(exporter: Exporter, start: float) -> None:
    exporter.set("under_min_isr_partitions", after(start, 9, 0))


@fault(AT, "warning")
def at_min_isr(exporter: Exporter, start: float) -> None:
    exporter.set("at_min_isr_partitions", after(start, 9, 0))


@fault(UNCLEAN)
def unclean_elections(exporter: Exporter, start: float) -> None:
    exporter.set("unclean_leader_elections_total", after(start, 3, 0), node=1)
