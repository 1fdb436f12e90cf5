"""Sidecars without current data, with a part of them only, or without access."""

import math

from tests.alerts.scenarios.changes import broker_down, cluster_down, moving, rolling_restart
from tests.alerts.scenarios.scenario import Story, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, after, during, in_each
from tests.support.promtool import Check

DOWN, BLIND, REFUSED = "KafkaWardenDown", "KafkaWardenBlind", "KafkaWardenAccessRefused"
SMALL = (1, 2)


def pair(minutes: float, cluster: str = "prod", step: int = 15) -> tuple[Exporter, Exporter]:
    """Return two exporters of a cluster."""
    one, other = (
        Exporter(minutes, step=step, brokers=SMALL, cluster=cluster, instance=f"{name}:10073") for name in "ab"
    )
    return one, other


def frozen(exporter: Exporter, start: float, end: float = math.inf) -> None:
    """Let a proxy serve an old response."""
    exporter.set("snapshot_timestamp_seconds", during(start, end, start, lambda t: t))


@scenario("W01", core=True)
def down() -> Story:
    """The only exporter is down for 25 min: two alerts after 9 and 11 min, which end 5 min after it is back."""
    exporter = Exporter(55, brokers=SMALL, outages=[(20 * MINUTE, 45 * MINUTE)])
    checks = [
        silent(until=29),
        *steady(BLIND, 29.75, 49.5, data="none", severity="critical"),
        silent(DOWN, until=30.9),
        *steady(DOWN, 31.75, 49.5),
        over(".+", at=51.5),
        silent("Kafka[^W].+", until=55),
    ]
    return Story([exporter], checks)


@scenario("W02")
def one_of_two_down() -> Story:
    """One of two exporters with a job of another name is down: one alert after 15 min, and the cluster is monitored."""
    both = [
        Exporter(50, brokers=SMALL, labels={"job": "monitor"}),
        Exporter(50, brokers=SMALL, labels={"job": "monitor"}, instance="b:10073", outages=[(20 * MINUTE, math.inf)]),
    ]
    return Story(both, [silent(until=34), *steady(DOWN, 34.75, 50), silent(BLIND, until=50)])


@scenario("W03")
def never_there() -> Story:
    """New targets never answer: an alert after 11 min for those whose job has the name of the exporter."""
    jobs = {"new": "kafka-warden", "operator": "monitoring/kafka-warden", "other": "node"}
    targets = [
        Exporter(
            30, brokers=SMALL, cluster=cluster, labels={"job": job}, target=(300, math.inf), outages=[(0, math.inf)]
        )
        for cluster, job in jobs.items()
    ]
    checks = [silent(until=15.9), *steady(DOWN, 17, 30, cluster="new"), *steady(DOWN, 17, 30, cluster="operator")]
    return Story(targets, [*checks, silent(cluster="other", until=30)])


@scenario("W04", core=True)
def old_data() -> Story:
    """A proxy serves an old response for 35 min: two alerts, 6 and 11 min after the data are too old, which end."""
    exporter = Exporter(55, brokers=SMALL)
    frozen(exporter, 10 * MINUTE, 45 * MINUTE)
    checks = [
        silent(until=17.9),
        *steady(BLIND, 18.75, 49.5, data="none", severity="critical"),
        silent(DOWN, until=22.9),
        *steady(DOWN, 24, 49.5),
        over(".+", at=51.5),
    ]
    return Story([exporter], checks)


@scenario("W05")
def never_a_poll() -> Story:
    """An exporter never completes a poll, or no broker answers it from the start: its own alert, and another one."""
    exporter, unreachable = Exporter(30, brokers=SMALL), Exporter(30, brokers=SMALL, cluster="unreachable")
    exporter.set("snapshot_timestamp_seconds", None)
    cluster_down(unreachable, 0)
    checks = [
        *steady(DOWN, 13, 30, cluster="prod"),
        firing("KafkaClusterUnreachable", at=15, cluster="unreachable"),
        silent(DOWN, cluster="unreachable", until=30),
        silent(BLIND, cluster="unreachable", data="none", until=30),
    ]
    return Story([exporter, unreachable], checks)


@scenario("W06")
def rare_polls() -> Story:
    """Polls take 10 min: no alert. After the last one the data count for three intervals."""
    slow, stopped = (Exporter(90, step=60, brokers=SMALL, cluster=name, poll=600) for name in ("slow", "stopped"))
    stopped.set("snapshot_timestamp_seconds", lambda t: min(t, 600))
    checks = [
        silent(cluster="slow", until=90),
        silent(cluster="stopped", until=45),
        *steady(BLIND, 49, 90, cluster="stopped", data="none"),
        *steady(DOWN, 53, 90, cluster="stopped"),
    ]
    return Story([slow, stopped], checks, evaluation=60)


