"""Log directories, limits, mutation quotas and remote storage whose alerts are read."""

from typing import Final

from tests.alerts.reading import reading
from tests.alerts.scenarios.changes import broker_down
from tests.alerts.scenarios.quotas import overdue, tiered
from tests.alerts.scenarios.remote import held_back
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, after, age, during, ramp

SMALL: Final = (1, 2)
FILLING, LIMIT, MUTATIONS = "KafkaLogDirFilling", "KafkaPartitionLimit", "KafkaControllerMutationThrottled"
COPY, FETCH = "KafkaRemoteCopyHeldBack", "KafkaRemoteFetchHeldBack"


@reading("a log directory is offline", 20, (5, "KafkaLogDirOffline"), (19, "KafkaLogDirOffline"), brokers=SMALL)
def offline(exporter: Exporter) -> None:
    broker_down(exporter, 2, 600)
    exporter.set("log_dir_online", during(0, 780, 0, None), broker=2, log_dir="/data/b")
    for partition in range(2):
        for broker in SMALL:
            where = {"topic": "orders", "partition": partition, "broker": broker, "state": "offline"}
            exporter.set("replica_state", during(0, 600, 1, None), **where)


@reading("volumes fill", 6 * 60, (355, FILLING), step=60, brokers=SMALL)
def filling(exporter: Exporter) -> None:
    falling = ramp(0, 7.5 * HOUR, 0.5e12, 0)
    exporter.set("log_dir_usable_bytes", falling, broker=2, log_dir="/data/a")
    exporter.set("log_dir_usable_bytes", 0.02e12, broker=1, log_dir="/data/a")
    exporter.set("reassignment_bytes_remaining", 2.5e11, topic="orders", partition=0, broker=2)
    exporter.set("broker_sum_replica_lag_bytes", 2.5e11, broker=2)


@reading("the broker of a full volume is down", 40, (39, FILLING), step=30, brokers=SMALL)
def full_and_dead(exporter: Exporter) -> None:
    broker_down(exporter, 2, 600)
    exporter.set("log_dir_usable_bytes", during(0, 780, 0.05e12, None), broker=2, log_dir="/data/a")


@reading(
    "limits of partitions are reached",
    60,
    (40, LIMIT),
    (59, LIMIT),
    step=60,
    brokers=SMALL,
    outages=[(3000, HOUR * 9)],
)
def limits(exporter: Exporter) -> None:
    for name, labels, count, limit in (("broker", {"broker": 2}, 3300, 4000), ("cluster", {}, 205000, 200000)):
        exporter.set(f"{name}_partitions", count, **labels)
        exporter.set(f"{name}_partition_limit", limit, **labels)


@reading("the controller refuses clients", 40, (15, MUTATIONS), (30, MUTATIONS), step=30, brokers=SMALL)
def throttled(exporter: Exporter) -> None:
    exporter.set("up", after(1200, 0, 1), source="jmx", broker=1)
    for client, delay in (({"user": "ada", "client_id": "batch"}, 9), ({"user": "", "client_id": ""}, 0.5)):
        exporter.set("controller_mutation_tokens", during(0, 1200, -45, None), **client)
        exporter.set("controller_mutation_quota_per_second", during(0, 1200, 5, None), **client)
        exporter.set("controller_mutation_admission_delay_seconds", during(0, 1200, delay, None), **client)


@reading("quotas hold back remote storage", 30, (20, COPY), (20, FETCH), step=30, brokers=SMALL)
def remote_quotas(exporter: Exporter) -> None:
    tiered(exporter)
    held_back(exporter, age(0))
    for what in ("copy", "fetch"):
        exporter.set(f"remote_{what}_quota_bytes_per_second", 1e6, broker=2)
        exporter.set(f"remote_{what}_bytes_per_second", 0.97e6, broker=2)


@reading("remote storage fails", 65, (49, COPY), (49, FETCH), (62, COPY), (62, FETCH), step=30, brokers=SMALL)
def remote_errors(exporter: Exporter) -> None:
    tiered(exporter, errors=lambda t: t / 30)
    exporter.set("remote_delete_errors_total", lambda t: t / 60, broker=2)
    exporter.set("remote_fetch_errors_total", lambda t: t / 20, broker=2)
    overdue(exporter, 2.5e9, age(0))
    exporter.set("up", after(3000, 0, 1), source="metadata", broker="")
