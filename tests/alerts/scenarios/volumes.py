"""Log directories that fail, are removed or are not reported, and volumes that fill."""

from tests.alerts.reading import reading
from tests.alerts.scenarios.changes import broker_down, every, moving, rolling_restart
from tests.alerts.scenarios.disks import DIR, FILLING, usable
from tests.alerts.scenarios.fault import fault
from tests.alerts.scenarios.scenario import Checks, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, Function, Value, after, during, ramp, scaled

OFFLINE = "KafkaLogDirOffline"


def directory(exporter: Exporter, path: str, online: Value, broker: int = 2) -> None:
    """Give a broker one more log directory, or replace one."""
    exporter.set("log_dir_online", online, broker=broker, log_dir=path)


@scenario("V01", 45, core=True, brokers=(1, 2))
def repaired_by_a_restart(exporter: Exporter) -> Checks:
    """A directory fails, and its broker is down for 20 min: one alert, 2 min later, until 5 min after it."""
    broker_down(exporter, 2, 15 * MINUTE, 35 * MINUTE, ordered=True)
    directory(exporter, "/data/b", during(10 * MINUTE, 35 * MINUTE, during(0, 18 * MINUTE, 0, None), 1))
    return [silent(OFFLINE, until=11.9), *steady(OFFLINE, 12.75, 39.5, log_dir="/data/b"), over(OFFLINE, at=41.5)]


@scenario("V02", 12 * 60, step=60, brokers=(1, 2))
def broker_without_an_answer(exporter: Exporter) -> Checks:
    """A directory fails, and its broker never answers again: the alert stays, until the broker is removed."""
    broker_down(exporter, 2, HOUR)
    directory(exporter, "/data/b", during(30 * MINUTE, HOUR + 180, 0, during(0, HOUR, 1, None)))
    exporter.end(11 * HOUR, broker=2)
    return [*steady(OFFLINE, 34, 660, log_dir="/data/b"), over(OFFLINE, at=672)]


@scenario("V03", 60, brokers=(1, 2))
def removed_from_the_broker(exporter: Exporter) -> Checks:
    """A failed directory is removed from log.dirs, and the broker reports the other one: the alert ends."""
    directory(exporter, "/data/b", during(10 * MINUTE, 30 * MINUTE, 0, during(0, HOUR / 2, 1, None)))
    return [firing(OFFLINE, at=30, log_dir="/data/b"), over(OFFLINE, at=36)]


@scenario("V04", 30, core=True, brokers=(1, 2))
def online_again_then_silent(exporter: Exporter) -> Checks:
    """A directory is online again, and its broker stops 2 min later: the alert ends 5 min after the repair."""
    broker_down(exporter, 2, 22 * MINUTE)
    directory(exporter, "/data/b", during(0, 20 * MINUTE, 0, during(0, 25 * MINUTE, 1, None)))
    return [firing(OFFLINE, at=24), over(OFFLINE, at=26)]


@scenario("V05", 45, brokers=(1, 2))
def late_answers(exporter: Exporter) -> Checks:
    """Brokers restart one after the other, and a burst makes one late with its directories: no alert on directories."""
    end = rolling_restart(exporter, 5 * MINUTE, down=4 * MINUTE, catch_up=2 * MINUTE)
    late = during(end + 300, end + 360, None, during(end + 600, end + 720, None, 1))
    directory(exporter, "/data/b", late)
    return [silent("KafkaLogDir.+", until=45)]


@scenario("V06", 60, brokers=(1, 2), outages=every(360, first=20 * MINUTE))
def restarts(exporter: Exporter) -> Checks:
    """The exporter restarts every 6 min: a failed directory and a full volume stay one alert each."""
    directory(exporter, "/data/b", after(10 * MINUTE, 0, 1))
    usable(exporter, after(10 * MINUTE, 0.08, 0.5))
    yield from steady(OFFLINE, 13, 60)
    yield from steady(FILLING, 11, 60, severity="warning")
    yield silent(FILLING, until=60, log_dir="/data/b")
    yield silent(severity="critical", until=60)


