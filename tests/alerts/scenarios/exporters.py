"""Exporters that are down, cut off, doubled or wrongly labelled, and what they say of themselves."""

import itertools
import math
from collections.abc import Callable

from tests.alerts.scenarios.changes import broker_down, cluster_down, moving, stuck, throttle_problem
from tests.alerts.scenarios.scenario import Checks, fires, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, after, during


@scenario("S05b", 60, core=True)
def one_label_for_two(exporter: Exporter) -> Checks:
    """Two clusters have one label, by copy and paste: an alert says so. Two exporters of one cluster are fine."""
    for each, cluster_id in ((exporter, "first"), (exporter.beside(instance="b:10073"), "second")):
        each.set("cluster_info", 1, cluster_id=cluster_id, cluster_name="", kafka_version="4.1.1")
    for instance in ("c:10073", "d:10073"):
        exporter.beside(cluster="pair", instance=instance)
    return [fires("KafkaWardenClusterLabelAmbiguous", cluster="prod", until=30), silent(cluster="pair", until=60)]


@scenario("S05c", 120)
def one_upgrade(exporter: Exporter) -> Checks:
    """Kafka is upgraded, and is built again a day later with a new id: the label is not ambiguous."""
    exporter.set(
        "cluster_info", during(0, 30 * MINUTE, 1, None), cluster_id="id-prod", cluster_name="", kafka_version="4.1.1"
    )
    exporter.set(
        "cluster_info", during(30 * MINUTE, HOUR, 1, None), cluster_id="id-prod", cluster_name="", kafka_version="4.2.0"
    )
    exporter.set("cluster_info", after(HOUR, 1, None), cluster_id="other", cluster_name="", kafka_version="4.2.0")
    return [silent(until=120)]


@scenario("S08", 8 * 60, step=60, target=(0, 30 * MINUTE))
def no_target(exporter: Exporter) -> Checks:
    """The scrape job disappears: an alert still says so after 7 h."""
    return [fires("KafkaWarden.+", until=60), firing("KafkaWarden.+", at=7.5 * 60)]


@scenario("S65", 60, labels={"agent": "one"}, target=(0, 50 * MINUTE))
def two_agents_and_a_dead_broker(first: Exporter) -> Checks:
    """One of two agents starts later and loses scrapes: a dead broker, a stuck move and a throttle are 3 alerts."""
    second = first.beside(labels={"agent": "two"}, target=(15 * MINUTE, HOUR), lost=lambda t: t // 15 % 10 == 9)
    for exporter in (first, second):
        broker_down(exporter, 3, 10 * MINUTE)
        moving(exporter, eta=None)
        stuck(exporter, after(10 * MINUTE, 1, None), cause="throttle_blocked", since=600)
        throttle_problem(exporter, "blocked", after(10 * MINUTE, lambda t: t - 600, None))
    yield from steady("KafkaBrokerUnreachable", 20, 60, broker="3")
    yield from steady("KafkaReassignmentStuck", 20, 60, broker="2")
    yield from steady("KafkaThrottleTooLow", 25, 60, broker="2")
    yield silent("KafkaWarden.+", until=60, since=16, severity="warning|critical")


@scenario("S47", 60)
def one_stale_view(right: Exporter) -> Checks:
    """One of two exporters sees 3 offline partitions for 15 min, the other one none: no page."""
    wrong = right.beside(instance="b:10073")
    wrong.set("offline_partitions", during(10 * MINUTE, 25 * MINUTE, 3))
    return [silent(severity="critical", until=60)]


def _fails(start: float, seconds: float) -> Callable[[float], bool]:
    return lambda t: start <= t < start + seconds


@scenario("S47c", 40)
def one_of_two_dies_with_a_rack(exporter: Exporter) -> Checks:
    """One of two exporters dies with a rack or with all brokers, and the other one sees it: alerts are as with one.

    The same if a scrape of the other one failed a minute before.
    """
    yield silent(until=10)
    for cluster, seconds in itertools.product(("rack", "all"), (0, 15)):
        name = f"{cluster}, no scrape for {seconds} s"
        alive = exporter.beside(cluster=name, lost=_fails(9 * MINUTE, seconds))
        alive.beside(instance="b:10073", outages=[(10 * MINUTE, math.inf)])
        if cluster == "all":
            alive.set("cluster_reachable", after(10 * MINUTE, 0, 1))
            yield fires("KafkaClusterUnreachable", until=11.5, cluster=name)
        else:
            broker_down(alive, 3, 10 * MINUTE)
            alive.set("offline_partitions", after(10 * MINUTE + 18, 12))
            yield fires("KafkaPartitionOffline", until=13, cluster=name, severity="critical")
            yield fires("KafkaBrokerUnreachable", until=12.5, cluster=name, broker="3")


@scenario("S47d", 60, core=True, cluster="restart")
def one_cut_off_and_the_other_away(exporter: Exporter) -> Checks:
    """One of two exporters is cut off from all brokers, or from one, and the other one restarts: no page.

    Nor if two scrapes of the other one fail. If it stays away, the one that is cut off is all there is: a page.
    """
    for name, away in (("restart", 60), ("update", 180), ("gone", math.inf), ("scrapes", 0)):
        cut_off = exporter if name == "restart" else exporter.beside(cluster=name)
        outages, lost = ([(30 * MINUTE, 30 * MINUTE + away)], _fails(0, 0)) if away else ([], _fails(30 * MINUTE, 30))
        cut_off.beside(instance="b:10073", outages=outages, lost=lost)
        cluster_down(cut_off, 5 * MINUTE)
    partly = exporter.beside(cluster="partly")
    partly.set("up", after(5 * MINUTE, 0, 1), source="offsets", broker=2)
    errors = after(5 * MINUTE, lambda t: t // 10, None)
    partly.set("source_errors_total", errors, source="offsets", broker=2, reason="timeout")
    partly.beside(instance="b:10073", outages=[(30 * MINUTE, 31 * MINUTE)])
    yield silent("Kafka[^W].+", cluster="restart|update|scrapes|partly", until=60)
    yield from (silent("Kafka[^W].+", cluster="gone", until=34), fires("KafkaClusterUnreachable", until=36))


@scenario("S52", 90, core=True, instance="10.0.0.1:10073", target=(0, HOUR))
def rolling_update(exporter: Exporter) -> Checks:
    """An update of the exporter replaces its target, and both run for 30 s: no alert."""
    exporter.beside(instance="10.0.0.2:10073", target=(HOUR - 30, math.inf), outages=[(0, HOUR - 45)])
    return [silent(until=90)]


@scenario("S64", 60)
def access_refused(exporter: Exporter) -> Checks:
    """A broker refuses the requests of the exporter for 30 min: one alert, and the broker is not called unreachable."""
    exporter.set("up", during(10 * MINUTE, 40 * MINUTE, 0, 1), source="offsets", broker=2)
    errors = during(10 * MINUTE, 40 * MINUTE, lambda t: (t - 600) // 10 + 1, after(40 * MINUTE, 181, None))
    exporter.set("source_errors_total", errors, source="offsets", broker=2, reason="authorization")
    yield from (fires("KafkaWardenAccessRefused", until=25), over("KafkaWardenAccessRefused", at=60))
    yield silent("KafkaBrokerUnreachable", until=60)
