"""Replicas that are outside the ISR, or leave it again and again: when their alerts fire and end."""

import math

from tests.alerts.scenarios.changes import broker_down, moving, throttle_problem
from tests.alerts.scenarios.scenario import Story, fires, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, Value, after, age, during, in_each

OUT = "KafkaReplicasOutOfSync"
FLAPPING = "KafkaIsrFlapping"


def out_of_sync(exporter: Exporter, value: Value, state: str = "slow", broker: int = 2) -> None:
    """Let a broker have replicas outside the ISR."""
    exporter.set("broker_out_of_sync_replicas", value, broker=broker, state=state)


@scenario("IS01", core=True)
def slow_and_stuck() -> Story:
    """Replicas of a broker are out of sync for 30 min: an alert after 10 min, after 5 min if one is stuck.

    It ends 2 min after they return.
    """
    slow, stuck = Exporter(45, cluster="slow"), Exporter(45, cluster="stuck")
    for state in ("slow", "offline"):
        out_of_sync(slow, during(10 * MINUTE, 40 * MINUTE, 20), state)
    out_of_sync(stuck, during(10 * MINUTE, 40 * MINUTE, 1), "stuck")
    checks = [
        silent(until=14.9),
        silent(until=19.9, cluster="slow"),
        *steady(OUT, 15.75, 41.75, cluster="stuck", broker="2"),
        *steady(OUT, 20.75, 41.75, cluster="slow", broker="2"),
        over(OUT, at=43),
    ]
    return Story([slow, stuck], checks)


@scenario("IS11")
def crash_loop() -> Story:
    """A broker is down for 50 s of every 2 min or 4 min, and its replicas never catch up: an alert within 25 min."""
    often, rarely = (Exporter(60, cluster=f"every {minutes} min") for minutes in (2, 4))
    for exporter, period in ((often, 120.0), (rarely, 240.0)):
        exporter.set("up", after(10 * MINUTE, in_each(period, 50, 0, 1), 1), source="offsets", broker=2)
        out_of_sync(exporter, after(10 * MINUTE, 300), "recovering")
    return Story([often, rarely], [silent(OUT, until=15), *steady(OUT, 35, 60, count=2, broker="2")])


@scenario("IS02")
def throttles() -> Story:
    """A throttle keeps replicas out of the ISR: it has an alert, they have none. Other replicas still have one.

    Neither has the throttle of a leader for stuck replicas, nor one that lets them catch up.
    """
    own, leader, other = (Exporter(30, cluster=name) for name in ("own", "leader", "other"))
    throttle_problem(own, "holds_original", age(2 * MINUTE), side="follower")
    out_of_sync(own, after(2 * MINUTE, 9), "stuck")
    throttle_problem(leader, "holds_original", age(2 * MINUTE), broker=1)
    out_of_sync(leader, after(2 * MINUTE, 9), "throttled")
    out_of_sync(leader, after(2 * MINUTE, 4), "stuck", broker=1)
    out_of_sync(other, after(2 * MINUTE, 9), "throttled")
    checks = [
        firing("KafkaThrottleTooLow", at=30, count=1, cluster="own", broker="2"),
        silent(OUT, until=30, cluster="own"),
        firing("KafkaThrottleTooLow", at=30, count=1, cluster="leader", broker="1"),
        firing(OUT, at=30, count=1, cluster="leader"),
        firing(OUT, at=30, count=1, cluster="leader", broker="1"),
        firing(OUT, at=30, count=1, cluster="other", broker="2"),
    ]
    return Story([own, leader, other], checks)


@scenario("IS03")
def views_of_two_exporters() -> Story:
    """Two exporters see replicas out of sync: one alert. One of two sees that they are back: none.

    Replicas that a move adds are not out of sync.
    """
    names = ("a:10073", "b:10073")
    both, half = ([Exporter(60, cluster=name, instance=each) for each in names] for name in ("both", "half"))
    move = Exporter(60, cluster="move")
    for exporter in (*both, half[0]):
        out_of_sync(exporter, after(5 * MINUTE, 4))
    moving(move, during(5 * MINUTE, HOUR, 5))
    out_of_sync(move, during(5 * MINUTE, HOUR, 5), "moving")
    checks = [
        *steady(OUT, 16, 60, cluster="both"),
        silent(cluster="half", until=60),
        silent(OUT, cluster="move", until=60),
        silent(FLAPPING, until=60),
    ]
    return Story([*both, *half, move], checks)


@scenario("IS04", core=True)
def exporter_restarts() -> Story:
    """The exporter restarts, does not know the states at first, and then does not run: one alert, which stays."""
    exporter = Exporter(60, outages=[(1200, 1230), (30 * MINUTE, math.inf)])
    out_of_sync(exporter, after(5 * MINUTE, during(1200, 1290, 0, 4), 0))
    out_of_sync(exporter, during(1200, 1290, 4), "unknown")
    return Story([exporter], [silent(until=14.9), *steady(OUT, 15.75, 60, broker="2"), silent(FLAPPING, until=60)])


