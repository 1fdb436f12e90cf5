"""Brokers that die, restart, are replaced or leave the cluster."""

from tests.alerts.scenarios.changes import broker_down, cluster_down, moving, rolling_restart
from tests.alerts.scenarios.scenario import Story, fires, firing, over, scenario, silent
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, after, age, during


@scenario("S06", core=True)
def one_of_two_clusters() -> Story:
    """All brokers of one of two clusters with the same ids die: one page, of that cluster."""
    dead, alive = Exporter(60, cluster="a"), Exporter(60, cluster="b", instance="b:10073")
    cluster_down(dead, 10 * MINUTE)
    checks = [
        silent(until=10),
        firing("KafkaClusterUnreachable", at=13, count=1, cluster="a"),
        silent(cluster="b", until=60),
        firing(".+", at=40, count=1, severity="critical"),
    ]
    return Story([dead, alive], checks)


@scenario("S16")
def maintenance() -> Story:
    """Six brokers restart one after the other, each is away for 200 s and catches up in 2 min: no alert."""
    exporter = Exporter(60, brokers=range(1, 7))
    end = rolling_restart(exporter, 10 * MINUTE, down=200, catch_up=120)
    assert end < HOUR
    return Story([exporter], [silent(until=60)])


@scenario("S16b")
def slow_maintenance() -> Story:
    """Six brokers restart one after the other, each is away for 320 s: no alert."""
    exporter = Exporter(70, brokers=range(1, 7))
    rolling_restart(exporter, 10 * MINUTE, down=320, catch_up=120)
    return Story([exporter], [silent(until=70)])


@scenario("S16c")
def maintenance_of_single_copies() -> Story:
    """Each broker that restarts hosts 4 topics without copies, offline for 200 s: no page."""
    exporter = Exporter(60, brokers=range(1, 7))
    rolling_restart(exporter, 10 * MINUTE, down=200, catch_up=120)
    exporter.set(
        "offline_partitions", lambda t: 4.0 if t >= 600 and (t - 600) % 380 < 200 and t < 600 + 6 * 380 else 0.0
    )
    return Story([exporter], [silent(severity="critical", until=60)])


@scenario("S16e")
def outage_in_maintenance() -> Story:
    """Nine brokers restart with short pauses, and a disk fails meanwhile: a page on offline partitions in 10 min."""
    exporter = Exporter(60, brokers=range(1, 10))
    rolling_restart(exporter, 10 * MINUTE, down=200, catch_up=30, pause=30)
    exporter.set("offline_partitions", after(20 * MINUTE, 50))
    return Story([exporter], [silent(until=20), fires("KafkaPartitionOffline", until=30, severity="critical")])


@scenario("S16d")
def slow_catch_up() -> Story:
    """Three brokers restart one after the other, and each catches up for 11 min, with a lag that shrinks: no alert."""
    exporter = Exporter(70)
    rolling_restart(exporter, 10 * MINUTE, down=120, catch_up=11 * MINUTE)
    return Story([exporter], [silent(until=70)])


@scenario("S17")
def replaced_broker() -> Story:
    """A broker with a full disk dies, and an empty host gets its id 50 min later: one alert, which ends.

    The alert on the old disk ends, too. Its replicas are out of the ISR for 90 min, while they are copied: no alert.
    """
    exporter = Exporter(240)
    broker_down(exporter, 2, 10 * MINUTE, HOUR, catch_up=30)
    exporter.set("broker_out_of_sync_replicas", during(HOUR, 150 * MINUTE, 300), broker=2, state="bootstrapping")
    for name, old, new in (("online", 1, 1), ("usable_bytes", 0.05e12, 3e12), ("total_bytes", 1e12, 4e12)):
        exporter.set(f"log_dir_{name}", during(0, 13 * MINUTE, old, None), broker=2, log_dir="/data/a")
        exporter.set(f"log_dir_{name}", after(HOUR, new, None), broker=2, log_dir="/mnt/new")
    checks = [
        firing("KafkaLogDirFilling", at=9),
        firing("KafkaBrokerUnreachable", at=15, broker="2"),
        over("KafkaBrokerUnreachable", at=70),
        over("KafkaLogDirFilling", at=90),
        silent("KafkaReplicasOutOfSync", until=240),
    ]
    return Story([exporter], checks)


