"""Scrapes that fail, samples that are rare, and exporters that restart."""

from tests.alerts.scenarios.changes import cluster_down, every, moving, stuck
from tests.alerts.scenarios.scenario import Checks, fires, firing, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, after, during, ramp

OWN = "KafkaWarden(Down|Restarting|Blind)"
"""What says that an exporter does not work."""


@scenario("S00", 120, core=True, step=60)
def healthy(_: Exporter) -> Checks:
    """Nothing happens for 2 h: no alert, except the one that always fires."""
    return [silent(until=120)]


@scenario("S01", 180, core=True, outages=every(6 * MINUTE, first=10 * MINUTE, last=178 * MINUTE, down=5 * MINUTE))
def crash_loop(_: Exporter) -> Checks:
    """The exporter runs for 1 of every 6 min, for 3 h: an alert on it within an hour."""
    return [silent(until=10), fires(OWN, until=70)]


@scenario("S02b", 120, outages=every(5 * MINUTE))
def restarts_before_a_move_stops(exporter: Exporter) -> Checks:
    """The exporter restarts every 5 min, and a move stops after an hour: it fires within 45 min."""
    moving(exporter, eta=None)
    stuck(exporter, after(HOUR, 1, None), since=HOUR)
    return [silent("KafkaRe.+", until=60), fires("KafkaReassignmentStuck", until=105, broker="2")]


@scenario("S03", 60, core=True, lost=lambda t: t // 15 % 5 == 4)
def one_scrape_of_five(exporter: Exporter) -> Checks:
    """Partitions are offline, and every fifth scrape fails: the page comes 4 min after the fault, and stays."""
    exporter.set("offline_partitions", after(10 * MINUTE, 50))
    return [silent("KafkaP.+", until=10), *steady("KafkaPartitionOffline", 14, 60, severity="critical")]


@scenario("S03b", 60, lost=lambda t: t // 15 % 3 == 2)
def one_scrape_of_three(exporter: Exporter) -> Checks:
    """No broker answers, and every third scrape fails: the page comes within 4 min."""
    cluster_down(exporter, 10 * MINUTE)
    return [silent("KafkaC.+", until=10), *steady("KafkaClusterUnreachable", 14, 60)]


@scenario("S03d", 180, lost=lambda t: t // 15 % 15 == 14)
def one_scrape_of_fifteen(exporter: Exporter) -> Checks:
    """A move stops, and one of 15 scrapes fails: the alert comes within 10 min, and stays for 3 h."""
    moving(exporter, eta=None)
    stuck(exporter, after(10 * MINUTE, 1, None), since=10 * MINUTE)
    return [silent(until=10), *steady("KafkaReassignmentStuck", 20, 180)]


@scenario("S04d", 40, core=True, cluster="offline", outages=[(610, 790)])
def one_sample_of_an_election(offline: Exporter) -> Checks:
    """A scrape meets a leader election, and the exporter is down for the next 3 min: no page from one sample."""
    under = offline.beside(cluster="under", outages=[(610, 790)])
    offline.set("offline_partitions", during(600, 610, 30))
    under.set("under_min_isr_partitions", during(600, 610, 30))
    return [silent(severity="critical", until=40)]


@scenario("S53", 30, step=60, cluster="quiet", evaluation=15)
def two_polls_far_apart(quiet: Exporter) -> Checks:
    """Two single polls without a controller, 3 min apart, scraped every 60 s: no page; an outage of 4 min is one."""
    outage = quiet.beside(cluster="outage")
    quiet.set("controller_reachable", during(600, 610, 0, during(780, 790, 0, 1)))
    outage.set("controller_reachable", during(600, 840, 0, 1))
    yield silent(severity="critical", cluster="quiet", until=30)
    yield fires("KafkaNoActiveController", cluster="outage", until=14)


@scenario("S60", 30, core=True, lost=lambda t: t == 660)
def one_scrape_while_pending(exporter: Exporter) -> Checks:
    """Partitions go offline, and the scrape 60 s later fails: the page still comes 150 s after their first sample."""
    exporter.set("offline_partitions", after(600, 5))
    return [firing("KafkaPartitionOffline", at=12.5)]


@scenario("S62", 60, core=True, outages=every(60, first=45, down=12))
def killed_every_minute(exporter: Exporter) -> Checks:
    """The exporter is killed every 60 s, and partitions are offline: one page for each, and both stay."""
    exporter.set("offline_partitions", after(10 * MINUTE, 20))
    yield from (silent("KafkaPartitionOffline", until=10), *steady("KafkaPartitionOffline", 20, 60))
    yield fires("KafkaWardenRestarting", until=45)


@scenario("S62b", 40, step=60, cluster="slow", evaluation=15)
def clocks_that_differ(slow: Exporter) -> Checks:
    """The clock of an exporter is 80 s slow or 90 s fast, a scrape a minute: pages come as with equal clocks."""
    for exporter, ahead in ((slow, -80), (slow.beside(cluster="fast"), 90)):
        exporter.set("snapshot_timestamp_seconds", ramp(0, HOUR, ahead, HOUR + ahead))
        exporter.set("offline_partitions", after(10 * MINUTE, 20))
    for name in ("slow", "fast"):
        yield from steady("KafkaPartitionOffline", 14, 40, cluster=name)