@scenario("IS05")
def metadata_do_not_answer() -> Story:
    """No broker answers for metadata, and replicas and their broker vanish from the snapshot: their alert stays.

    With metadata the broker is removed, and the alert ends.
    """
    mute, removed = Exporter(60, cluster="mute"), Exporter(60, cluster="removed")
    for exporter in (mute, removed):
        out_of_sync(exporter, after(5 * MINUTE, 4), "stuck")
        exporter.end(30 * MINUTE, broker=2)
    mute.set("up", after(25 * MINUTE, 0, 1), source="metadata", broker="")
    checks = [*steady(OUT, 11, 60, cluster="mute"), *steady(OUT, 11, 30, cluster="removed")]
    return Story([mute, removed], [*checks, over(OUT, at=33, cluster="removed")])


@scenario("IS06")
def old_snapshot() -> Story:
    """The exporter shows faults in a snapshot that it does not renew: they are no alert, but its age is."""
    exporter = Exporter(40)
    exporter.set("snapshot_timestamp_seconds", lambda t: min(t, MINUTE))
    out_of_sync(exporter, after(4 * MINUTE, 4))
    for name in ("under_min_isr", "at_min_isr", "offline"):
        exporter.set(f"{name}_partitions", after(4 * MINUTE, 1))
    checks = [silent("Kafka[^W].+", until=40), fires("KafkaWardenBlind", until=25, data="none")]
    return Story([exporter], checks)


@scenario("IS07")
def brokers_come_back() -> Story:
    """Brokers come back, and catch up for an hour: no second alert; for more than 2 h, or stuck: one."""
    exporter = Exporter(180, step=60, brokers=(1, 2, 3, 4))
    for broker, catch_up in ((2, HOUR), (3, 24 * HOUR), (4, 24 * HOUR)):
        broker_down(exporter, broker, 5 * MINUTE, 35 * MINUTE, catch_up=catch_up)
    out_of_sync(exporter, 0, "recovering", broker=4)
    out_of_sync(exporter, after(35 * MINUTE, 9), "stuck", broker=4)
    checks = [
        silent(OUT, until=35),
        firing("KafkaBrokerUnreachable", at=30, count=3),
        silent(OUT, until=180, broker="2"),
        silent(OUT, until=155, broker="3"),
        *steady(OUT, 170, 180, broker="3"),
        silent(OUT, until=39, broker="4"),
        *steady(OUT, 43, 180, broker="4"),
    ]
    return Story([exporter], checks, evaluation=60)


@scenario("IS08")
def empty_directory_after_a_lost_one() -> Story:
    """A log directory is lost; its broker restarts soon with an empty one, and copies for 40 min: no second alert."""
    exporter = Exporter(55)
    exporter.set("log_dir_online", during(5 * MINUTE, 12 * MINUTE, 0, 1), broker=2, log_dir="/data/a")
    out_of_sync(exporter, during(5 * MINUTE, 12 * MINUTE, 9), "offline")
    out_of_sync(exporter, during(12 * MINUTE, 52 * MINUTE, 9), "recovering")
    return Story([exporter], [firing("KafkaLogDirOffline", at=10, broker="2"), silent(OUT, until=55)])


@scenario("IS09", core=True)
def three_absences() -> Story:
    """Replicas leave the ISR for 90 s three times in 10 min: an alert after the third time, for 30 min and 10 more.

    The exporter restarts meanwhile. Twice is no alert.
    """
    three = Exporter(60, cluster="three", outages=[(15 * MINUTE, 15 * MINUTE + 30)])
    two = Exporter(60, cluster="two")
    for exporter, end in ((three, 20 * MINUTE), (two, 16 * MINUTE)):
        out_of_sync(exporter, during(10 * MINUTE, end, lambda t: 5.0 if t % 240 in range(120, 210) else 0.0))
    checks = [
        silent(until=20.4),
        *steady(FLAPPING, 21.25, 48, cluster="three", broker="2"),
        over(FLAPPING, at=52),
        silent(until=60, cluster="two"),
        silent(OUT, until=60),
    ]
    return Story([three, two], checks)


@scenario("IS10")
def flapping_without_exporter() -> Story:
    """The exporter stops while replicas flap, for 2 h: no value changes, so the alert ends after 40 min."""
    exporter = Exporter(140, step=30, outages=[(45 * MINUTE, math.inf)])
    out_of_sync(exporter, after(5 * MINUTE, in_each(240, 90, 400)))
    checks = [*steady(FLAPPING, 20, 70), over(FLAPPING, at=90), silent(FLAPPING, until=140, since=90)]
    return Story([exporter], checks, evaluation=30)
