"""What alerts on log directories, limits, mutation quotas and remote storage read like."""

from typing import Final

from tests.alerts.reading import Reading, text
from tests.alerts.scenarios.changes import broker_down
from tests.alerts.scenarios.quotas import overdue, tiered
from tests.alerts.scenarios.remote import held_back
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, after, age, during, ramp

SMALL: Final = (1, 2)
FILLING, LIMIT, COPY = "KafkaLogDirFilling", "KafkaPartitionLimit", "KafkaRemoteCopyHeldBack"
ON_2: Final = {"broker": "2", "log_dir": "/data/a"}
OLD: Final = "No sidecar has current data: these are the last known values."
SILENT: Final = "The broker does not report its log directories now: these are the last known values."
ROOM: Final = "Shorten the retention of a large topic, move replicas away, or enlarge the volume."
FULL: Final = "When it is full, the broker takes the directory offline."


def _offline() -> Reading:
    exporter = Exporter(20, brokers=SMALL)
    broker_down(exporter, 2, 600)
    exporter.set("log_dir_online", during(0, 780, 0, None), broker=2, log_dir="/data/b")
    for partition in range(2):
        for broker in SMALL:
            where = {"topic": "orders", "partition": partition, "broker": broker, "state": "offline"}
            exporter.set("replica_state", during(0, 600, 1, None), **where)
    what = (
        "prod: broker 2 lost its log directory /data/b",
        "A disk access failed. The broker serves no replica in it until it is repaired and the broker restarted.",
        "Offline replicas: 2. Log directories still online: 1.",
        "Check the disk (dmesg), repair or replace it, then restart the broker.",
    )
    labels = {"broker": "2", "log_dir": "/data/b", "explained": "no"}
    texts = [text(5, "KafkaLogDirOffline", *what, **labels), text(19, "KafkaLogDirOffline", *what, SILENT, **labels)]
    return Reading("a log directory is offline", [exporter], texts)


def _filling() -> Reading:
    exporter = Exporter(6 * 60, step=60, brokers=SMALL)
    exporter.set("log_dir_usable_bytes", lambda t: 1e12 * ramp(0, 7.5 * HOUR, 0.5, 0)(t), **{**ON_2, "broker": 2})
    exporter.set("log_dir_usable_bytes", 0.02e12, broker=1, log_dir="/data/a")
    exporter.set("reassignment_bytes_remaining", 2.5e11, topic="orders", partition=0, broker=2)
    exporter.set("broker_sum_replica_lag_bytes", 2.5e11, broker=2)
    texts = [
        text(
            355,
            FILLING,
            "prod: broker 2, /data/a is 89.44% full",
            f"{FULL} Free: 105.6GB. Full in 1h 35m 0s at the present rate. Moves bring up to 250GB more.",
            ROOM,
            **ON_2,
        ),
        text(
            355,
            FILLING,
            "prod: broker 1, /data/a is 98% full",
            f"{FULL} Free: 20GB.",
            ROOM,
            broker="1",
            log_dir="/data/a",
        ),
        text(
            355,
            FILLING,
            "prod: broker 1, /data/a is nearly full: 98%",
            f"{FULL} Free: 20GB.",
            ROOM,
            severity="critical",
            broker="1",
            log_dir="/data/a",
        ),
    ]
    return Reading("volumes fill", [exporter], texts, evaluation=60)


def _full_and_dead() -> Reading:
    exporter = Exporter(40, step=30, brokers=SMALL)
    broker_down(exporter, 2, 600)
    exporter.set("log_dir_usable_bytes", during(0, 780, 0.05e12, None), **{**ON_2, "broker": 2})
    dead = text(39, FILLING, "prod: broker 2, /data/a is 95% full", FULL, ROOM, SILENT, **ON_2)
    return Reading("the broker of a full volume is down", [exporter], [dead], evaluation=30)


def _limits() -> Reading:
    exporter = Exporter(60, step=60, brokers=SMALL, outages=[(3000, HOUR * 9)])
    for name, labels, count, limit in (("broker", {"broker": 2}, 3300, 4000), ("cluster", {}, 205000, 200000)):
        exporter.set(f"{name}_partitions", count, **labels)
        exporter.set(f"{name}_partition_limit", limit, **labels)
    slow = "Nothing breaks at the limit itself: Kafka does not refuse more, but gets slower."
    of_2 = ("prod: broker 2 has 82.5% of its partition limit", slow, "Partitions: 3.3k. Limit: 4k.")
    of_all = ("prod: the cluster has 102.5% of its partition limit", slow, "Partitions: 205k. Limit: 200k.")
    less, plan = "Move replicas to other brokers, or delete topics.", "Delete topics, or plan another cluster."
    texts = [
        text(40, LIMIT, *of_2, less, broker="2"),
        text(40, LIMIT, *of_all, plan),
        text(59, LIMIT, *of_2, less, OLD, broker="2"),
        text(59, LIMIT, *of_all, plan, OLD),
    ]
    return Reading("limits of partitions are reached", [exporter], texts, evaluation=60)


