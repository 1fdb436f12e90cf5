"""Sidecars without current data, with a part of them only, or without access."""

import math
from typing import Any

from tests.alerts.reading import reading
from tests.alerts.scenarios.changes import broker_down, cluster_down, every, moving, rolling_restart, stopped
from tests.alerts.scenarios.fault import fault
from tests.alerts.scenarios.scenario import Checks, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, after, during, in_each
from tests.support.promtool import Check

DOWN, BLIND, REFUSED = "KafkaWardenDown", "KafkaWardenBlind", "KafkaWardenAccessRefused"
RESTARTING = "KafkaWardenRestarting"
SMALL = (1, 2)
ABSENT: dict[str, Any] = {"target": (300, math.inf), "outages": [(0, math.inf)]}
"""A target from 5 min on that is never up."""


def frozen(exporter: Exporter, start: float, end: float = math.inf) -> None:
    """Let a proxy serve an old response."""
    exporter.set("snapshot_timestamp_seconds", during(start, end, start, lambda t: t))


@scenario("W01", 55, core=True, brokers=SMALL, outages=[(20 * MINUTE, 45 * MINUTE)])
def down(exporter: Exporter) -> Checks:
    """The only exporter is down for 25 min: two alerts after 9 and 11 min, which end 5 min after it is back."""
    yield silent(until=29)
    yield from steady(BLIND, 29.75, 49.5, data="none", severity="critical")
    yield silent(DOWN, until=30.9)
    yield from steady(DOWN, 31.75, 49.5)
    yield over(".+", at=51.5)
    yield silent("Kafka[^W].+", until=55)


@scenario("W02", 50, brokers=SMALL, labels={"job": "monitor"})
def one_of_two_down(exporter: Exporter) -> Checks:
    """One of two exporters with a job of another name is down: one alert after 15 min, and the cluster is monitored."""
    exporter.beside(labels={"job": "monitor"}, instance="b:10073", outages=[(20 * MINUTE, math.inf)])
    return [silent(until=34), *steady(DOWN, 34.75, 50), silent(BLIND, until=50)]


@scenario("W03", 30, brokers=SMALL, cluster="new", **ABSENT)
def never_there(exporter: Exporter) -> Checks:
    """New targets never answer: an alert after 11 min for those whose job has the name of the exporter."""
    for cluster, job in (("operator", "monitoring/kafka-warden"), ("other", "node")):
        exporter.beside(cluster=cluster, labels={"job": job}, **ABSENT)
    yield from (silent(until=15.9), silent(cluster="other", until=30))
    yield from (*steady(DOWN, 17, 30, cluster="new"), *steady(DOWN, 17, 30, cluster="operator"))


@scenario("W04", 55, core=True, brokers=SMALL)
def old_data(exporter: Exporter) -> Checks:
    """A proxy serves an old response for 35 min: two alerts, 6 and 11 min after the data are too old, which end."""
    frozen(exporter, 10 * MINUTE, 45 * MINUTE)
    yield silent(until=17.9)
    yield from steady(BLIND, 18.75, 49.5, data="none", severity="critical")
    yield silent(DOWN, until=22.9)
    yield from steady(DOWN, 24, 49.5)
    yield over(".+", at=51.5)


@scenario("W05", 30, brokers=SMALL)
def never_a_poll(exporter: Exporter) -> Checks:
    """An exporter never completes a poll, or no broker answers it from the start: its own alert, and another one."""
    unreachable = exporter.beside(cluster="unreachable")
    exporter.set("snapshot_timestamp_seconds", None)
    cluster_down(unreachable, 0)
    yield from steady(DOWN, 13, 30, cluster="prod")
    yield firing("KafkaClusterUnreachable", at=15, cluster="unreachable")
    yield silent(DOWN, cluster="unreachable", until=30)
    yield silent(BLIND, cluster="unreachable", data="none", until=30)


@scenario("W05b", 40, core=True, brokers=SMALL, outages=[(615, math.inf)])
def dies_with_the_cluster(exporter: Exporter) -> Checks:
    """The only exporter dies after one poll that no broker answered: a page that nothing is monitored.

    If it dies later, the cluster has a page, and the exporter none.
    """
    later = exporter.beside(cluster="later", outages=[(645, math.inf)])
    for each in (exporter, later):
        cluster_down(each, 595)
    yield from (silent("KafkaC.+", cluster="prod", until=40), *steady(BLIND, 22, 40, cluster="prod", data="none"))
    yield from (*steady("KafkaClusterUnreachable", 12, 40, cluster="later"), silent(BLIND, cluster="later", until=40))