@scenario("V07", 40, brokers=(1, 2))
def two_exporters(one: Exporter) -> Checks:
    """Two exporters ask a minute apart: one alert, from the first answer on. Old data: none."""
    for exporter, delay in ((one, 0), (one.beside(instance="b:10073"), 60)):
        directory(exporter, "/data/b", after(10 * MINUTE + delay, 0, 1))
        usable(exporter, after(10 * MINUTE + delay, 0.05, 0.5))
    _, old = (one.beside(cluster="old", instance=instance) for instance in ("c:10073", "d:10073"))
    directory(old, "/data/b", 0)
    old.set("snapshot_timestamp_seconds", 0)
    yield from steady(OFFLINE, 12.75, 40, cluster="prod")
    yield from steady(FILLING, 11, 40, cluster="prod", severity="warning")
    yield silent("KafkaLogDir.+", until=40, cluster="old")


@scenario("V08", 60, core=True, brokers=(1, 2))
def full_for_a_while(exporter: Exporter) -> Checks:
    """A volume is at 92 % for 20 min, with a gap of 5 min: one alert, at once, until 15 min after it."""
    usable(exporter, during(10 * MINUTE, 30 * MINUTE, during(20 * MINUTE, 25 * MINUTE, 0.12, 0.08), 0.5))
    yield silent(until=10)
    yield from steady(FILLING, 10.75, 44.5)
    yield over(FILLING, at=46.5)
    yield silent(severity="critical", until=60)


@scenario("V09", 11 * 60, step=60, brokers=(1, 2))
def died_of_a_full_disk(exporter: Exporter) -> Checks:
    """A volume fills up, and its broker is down for 8 h: its alerts stay, and end when it has room again."""
    broker_down(exporter, 2, 2 * HOUR, 10 * HOUR)
    free = during(0, 10 * HOUR, ramp(HOUR, 2 * HOUR, 0.5, 0.001), 0.4)
    exporter.set(
        "log_dir_usable_bytes", during(2 * HOUR + 180, 10 * HOUR, None, lambda t: 1e12 * (free(t) or 0)), **DIR
    )
    for level in ("warning", "critical"):
        yield from steady(FILLING, 120, 600, severity=level)
    yield over(FILLING, at=620)


@scenario("V10", 11 * 60, step=60, brokers=(1, 2))
def full_soon_then_silent(exporter: Exporter) -> Checks:
    """A volume at 80 % is full in 3 h, and its broker is down for 3 h: the alert stays until it has room again."""
    broker_down(exporter, 2, 6 * HOUR, 9 * HOUR)
    free = after(9 * HOUR, 0.5, ramp(0, 6 * HOUR, 0.6, 0.2))
    exporter.set("log_dir_usable_bytes", during(6 * HOUR + 180, 9 * HOUR, None, lambda t: 1e12 * (free(t) or 0)), **DIR)
    return [silent(FILLING, until=310), *steady(FILLING, 345, 540), over(FILLING, at=560)]


@scenario("V11", 9 * 60, step=60)
def trends(exporter: Exporter) -> Checks:
    """Volumes fill evenly: an alert 4 h before the end and above 75 %, after 4 h of data; none below 75 %."""
    falls, low = ramp(0, 10 * HOUR, 0.5, 0), ramp(0, 9 * HOUR, 0.9, 0.3)
    for broker, free in ((1, falls), (3, low)):
        exporter.set("log_dir_usable_bytes", scaled(free, 1e12), broker=broker, log_dir="/data/a")
    exporter.set("log_dir_usable_bytes", after(4 * HOUR, scaled(falls, 1e12), None), **DIR)
    yield silent(FILLING, broker="1", until=359)
    yield from steady(FILLING, 363, 480, broker="1")
    yield silent(FILLING, broker="2", until=470)
    yield silent(FILLING, broker="3", until=540)


@scenario("V12", 9 * 60, step=60, brokers=(1, 2))
def move_while_moves_are_unknown(exporter: Exporter) -> Checks:
    """A move that fits fills a volume, and the cluster does not list its moves for 20 min: no alert on the volume."""
    start, end = HOUR, 8 * HOUR
    usable(exporter, ramp(start, end, 0.65, 0.2))
    unknown = (6.8 * HOUR, 6.8 * HOUR + 1200)
    left = ramp(start, end, 0.45e12, 0)
    listed = during(*unknown, None, left)
    moving(exporter, value=10, remaining=listed, eta=during(start, end, lambda t: end - t, None))
    exporter.set("reassignment_deadline_seconds", 10 * HOUR)
    exporter.set("up", during(*unknown, 0, 1), source="reassignments", broker="")
    exporter.set("reassignment_bytes_remaining", listed, topic="orders", partition=0, broker=2)
    exporter.set("broker_sum_replica_lag_bytes", left, broker=2)
    return [silent(FILLING, until=540)]


