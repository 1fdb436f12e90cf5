"""Partitions without a leader, under or at min.insync.replicas, and replicas that leave the ISR."""

from tests.alerts.scenarios.changes import broker_down, rolling_restart, throttle_problem
from tests.alerts.scenarios.scenario import Checks, fires, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, after, age, during, in_each


@scenario("S10", 240, step=30)
def outage_behind_a_test_topic(exporter: Exporter) -> Checks:
    """A partition of a test topic is offline for 3 h, then 500 more: a second instance says that the number grows."""
    exporter.set("offline_partitions", after(10 * MINUTE, after(3 * HOUR, 501, 1)))
    yield firing("KafkaPartitionOffline", at=170, count=1, severity="critical")
    yield silent("KafkaPartitionOffline", until=180, tier="more")
    yield firing("KafkaPartitionOffline", at=185, count=1, tier="more", severity="critical")
    yield from steady("KafkaPartitionOffline", 15, 230, tier="")


@scenario("S10b", 120)
def few_more(exporter: Exporter) -> Checks:
    """200 partitions are offline, and their number moves between 195 and 205: no second instance."""
    exporter.set("offline_partitions", after(10 * MINUTE, in_each(600, 300, 195, 205)))
    return steady("KafkaPartitionOffline", 15, 120)


@scenario("S11b", 60, brokers=range(1, 7))
def one_shrink_of_each_restart(exporter: Exporter) -> Checks:
    """Six brokers restart, and each leaves and enters the ISR of 500 partitions once: no flapping, nor any alert."""
    rolling_restart(exporter, 10 * MINUTE, down=120, catch_up=120)
    exporter.set("topic_isr_shrinks_total", after(600, lambda t: 500 * min(6.0, (t - 600) // 300 + 1)), topic="orders")
    exporter.set("topic_isr_expands_total", after(840, lambda t: 500 * min(6.0, (t - 840) // 300 + 1)), topic="orders")
    return [silent(until=60)]


@scenario("S31", 60, brokers=(1, 2, 7))
def throttled_behind_another_throttle(exporter: Exporter) -> Checks:
    """Broker 7 has a throttle of 0 for log directories, and replicas of broker 2 are throttled: both have an alert."""
    throttle_problem(exporter, "blocked", age(10 * MINUTE), broker=7, side="log_dirs")
    exporter.set("broker_out_of_sync_replicas", after(10 * MINUTE, 50), broker=2, state="throttled")
    exporter.set("under_replicated_partitions", after(10 * MINUTE, 50))
    yield firing("KafkaReplicasOutOfSync", at=40, broker="2")
    yield firing("KafkaThrottleTooLow", at=40, broker="7", side="log_dirs")


@scenario("S40d", 30)
def unclean_election_at_the_start(exporter: Exporter) -> Checks:
    """An unclean election 2 min after the first start of Prometheus: a page within 3 min."""
    exporter.set("unclean_leader_elections_total", after(2 * MINUTE, 1), node=1)
    return [silent(until=2), fires("KafkaUncleanLeaderElection", until=5)]


@scenario("S45d", 90)
def again_and_again(exporter: Exporter) -> Checks:
    """Partitions refuse writes, or are offline, for 60 s of every 2 min: a page within 32 min, which ends."""
    affected = during(10 * MINUTE, 60 * MINUTE, in_each(120, 60, 12))
    exporter.set("under_min_isr_partitions", affected)
    exporter.set("offline_partitions", affected)
    for alert in ("KafkaPartitionUnderMinIsr", "KafkaPartitionOffline"):
        yield from (silent(alert, until=15), *steady(alert, 42, 60), over(alert, at=72))


@scenario("S45e", 80, brokers=range(1, 11))
def restarts_of_single_replicas(exporter: Exporter) -> Checks:
    """Ten brokers restart, each with partitions that no other broker has: no page."""
    rolling_restart(exporter, 700, down=60, catch_up=30, pause=50)
    down = during(700, 700 + 10 * 140, in_each(140, 60, 12))
    exporter.set("offline_partitions", down)
    exporter.set("under_min_isr_partitions", down)
    return [silent(until=80)]


@scenario("S45g", 100)
def ordered_restarts_on_and_on(exporter: Exporter) -> Checks:
    """A liveness probe stops broker 2 for 3 of every 5 min: a page on partitions that only it has, within 20 min."""
    start, end = 10 * MINUTE, 70 * MINUTE
    while start < end:
        broker_down(exporter, 2, start, start + 180, ordered=True, replicas=0, catch_up=0)
        start += 300
    for series, down, up in (("up", 0, 1), ("broker_state", 1, 0)):
        labels = {"source": "offsets"} if series == "up" else {"state": "fenced"}
        exporter.set(series, during(600, end, in_each(300, 180, down, up), up), broker=2, **labels)
    offline = during(600, end, in_each(300, 180, 12))
    exporter.set("offline_partitions", offline)
    exporter.set("broker_leader_candidate_partitions", offline, broker=2)
    return [silent(severity="critical", until=18), fires("KafkaPartitionOffline", until=30)]


@scenario("S45f", 30, cluster="more")
def more_than_a_restart(more: Exporter) -> Checks:
    """Broker 2 restarts, and could lead 5 of 9 offline partitions: a page within 150 s, or 4 min. 5 of 5: none."""
    same, lost = more.beside(cluster="same"), more.beside(cluster="lost", lost=lambda t: t // 15 % 5 == 4)
    for exporter, offline in ((more, 9), (same, 5), (lost, 9)):
        broker_down(exporter, 2, 10 * MINUTE, 14 * MINUTE, ordered=True)
        exporter.set("offline_partitions", during(10 * MINUTE, 14 * MINUTE, offline, 0))
        exporter.set("broker_leader_candidate_partitions", during(10 * MINUTE, 14 * MINUTE, 5, 0), broker=2)
    page = "KafkaPartitionOffline"
    yield from (*steady(page, 12.5, 18, cluster="more"), fires(page, until=14, cluster="lost"))
    yield silent(cluster="same", until=30)


@scenario("S10c", 60, step=60, evaluation=15)
def one_wrong_sample(exporter: Exporter) -> Checks:
    """A partition is offline, and one sample of a minute shows 500 more: no second instance."""
    exporter.set("offline_partitions", after(10 * MINUTE, during(30 * MINUTE, 31 * MINUTE, 501, 1)))
    return [firing("KafkaPartitionOffline", at=29), silent(tier="more", until=60)]


@scenario("S43", 600, step=60)
def at_min_isr_for_hours(exporter: Exporter) -> Checks:
    """A broker is down for 10 h, and 3,000 partitions are one failure from refused writes: a warning, a page later."""
    broker_down(exporter, 3, 10 * MINUTE, replicas=3000)
    exporter.set("at_min_isr_partitions", after(10 * MINUTE, 3000))
    yield firing("KafkaPartitionAtMinIsr|KafkaBrokerUnreachable", at=90, severity="warning")
    yield silent(severity="critical", until=60)
    yield firing("KafkaPartitionAtMinIsr", at=590, severity="critical")


@scenario("S45c", 60, outages=[(10 * MINUTE, 18 * MINUTE)])
def fault_while_the_exporter_is_down(exporter: Exporter) -> Checks:
    """Partitions go offline while the exporter is down for 8 min: a page within 150 s after its return."""
    exporter.set("offline_partitions", after(12 * MINUTE, 20))
    return [silent("KafkaPartition.+", until=18), *steady("KafkaPartitionOffline", 20.5, 60)]
