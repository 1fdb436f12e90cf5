"""When alerts on brokers and on the cluster fire and end, with one exporter, two or none."""

import math

from tests.alerts.scenarios.changes import FENCING, broker_down, cluster_down, rolling_restart
from tests.alerts.scenarios.scenario import Story, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, after, age, during, in_each

BROKER = "KafkaBrokerUnreachable"
CLUSTER = "KafkaClusterUnreachable"
CONTROLLER = "KafkaNoActiveController"


def controller_down(exporter: Exporter, start: float, end: float = math.inf) -> None:
    """Let brokers answer, and the active controller not."""
    exporter.set("controller_reachable", during(start, end, 0, 1))


def fenced(exporter: Exporter, broker: int, start: float, end: float) -> None:
    """Let a broker answer that the controller has fenced."""
    exporter.set("up", during(start, end, 0, 1), source="offsets", broker=broker)
    exporter.set("broker_fenced_responding", during(start, end, 1, None), broker=broker)
    exporter.set("broker_state", during(start, end, 0, 1), broker=broker, state="active")
    exporter.set("broker_state", during(start, end, 1), broker=broker, state="fenced")


@scenario("BR01", core=True)
def dead_broker() -> Story:
    """A broker loses its power for 20 min: an alert after 1 min, which ends 5 min after its return."""
    exporter = Exporter(40)
    broker_down(exporter, 2, 10 * MINUTE, 30 * MINUTE)
    checks = [silent(until=10.9), *steady(BROKER, 11.75, 34.75, broker="2"), over(BROKER, at=36)]
    return Story([exporter], checks)


@scenario("BR02")
def stopped_broker() -> Story:
    """A broker is shut down in order and does not return: an alert after 6 min."""
    exporter = Exporter(20)
    broker_down(exporter, 2, 10 * MINUTE, ordered=True)
    return Story([exporter], [silent(until=15.9), *steady(BROKER, 16.75, 20, broker="2")])


