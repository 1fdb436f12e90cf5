"""Log directories and limits of partitions."""

import math

from tests.alerts.scenarios.changes import moving
from tests.alerts.scenarios.scenario import Checks, fires, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, Function, after, during, ramp

DIR = {"broker": 2, "log_dir": "/data/a"}
FILLING = "KafkaLogDirFilling"


def usable(exporter: Exporter, share: Function) -> None:
    """Let a share of the volume of one log directory be free."""
    exporter.set("log_dir_usable_bytes", lambda t: 1e12 * (share(t) or 0.0), **DIR)


@scenario("S13", 14 * 60, step=60)
def cleaned(exporter: Exporter) -> Checks:
    """A volume fills from 50 to 95 % in 6.5 h, is cleaned to 76 % and stays there: the alert ends within an hour."""
    usable(exporter, after(6.5 * HOUR, 0.24, ramp(0, 6.5 * HOUR, 0.5, 0.05)))
    return [firing(FILLING, at=6.4 * 60), *(over(FILLING, at=hours * 60) for hours in (7.5, 8, 9, 12))]


def move_in(exporter: Exporter, start: float, end: float, size: float) -> None:
    """Let a move copy so many bytes to broker 2, in time."""
    left = ramp(start, end, size, 0)
    eta = during(start, end, lambda t: end - t, None)
    moving(exporter, value=during(start, end, 1), remaining=during(start, end, left), eta=eta)
    exporter.set("reassignment_deadline_seconds", 10 * HOUR)
    listed = during(start, end, left, None)
    exporter.set("reassignment_bytes_remaining", listed, topic="orders", partition=0, broker=2)


def move_into_a_volume(exporter: Exporter) -> None:
    """Let a move fill a volume from 35 to 80 % in 7 h."""
    usable(exporter, ramp(HOUR, 8 * HOUR, 0.65, 0.2))
    move_in(exporter, HOUR, 8 * HOUR, 0.45e12)


@scenario("S14", 10 * 60, step=60)
def move_that_fits(exporter: Exporter) -> Checks:
    """A move fills a volume from 35 to 80 % in 7 h, and the bytes that are left fit in: no alert, then or later."""
    move_into_a_volume(exporter)
    return [silent(until=600)]


@scenario("S14c", 10 * 60, step=60)
def move_that_fits_into_any_directory(exporter: Exporter) -> Checks:
    """A broker with two directories gets a move as in S14, whose bytes fit into either of them: no alert."""
    move_into_a_volume(exporter)
    for name, value in (("online", 1), ("usable_bytes", 0.6e12), ("total_bytes", 1e12)):
        exporter.set(f"log_dir_{name}", value, broker=2, log_dir="/data/b")
    return [silent(until=600)]


@scenario("S14f", 10 * 60, step=60)
def copy_between_directories_that_fits(exporter: Exporter) -> Checks:
    """A copy from another log directory of the broker fills a volume as in S14: no alert on the volume."""
    start, end = HOUR, 8 * HOUR
    usable(exporter, ramp(start, end, 0.65, 0.2))
    left = during(start, end, ramp(start, end, 0.45e12, 0), None)
    exporter.set("log_dir_move_bytes_remaining", left, topic="orders", partition=0, broker=2)
    return [silent(FILLING, until=600)]


@scenario("S14b", 10 * 60, step=60)
def move_that_does_not_fit(exporter: Exporter) -> Checks:
    """A move fills a volume from 35 % on, and its bytes do not fit in: an alert before it is full."""
    start, end = HOUR, 10 * HOUR
    usable(exporter, ramp(start, end, 0.65, 0.01))
    left = during(start, 12 * HOUR, ramp(start, 12 * HOUR, 0.9e12, 0.1e12))
    moving(exporter, value=10, remaining=left, eta=12 * HOUR)
    exporter.set("reassignment_bytes_remaining", left, topic="orders", partition=0, broker=2)
    return [firing(FILLING, at=590), fires(FILLING, until=9 * 60)]


