"""Limits of partitions that are reached, and mutation quotas of the controller that are used up."""

import math

from tests.alerts.reading import reading
from tests.alerts.scenarios.changes import mutations
from tests.alerts.scenarios.fault import fault
from tests.alerts.scenarios.scenario import Checks, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, Value, after, during, in_each, scaled

LIMIT, THROTTLED = "KafkaPartitionLimit", "KafkaControllerMutationThrottled"
BROKER = {"broker": 2}


def limited(exporter: Exporter, share: Value) -> None:
    """Let broker 2 and the cluster have this share of their limits."""
    for name, labels, limit in (("broker", BROKER, 4000), ("cluster", {}, 200000)):
        exporter.set(f"{name}_partitions", scaled(share, limit), **labels)
        exporter.set(f"{name}_partition_limit", limit, **labels)


@scenario("V20", 120, core=True, step=60, brokers=(1, 2))
def limits_and_room_again(exporter: Exporter) -> Checks:
    """A broker and the cluster are above 80 % of their limits, then not: one alert each, after 30 min."""
    limited(exporter, during(10 * MINUTE, 90 * MINUTE, during(50 * MINUTE, 75 * MINUTE, 1.025, 0.825), 0.75))
    return [silent(until=39.9), *steady(LIMIT, 42, 104, count=2), over(LIMIT, at=107)]


@scenario("V21", 90, step=30, brokers=(1, 2))
def limits_of_a_moment(exporter: Exporter) -> Checks:
    """Topics come and go for 12 min, and batches of moves last 20 min: no alert."""
    moves = exporter.beside(cluster="moves")
    limited(exporter, lambda t: 1.05 if t % 1500 < 720 else 0.75)
    limited(moves, lambda t: 0.84 if t % 1500 < 1200 else 0.77)
    return [silent(until=90)]


@scenario("V22", 11 * 60, step=60, brokers=(1, 2), outages=[(90 * MINUTE, 10 * HOUR)])
def limits_without_data(exporter: Exporter) -> Checks:
    """The exporter stops for 8 h, and the limits have room when it is back: the alerts stay, and end."""
    limited(exporter, during(0, 10 * HOUR, 1.05, 0.5))
    return [*steady(LIMIT, 45, 600, count=2), over(LIMIT, at=618)]


@scenario("V23", 90, step=30, brokers=(1, 2))
def limits_of_two_exporters(one: Exporter) -> Checks:
    """Two exporters have different counts and limits: one alert by the stricter limit. Old data: none."""
    other, old = one.beside(instance="b:10073"), one.beside(cluster="old", instance="c:10073")
    limited(one, 0.7)
    limited(other, 0.7)
    other.set("broker_partition_limit", 3000, **BROKER)
    other.set("cluster_partition_limit", math.inf)
    limited(old, 1.05)
    old.set("snapshot_timestamp_seconds", lambda t: min(t, 60))
    yield from steady(LIMIT, 35, 90, cluster="prod", broker="2")
    yield firing(LIMIT, at=90, count=1)
    yield silent(LIMIT, until=90, cluster="old")


@scenario("V30", 90, brokers=(1, 2))
def throttled_again_and_again(exporter: Exporter) -> Checks:
    """A client is without tokens for 30 s of each 90 s, for 40 min: an alert between 20 and 30 min, which ends."""
    mutations(exporter, during(10 * MINUTE, 50 * MINUTE, in_each(90, 30, -45, 55), 55))
    return [silent(until=25), *steady(THROTTLED, 40, 65), over(THROTTLED, at=80)]


@scenario("V31", 40, core=True, brokers=(1, 2))
def burst_of_a_new_client(exporter: Exporter) -> Checks:
    """A client that the controller did not know sends one burst, and waits for 4 min: no alert."""
    mutations(exporter, during(10 * MINUTE, 14 * MINUTE, -40, after(14 * MINUTE, 55, None)))
    return [silent(until=40)]


