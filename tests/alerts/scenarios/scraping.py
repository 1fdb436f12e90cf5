"""Scrapes that fail, samples that are rare, and exporters that restart."""

from tests.alerts.scenarios.changes import cluster_down, every, moving, stuck
from tests.alerts.scenarios.scenario import Story, fires, firing, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, after, during, ramp

OWN = "KafkaWarden(Down|Restarting|Blind)"
"""What says that an exporter does not work."""


@scenario("S00", core=True)
def healthy() -> Story:
    """Nothing happens for 2 h: no alert, except the one that always fires."""
    return Story([Exporter(120, step=60)], [silent(until=120)], evaluation=60)


@scenario("S01", core=True)
def crash_loop() -> Story:
    """The exporter runs for 1 of every 6 min, for 3 h: an alert on it within an hour."""
    outages = [(start * MINUTE, (start + 5) * MINUTE) for start in range(10, 180, 6)]
    return Story([Exporter(180, outages=outages)], [silent(until=10), fires(OWN, until=70)])


@scenario("S02b")
def restarts_before_a_move_stops() -> Story:
    """The exporter restarts every 5 min, and a move stops after an hour: it fires within 45 min."""
    exporter = Exporter(120, outages=every(5 * MINUTE))
    moving(exporter, eta=None)
    stuck(exporter, after(HOUR, 1, None), since=HOUR)
    return Story([exporter], [silent("KafkaRe.+", until=60), fires("KafkaReassignmentStuck", until=105, broker="2")])


@scenario("S03", core=True)
def one_scrape_of_five() -> Story:
    """Partitions are offline, and every fifth scrape fails: the page comes 4 min after the fault, and stays."""
    exporter = Exporter(60, lost=lambda t: t // 15 % 5 == 4)
    exporter.set("offline_partitions", after(10 * MINUTE, 50))
    return Story(
        [exporter], [silent("KafkaP.+", until=10), *steady("KafkaPartitionOffline", 14, 60, severity="critical")]
    )


@scenario("S03b")
def one_scrape_of_three() -> Story:
    """No broker answers, and every third scrape fails: the page comes within 4 min."""
    exporter = Exporter(60, lost=lambda t: t // 15 % 3 == 2)
    cluster_down(exporter, 10 * MINUTE)
    return Story([exporter], [silent("KafkaC.+", until=10), *steady("KafkaClusterUnreachable", 14, 60)])


@scenario("S03d")
def one_scrape_of_fifteen() -> Story:
    """A move stops, and one of 15 scrapes fails: the alert comes within 10 min, and stays for 3 h."""
    exporter = Exporter(180, lost=lambda t: t // 15 % 15 == 14)
    moving(exporter, eta=None)
    stuck(exporter, after(10 * MINUTE, 1, None), since=10 * MINUTE)
    return Story([exporter], [silent(until=10), *steady("KafkaReassignmentStuck", 20, 180)])


@scenario("S04", core=True)
def one_poll_of_the_cluster() -> Story:
    """No broker answers one poll, which a scrape every 60 s shows for 4 evaluations: no page."""
    exporter = Exporter(30, step=60)
    exporter.set("cluster_reachable", during(600, 610, 0, 1))
    return Story([exporter], [silent(severity="critical", until=30)])


@scenario("S04d", core=True)
def one_sample_of_an_election() -> Story:
    """A scrape meets a leader election, and the exporter is down for the next 3 min: no page from one sample."""
    offline, under = (Exporter(40, cluster=cluster, outages=[(610, 790)]) for cluster in ("offline", "under"))
    offline.set("offline_partitions", during(600, 610, 30))
    under.set("under_min_isr_partitions", during(600, 610, 30))
    return Story([offline, under], [silent(severity="critical", until=40)])


@scenario("S53")
def two_polls_far_apart() -> Story:
    """Two single polls without a controller, 3 min apart, scraped every 60 s: no page; an outage of 4 min is one."""
    quiet, outage = Exporter(30, step=60, cluster="quiet"), Exporter(30, step=60, cluster="outage")
    quiet.set("controller_reachable", during(600, 610, 0, during(780, 790, 0, 1)))
    outage.set("controller_reachable", during(600, 840, 0, 1))
    return Story(
        [quiet, outage],
        [
            silent(severity="critical", cluster="quiet", until=30),
            fires("KafkaNoActiveController", cluster="outage", until=14),
        ],
    )


@scenario("S60", core=True)
def one_scrape_while_pending() -> Story:
    """Partitions go offline, and the scrape 60 s later fails: the page still comes 150 s after their first sample."""
    exporter = Exporter(30, lost=lambda t: t == 660)
    exporter.set("offline_partitions", after(600, 5))
    return Story([exporter], [firing("KafkaPartitionOffline", at=12.5)])


@scenario("S62", core=True)
def killed_every_minute() -> Story:
    """The exporter is killed every 60 s, and partitions are offline: one page for each, and both stay."""
    exporter = Exporter(60, outages=every(60, first=45, down=12))
    exporter.set("offline_partitions", after(10 * MINUTE, 20))
    checks = [*steady("KafkaPartitionOffline", 20, 60), fires("KafkaWardenRestarting", until=45)]
    return Story([exporter], [silent("KafkaPartitionOffline", until=10), *checks])


@scenario("S62b")
def clocks_that_differ() -> Story:
    """The clock of an exporter is 80 s slow or 90 s fast, a scrape a minute: pages come as with equal clocks."""
    exporters = []
    for cluster, ahead in (("slow", -80), ("fast", 90)):
        exporter = Exporter(40, step=60, cluster=cluster)
        exporter.set("snapshot_timestamp_seconds", ramp(0, HOUR, ahead, HOUR + ahead))
        exporter.set("offline_partitions", after(10 * MINUTE, 20))
        exporters.append(exporter)
    checks = [check for name in ("slow", "fast") for check in steady("KafkaPartitionOffline", 14, 40, cluster=name)]
    return Story(exporters, checks)