@scenario("W06", 90, step=60, brokers=SMALL, cluster="slow", poll=600)
def rare_polls(slow: Exporter) -> Checks:
    """Polls take 10 min: no alert. After the last one the data count for three intervals."""
    stopped = slow.beside(cluster="stopped")
    stopped.set("snapshot_timestamp_seconds", lambda t: min(t, 600))
    yield silent(cluster="slow", until=90)
    yield silent(cluster="stopped", until=45)
    yield from steady(BLIND, 49, 90, cluster="stopped", data="none")
    yield from steady(DOWN, 53, 90, cluster="stopped")


@scenario("W07", 30, brokers=SMALL)
def one_address_for_two(exporter: Exporter) -> Checks:
    """Sidecars of two clusters have the same address, and one has old data: the other one does not answer for it."""
    exporter.beside(cluster="other")
    frozen(exporter, 0)
    yield from (firing(BLIND, at=25, cluster="prod", data="none"), firing(DOWN, at=25, cluster="prod"))
    yield from (silent("Kafka[^W].+", until=30), silent(cluster="other", until=30))


@scenario("W08", 90, step=30, brokers=SMALL, cluster="update", outages=[(1200, 1230), (1800, 1830)])
def restarts_and_lost_scrapes(update: Exporter) -> Checks:
    """An update and its rollback, or one lost scrape of 20: no alert. Three restarts, or one lost scrape of 8: one."""
    update.beside(cluster="few", lost=lambda t: t // 30 % 20 == 9)
    update.beside(cluster="crash", outages=[(1200, 1230), (1800, 1830), (2400, 2430)])
    update.beside(cluster="many", lost=lambda t: t // 30 % 8 == 7)
    yield silent(cluster="update|few", until=90)
    yield silent(cluster="crash", until=45)
    yield from steady("KafkaWardenRestarting", 47, 89, cluster="crash")
    yield from steady("KafkaWardenRestarting", 35, 90, cluster="many")


def pod(number: int, first: float, last: float, **given: Any) -> dict[str, Any]:
    """Return the arguments of an exporter in a pod, which has an address of its own, from minute to minute."""
    return {"instance": f"10.0.0.{number}:10073", "target": (first * MINUTE, last * MINUTE), **given}


@scenario("W09", 90, step=30, brokers=SMALL, cluster="replaced", **pod(0, 0, 9))
def replaced_pods(first: Exporter) -> Checks:
    """A pod is replaced each 10 min: an alert. Two pods are updated, and back, or their nodes drained: none."""
    for number in range(1, 9):
        first.beside(**pod(number, 10 * number, 10 * number + 9))
    for number, times in ((0, (0, 30)), (10, (30, 50)), (20, (50, 90))):
        for each in (number, number + 1):
            first.beside(cluster="updated", **pod(each, *times))
    for number, times in enumerate(((0, 20), (0, 30), (26, 90), (36, 90))):
        first.beside(cluster="drained", **pod(number, *times))
    yield silent(cluster="replaced", until=25)
    yield from steady("KafkaWardenRestarting", 40, 90, cluster="replaced")
    yield silent(cluster="updated|drained", until=90)


@scenario("W10", 180, step=30, brokers=SMALL, outages=[(HOUR, 2 * HOUR)])
def beans(exporter: Exporter) -> Checks:
    """The beans of a broker cannot be read, and the exporter is down: an info after 20 min, which stays, and ends."""
    exporter.set("up", during(10 * MINUTE, 130 * MINUTE, 0, 1), source="jmx", broker=2)
    return [silent(until=28), *steady(BLIND, 30.5, 131, broker="2", data="beans"), over(BLIND, at=134, data="beans")]


@scenario("W11", 60, brokers=(1, 2, 3))
def rolling(exporter: Exporter) -> Checks:
    """Brokers restart one after the other, and one request of ten fails: no alert on the exporter."""
    burst = exporter.beside(brokers=SMALL, cluster="burst")
    rolling_restart(exporter, 5 * MINUTE, down=3 * MINUTE, catch_up=4 * MINUTE)
    for source in ("offsets", "jmx"):
        burst.set("up", in_each(150, 10, 0, 1), source=source, broker=2)
    return [silent("KafkaWarden.+", until=60)]


@scenario("W12", 35, step=30, brokers=SMALL, cluster="lag")
def parts_missing(lag: Exporter) -> Checks:
    """A kind of data is missing: an alert after 11 min. It is later for the lag of replicas, which may catch up."""
    start = 5 * MINUTE
    lag.set("broker_replica_lag_unknown_replicas", after(start, 2, 0), broker=2)
    moving(lag.beside(cluster="bytes"), value=3, remaining=during(0, start, 1e9, None), eta=None)
    lag.beside(cluster="min.insync").set("unknown_min_isr_partitions", after(start, 40, 0))
    lag.beside(cluster="requests").set("up", after(start, 0, 1), source="configs", broker="")
    lag.beside(cluster="verdicts").set("dropped_verdicts", after(start, 7, 0))
    yield silent(until=15.9)
    yield firing(BLIND, at=34, count=5, data="some", severity="warning")
    yield firing(BLIND, at=22, count=4, cluster="bytes|min.insync|requests|verdicts", data="some")
    yield Check(34 * MINUTE, "count(count by (what) (cluster:kafka_warden_blind_spots:count))", 5)


@scenario("W13", 75, step=30, brokers=SMALL)
def dead_broker(exporter: Exporter) -> Checks:
    """A broker is dead for 30 min, and then its replicas have no lag: only after it is back that is not monitored."""
    broker_down(exporter, 2, 5 * MINUTE, 35 * MINUTE)
    moving(exporter, value=3, remaining=during(5 * MINUTE, 35 * MINUTE, None, 9e9), eta=None)
    exporter.set("broker_replica_lag_unknown_replicas", after(5 * MINUTE, 40, 0), broker=2)
    return [silent(BLIND, data="some|none", until=50), firing(BLIND, at=57, data="some")]


@scenario("W14", 30, brokers=SMALL)
def not_available(exporter: Exporter) -> Checks:
    """A managed cluster never lets the exporter see configurations and log directories: no alert."""
    moving(exporter, value=3, remaining=None, eta=None)
    exporter.set("unknown_min_isr_partitions", 40)
    for source, broker in (("log_dirs", 1), ("configs", "")):
        exporter.set("source_not_available", 1, source=source, broker=broker, reason="authorization")
    return [silent(until=30)]


@scenario("W15", 55, brokers=SMALL)
def refused_alone(one: Exporter) -> Checks:
    """Two exporters are refused one source for 20 min: one alert after 11 min, and no other. It hides no other data."""
    errors = during(10 * MINUTE, 30 * MINUTE, lambda t: 1 + (t - 600) // 10, after(30 * MINUTE, 121, None))
    for exporter in (one, one.beside(instance="b:10073")):
        exporter.set("up", during(10 * MINUTE, 30 * MINUTE, 0, 1), source="configs", broker="")
        exporter.set("unknown_min_isr_partitions", during(10 * MINUTE, 30 * MINUTE, 40, 0))
        exporter.set("source_errors_total", errors, source="configs", broker="", reason="authorization")
    other = one.beside(cluster="other")
    for name in ("quotas", "offsets"):
        reason = "authorization" if name == "quotas" else "timeout"
        other.set("source_errors_total", lambda t: t // 10, source=name, broker="", reason=reason)
    other.set("dropped_verdicts", 7)
    yield silent(cluster="prod", until=20.9)
    yield from steady(REFUSED, 22, 44, cluster="prod")
    yield over(REFUSED, at=47)
    yield silent("KafkaWarden(Blind|Down)|Kafka[^W].+", cluster="prod", until=55)
    yield silent(REFUSED, cluster="other", until=55)
    yield firing(BLIND, at=20, cluster="other", data="some")


@scenario("W16", 60, brokers=SMALL, cluster="prod")
def refused_now_and_then(exporter: Exporter) -> Checks:
    """A request each 10 min is refused: the alert stays. One refusal, and then time-outs: no alert."""
    once = exporter.beside(cluster="once")
    for each in (exporter, once):
        each.set("up", after(5 * MINUTE, 0, 1), source="configs", broker=2)
    errors = after(5 * MINUTE, lambda t: 1 + (t - 300) // 600, None)
    exporter.set("source_errors_total", errors, source="configs", broker=2, reason="authorization")
    once.set("source_errors_total", after(5 * MINUTE, 2, 1), source="configs", broker=2, reason="authorization")
    once.set("source_errors_total", after(6 * MINUTE, lambda t: t // 10), source="configs", broker=2, reason="timeout")
    return [*steady(REFUSED, 17, 60, cluster="prod"), silent(REFUSED, cluster="once", until=60)]


@scenario("W17", 55, brokers=SMALL)
def hidden_topics(one: Exporter) -> Checks:
    """An ACL is removed, and topics are hidden from one of two exporters: one alert, and no other, which ends."""
    one.beside(instance="b:10073").set("undescribed_topics", during(5 * MINUTE, 27 * MINUTE, 3))
    return [silent(until=15.9), *steady(REFUSED, 17, 36), over(".+", at=44), silent("Kafka[^W].+", until=55)]


@reading("some sidecars have no current data", 30, (25, DOWN), brokers=SMALL, outages=[(300, math.inf)])
def read_down(exporter: Exporter) -> None:
    exporter.beside(instance="b:10073", outages=exporter.outages)
    old, without, _ = (exporter.beside(instance=f"{name}:10073") for name in "cde")
    frozen(old, 300)
    without.set("snapshot_timestamp_seconds", None)


@reading("no sidecar has current data", 30, (25, DOWN), (25, BLIND), brokers=SMALL, outages=[(300, math.inf)])
def read_all_down(exporter: Exporter) -> None:
    frozen(exporter.beside(instance="b:10073"), 300)


@reading("there is no target", 30, (30, DOWN), (30, BLIND), brokers=SMALL, target=(0, 300))
def read_no_target(_: Exporter) -> None:
    """Prometheus does not list it any more."""


@reading("sidecars restart", 60, (60, RESTARTING), brokers=SMALL, outages=[(n, n + 30) for n in range(600, 2401, 600)])
def read_restarts(exporter: Exporter) -> None:
    exporter.beside(instance="b:10073", lost=lambda t: t // 15 % 5 == 4)


@reading("pods are replaced", 90, (60, RESTARTING), step=30, brokers=SMALL, evaluation=15, **pod(0, 0, 9))
def read_replaced(exporter: Exporter) -> None:
    for number in range(1, 7):
        exporter.beside(**pod(number, 10 * number, 10 * number + 9))


@reading("two clusters have one label", 20, (15, "KafkaWardenClusterLabelAmbiguous"), brokers=SMALL)
def read_ambiguous(exporter: Exporter) -> None:
    other = exporter.beside(instance="b:10073")
    other.set("cluster_info", 1, cluster_id="other", cluster_name="", kafka_version="4.1.1")
    other.end(0, cluster_id="id-prod")


@reading("access is refused", 20, (15, "KafkaWardenAccessRefused"), brokers=SMALL)
def read_refused(exporter: Exporter) -> None:
    other = exporter.beside(instance="b:10073")
    exporter.set("source_errors_total", lambda t: t // 10, source="log_dirs", broker=2, reason="authorization")
    other.set("source_errors_total", lambda t: t // 10, source="configs", broker="", reason="tls")
    other.set("undescribed_topics", 3)


@reading("parts are not monitored", 25, (24, BLIND), brokers=SMALL)
def read_parts(exporter: Exporter) -> None:
    moving(exporter, value=3, remaining=None, eta=None)
    exporter.set("broker_replica_lag_unknown_replicas", 2, broker=2)
    exporter.set("up", 0, source="jmx", broker=2)
    exporter.set("source_errors_total", lambda t: t // 10, source="jmx", broker=2, reason="connect_timeout")


@fault(DOWN, "does not answer")
def dead(exporter: Exporter, start: float) -> None:
    exporter.outages = (*(each for each in exporter.outages if each[1] < start), (start, math.inf))


@fault(DOWN, "has old data")
def hangs(exporter: Exporter, start: float) -> None:
    exporter.set("snapshot_timestamp_seconds", stopped(start))


@fault(RESTARTING, "the last restart that counts", begins=9 * MINUTE)
def restarts_on_and_on(exporter: Exporter, start: float) -> None:
    exporter.outages = (*(each for each in exporter.outages if each[1] < start), *every(180, first=start))


@fault(BLIND, "all have old data", data="none")
def wrong_clock(exporter: Exporter, start: float) -> None:
    exporter.set("snapshot_timestamp_seconds", lambda t: t if t < start else t + 600)


@fault(BLIND, "other data are missing", data="some")
def verdicts_cut(exporter: Exporter, start: float) -> None:
    exporter.set("dropped_verdicts", after(start, 9, 0))


@fault(BLIND, "beans are missing", data="beans")
def no_beans(exporter: Exporter, start: float) -> None:
    exporter.set("up", after(start, 0, 1), source="jmx", broker=2)


@fault(REFUSED)
def access_refused(exporter: Exporter, start: float) -> None:
    exporter.set("up", after(start, 0, 1), source="offsets", broker=2)
    count = after(start, lambda t: (t - start) // 10 + 1, None)
    exporter.set("source_errors_total", count, source="offsets", broker=2, reason="authorization")
