"""Scrapes that fail, samples that are rare, and exporters that restart."""

from tests.alerts.scenarios.changes import cluster_down, every, moving, stuck, throttle_problem
from tests.alerts.scenarios.scenario import Story, fires, firing, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, after, age, during, ramp

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


@scenario("S01b", core=True)
def one_restart() -> Story:
    """The exporter restarts once, in half a minute, and one scrape fails: no alert."""
    exporter = Exporter(40, outages=[(600, 630)], lost=lambda t: t == 1200)
    return Story([exporter], [silent(until=40)])


@scenario("S02")
def restarts_after_a_move_stopped() -> Story:
    """A move without progress was seen as stuck, then the exporter restarts every 5 min for 2 h: it fires."""
    exporter = Exporter(120, outages=every(5 * MINUTE, first=10 * MINUTE))
    moving(exporter, eta=None)
    stuck(exporter, after(5 * MINUTE, 1, None))
    return Story([exporter], [fires("KafkaReassignmentStuck", until=60, broker="2")])


@scenario("S02b")
def restarts_before_a_move_stops() -> Story:
    """The exporter restarts every 5 min, and a move stops after an hour: it fires within 45 min."""
    exporter = Exporter(120, outages=every(5 * MINUTE))
    moving(exporter, eta=None)
    stuck(exporter, after(HOUR, 1, None), since=HOUR)
    return Story([exporter], [silent("KafkaRe.+", until=60), fires("KafkaReassignmentStuck", until=105, broker="2")])


@scenario("S02c")
def restarts_and_a_throttle_of_zero() -> Story:
    """The exporter restarts every 5 min, and a throttle of 0 blocks a move: it fires within 45 min."""
    exporter = Exporter(120, outages=every(5 * MINUTE))
    moving(exporter, eta=None)
    stuck(exporter, after(HOUR, 1, None), cause="throttle_blocked", since=HOUR)
    return Story([exporter], [fires("KafkaReassignmentStuck", until=105, broker="2")])


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


@scenario("S03c")
def one_scrape_of_fifty() -> Story:
    """A throttle stays behind for 3 h, and one of 50 scrapes fails: the alert comes in the first hour."""
    exporter = Exporter(180, lost=lambda t: t // 15 % 50 == 49)
    throttle_problem(exporter, "left_behind", age(0))
    return Story([exporter], [fires("KafkaThrottleLeftBehind", until=60), firing("KafkaThrottleLeftBehind", at=180)])


@scenario("S03d")
def one_scrape_of_fifteen() -> Story:
    """A move stops, and one of 15 scrapes fails: the alert comes within 10 min, and stays for 3 h."""
    exporter = Exporter(180, lost=lambda t: t // 15 % 15 == 14)
    moving(exporter, eta=None)
    stuck(exporter, after(10 * MINUTE, 1, None), since=10 * MINUTE)
    return Story([exporter], [silent(until=10), *steady("KafkaReassignmentStuck", 20, 180)])


def one_bad_sample(name: str, step: int, evaluation: int) -> Story:
    """One poll fails, and its result is the value of one whole scrape interval."""
    exporter = Exporter(30, step=step)
    exporter.set(name, during(600, 610, 0, 1))
    return Story([exporter], [silent(severity="critical", until=30)], evaluation)


@scenario("S04", core=True)
def one_poll_of_the_cluster() -> Story:
    """No broker answers one poll, which a scrape every 60 s shows for 4 evaluations: no page."""
    return one_bad_sample("cluster_reachable", 60, 15)


@scenario("S04b")
def one_poll_of_the_controller() -> Story:
    """The controller does not answer one poll, scraped every 30 s and evaluated every 15 s: no page."""
    return one_bad_sample("controller_reachable", 30, 15)


@scenario("S04c")
def one_poll_and_quick_evaluations() -> Story:
    """No broker answers one poll, scraped every 30 s and evaluated every 10 s: no page."""
    return one_bad_sample("cluster_reachable", 30, 10)


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


@scenario("S61")
def one_slow_scrape_while_pending() -> Story:
    """The same with an interval of 30 s: the page comes 180 s after their first sample."""
    exporter = Exporter(30, step=30, lost=lambda t: t == 660)
    exporter.set("offline_partitions", after(600, 5))
    return Story([exporter], [firing("KafkaPartitionOffline", at=13)], evaluation=30)


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