@scenario("S14d", 10 * 60, step=60)
def producers_beside_a_small_move(exporter: Exporter) -> Checks:
    """Producers fill a volume in 10 h, and a throttled move to it has 1 GB left: an alert 4 h before it is full."""
    usable(exporter, ramp(0, 10 * HOUR, 0.5, 0))
    moving(exporter, value=1, remaining=1e9, eta=HOUR)
    exporter.set("reassignment_deadline_seconds", 20 * HOUR)
    exporter.set("reassignment_bytes_remaining", 1e9, topic="orders", partition=0, broker=2)
    return [silent(FILLING, until=359), *steady(FILLING, 363, 590, severity="warning")]


@scenario("S14e", 10 * 60, step=60)
def short_move_that_fits(exporter: Exporter) -> Checks:
    """A volume at 78 % gets 1 % in 4 h, and a move of 8 % in half an hour that fits: no alert, then or later."""
    start, end = 6 * HOUR, 6.5 * HOUR
    slowly, moved = ramp(0, 10 * HOUR, 0.22, 0.195), ramp(start, end, 0, 0.08)
    usable(exporter, lambda t: slowly(t) - moved(t))
    move_in(exporter, start, end, 0.08e12)
    return [silent(FILLING, until=600)]


@scenario("S15d", 60, step=60, evaluation=15)
def one_wrong_answer(exporter: Exporter) -> Checks:
    """A volume at 50 % seems full for one answer of a minute: no one is woken."""
    usable(exporter, during(20 * MINUTE, 21 * MINUTE, 0.001, 0.5))
    return [silent(severity="critical", until=60)]


@scenario("S15", 60)
def nearly_full(exporter: Exporter) -> Checks:
    """A volume goes from 95 to 99.9 % in an hour: a warning at once, and a page well before it is full."""
    usable(exporter, ramp(0, HOUR, 0.05, 0.001))
    yield firing(FILLING, at=5, count=1, severity="warning")
    yield fires(FILLING, until=45, severity="critical")
    yield firing(FILLING, at=59, severity="critical")


@scenario("S15b", 340, step=60, evaluation=30)
def full_soon(exporter: Exporter) -> Checks:
    """A volume was at 60 % for hours, and gets 1 % more each minute: a page at 88 %, since it is full in 12 min."""
    usable(exporter, ramp(5 * HOUR, 5 * HOUR + 35 * MINUTE, 0.4, 0.05))
    return [silent(until=300), fires(FILLING, until=328, severity="critical")]


@scenario("S15c", 60)
def burst_on_a_disk(exporter: Exporter) -> Checks:
    """A burst fills a volume from 50 to 60 % in 5 min, and retention frees it again: no alert."""
    usable(exporter, after(20 * MINUTE, 0.5, ramp(10 * MINUTE, 15 * MINUTE, 0.5, 0.4)))
    return [silent(until=60)]


def partitions(exporter: Exporter, broker: int, count: float | Function, limit: float) -> None:
    """Give a broker partitions and a limit."""
    exporter.set("broker_partitions", count, broker=broker)
    exporter.set("broker_partition_limit", limit, broker=broker)


@scenario("S21", 120, step=30)
def limits_at_the_edge(exporter: Exporter) -> Checks:
    """Brokers without a limit, without partitions, and below 80 % of a limit: no alert; a cluster above it: one."""
    full = exporter.beside(cluster="full")
    partitions(exporter, 1, 9000, math.inf)
    partitions(exporter, 2, 0, 5000)
    partitions(exporter, 3, 3999, 5000)
    for each, count in ((exporter, 159999), (full, 200001)):
        each.set("cluster_partitions", count)
        each.set("cluster_partition_limit", 200000)
    yield silent(cluster="prod", until=120)
    yield firing("KafkaPartitionLimit", at=60, count=1, cluster="full", broker="")
    yield firing("KafkaPartitionLimit", at=110, count=1)


@scenario("S57", 240, step=60)
def limits_reached(exporter: Exporter) -> Checks:
    """Two brokers have exactly 80 % of their limit, and one gets more: one alert for each, without a gap."""
    partitions(exporter, 1, after(HOUR, 4400, 4000), 5000)
    partitions(exporter, 2, 4000, 5000)
    partitions(exporter, 3, 3000, 5000)
    return [*steady("KafkaPartitionLimit", 45, 240, count=2), firing("KafkaPartitionLimit", at=60, broker="1")]