@scenario("V32", 60, brokers=(1, 2))
def burst_and_no_beans(exporter: Exporter) -> Checks:
    """The beans of the controller cannot be read for 10 min, from a burst on: no alert, neither then nor later."""
    exporter.set("up", during(15 * MINUTE, 25 * MINUTE, 0, 1), source="jmx", broker=1)
    mutations(exporter, during(14 * MINUTE, 15 * MINUTE, -40, during(15 * MINUTE, 25 * MINUTE, None, 55)))
    return [silent(THROTTLED, until=60)]


@scenario("V33", 200, step=30, brokers=(1, 2))
def throttled_and_no_beans(exporter: Exporter) -> Checks:
    """A client is throttled, and the beans cannot be read for 2 h: the alert stays, and ends with fresh data."""
    exporter.set("up", during(30 * MINUTE, 150 * MINUTE, 0, 1), source="jmx", broker=1)
    mutations(exporter, during(0, 30 * MINUTE, -45, after(150 * MINUTE, 55, None)))
    return [silent(THROTTLED, until=7), *steady(THROTTLED, 12, 150), over(THROTTLED, at=165)]


@scenario("V34", 60, brokers=(1, 2), outages=[(30 * MINUTE, 31 * MINUTE)])
def throttled_client_and_restarts(one: Exporter) -> Checks:
    """Two exporters see a throttled client, both restart, one of them often: one alert; no quota is no alert."""
    often = [(n * MINUTE, n * MINUTE + 30) for n in (20, 30, 40)]
    for exporter in (one, one.beside(instance="b:10073", outages=often)):
        mutations(exporter, -45)
        mutations(exporter, math.inf, math.inf, math.inf, user="bob")
    return [*steady(THROTTLED, 10, 60, user="ci"), silent(THROTTLED, until=60, user="bob")]


@scenario("V35", 40, brokers=(1, 2))
def throttled_without_polls(exporter: Exporter) -> Checks:
    """A proxy serves one old response, with a client without tokens: no alert."""
    mutations(exporter, -45)
    exporter.set("snapshot_timestamp_seconds", lambda t: min(t, 60))
    return [silent(THROTTLED, until=40)]


@reading(
    "limits of partitions are reached",
    60,
    (40, LIMIT),
    (59, LIMIT),
    step=60,
    brokers=(1, 2),
    outages=[(3000, HOUR * 9)],
)
def read_limits(exporter: Exporter) -> None:
    for name, labels, count, limit in (("broker", {"broker": 2}, 3300, 4000), ("cluster", {}, 205000, 200000)):
        exporter.set(f"{name}_partitions", count, **labels)
        exporter.set(f"{name}_partition_limit", limit, **labels)


@reading("the controller refuses clients", 40, (15, THROTTLED), (30, THROTTLED), step=30, brokers=(1, 2))
def read_throttled(exporter: Exporter) -> None:
    exporter.set("up", after(1200, 0, 1), source="jmx", broker=1)
    for client, delay in (({"user": "ada", "client_id": "batch"}, 9), ({"user": "", "client_id": ""}, 0.5)):
        exporter.set("controller_mutation_tokens", during(0, 1200, -45, None), **client)
        exporter.set("controller_mutation_quota_per_second", during(0, 1200, 5, None), **client)
        exporter.set("controller_mutation_admission_delay_seconds", during(0, 1200, delay, None), **client)


@fault(LIMIT)
def limit_of_a_broker(exporter: Exporter, start: float) -> None:
    exporter.set("broker_partitions", after(start, 4500, 100), **BROKER)
    exporter.set("broker_partition_limit", 5000, **BROKER)


@fault(LIMIT)
def limit_of_the_cluster(exporter: Exporter, start: float) -> None:
    exporter.set("cluster_partitions", after(start, 180000, 100))
    exporter.set("cluster_partition_limit", 200000)


@fault(THROTTLED, "refused without a pause")
def no_tokens(exporter: Exporter, start: float) -> None:
    mutations(exporter, after(start, -20, 50))
