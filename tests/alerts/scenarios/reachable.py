"""When alerts on brokers and on the cluster fire and end, with one exporter, two or none."""

import math

from tests.alerts.reading import reading
from tests.alerts.scenarios.changes import ENDS, FENCING, broker_down, cluster_down, rolling_restart
from tests.alerts.scenarios.fault import fault
from tests.alerts.scenarios.scenario import Checks, firing, over, scenario, silent, steady
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


@scenario("BR01", 40, core=True)
def dead_broker(exporter: Exporter) -> Checks:
    """A broker loses its power for 20 min: an alert after 1 min, which ends 5 min after its return."""
    broker_down(exporter, 2, 10 * MINUTE, 30 * MINUTE)
    return [silent(until=10.9), *steady(BROKER, 11.75, 34.75, broker="2"), over(BROKER, at=36)]


@scenario("BR02", 20)
def stopped_broker(exporter: Exporter) -> Checks:
    """A broker is shut down in order and does not return: an alert after 6 min."""
    broker_down(exporter, 2, 10 * MINUTE, ordered=True)
    return [silent(until=15.9), *steady(BROKER, 16.75, 20, broker="2")]


@scenario("BR03", 40)
def short_absences(exporter: Exporter) -> Checks:
    """One broker is killed and back after 30 s, another one answers every sixth poll late: no alert."""
    broker_down(exporter, 1, 10 * MINUTE, 10 * MINUTE + 30, catch_up=30)
    exporter.set("up", in_each(MINUTE, 10, 0, 1), source="offsets", broker=3)
    exporter.set("source_errors_total", lambda t: t // MINUTE + 1, source="offsets", broker=3, reason="timeout")
    return [silent(until=40)]


@scenario("BR04", 20, cluster="both")
def dead_broker_of_two_exporters(one: Exporter) -> Checks:
    """Two exporters see a dead broker: one alert. One of two is cut off from a broker: no alert on it."""
    for exporter in (one, one.beside(instance="b:10073")):
        broker_down(exporter, 2, 5 * MINUTE)
    half, _ = (one.beside(cluster="half", instance=instance) for instance in ("c:10073", "d:10073"))
    half.set("up", after(5 * MINUTE, 0, 1), source="offsets", broker=2)
    errors = after(5 * MINUTE, lambda t: t // 10, None)
    half.set("source_errors_total", errors, source="offsets", broker=2, reason="timeout")
    return [*steady(BROKER, 6.75, 20, cluster="both"), silent("Kafka[^W].+", cluster="half", until=20)]


@scenario("BR05", 80, outages=[(20 * MINUTE, 50 * MINUTE)])
def dead_broker_without_exporter(exporter: Exporter) -> Checks:
    """No exporter for 30 min, while a broker is dead: its alert stays, and ends after its return; no other begins."""
    broker_down(exporter, 2, 5 * MINUTE, HOUR)
    errors = during(HOUR, math.inf, 4, 3)
    exporter.set("source_errors_total", errors, source="offsets", broker=3, reason="timeout")
    return [*steady(BROKER, 6.75, 64.75, broker="2"), over(BROKER, at=66), silent(BROKER, until=80, broker="1|3")]


@scenario("BR06", 30, target=(5 * MINUTE, math.inf))
def first_exporter_in_a_restart(exporter: Exporter) -> Checks:
    """The first exporter starts while a broker restarts, which needs 3 min more: no alert."""
    broker_down(exporter, 2, 4 * MINUTE, 8 * MINUTE, ordered=True)
    return [silent(until=30)]


@scenario("BR07", 60)
def fenced_broker(exporter: Exporter) -> Checks:
    """After each of three restarts a broker is fenced for 1 min: no alert. Then one stays fenced: after 2 min."""
    rolling_restart(exporter, 5 * MINUTE, down=180, catch_up=60)
    for number, broker in enumerate(exporter.brokers):
        started = 5 * MINUTE + number * 300 + 120
        responding = during(started - 120, started, 0, during(started, started + 60, 1, None))
        exporter.set("broker_fenced_responding", responding, broker=broker)
    fenced(exporter, 2, 30 * MINUTE, 50 * MINUTE)
    return [silent(until=31.9), *steady(BROKER, 32.75, 54.75, broker="2"), over(BROKER, at=56)]


@scenario("BR08", 70, outages=[(20 * MINUTE, 40 * MINUTE)])
def metadata_stay_old(exporter: Exporter) -> Checks:
    """The metadata of a broker stay old, and no exporter runs for 20 min: one alert after 90 s, which stays.

    If only one of two exporters finds them old, there is no alert.
    """
    exporter.set("broker_metadata_stale_seconds", during(10 * MINUTE, HOUR, age(10 * MINUTE)), broker=2)
    for instance, stale in (("b:10073", age(10 * MINUTE)), ("c:10073", 0)):
        each = exporter.beside(cluster="pair", instance=instance)
        each.set("broker_metadata_stale_seconds", stale, broker=2)
    yield silent(until=11.5)
    yield from steady(BROKER, 12.25, 64.75, broker="2")
    yield over(BROKER, at=66)
    yield silent(cluster="pair", until=70)


@scenario("BR09", 80, step=30, outages=[(20 * MINUTE, HOUR)])
def removed_without_exporter(exporter: Exporter) -> Checks:
    """A dead broker is removed while no exporter runs: its alert stays until one runs again, and 6 min longer."""
    broker_down(exporter, 2, 10 * MINUTE)
    exporter.end(30 * MINUTE, broker=2)
    return [*steady(BROKER, 13, 60, broker="2"), over(BROKER, at=67)]


@scenario("BR10", 80)
def second_death(exporter: Exporter) -> Checks:
    """A broker dies, and an hour later one that missed polls before: the page on partitions explains the first one.

    The second one adds few partitions, so it is an alert.
    """
    broker_down(exporter, 2, 5 * MINUTE)
    exporter.set("up", during(5 * MINUTE, 6 * MINUTE, 0, after(70 * MINUTE, 0, 1)), source="offsets", broker=3)
    errors = after(70 * MINUTE, lambda t: 1 + min(t - 4200, FENCING) // 10, None)
    exporter.set("source_errors_total", errors, source="offsets", broker=3, reason="refused")
    exporter.set("broker_out_of_sync_replicas", after(70 * MINUTE + FENCING, 30), broker=3, state="offline")
    exporter.set("offline_partitions", after(5 * MINUTE + FENCING, after(70 * MINUTE + FENCING, 4, 1)))
    yield from steady(BROKER, 7, 80, broker="2", explained="yes")
    yield silent(BROKER, until=70, broker="3")
    yield from steady(BROKER, 72, 80, broker="3", explained="no")
    yield from steady("KafkaPartitionOffline", 7.5, 80)


@scenario("BR10b", 25)
def stopped_broker_of_a_page(exporter: Exporter) -> Checks:
    """A broker with topics without copies is shut down in order for good: a page after 6 min, which explains it."""
    broker_down(exporter, 2, 5 * MINUTE, ordered=True)
    exporter.set("offline_partitions", after(5 * MINUTE, 4))
    yield silent("KafkaPartitionOffline", until=11.1)
    yield from steady("KafkaPartitionOffline", 12.25, 25)
    yield from steady(BROKER, 11.75, 25, broker="2", explained="yes")


@scenario("BR11", 60, outages=[(30 * MINUTE, math.inf)])
def slow_replicas_of_a_page(exporter: Exporter) -> Checks:
    """Replicas leave the ISR, and partitions go under min ISR: the page explains these replicas, and no older ones.

    That stays without an exporter.
    """
    exporter.set("broker_out_of_sync_replicas", after(10 * MINUTE, 9), broker=2, state="slow")
    exporter.set("broker_out_of_sync_replicas", after(MINUTE, 9), broker=3, state="slow")
    exporter.set("under_min_isr_partitions", after(10 * MINUTE, 9))
    yield from steady("KafkaPartitionUnderMinIsr", 12.5, 60)
    yield from steady("KafkaReplicasOutOfSync", 21, 60, broker="2", explained="yes")
    yield from steady("KafkaReplicasOutOfSync", 21, 60, broker="3", explained="no")


@scenario("BR12", 25, cluster="page")
def fenced_broker_or_lost_disk_of_a_page(page: Exporter) -> Checks:
    """A fenced broker and a lost log directory take partitions offline: the page explains both; alone they are not."""
    alone = page.beside(cluster="alone")
    for exporter in (page, alone):
        fenced(exporter, 2, 5 * MINUTE, math.inf)
        exporter.set("log_dir_online", after(5 * MINUTE, 0, 1), broker=3, log_dir="/data/a")
    for broker in (2, 3):
        page.set("broker_out_of_sync_replicas", after(5 * MINUTE, 30), broker=broker, state="offline")
    page.set("offline_partitions", after(5 * MINUTE, 1))
    yield from steady("KafkaPartitionOffline", 8.5, 25, cluster="page")
    yield firing(BROKER, at=20, count=1, cluster="page", broker="2", explained="yes")
    yield firing("KafkaLogDirOffline", at=20, count=1, cluster="page", broker="3", explained="yes")
    yield firing(BROKER, at=20, count=1, cluster="alone", broker="2", explained="no")
    yield firing("KafkaLogDirOffline", at=20, count=1, cluster="alone", broker="3", explained="no")


@scenario("BR13", 40, core=True, cluster="down")
def cluster_or_controller_down(down: Exporter) -> Checks:
    """No broker of one cluster and no controller of another one answers for 10 min: a page each, after 30 s.

    It ends 10 min after they answer again.
    """
    quorum = down.beside(cluster="quorum")
    cluster_down(down, 10 * MINUTE, 20 * MINUTE)
    controller_down(quorum, 10 * MINUTE, 20 * MINUTE)
    yield silent(until=10.25)
    for name, alert, other in (("down", CLUSTER, "quorum"), ("quorum", CONTROLLER, "down")):
        yield from steady(alert, 11, 29.5, cluster=name)
        yield from (over(alert, at=31), silent(alert, cluster=other, until=40))


@scenario("BR14", 30)
def two_failed_polls(exporter: Exporter) -> Checks:
    """Two polls in a row fail, and a single one later: no page for the cluster or its controller."""
    for name in ("cluster_reachable", "controller_reachable"):
        exporter.set(name, during(600, 620, 0, during(1200, 1210, 0, 1)))
    return [silent(until=30)]


@scenario("BR15", 30, core=True, step=60, cluster="half", evaluation=15)
def outages_of_two_exporters(cut_off: Exporter) -> Checks:
    """Two exporters see an outage: one page. One is cut off, and a poll of the other one fails: none."""
    for instance in ("a:10073", "b:10073"):
        cluster_down(cut_off.beside(cluster="down", instance=instance), 5 * MINUTE)
        controller_down(cut_off.beside(cluster="quorum", instance=instance), 5 * MINUTE)
    other = cut_off.beside(instance="b:10073")
    for name in ("cluster_reachable", "controller_reachable"):
        cut_off.set(name, after(5 * MINUTE, 0, 1))
        other.set(name, during(20 * MINUTE, 20 * MINUTE + 10, 0, 1))
    yield from steady(CLUSTER, 7, 30, cluster="down")
    yield from steady(CONTROLLER, 7, 30, cluster="quorum")
    yield silent(cluster="half", until=30, severity="critical")


@scenario("BR16", 100, step=30, cluster="down", outages=[(20 * MINUTE, 80 * MINUTE)])
def outages_without_exporter(down: Exporter) -> Checks:
    """No exporter runs for an hour: pages on a cluster and a controller stay, and end after they answer again."""
    quorum, _ = (down.beside(cluster=name, outages=down.outages) for name in ("quorum", "well"))
    cluster_down(down, 10 * MINUTE, HOUR)
    controller_down(quorum, 10 * MINUTE, HOUR)
    yield silent("Kafka[^W].+", cluster="well", until=100)
    for name, alert in (("down", CLUSTER), ("quorum", CONTROLLER)):
        yield from (*steady(alert, 12, 89.5, cluster=name), over(alert, at=92))


@reading("a cluster without a broker that answers", 35, (11, CLUSTER), (35, CLUSTER), outages=ENDS)
def read_cluster(exporter: Exporter) -> None:
    cluster_down(exporter, 10 * MINUTE)
    for reason in ("refused", "connect_timeout"):
        errors = after(10 * MINUTE, lambda t: t // 10, 0)
        exporter.set("source_errors_total", errors, source="metadata", broker="", reason=reason)
    succeeded = after(10 * MINUTE, 600, lambda t: t)
    exporter.set("source_last_success_timestamp_seconds", succeeded, source="metadata", broker="")


@reading("no controller", 35, (11, CONTROLLER), (35, CONTROLLER), outages=ENDS)
def read_controller(exporter: Exporter) -> None:
    exporter.set("controller_reachable", after(10 * MINUTE, 0, 1))
    exporter.set("controller_info", after(10 * MINUTE, None, 1), node=1)
    exporter.set("controller_info", after(9 * MINUTE, after(10 * MINUTE, None, 1), None), node=101)


@reading("a cluster without a label", 15, (11, CONTROLLER), cluster=None)
def read_without_label(exporter: Exporter) -> None:
    """Prometheus sets no label `cluster`: the option cluster.name has the name."""
    exporter.name("orders-prod")
    exporter.set("controller_reachable", after(10 * MINUTE, 0, 1))


@reading(
    "brokers that do not answer or are of no use",
    35,
    (10, BROKER),
    (35, BROKER),
    brokers=(1, 2, 3, 4),
    outages=ENDS,
)
def read_brokers(exporter: Exporter) -> None:
    """Broker 1 is dead, broker 2 is fenced, broker 3 has old metadata, broker 4 hangs."""
    broker_down(exporter, 1, 5 * MINUTE)
    exporter.set("broker_info", 1, broker=1, host="kafka-1.example.org", rack="a")
    exporter.set("broker_fenced_responding", after(5 * MINUTE, 1, None), broker=2)
    exporter.set("quorum_lag_offsets", 5, node=2, role="observer")
    exporter.set("broker_metadata_stale_seconds", age(5 * MINUTE), broker=3)
    exporter.set("up", after(5 * MINUTE, 0, 1), source="offsets", broker=4)
    errors = after(5 * MINUTE, lambda t: t // 10, None)
    exporter.set("source_errors_total", errors, source="offsets", broker=4, reason="connect_timeout")
    exporter.set("broker_state", after(5 * MINUTE, 0, 1), broker=4, state="active")
    exporter.set("broker_state", after(5 * MINUTE, 1, 0), broker=4, state="shutting_down")


@fault(CLUSTER)
def no_broker_answers(exporter: Exporter, start: float) -> None:
    cluster_down(exporter, start)


@fault(CONTROLLER)
def no_controller(exporter: Exporter, start: float) -> None:
    controller_down(exporter, start)
    for source in ("reassignments", "quorum"):
        exporter.set("up", after(start, 0, 1), source=source, broker="")


@fault(BROKER, "killed or hangs")
def killed(exporter: Exporter, start: float) -> None:
    broker_down(exporter, 2, start)


@fault(BROKER, "shut down in order")
def shut_down(exporter: Exporter, start: float) -> None:
    broker_down(exporter, 2, start, ordered=True)


@fault(BROKER, "fenced, and answers")
def fenced_for_good(exporter: Exporter, start: float) -> None:
    fenced(exporter, 2, start, math.inf)
    count = after(start, lambda t: (t - start) // 10 + 1, None)
    exporter.set("source_errors_total", count, source="offsets", broker=2, reason="fenced")


@fault(BROKER, "has old metadata")
def old_metadata(exporter: Exporter, start: float) -> None:
    exporter.set("broker_metadata_stale_seconds", after(start, age(start)), broker=2)
