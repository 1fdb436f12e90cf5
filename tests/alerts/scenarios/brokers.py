"""Brokers that die, restart, are replaced or leave the cluster."""

from tests.alerts.scenarios.changes import broker_down, moving, rolling_restart
from tests.alerts.scenarios.scenario import Checks, fires, firing, over, scenario, silent
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, after, during


@scenario("S16b", 70, brokers=range(1, 7))
def slow_maintenance(exporter: Exporter) -> Checks:
    """Six brokers restart one after the other, each is away for 320 s: no alert."""
    rolling_restart(exporter, 10 * MINUTE, down=320, catch_up=120)
    return [silent(until=70)]


@scenario("S16c", 60, brokers=range(1, 7))
def maintenance_of_single_copies(exporter: Exporter) -> Checks:
    """Each broker that restarts hosts 4 topics without copies, offline for 200 s: no page."""
    rolling_restart(exporter, 10 * MINUTE, down=200, catch_up=120)
    exporter.set(
        "offline_partitions", lambda t: 4.0 if t >= 600 and (t - 600) % 380 < 200 and t < 600 + 6 * 380 else 0.0
    )
    return [silent(severity="critical", until=60)]


@scenario("S16e", 60, brokers=range(1, 10))
def outage_in_maintenance(exporter: Exporter) -> Checks:
    """Nine brokers restart with short pauses, and a disk fails meanwhile: a page on offline partitions in 10 min."""
    rolling_restart(exporter, 10 * MINUTE, down=200, catch_up=30, pause=30)
    exporter.set("offline_partitions", after(20 * MINUTE, 50))
    return [silent(until=20), fires("KafkaPartitionOffline", until=30, severity="critical")]


@scenario("S16d", 70)
def slow_catch_up(exporter: Exporter) -> Checks:
    """Three brokers restart one after the other, and each catches up for 11 min, with a lag that shrinks: no alert."""
    rolling_restart(exporter, 10 * MINUTE, down=120, catch_up=11 * MINUTE)
    return [silent(until=70)]


@scenario("S17", 240)
def replaced_broker(exporter: Exporter) -> Checks:
    """A broker with a full disk dies, and an empty host gets its id 50 min later: one alert, which ends.

    The alert on the old disk ends, too. Its replicas are out of the ISR for 90 min, while they are copied: no alert.
    """
    broker_down(exporter, 2, 10 * MINUTE, HOUR, catch_up=30)
    exporter.set("broker_out_of_sync_replicas", during(HOUR, 150 * MINUTE, 300), broker=2, state="bootstrapping")
    for name, old, new in (("online", 1, 1), ("usable_bytes", 0.05e12, 3e12), ("total_bytes", 1e12, 4e12)):
        exporter.set(f"log_dir_{name}", during(0, 13 * MINUTE, old, None), broker=2, log_dir="/data/a")
        exporter.set(f"log_dir_{name}", after(HOUR, new, None), broker=2, log_dir="/mnt/new")
    yield firing("KafkaLogDirFilling", at=9)
    yield firing("KafkaBrokerUnreachable", at=15, broker="2")
    yield over("KafkaBrokerUnreachable", at=70)
    yield over("KafkaLogDirFilling", at=90)
    yield silent("KafkaReplicasOutOfSync", until=240)


@scenario("S44", 180, brokers=(1, 2, 3, 4))
def emptied_broker(exporter: Exporter) -> Checks:
    """A broker without replicas is shut down and stays registered: at most an info; a late move is still an alert."""
    broker_down(exporter, 4, 10 * MINUTE, ordered=True, replicas=0)
    exporter.set("broker_replicas", 0, broker=4)
    exporter.set("broker_leaders", 0, broker=4)
    moving(exporter, eta=after(HOUR, 1e6, 3600))
    yield silent(severity="warning|critical", until=60)
    yield silent("KafkaBroker.+", severity="warning|critical", until=180)
    yield fires("KafkaReassignmentWillMissItsTime", until=120)


@scenario("S48", 60, brokers=range(1, 10))
def rack_lost(exporter: Exporter) -> Checks:
    """A rack with 3 of 9 brokers loses its power: one page, which explains that the brokers are unreachable."""
    for broker in (7, 8, 9):
        broker_down(exporter, broker, 10 * MINUTE)
    exporter.set("under_min_isr_partitions", after(10 * MINUTE + 18, 30))
    yield firing("KafkaPartitionUnderMinIsr", at=13, count=1)
    yield firing("KafkaBrokerUnreachable", at=15, count=3, explained="yes")
    yield firing(".+", at=50, count=1, severity="critical")


@scenario("S55", 30, step=60, poll=60)
def power_loss_between_polls(exporter: Exporter) -> Checks:
    """With polls every 60 s, a broker loses its power and is fenced before it is asked: an alert within 5 min."""
    broker_down(exporter, 2, 610)
    exporter.set(
        "source_errors_total", after(660, lambda t: (t - 600) // 60, None), source="offsets", broker=2, reason="fenced"
    )
    exporter.set("source_errors_total", None, source="offsets", broker=2, reason="timeout")
    return [silent(until=10), firing("KafkaBrokerUnreachable", at=15)]
