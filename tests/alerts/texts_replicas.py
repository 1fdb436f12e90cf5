"""Brokers, the cluster, replicas and partitions whose alerts are read."""

from tests.alerts.reading import reading
from tests.alerts.scenarios.changes import broker_down, cluster_down
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, after, age, in_each

UNREACHABLE, NO_CONTROLLER = "KafkaClusterUnreachable", "KafkaNoActiveController"
BROKER, OUT, FLAPPING = "KafkaBrokerUnreachable", "KafkaReplicasOutOfSync", "KafkaIsrFlapping"
OFFLINE, UNDER, AT = "KafkaPartitionOffline", "KafkaPartitionUnderMinIsr", "KafkaPartitionAtMinIsr"
ENDS = [(20 * MINUTE, HOUR)]
"""From 20 min on no exporter runs."""


@reading("a cluster without a broker that answers", 35, (11, UNREACHABLE), (35, UNREACHABLE), outages=ENDS)
def cluster(exporter: Exporter) -> None:
    cluster_down(exporter, 10 * MINUTE)
    for reason in ("refused", "connect_timeout"):
        errors = after(10 * MINUTE, lambda t: t // 10, 0)
        exporter.set("source_errors_total", errors, source="metadata", broker="", reason=reason)
    succeeded = after(10 * MINUTE, 600, lambda t: t)
    exporter.set("source_last_success_timestamp_seconds", succeeded, source="metadata", broker="")


@reading("no controller", 35, (11, NO_CONTROLLER), (35, NO_CONTROLLER), outages=ENDS)
def controller(exporter: Exporter) -> None:
    exporter.set("controller_reachable", after(10 * MINUTE, 0, 1))
    exporter.set("controller_info", after(10 * MINUTE, None, 1), node=1)
    exporter.set("controller_info", after(9 * MINUTE, after(10 * MINUTE, None, 1), None), node=101)


@reading("a cluster without a label", 15, (11, NO_CONTROLLER), cluster=None)
def without_label(exporter: Exporter) -> None:
    """Prometheus sets no label `cluster`: the option cluster.name has the name."""
    exporter.name("orders-prod")
    exporter.set("controller_reachable", after(10 * MINUTE, 0, 1))


@reading(
    "brokers that do not answer or are of no use",
    35,
    (10, BROKER),
    (35, BROKER),
    brokers=(1, 2, 3, 4),
    outages=ENDS,
)
def brokers(exporter: Exporter) -> None:
    """Broker 1 is dead, broker 2 is fenced, broker 3 has old metadata, broker 4 hangs."""
    broker_down(exporter, 1, 5 * MINUTE)
    exporter.set("broker_info", 1, broker=1, host="kafka-1.example.org", rack="a")
    exporter.set("broker_fenced_responding", after(5 * MINUTE, 1, None), broker=2)
    exporter.set("quorum_lag_offsets", 5, node=2, role="observer")
    exporter.set("broker_metadata_stale_seconds", age(5 * MINUTE), broker=3)
    exporter.set("up", after(5 * MINUTE, 0, 1), source="offsets", broker=4)
    errors = after(5 * MINUTE, lambda t: t // 10, None)
    exporter.set("source_errors_total", errors, source="offsets", broker=4, reason="connect_timeout")
    exporter.set("broker_state", after(5 * MINUTE, 0, 1), broker=4, state="active")
    exporter.set("broker_state", after(5 * MINUTE, 1, 0), broker=4, state="shutting_down")


@reading("replicas out of sync", 35, (12, OUT), (34, OUT), outages=ENDS)
def replicas(exporter: Exporter) -> None:
    for state, count in (("offline", 3000), ("leader_unavailable", 1990), ("in_sync", 10), ("moving", 7)):
        exporter.set("broker_out_of_sync_replicas", count, broker=2, state=state)
    exporter.set("broker_out_of_sync_replicas", 1, broker=3, state="stuck")
    for number, topic in enumerate("abcd", start=1):
        for partition in range(number):
            exporter.set("replica_out_of_sync_seconds", age(0), topic=topic, partition=partition, broker=2)


@reading("replicas that flap", 30, (30, FLAPPING))
def flapping(exporter: Exporter) -> None:
    exporter.set("broker_out_of_sync_replicas", after(5 * MINUTE, in_each(240, 90, 400)), broker=2, state="slow")
    exporter.set("topic_isr_shrinks_total", lambda t: t // 60 * 10, topic="orders")


@reading(
    "partitions offline and under min ISR",
    40,
    *((10, OFFLINE), (10, UNDER), (22, "KafkaUncleanLeaderElection"), (35, OFFLINE), (35, UNDER)),
)
def partitions(exporter: Exporter) -> None:
    """Broker 2 dies, and broker 3 loses a log directory; half an hour later more follows."""
    broker_down(exporter, 2, MINUTE)
    exporter.set("log_dir_online", after(2 * MINUTE, 0, 1), broker=3, log_dir="/data/a")
    for name in ("offline", "under_min_isr"):
        exporter.set(f"{name}_partitions", after(MINUTE + 18, after(30 * MINUTE, 4000, 13)))
        for topic, count in (("single", 12), ("orders", 1), ("quiet", 0)):
            exporter.set(f"topic_{name}_partitions", after(MINUTE, count), topic=topic)
    exporter.set("broker_leader_candidate_partitions", after(MINUTE, 12), broker=2)
    exporter.set("broker_leader_candidate_partitions", after(MINUTE, 3), broker=1)
    exporter.set("unclean_leader_elections_total", after(20 * MINUTE, 1), node=1)


@reading(
    "partitions and many brokers",
    35,
    (10, OFFLINE),
    (10, UNDER),
    (35, OFFLINE),
    (35, UNDER),
    brokers=range(1, 10),
    outages=ENDS,
)
def partitions_and_many_brokers(exporter: Exporter) -> None:
    """Seven of nine brokers are gone."""
    for broker in range(1, 8):
        for state, value in (("active", 0), ("unanswering" if broker == 1 else "gone", 1)):
            exporter.set("broker_state", value, broker=broker, state=state)
    for name in ("offline", "under_min_isr"):
        exporter.set(f"{name}_partitions", 1)


@reading(
    "partitions at min ISR",
    300,
    (40, AT),
    (260, AT),
    (290, AT),
    step=60,
    outages=[(270 * MINUTE, 400 * MINUTE)],
)
def at_min_isr(exporter: Exporter) -> None:
    exporter.set("at_min_isr_partitions", 1)