def _throttled() -> Reading:
    exporter = Exporter(40, step=30, brokers=SMALL)
    exporter.set("up", after(1200, 0, 1), source="jmx", broker=1)
    for client, delay in (({"user": "ada", "client_id": "batch"}, 9), ({"user": "", "client_id": ""}, 0.5)):
        exporter.set("controller_mutation_tokens", during(0, 1200, -45, None), **client)
        exporter.set("controller_mutation_quota_per_second", during(0, 1200, 5, None), **client)
        exporter.set("controller_mutation_admission_delay_seconds", during(0, 1200, delay, None), **client)
    more = "It creates, deletes or adds more partitions than its mutation quota admits."
    less = "Let the client send less, or raise its quota: kafka-configs --alter --entity-type users."
    quota = "Quota: 5 partitions a second. Fewest tokens: -45. Longest wait:"
    of_ada, of_all = (
        "prod: the controller refuses client batch of user ada",
        "prod: the controller refuses client (any) of user (any)",
    )
    ada = {"user": "ada", "client_id": "batch"}
    old = "JMX of the controller cannot be read now: these are the last known values."
    alert = "KafkaControllerMutationThrottled"
    texts = [
        text(15, alert, of_ada, more, f"{quota} 9s.", less, **ada),
        text(15, alert, of_all, more, f"{quota} 500ms.", less),
        text(30, alert, of_ada, more, f"{quota} 9s.", less, old, **ada),
        text(30, alert, of_all, more, f"{quota} 500ms.", less, old),
    ]
    return Reading("the controller refuses clients", [exporter], texts, evaluation=30)


def _remote_quotas() -> Reading:
    exporter = Exporter(30, step=30, brokers=SMALL)
    tiered(exporter)
    held_back(exporter, age(0))
    for what in ("copy", "fetch"):
        exporter.set(f"remote_{what}_quota_bytes_per_second", 1e6, broker=2)
        exporter.set(f"remote_{what}_bytes_per_second", 0.97e6, broker=2)
    rates = "Quota: 1000000 (1MB/s). Rate: 970kB/s."
    config = "kafka-configs --alter --entity-type brokers --entity-name 2 --add-config remote.log.manager"
    texts = [
        text(
            20,
            COPY,
            "prod: copies to remote storage of broker 2 are held back by its quota",
            "More segments wait than its quota lets through: local disks fill up. For 20m 0s.",
            rates,
            f"Raise it: {config}.copy.max.bytes.per.second=RATE.",
            broker="2",
            cause="quota",
        ),
        text(
            20,
            "KafkaRemoteFetchHeldBack",
            "prod: reads from remote storage through broker 2 are held back by its quota",
            "Clients that read old data wait. For 20m 0s.",
            rates,
            f"Find these clients, or raise the quota: {config}.fetch.max.bytes.per.second=RATE.",
            broker="2",
            cause="quota",
        ),
    ]
    return Reading("quotas hold back remote storage", [exporter], texts, evaluation=30)


def _remote_errors() -> Reading:
    exporter = Exporter(65, step=30, brokers=SMALL)
    tiered(exporter, errors=lambda t: t / 30)
    exporter.set("remote_delete_errors_total", lambda t: t / 60, broker=2)
    exporter.set("remote_fetch_errors_total", lambda t: t / 20, broker=2)
    overdue(exporter, 2.5e9, age(0))
    exporter.set("up", after(3000, 0, 1), source="metadata", broker="")
    look = "Look at the log of the broker (RemoteLogManager), then at the storage: credentials, network, capacity."
    labels = {"broker": "2", "cause": "errors"}
    copies = ("prod: copies to remote storage of broker 2 fail", "Segments stay on local disks, which fill up.")
    behind = (
        "prod: copies to remote storage of topic orders fall behind: 2.5GB",
        "They should be in remote storage and are not: local disks fill up.",
    )
    leaders = "Look at the logs of its leaders (RemoteLogManager), and at their copy quota."
    lag = {"topic": "orders", "cause": "lag"}
    reads = (
        "prod: reads from remote storage through broker 2 fail",
        "Clients that read old data get errors. Failures a minute: 3.",
    )
    texts = [
        text(49, COPY, *copies, "Failures a minute: copy 2, delete 1.", look, **labels),
        text(49, COPY, *behind, "Longest time without a copy of a partition: 49m 0s.", leaders, **lag),
        text(49, "KafkaRemoteFetchHeldBack", *reads, look, **labels),
        text(62, COPY, *copies, "Failures a minute: copy 2, delete 1.", look, OLD, **labels),
        text(62, COPY, *behind, "Longest time without a copy of a partition: 1h 2m 0s.", leaders, OLD, **lag),
        text(62, "KafkaRemoteFetchHeldBack", *reads, look, OLD, **labels),
    ]
    return Reading("remote storage fails", [exporter], texts, evaluation=30)


READINGS: Final = [
    _offline(),
    _filling(),
    _full_and_dead(),
    _limits(),
    _throttled(),
    _remote_quotas(),
    _remote_errors(),
]