@scenario("BR03")
def short_absences() -> Story:
    """One broker is killed and back after 30 s, another one answers every sixth poll late: no alert."""
    exporter = Exporter(40)
    broker_down(exporter, 1, 10 * MINUTE, 10 * MINUTE + 30, catch_up=30)
    exporter.set("up", in_each(MINUTE, 10, 0, 1), source="offsets", broker=3)
    exporter.set("source_errors_total", lambda t: t // MINUTE + 1, source="offsets", broker=3, reason="timeout")
    return Story([exporter], [silent(until=40)])


@scenario("BR04")
def dead_broker_of_two_exporters() -> Story:
    """Two exporters see a dead broker: one alert. One of two is cut off from a broker: no alert on it."""
    both = [Exporter(20, cluster="both", instance=instance) for instance in ("a:10073", "b:10073")]
    for exporter in both:
        broker_down(exporter, 2, 5 * MINUTE)
    half = [Exporter(20, cluster="half", instance=instance) for instance in ("c:10073", "d:10073")]
    half[0].set("up", after(5 * MINUTE, 0, 1), source="offsets", broker=2)
    half[0].set(
        "source_errors_total", after(5 * MINUTE, lambda t: t // 10, None), source="offsets", broker=2, reason="timeout"
    )
    checks = [*steady(BROKER, 6.75, 20, cluster="both"), silent("Kafka[^W].+", cluster="half", until=20)]
    return Story([*both, *half], checks)


@scenario("BR05")
def dead_broker_without_exporter() -> Story:
    """No exporter for 30 min, while a broker is dead: its alert stays, and ends after its return; no other begins."""
    exporter = Exporter(80, outages=[(20 * MINUTE, 50 * MINUTE)])
    broker_down(exporter, 2, 5 * MINUTE, HOUR)
    errors = during(HOUR, math.inf, 4, 3)
    exporter.set("source_errors_total", errors, source="offsets", broker=3, reason="timeout")
    checks = [*steady(BROKER, 6.75, 64.75, broker="2"), over(BROKER, at=66), silent(BROKER, until=80, broker="1|3")]
    return Story([exporter], checks)


@scenario("BR06")
def first_exporter_in_a_restart() -> Story:
    """The first exporter starts while a broker restarts, which needs 3 min more: no alert."""
    exporter = Exporter(30, target=(5 * MINUTE, math.inf))
    broker_down(exporter, 2, 4 * MINUTE, 8 * MINUTE, ordered=True)
    return Story([exporter], [silent(until=30)])


@scenario("BR07")
def fenced_broker() -> Story:
    """After each of three restarts a broker is fenced for 1 min: no alert. Then one stays fenced: after 2 min."""
    exporter = Exporter(60)
    rolling_restart(exporter, 5 * MINUTE, down=180, catch_up=60)
    for number, broker in enumerate(exporter.brokers):
        started = 5 * MINUTE + number * 300 + 120
        responding = during(started - 120, started, 0, during(started, started + 60, 1, None))
        exporter.set("broker_fenced_responding", responding, broker=broker)
    fenced(exporter, 2, 30 * MINUTE, 50 * MINUTE)
    checks = [silent(until=31.9), *steady(BROKER, 32.75, 54.75, broker="2"), over(BROKER, at=56)]
    return Story([exporter], checks)


@scenario("BR08")
def metadata_stay_old() -> Story:
    """The metadata of a broker stay old, and no exporter runs for 20 min: one alert after 90 s, which stays.

    If only one of two exporters finds them old, there is no alert.
    """
    exporter = Exporter(70, outages=[(20 * MINUTE, 40 * MINUTE)])
    exporter.set("broker_metadata_stale_seconds", during(10 * MINUTE, HOUR, age(10 * MINUTE)), broker=2)
    pair = [Exporter(70, cluster="pair", instance=instance) for instance in ("b:10073", "c:10073")]
    pair[0].set("broker_metadata_stale_seconds", age(10 * MINUTE), broker=2)
    pair[1].set("broker_metadata_stale_seconds", 0, broker=2)
    checks = [
        silent(until=11.5),
        *steady(BROKER, 12.25, 64.75, broker="2"),
        over(BROKER, at=66),
        silent(cluster="pair", until=70),
    ]
    return Story([exporter, *pair], checks)


@scenario("BR09")
def removed_without_exporter() -> Story:
    """A dead broker is removed while no exporter runs: its alert stays until one runs again, and 6 min longer."""
    exporter = Exporter(80, step=30, outages=[(20 * MINUTE, HOUR)])
    broker_down(exporter, 2, 10 * MINUTE)
    exporter.end(30 * MINUTE, broker=2)
    return Story([exporter], [*steady(BROKER, 13, 60, broker="2"), over(BROKER, at=67)], evaluation=30)


@scenario("BR10")
def second_death() -> Story:
    """A broker dies, and an hour later one that missed polls before: the page on partitions explains the first one.

    The second one adds few partitions, so it is an alert.
    """
    exporter = Exporter(80)
    broker_down(exporter, 2, 5 * MINUTE)
    exporter.set("up", during(5 * MINUTE, 6 * MINUTE, 0, after(70 * MINUTE, 0, 1)), source="offsets", broker=3)
    errors = after(70 * MINUTE, lambda t: 1 + min(t - 4200, FENCING) // 10, None)
    exporter.set("source_errors_total", errors, source="offsets", broker=3, reason="refused")
    exporter.set("broker_out_of_sync_replicas", after(70 * MINUTE + FENCING, 30), broker=3, state="offline")
    exporter.set("offline_partitions", after(5 * MINUTE + FENCING, after(70 * MINUTE + FENCING, 4, 1)))
    checks = [
        *steady(BROKER, 7, 80, broker="2", explained="yes"),
        silent(BROKER, until=70, broker="3"),
        *steady(BROKER, 72, 80, broker="3", explained="no"),
        *steady("KafkaPartitionOffline", 7.5, 80),
    ]
    return Story([exporter], checks)


@scenario("BR10b")
def stopped_broker_of_a_page() -> Story:
    """A broker with topics without copies is shut down in order for good: a page after 6 min, which explains it."""
    exporter = Exporter(25)
    broker_down(exporter, 2, 5 * MINUTE, ordered=True)
    exporter.set("offline_partitions", after(5 * MINUTE, 4))
    checks = [
        silent("KafkaPartitionOffline", until=11.1),
        *steady("KafkaPartitionOffline", 12.25, 25),
        *steady(BROKER, 11.75, 25, broker="2", explained="yes"),
    ]
    return Story([exporter], checks)


@scenario("BR11")
def slow_replicas_of_a_page() -> Story:
    """Replicas leave the ISR, and partitions go under min ISR: the page explains these replicas, and no older ones.

    That stays without an exporter.
    """
    exporter = Exporter(60, outages=[(30 * MINUTE, math.inf)])
    exporter.set("broker_out_of_sync_replicas", after(10 * MINUTE, 9), broker=2, state="slow")
    exporter.set("broker_out_of_sync_replicas", after(MINUTE, 9), broker=3, state="slow")
    exporter.set("under_min_isr_partitions", after(10 * MINUTE, 9))
    checks = [
        *steady("KafkaPartitionUnderMinIsr", 12.5, 60),
        *steady("KafkaReplicasOutOfSync", 21, 60, broker="2", explained="yes"),
        *steady("KafkaReplicasOutOfSync", 21, 60, broker="3", explained="no"),
    ]
    return Story([exporter], checks)


@scenario("BR12")
def fenced_broker_or_lost_disk_of_a_page() -> Story:
    """A fenced broker and a lost log directory take partitions offline: the page explains both; alone they are not."""
    page, alone = Exporter(25, cluster="page"), Exporter(25, cluster="alone")
    for exporter in (page, alone):
        fenced(exporter, 2, 5 * MINUTE, math.inf)
        exporter.set("log_dir_online", after(5 * MINUTE, 0, 1), broker=3, log_dir="/data/a")
    for broker in (2, 3):
        page.set("broker_out_of_sync_replicas", after(5 * MINUTE, 30), broker=broker, state="offline")
    page.set("offline_partitions", after(5 * MINUTE, 1))
    checks = [
        *steady("KafkaPartitionOffline", 8.5, 25, cluster="page"),
        firing(BROKER, at=20, count=1, cluster="page", broker="2", explained="yes"),
        firing("KafkaLogDirOffline", at=20, count=1, cluster="page", broker="3", explained="yes"),
        firing(BROKER, at=20, count=1, cluster="alone", broker="2", explained="no"),
        firing("KafkaLogDirOffline", at=20, count=1, cluster="alone", broker="3", explained="no"),
    ]
    return Story([page, alone], checks)


@scenario("BR13", core=True)
def cluster_or_controller_down() -> Story:
    """No broker of one cluster and no controller of another one answers for 10 min: a page each, after 30 s.

    It ends 10 min after they answer again.
    """
    down, quorum = Exporter(40, cluster="down"), Exporter(40, cluster="quorum")
    cluster_down(down, 10 * MINUTE, 20 * MINUTE)
    controller_down(quorum, 10 * MINUTE, 20 * MINUTE)
    checks = [silent(until=10.25)]
    for exporter, alert in (("down", CLUSTER), ("quorum", CONTROLLER)):
        checks += [*steady(alert, 11, 29.5, cluster=exporter), over(alert, at=31)]
        checks.append(silent(alert, cluster={"down": "quorum", "quorum": "down"}[exporter], until=40))
    return Story([down, quorum], checks)


@scenario("BR14")
def two_failed_polls() -> Story:
    """Two polls in a row fail, and a single one later: no page for the cluster or its controller."""
    exporter = Exporter(30)
    for name in ("cluster_reachable", "controller_reachable"):
        exporter.set(name, during(600, 620, 0, during(1200, 1210, 0, 1)))
    return Story([exporter], [silent(until=30)])


@scenario("BR15", core=True)
def outages_of_two_exporters() -> Story:
    """Two exporters see an outage: one page. One is cut off, and a poll of the other one fails: none."""
    names = ("a:10073", "b:10073")
    down = [Exporter(30, step=60, cluster="down", instance=name) for name in names]
    quorum = [Exporter(30, step=60, cluster="quorum", instance=name) for name in names]
    half = [Exporter(30, step=60, cluster="half", instance=name) for name in names]
    for exporter in down:
        cluster_down(exporter, 5 * MINUTE)
    for exporter in quorum:
        controller_down(exporter, 5 * MINUTE)
    for name in ("cluster_reachable", "controller_reachable"):
        half[0].set(name, after(5 * MINUTE, 0, 1))
        half[1].set(name, during(20 * MINUTE, 20 * MINUTE + 10, 0, 1))
    checks = [
        *steady(CLUSTER, 7, 30, cluster="down"),
        *steady(CONTROLLER, 7, 30, cluster="quorum"),
        silent(cluster="half", until=30, severity="critical"),
    ]
    return Story([*down, *quorum, *half], checks)


@scenario("BR16")
def outages_without_exporter() -> Story:
    """No exporter runs for an hour: pages on a cluster and a controller stay, and end after they answer again."""
    away = [(20 * MINUTE, 80 * MINUTE)]
    down, quorum, well = (Exporter(100, step=30, cluster=name, outages=away) for name in ("down", "quorum", "well"))
    cluster_down(down, 10 * MINUTE, HOUR)
    controller_down(quorum, 10 * MINUTE, HOUR)
    checks = [silent("Kafka[^W].+", cluster="well", until=100)]
    for exporter, alert in (("down", CLUSTER), ("quorum", CONTROLLER)):
        checks += [*steady(alert, 12, 89.5, cluster=exporter), over(alert, at=92)]
    return Story([down, quorum, well], checks, evaluation=30)