@scenario("V13", 90, brokers=(1, 2))
def volume_enlarged_or_replaced(exporter: Exporter) -> Checks:
    """Full volumes are enlarged, or replaced by others with a new path: the alerts end, and nothing of them is left."""
    usable(exporter, after(30 * MINUTE, 1.05, 0.05))
    exporter.set("log_dir_total_bytes", after(30 * MINUTE, 2e12, 1e12), **DIR)
    for name, old, new in (("usable_bytes", 0.02e12, 0.9e12), ("total_bytes", 1e12, 1e12), ("online", 1, 1)):
        exporter.set(f"log_dir_{name}", during(0, 30 * MINUTE, old, None), broker=1, log_dir="/data/a")
        exporter.set(f"log_dir_{name}", after(30 * MINUTE, new, None), broker=1, log_dir="/data/new")
    yield firing(FILLING, at=29, broker="1", severity="critical")
    yield firing(FILLING, at=29, broker="2", severity="warning")
    yield over(FILLING, at=52)
    yield silent(FILLING, since=60, until=90)


@scenario("V14", 30, brokers=(1, 2))
def size_unknown(exporter: Exporter) -> Checks:
    """The broker does not report the size of a volume, or reports none: no alert."""
    usable(exporter, lambda _: 0.01)
    exporter.set("log_dir_total_bytes", None, **DIR)
    exporter.set("log_dir_total_bytes", 0, broker=1, log_dir="/data/a")
    exporter.set("log_dir_usable_bytes", 0, broker=1, log_dir="/data/a")
    return [silent(until=30)]


@reading("a log directory is offline", 20, (5, "KafkaLogDirOffline"), (19, "KafkaLogDirOffline"), brokers=(1, 2))
def read_offline(exporter: Exporter) -> None:
    broker_down(exporter, 2, 600)
    exporter.set("log_dir_online", during(0, 780, 0, None), broker=2, log_dir="/data/b")
    for partition in range(2):
        for broker in (1, 2):
            where = {"topic": "orders", "partition": partition, "broker": broker, "state": "offline"}
            exporter.set("replica_state", during(0, 600, 1, None), **where)


@reading("volumes fill", 6 * 60, (355, FILLING), step=60, brokers=(1, 2))
def read_filling(exporter: Exporter) -> None:
    falling = ramp(0, 7.5 * HOUR, 0.5e12, 0)
    exporter.set("log_dir_usable_bytes", falling, broker=2, log_dir="/data/a")
    exporter.set("log_dir_usable_bytes", 0.02e12, broker=1, log_dir="/data/a")
    exporter.set("reassignment_bytes_remaining", 2.5e11, topic="orders", partition=0, broker=2)
    exporter.set("broker_sum_replica_lag_bytes", 2.5e11, broker=2)


@reading("the broker of a full volume is down", 40, (39, FILLING), step=30, brokers=(1, 2))
def read_full_and_dead(exporter: Exporter) -> None:
    broker_down(exporter, 2, 600)
    exporter.set("log_dir_usable_bytes", during(0, 780, 0.05e12, None), broker=2, log_dir="/data/a")


def _asked_each_minute(value: Function, start: float) -> Function:
    return lambda t: value(t // 60 * 60 - start)


@fault(OFFLINE)
def lost(exporter: Exporter, start: float) -> None:
    exporter.set("log_dir_online", _asked_each_minute(lambda t: float(t < 0), start), **DIR)


@fault(FILLING, "above its share")
def nearly_full(exporter: Exporter, start: float) -> None:
    usable(exporter, _asked_each_minute(lambda t: 0.6 if t < 0 else 0.08, start))


@fault(FILLING, "above its higher share", severity="critical")
def full(exporter: Exporter, start: float) -> None:
    usable(exporter, _asked_each_minute(lambda t: 0.6 if t < 0 else 0.01, start))
