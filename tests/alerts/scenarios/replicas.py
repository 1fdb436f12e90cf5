"""Replicas that are outside the ISR, or leave it again and again: when their alerts fire and end."""

import math

from tests.alerts.reading import reading
from tests.alerts.scenarios.changes import ENDS, broker_down, moving, throttle_problem
from tests.alerts.scenarios.fault import fault
from tests.alerts.scenarios.scenario import Checks, fires, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, Value, after, age, during, in_each

OUT = "KafkaReplicasOutOfSync"
FLAPPING = "KafkaIsrFlapping"


def out_of_sync(exporter: Exporter, value: Value, state: str = "slow", broker: int = 2) -> None:
    """Let a broker have replicas outside the ISR."""
    exporter.set("broker_out_of_sync_replicas", value, broker=broker, state=state)


@scenario("IS01", 45, core=True, cluster="slow")
def slow_and_stuck(slow: Exporter) -> Checks:
    """Replicas of a broker are out of sync for 30 min: an alert after 10 min, after 5 min if one is stuck.

    It ends 2 min after they return.
    """
    stuck = slow.beside(cluster="stuck")
    for state in ("slow", "offline"):
        out_of_sync(slow, during(10 * MINUTE, 40 * MINUTE, 20), state)
    out_of_sync(stuck, during(10 * MINUTE, 40 * MINUTE, 1), "stuck")
    yield silent(until=14.9)
    yield silent(until=19.9, cluster="slow")
    yield from steady(OUT, 15.75, 41.75, cluster="stuck", broker="2")
    yield from steady(OUT, 20.75, 41.75, cluster="slow", broker="2")
    yield over(OUT, at=43)


@scenario("IS11", 60, cluster="every 2 min")
def crash_loop(often: Exporter) -> Checks:
    """A broker is down for 50 s of every 2 min or 4 min, and its replicas never catch up: an alert within 25 min."""
    for exporter, period in ((often, 120.0), (often.beside(cluster="every 4 min"), 240.0)):
        exporter.set("up", after(10 * MINUTE, in_each(period, 50, 0, 1), 1), source="offsets", broker=2)
        out_of_sync(exporter, after(10 * MINUTE, 300), "recovering")
    return [silent(OUT, until=15), *steady(OUT, 35, 60, count=2, broker="2")]


@scenario("IS02", 30, cluster="own")
def throttles(own: Exporter) -> Checks:
    """A throttle keeps replicas out of the ISR: it has an alert, they have none. Other replicas still have one.

    Neither has the throttle of a leader for stuck replicas, nor one that lets them catch up.
    """
    leader, other = (own.beside(cluster=name) for name in ("leader", "other"))
    throttle_problem(own, "holds_original", age(2 * MINUTE), side="follower")
    out_of_sync(own, after(2 * MINUTE, 9), "stuck")
    throttle_problem(leader, "holds_original", age(2 * MINUTE), broker=1)
    out_of_sync(leader, after(2 * MINUTE, 9), "throttled")
    out_of_sync(leader, after(2 * MINUTE, 4), "stuck", broker=1)
    out_of_sync(other, after(2 * MINUTE, 9), "throttled")
    yield firing("KafkaThrottleTooLow", at=30, count=1, cluster="own", broker="2")
    yield silent(OUT, until=30, cluster="own")
    yield firing("KafkaThrottleTooLow", at=30, count=1, cluster="leader", broker="1")
    yield firing(OUT, at=30, count=1, cluster="leader")
    yield firing(OUT, at=30, count=1, cluster="leader", broker="1")
    yield firing(OUT, at=30, count=1, cluster="other", broker="2")


@scenario("IS03", 60, cluster="both")
def views_of_two_exporters(one: Exporter) -> Checks:
    """Two exporters see replicas out of sync: one alert. One of two sees that they are back: none.

    Replicas that a move adds are not out of sync.
    """
    half, move = (one.beside(cluster=name) for name in ("half", "move"))
    half.beside(instance="b:10073")
    for exporter in (one, one.beside(instance="b:10073"), half):
        out_of_sync(exporter, after(5 * MINUTE, 4))
    moving(move, during(5 * MINUTE, HOUR, 5))
    out_of_sync(move, during(5 * MINUTE, HOUR, 5), "moving")
    yield from steady(OUT, 16, 60, cluster="both")
    yield silent(cluster="half", until=60)
    yield silent(OUT, cluster="move", until=60)
    yield silent(FLAPPING, until=60)


@scenario("IS04", 60, core=True, outages=[(1200, 1230), (30 * MINUTE, math.inf)])
def exporter_restarts(exporter: Exporter) -> Checks:
    """The exporter restarts, does not know the states at first, and then does not run: one alert, which stays."""
    out_of_sync(exporter, after(5 * MINUTE, during(1200, 1290, 0, 4), 0))
    out_of_sync(exporter, during(1200, 1290, 4), "unknown")
    return [silent(until=14.9), *steady(OUT, 15.75, 60, broker="2"), silent(FLAPPING, until=60)]


@scenario("IS05", 60, cluster="mute")
def metadata_do_not_answer(mute: Exporter) -> Checks:
    """No broker answers for metadata, and replicas and their broker vanish from the snapshot: their alert stays.

    With metadata the broker is removed, and the alert ends.
    """
    removed = mute.beside(cluster="removed")
    for exporter in (mute, removed):
        out_of_sync(exporter, after(5 * MINUTE, 4), "stuck")
        exporter.end(30 * MINUTE, broker=2)
    mute.set("up", after(25 * MINUTE, 0, 1), source="metadata", broker="")
    yield from steady(OUT, 11, 60, cluster="mute")
    yield from (*steady(OUT, 11, 30, cluster="removed"), over(OUT, at=33, cluster="removed"))