@scenario("W07")
def one_address_for_two() -> Story:
    """Sidecars of two clusters have the same address, and one has old data: the other one does not answer for it."""
    exporter, other = Exporter(30, brokers=SMALL), Exporter(30, brokers=SMALL, cluster="other")
    frozen(exporter, 0)
    checks = [firing(BLIND, at=25, cluster="prod", data="none"), firing(DOWN, at=25, cluster="prod")]
    return Story([exporter, other], [*checks, silent("Kafka[^W].+", until=30), silent(cluster="other", until=30)])


@scenario("W08")
def restarts_and_lost_scrapes() -> Story:
    """An update and its rollback, or one lost scrape of 20: no alert. Three restarts, or one lost scrape of 8: one."""
    names = ("update", "few", "crash", "many")
    outages = {"update": (20, 30), "crash": (20, 30, 40)}
    exporters = [
        Exporter(
            90,
            step=30,
            brokers=SMALL,
            cluster=name,
            outages=[(at * MINUTE, at * MINUTE + 30) for at in outages.get(name, ())],
            lost={"few": lambda t: t // 30 % 20 == 9, "many": lambda t: t // 30 % 8 == 7}.get(name, lambda _: False),
        )
        for name in names
    ]
    checks = [
        silent(cluster="update|few", until=90),
        silent(cluster="crash", until=45),
        *steady("KafkaWardenRestarting", 47, 89, cluster="crash"),
        *steady("KafkaWardenRestarting", 35, 90, cluster="many"),
    ]
    return Story(exporters, checks, evaluation=30)


def pod(cluster: str, number: int, first: float, last: float) -> Exporter:
    """Return an exporter in a pod, which has an address of its own."""
    return Exporter(
        90,
        step=30,
        brokers=SMALL,
        cluster=cluster,
        instance=f"10.0.0.{number}:10073",
        target=(first * MINUTE, last * MINUTE),
    )


@scenario("W09")
def replaced_pods() -> Story:
    """A pod is replaced each 10 min: an alert. Two pods are updated, and back, or their nodes drained: none."""
    replaced = [pod("replaced", number, 10 * number, 10 * number + 9) for number in range(9)]
    updates = ((0, 30), (30, 50), (50, 90))
    updated = [pod("updated", 10 * i + k, start, end) for i, (start, end) in enumerate(updates) for k in range(2)]
    drained = [pod("drained", i, *times) for i, times in enumerate(((0, 20), (0, 30), (26, 90), (36, 90)))]
    checks = [
        silent(cluster="replaced", until=25),
        *steady("KafkaWardenRestarting", 40, 90, cluster="replaced"),
        silent(cluster="updated|drained", until=90),
    ]
    return Story([*replaced, *updated, *drained], checks, evaluation=30)


@scenario("W10")
def beans() -> Story:
    """The beans of a broker cannot be read, and the exporter is down: an info after 20 min, which stays, and ends."""
    exporter = Exporter(180, step=30, brokers=SMALL, outages=[(HOUR, 2 * HOUR)])
    exporter.set("up", during(10 * MINUTE, 130 * MINUTE, 0, 1), source="jmx", broker=2)
    checks = [silent(until=28), *steady(BLIND, 30.5, 131, broker="2", data="beans"), over(BLIND, at=134, data="beans")]
    return Story([exporter], checks, evaluation=30)


@scenario("W11")
def rolling() -> Story:
    """Brokers restart one after the other, and one request of ten fails: no alert on the exporter."""
    exporter, burst = Exporter(60, brokers=(1, 2, 3)), Exporter(60, brokers=SMALL, cluster="burst")
    rolling_restart(exporter, 5 * MINUTE, down=3 * MINUTE, catch_up=4 * MINUTE)
    for source in ("offsets", "jmx"):
        burst.set("up", in_each(150, 10, 0, 1), source=source, broker=2)
    return Story([exporter, burst], [silent("KafkaWarden.+", until=60)])


def blind(name: str) -> Exporter:
    """Return an exporter without one kind of data, from 5 min on; its cluster has the name of the kind."""
    exporter = Exporter(35, step=30, brokers=SMALL, cluster=name)
    start = 5 * MINUTE
    if name == "lag":
        exporter.set("broker_replica_lag_unknown_replicas", after(start, 2, 0), broker=2)
    elif name == "bytes":
        moving(exporter, value=3, remaining=during(0, start, 1e9, None), eta=None)
    elif name == "min.insync":
        exporter.set("unknown_min_isr_partitions", after(start, 40, 0))
    elif name == "requests":
        exporter.set("up", after(start, 0, 1), source="configs", broker="")
    else:
        exporter.set("dropped_verdicts", after(start, 7, 0))
    return exporter


@scenario("W12")
def parts_missing() -> Story:
    """A kind of data is missing: an alert after 11 min. It is later for the lag of replicas, which may catch up."""
    names = ("lag", "bytes", "min.insync", "requests", "verdicts")
    checks = [silent(until=15.9), firing(BLIND, at=34, count=len(names), data="some", severity="warning")]
    checks += [firing(BLIND, at=22, count=len(names) - 1, cluster="bytes|min.insync|requests|verdicts", data="some")]
    kinds = Check(34 * MINUTE, "count(count by (what) (cluster:kafka_warden_blind_spots:count))", len(names))
    return Story([blind(name) for name in names], [*checks, kinds], evaluation=30)


@scenario("W13")
def dead_broker() -> Story:
    """A broker is dead for 30 min, and then its replicas have no lag: only after it is back that is not monitored."""
    exporter = Exporter(75, step=30, brokers=SMALL)
    broker_down(exporter, 2, 5 * MINUTE, 35 * MINUTE)
    moving(exporter, value=3, remaining=during(5 * MINUTE, 35 * MINUTE, None, 9e9), eta=None)
    exporter.set("broker_replica_lag_unknown_replicas", after(5 * MINUTE, 40, 0), broker=2)
    return Story(
        [exporter], [silent(BLIND, data="some|none", until=50), firing(BLIND, at=57, data="some")], evaluation=30
    )


@scenario("W14")
def not_available() -> Story:
    """A managed cluster never lets the exporter see configurations and log directories: no alert."""
    exporter = Exporter(30, brokers=SMALL)
    moving(exporter, value=3, remaining=None, eta=None)
    exporter.set("unknown_min_isr_partitions", 40)
    for source, broker in (("log_dirs", 1), ("configs", "")):
        exporter.set("source_not_available", 1, source=source, broker=broker, reason="authorization")
    return Story([exporter], [silent(until=30)])


@scenario("W15")
def refused_alone() -> Story:
    """Two exporters are refused one source for 20 min: one alert after 11 min, and no other. It hides no other data."""
    both = pair(55)
    errors = during(10 * MINUTE, 30 * MINUTE, lambda t: 1 + (t - 600) // 10, after(30 * MINUTE, 121, None))
    for exporter in both:
        exporter.set("up", during(10 * MINUTE, 30 * MINUTE, 0, 1), source="configs", broker="")
        exporter.set("unknown_min_isr_partitions", during(10 * MINUTE, 30 * MINUTE, 40, 0))
        exporter.set("source_errors_total", errors, source="configs", broker="", reason="authorization")
    other = Exporter(55, brokers=SMALL, cluster="other")
    for name in ("quotas", "offsets"):
        reason = "authorization" if name == "quotas" else "timeout"
        other.set("source_errors_total", lambda t: t // 10, source=name, broker="", reason=reason)
    other.set("dropped_verdicts", 7)
    checks = [
        silent(cluster="prod", until=20.9),
        *steady(REFUSED, 22, 44, cluster="prod"),
        over(REFUSED, at=47),
        silent("KafkaWarden(Blind|Down)|Kafka[^W].+", cluster="prod", until=55),
        silent(REFUSED, cluster="other", until=55),
        firing(BLIND, at=20, cluster="other", data="some"),
    ]
    return Story([*both, other], checks)


@scenario("W16")
def refused_now_and_then() -> Story:
    """A request each 10 min is refused: the alert stays. One refusal, and then time-outs: no alert."""
    exporter, once = (Exporter(60, brokers=SMALL, cluster=name) for name in ("prod", "once"))
    for each in (exporter, once):
        each.set("up", after(5 * MINUTE, 0, 1), source="configs", broker=2)
    errors = after(5 * MINUTE, lambda t: 1 + (t - 300) // 600, None)
    exporter.set("source_errors_total", errors, source="configs", broker=2, reason="authorization")
    once.set("source_errors_total", after(5 * MINUTE, 2, 1), source="configs", broker=2, reason="authorization")
    once.set("source_errors_total", after(6 * MINUTE, lambda t: t // 10), source="configs", broker=2, reason="timeout")
    return Story(
        [exporter, once], [*steady(REFUSED, 17, 60, cluster="prod"), silent(REFUSED, cluster="once", until=60)]
    )


@scenario("W17")
def hidden_topics() -> Story:
    """An ACL is removed, and topics are hidden from one of two exporters: one alert, and no other, which ends."""
    one, other = pair(55)
    other.set("undescribed_topics", during(5 * MINUTE, 27 * MINUTE, 3))
    return Story(
        [one, other], [silent(until=15.9), *steady(REFUSED, 17, 36), over(".+", at=44), silent("Kafka[^W].+", until=55)]
    )
