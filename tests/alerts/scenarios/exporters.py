"""Exporters that are down, cut off, doubled or wrongly labelled, and what they say of themselves."""

import itertools
import math
from collections.abc import Callable

from tests.alerts.scenarios.changes import broker_down, moving, stuck, throttle_problem
from tests.alerts.scenarios.scenario import Story, fires, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, Value, after, during
from tests.support.promtool import Check


@scenario("S05", core=True)
def no_label() -> Story:
    """Two clusters have no label, and a broker of one is dead: an alert says that they are mixed up."""
    one, other = Exporter(60, cluster=None, instance="a:10073"), Exporter(60, cluster=None, instance="b:10073")
    one.set("cluster_info", 1, cluster_id="first", cluster_name="", kafka_version="4.1.1")
    other.set("cluster_info", 1, cluster_id="second", cluster_name="", kafka_version="4.1.1")
    broker_down(other, 2, 10 * MINUTE)
    return Story([one, other], [fires("KafkaWardenClusterLabelAmbiguous", until=30)])


@scenario("S05b")
def one_label_for_two() -> Story:
    """Two clusters have one label, by copy and paste: an alert says so. Two exporters of one cluster are fine."""
    series = [Exporter(60, instance="a:10073"), Exporter(60, instance="b:10073")]
    for exporter, cluster_id in zip(series, ("first", "second"), strict=True):
        exporter.set("cluster_info", 1, cluster_id=cluster_id, cluster_name="", kafka_version="4.1.1")
    pair = [Exporter(60, cluster="pair", instance=instance) for instance in ("c:10073", "d:10073")]
    checks = [fires("KafkaWardenClusterLabelAmbiguous", cluster="prod", until=30), silent(cluster="pair", until=60)]
    return Story([*series, *pair], checks)


@scenario("S05c")
def one_upgrade() -> Story:
    """Kafka is upgraded, and is built again a day later with a new id: the label is not ambiguous."""
    exporter = Exporter(120)
    exporter.set(
        "cluster_info", during(0, 30 * MINUTE, 1, None), cluster_id="id-prod", cluster_name="", kafka_version="4.1.1"
    )
    exporter.set(
        "cluster_info", during(30 * MINUTE, HOUR, 1, None), cluster_id="id-prod", cluster_name="", kafka_version="4.2.0"
    )
    exporter.set("cluster_info", after(HOUR, 1, None), cluster_id="other", cluster_name="", kafka_version="4.2.0")
    return Story([exporter], [silent(until=120)])


@scenario("S08")
def no_target() -> Story:
    """The scrape job disappears: an alert still says so after 7 h."""
    exporter = Exporter(8 * 60, step=60, target=(0, 30 * MINUTE))
    checks = [fires("KafkaWarden.+", until=60), firing("KafkaWarden.+", at=7.5 * 60)]
    return Story([exporter], checks, evaluation=60)