@scenario("IS06", 40)
def old_snapshot(exporter: Exporter) -> Checks:
    """The exporter shows faults in a snapshot that it does not renew: they are no alert, but its age is."""
    exporter.set("snapshot_timestamp_seconds", lambda t: min(t, MINUTE))
    out_of_sync(exporter, after(4 * MINUTE, 4))
    for name in ("under_min_isr", "at_min_isr", "offline"):
        exporter.set(f"{name}_partitions", after(4 * MINUTE, 1))
    return [silent("Kafka[^W].+", until=40), fires("KafkaWardenBlind", until=25, data="none")]


@scenario("IS07", 180, step=60, brokers=(1, 2, 3, 4))
def brokers_come_back(exporter: Exporter) -> Checks:
    """Brokers come back, and catch up for an hour: no second alert; for more than 2 h, or stuck: one."""
    for broker, catch_up in ((2, HOUR), (3, 24 * HOUR), (4, 24 * HOUR)):
        broker_down(exporter, broker, 5 * MINUTE, 35 * MINUTE, catch_up=catch_up)
    out_of_sync(exporter, 0, "recovering", broker=4)
    out_of_sync(exporter, after(35 * MINUTE, 9), "stuck", broker=4)
    yield silent(OUT, until=35)
    yield firing("KafkaBrokerUnreachable", at=30, count=3)
    yield silent(OUT, until=180, broker="2")
    yield silent(OUT, until=155, broker="3")
    yield from steady(OUT, 170, 180, broker="3")
    yield silent(OUT, until=39, broker="4")
    yield from steady(OUT, 43, 180, broker="4")


@scenario("IS08", 55)
def empty_directory_after_a_lost_one(exporter: Exporter) -> Checks:
    """A log directory is lost; its broker restarts soon with an empty one, and copies for 40 min: no second alert."""
    exporter.set("log_dir_online", during(5 * MINUTE, 12 * MINUTE, 0, 1), broker=2, log_dir="/data/a")
    out_of_sync(exporter, during(5 * MINUTE, 12 * MINUTE, 9), "offline")
    out_of_sync(exporter, during(12 * MINUTE, 52 * MINUTE, 9), "recovering")
    return [firing("KafkaLogDirOffline", at=10, broker="2"), silent(OUT, until=55)]


@scenario("IS09", 60, core=True, cluster="three", outages=[(15 * MINUTE, 15 * MINUTE + 30)])
def three_absences(three: Exporter) -> Checks:
    """Replicas leave the ISR for 90 s three times in 10 min: an alert after the third time, for 30 min and 10 more.

    The exporter restarts meanwhile. Twice is no alert.
    """
    for exporter, end in ((three, 20 * MINUTE), (three.beside(cluster="two"), 16 * MINUTE)):
        out_of_sync(exporter, during(10 * MINUTE, end, lambda t: 5.0 if t % 240 in range(120, 210) else 0.0))
    yield silent(until=20.4)
    yield from steady(FLAPPING, 21.25, 48, cluster="three", broker="2")
    yield over(FLAPPING, at=52)
    yield silent(until=60, cluster="two")
    yield silent(OUT, until=60)


@scenario("IS10", 140, step=30, outages=[(45 * MINUTE, math.inf)])
def flapping_without_exporter(exporter: Exporter) -> Checks:
    """The exporter stops while replicas flap, for 2 h: no value changes, so the alert ends after 40 min."""
    out_of_sync(exporter, after(5 * MINUTE, in_each(240, 90, 400)))
    return [*steady(FLAPPING, 20, 70), over(FLAPPING, at=90), silent(FLAPPING, until=140, since=90)]


@reading("replicas out of sync", 35, (12, OUT), (34, OUT), outages=ENDS)
def read_replicas(exporter: Exporter) -> None:
    for state, count in (("offline", 3000), ("leader_unavailable", 1990), ("in_sync", 10), ("moving", 7)):
        exporter.set("broker_out_of_sync_replicas", count, broker=2, state=state)
    exporter.set("broker_out_of_sync_replicas", 1, broker=3, state="stuck")
    for number, topic in enumerate("abcd", start=1):
        for partition in range(number):
            exporter.set("replica_out_of_sync_seconds", age(0), topic=topic, partition=partition, broker=2)


@reading("replicas that flap", 30, (30, FLAPPING))
def read_flapping(exporter: Exporter) -> None:
    exporter.set("broker_out_of_sync_replicas", after(5 * MINUTE, in_each(240, 90, 400)), broker=2, state="slow")
    exporter.set("topic_isr_shrinks_total", lambda t: t // 60 * 10, topic="orders")


@fault(OUT, "stuck")
def stuck_for_good(exporter: Exporter, start: float) -> None:
    out_of_sync(exporter, after(start, 50, 0), "stuck")


@fault(OUT)
def slow_for_good(exporter: Exporter, start: float) -> None:
    out_of_sync(exporter, after(start, 50, 0))


@fault(FLAPPING, "the last change that counts", begins=HOUR / 2)
def flaps(exporter: Exporter, start: float) -> None:
    out_of_sync(exporter, after(start, in_each(240, 120, 400)))
    exporter.set("topic_isr_shrinks_total", after(start, lambda t: 400 * ((t - start) // 240 + 1)), topic="orders")