@scenario("S44")
def emptied_broker() -> Story:
    """A broker without replicas is shut down and stays registered: at most an info; a late move is still an alert."""
    exporter = Exporter(180, brokers=(1, 2, 3, 4))
    broker_down(exporter, 4, 10 * MINUTE, ordered=True, replicas=0)
    exporter.set("broker_replicas", 0, broker=4)
    exporter.set("broker_leaders", 0, broker=4)
    moving(exporter, eta=after(HOUR, 1e6, 3600))
    checks = [
        silent(severity="warning|critical", until=60),
        silent("KafkaBroker.+", severity="warning|critical", until=180),
        fires("KafkaReassignmentWillMissItsTime", until=120),
    ]
    return Story([exporter], checks)


@scenario("S48")
def rack_lost() -> Story:
    """A rack with 3 of 9 brokers loses its power: one page, which explains that the brokers are unreachable."""
    exporter = Exporter(60, brokers=range(1, 10))
    for broker in (7, 8, 9):
        broker_down(exporter, broker, 10 * MINUTE)
    exporter.set("known_under_min_isr_partitions", after(10 * MINUTE + 18, 30))
    checks = [
        firing("KafkaPartitionUnderMinIsr", at=13, count=1),
        firing("KafkaBrokerUnreachable", at=15, count=3, explained="yes"),
        firing(".+", at=50, count=1, severity="critical"),
    ]
    return Story([exporter], checks)


@scenario("S54")
def removed_broker() -> Story:
    """A dead broker is removed from the cluster: its alert ends within 10 min."""
    exporter = Exporter(120, brokers=(1, 2, 3, 4))
    broker_down(exporter, 1, 20 * MINUTE)
    exporter.end(30 * MINUTE, broker=1)
    return Story([exporter], [firing("KafkaBrokerUnreachable", at=25), over("KafkaBrokerUnreachable", at=41)])


@scenario("S55")
def power_loss_between_polls() -> Story:
    """With polls every 60 s, a broker loses its power and is fenced before it is asked: an alert within 5 min."""
    exporter = Exporter(30, step=60, poll=60)
    broker_down(exporter, 2, 610)
    exporter.set(
        "source_errors_total", after(660, lambda t: (t - 600) // 60, None), source="offsets", broker=2, reason="fenced"
    )
    exporter.set("source_errors_total", None, source="offsets", broker=2, reason="timeout")
    return Story([exporter], [silent(until=10), firing("KafkaBrokerUnreachable", at=15)], evaluation=60)


@scenario("S63")
def second_fault() -> Story:
    """A broker dies an hour after partitions went under min ISR for another reason: that page does not explain it."""
    exporter = Exporter(120)
    exporter.set("known_under_min_isr_partitions", after(10 * MINUTE, 5))
    broker_down(exporter, 3, 70 * MINUTE)
    checks = [
        firing("KafkaPartitionUnderMinIsr", at=13),
        silent("KafkaBrokerUnreachable", until=70),
        firing("KafkaBrokerUnreachable", at=75, broker="3", explained="no"),
    ]
    return Story([exporter], checks)


@scenario("S68")
def fenced_but_running() -> Story:
    """A broker answers, and the controller has fenced it for 30 min: one alert, which ends."""
    exporter = Exporter(90)
    for state, value in (("active", 0), ("fenced", 1)):
        exporter.set("broker_state", during(10 * MINUTE, 40 * MINUTE, value, 1 - value), broker=2, state=state)
    exporter.set("up", during(10 * MINUTE, 40 * MINUTE, 0, 1), source="offsets", broker=2)
    exporter.set("broker_fenced_responding", during(10 * MINUTE, 40 * MINUTE, 1, None), broker=2)
    fenced = during(10 * MINUTE, 40 * MINUTE, lambda t: (t - 600) // 10 + 1, after(40 * MINUTE, 181, None))
    exporter.set("source_errors_total", fenced, source="offsets", broker=2, reason="fenced")
    checks = [firing("KafkaBrokerUnreachable", at=20, count=1, broker="2"), over("KafkaBrokerUnreachable", at=60)]
    return Story([exporter], [silent(until=10), *checks])


@scenario("S69")
def old_metadata() -> Story:
    """A broker answers from metadata that are minutes old: one alert on it; 20 s are none."""
    exporter = Exporter(60)
    for broker, seconds in ((1, 20.0), (2, 600.0)):
        stale = during(10 * MINUTE, 10 * MINUTE + seconds, age(10 * MINUTE))
        exporter.set("broker_metadata_stale_seconds", stale, broker=broker)
    checks = [firing("KafkaBrokerUnreachable", at=14, count=1), firing("KafkaBrokerUnreachable", at=14, broker="2")]
    return Story([exporter], [*checks, over("KafkaBrokerUnreachable", at=40)])