@scenario("S65")
def two_agents_and_a_dead_broker() -> Story:
    """One of two agents starts later and loses scrapes: a dead broker, a stuck move and a throttle are 3 alerts."""
    both = [
        Exporter(60, labels={"agent": "one"}, target=(0, 50 * MINUTE)),
        Exporter(60, labels={"agent": "two"}, target=(15 * MINUTE, HOUR), lost=lambda t: t // 15 % 10 == 9),
    ]
    for exporter in both:
        broker_down(exporter, 3, 10 * MINUTE)
        moving(exporter, eta=None)
        stuck(exporter, after(10 * MINUTE, 1, None), cause="throttle_blocked", since=600)
        throttle_problem(exporter, "blocked", after(10 * MINUTE, lambda t: t - 600, None))
    checks = [
        *steady("KafkaBrokerUnreachable", 20, 60, broker="3"),
        *steady("KafkaReassignmentStuck", 20, 60, broker="2"),
        *steady("KafkaThrottleTooLow", 25, 60, broker="2"),
        silent("KafkaWarden.+", until=60, since=16, severity="warning|critical"),
    ]
    return Story(both, checks)


@scenario("S47")
def one_stale_view() -> Story:
    """One of two exporters sees 3 offline partitions for 15 min, the other one none: no page."""
    right, wrong = Exporter(60), Exporter(60, instance="b:10073")
    wrong.set("offline_partitions", during(10 * MINUTE, 25 * MINUTE, 3))
    return Story([right, wrong], [silent(severity="critical", until=60)])


def _fails(start: float, seconds: float) -> Callable[[float], bool]:
    return lambda t: start <= t < start + seconds


@scenario("S47c")
def one_of_two_dies_with_a_rack() -> Story:
    """One of two exporters dies with a rack or with all brokers, and the other one sees it: alerts are as with one.

    The same if a scrape of the other one failed a minute before.
    """
    exporters, checks = [], [silent(until=10)]
    for cluster, seconds in itertools.product(("rack", "all"), (0, 15)):
        name = f"{cluster}, no scrape for {seconds} s"
        alive = Exporter(40, cluster=name, lost=_fails(9 * MINUTE, seconds))
        exporters += [alive, Exporter(40, cluster=name, instance="b:10073", outages=[(10 * MINUTE, math.inf)])]
        if cluster == "all":
            alive.set("cluster_reachable", after(10 * MINUTE, 0, 1))
            checks.append(fires("KafkaClusterUnreachable", until=11.5, cluster=name))
        else:
            broker_down(alive, 3, 10 * MINUTE)
            alive.set("offline_partitions", after(10 * MINUTE + 18, 12))
            checks.append(fires("KafkaPartitionOffline", until=13, cluster=name, severity="critical"))
            checks.append(fires("KafkaBrokerUnreachable", until=12.5, cluster=name, broker="3"))
    return Story(exporters, checks)


@scenario("S52", core=True)
def rolling_update() -> Story:
    """An update of the exporter replaces its target, and both run for 30 s: no alert."""
    old = Exporter(90, instance="10.0.0.1:10073", target=(0, HOUR))
    new = Exporter(90, instance="10.0.0.2:10073", target=(HOUR - 30, math.inf), outages=[(0, HOUR - 45)])
    return Story([old, new], [silent(until=90)])


def refused(value: Value) -> Exporter:
    """An exporter whose requests for offsets are refused by broker 2 for the lack of an ACL."""
    exporter = Exporter(60)
    exporter.set("up", during(10 * MINUTE, 40 * MINUTE, 0, 1), source="offsets", broker=2)
    exporter.set("source_errors_total", value, source="offsets", broker=2, reason="authorization")
    return exporter


@scenario("S64")
def access_refused() -> Story:
    """A broker refuses the requests of the exporter for 30 min: one alert, and the broker is not called unreachable."""
    exporter = refused(during(10 * MINUTE, 40 * MINUTE, lambda t: (t - 600) // 10 + 1, after(40 * MINUTE, 181, None)))
    checks = [fires("KafkaWardenAccessRefused", until=25), over("KafkaWardenAccessRefused", at=60)]
    return Story([exporter], [*checks, silent("KafkaBrokerUnreachable", until=60)])


@scenario("S67", core=True)
def labels() -> Story:
    """Many faults at once: every alert has the label of the program that it comes from."""
    exporter = Exporter(60)
    broker_down(exporter, 3, 10 * MINUTE)
    moving(exporter, eta=math.inf)
    stuck(exporter, after(10 * MINUTE, 1, None), cause="throttle_blocked", since=600)
    throttle_problem(exporter, "blocked", after(10 * MINUTE, lambda t: t - 600, None))
    for name in ("offline_partitions", "under_min_isr_partitions", "at_min_isr_partitions"):
        exporter.set(name, after(10 * MINUTE, 5))
    unlabelled = Check(HOUR, 'count(ALERTS{exporter!="kafka-warden"})', None)
    return Story([exporter], [firing(".+", at=60, exporter="kafka-warden"), unlabelled])
