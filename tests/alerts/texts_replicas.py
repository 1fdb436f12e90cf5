"""What alerts on brokers, the cluster, replicas and partitions read like."""

from typing import Final

from tests.alerts.reading import Reading, text
from tests.alerts.scenarios.changes import broker_down, cluster_down
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, Value, after, age, in_each
from tests.support.promtool import Text

BROKER, OUT, FLAPPING = "KafkaBrokerUnreachable", "KafkaReplicasOutOfSync", "KafkaIsrFlapping"
OFFLINE, UNDER, AT = "KafkaPartitionOffline", "KafkaPartitionUnderMinIsr", "KafkaPartitionAtMinIsr"
OLD: Final = "No sidecar has current data: these are the last known values."
DESCRIBE: Final = "The partitions: kafka-topics --describe"


def _by_topic(exporter: Exporter, name: str, **topics: int) -> None:
    """From minute 1 on."""
    for topic, count in topics.items():
        exporter.set(name, after(MINUTE, count), topic=topic)


def _out_of_sync(exporter: Exporter, value: Value, state: str, broker: int = 2) -> None:
    exporter.set("broker_out_of_sync_replicas", value, broker=broker, state=state)


def _cluster() -> Reading:
    exporter = Exporter(35, outages=[(20 * MINUTE, HOUR)])
    cluster_down(exporter, 10 * MINUTE)
    for reason in ("refused", "connect_timeout"):
        errors = after(10 * MINUTE, lambda t: t // 10, 0)
        exporter.set("source_errors_total", errors, source="metadata", broker="", reason=reason)
    succeeded = after(10 * MINUTE, 600, lambda t: t)
    exporter.set("source_last_success_timestamp_seconds", succeeded, source="metadata", broker="")
    summary, severity = "prod: no broker answers", "critical"
    what = "Every broker refuses connections or does not answer in time."
    do = "Check that the brokers run (kafka-broker-api-versions), then the network from the sidecar to them."
    texts = [
        text(
            11,
            "KafkaClusterUnreachable",
            summary,
            f"{what} Reason: connect timeout, refused. Last answer: 1m 0s ago.",
            do,
            severity=severity,
        ),
        text(35, "KafkaClusterUnreachable", summary, what, do, OLD, severity=severity),
    ]
    return Reading("a cluster without a broker that answers", [exporter], texts)


def _controller() -> Reading:
    exporter = Exporter(35, outages=[(20 * MINUTE, HOUR)])
    exporter.set("controller_reachable", after(10 * MINUTE, 0, 1))
    exporter.set("controller_info", after(10 * MINUTE, None, 1), node=1)
    exporter.set("controller_info", after(9 * MINUTE, after(10 * MINUTE, None, 1), None), node=101)
    alert, summary = "KafkaNoActiveController", "prod: no active controller"
    what = "Brokers answer, but the controller does not: no leader election, no ISR change, no new topic or broker."
    do = "Start the controllers of the quorum (kafka-metadata-quorum describe --status), or repair the network to them."
    texts = [
        text(11, alert, summary, what, "Active before: node 1, node 101.", do, severity="critical"),
        text(35, alert, summary, what, do, OLD, severity="critical"),
    ]
    return Reading("no controller", [exporter], texts)


def _without_label() -> Reading:
    """Prometheus sets no label `cluster`: the option cluster.name has the name."""
    exporter = Exporter(15, cluster=None)
    exporter.name("orders-prod")
    exporter.set("controller_reachable", after(10 * MINUTE, 0, 1))
    what = "Brokers answer, but the controller does not: no leader election, no ISR change, no new topic or broker."
    do = "Start the controllers of the quorum (kafka-metadata-quorum describe --status), or repair the network to them."
    summary = "orders-prod: no active controller"
    description = (what, "Active before: node 1.", do)
    alert = Text(11 * MINUTE, "KafkaNoActiveController", {"severity": "critical"}, summary, description)
    return Reading("a cluster without a label", [exporter], [alert])


def _brokers() -> Reading:
    """Broker 1 is dead, broker 2 is fenced, broker 3 has old metadata, broker 4 hangs; later no exporter runs."""
    exporter = Exporter(35, brokers=(1, 2, 3, 4), outages=[(20 * MINUTE, HOUR)])
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
    down = "It is down, it hangs, or the network to it fails."
    start = "and start it. If it runs, look at its disk and its garbage collection."
    quorum = "Check the network from it to the controllers (kafka-metadata-quorum describe --replication)."
    fenced = (
        "The broker runs, but its heartbeats do not reach the controller, or it does not catch up with the metadata."
    )
    stale = "old: clients do not learn of new leaders and topics from it."
    summaries = {
        "1": "prod: broker 1 does not answer",
        "2": "prod: broker 2 runs, but the controller fences it",
        "3": "prod: broker 3 answers from old metadata",
        "4": "prod: broker 4 does not answer",
    }
    now = {
        "1": (
            f"{down} Reason: timeout. State: fenced. Replicas on it: 1k.",
            f"Log in to its host kafka-1.example.org {start}",
        ),
        "2": (fenced, "Behind in the metadata by 5 offsets.", f"{quorum} Do not restart it first."),
        "3": (f"Its metadata are 5m 0s {stale}", quorum),
        "4": (
            f"{down} Reason: connect timeout. State: shutting down. Replicas on it: 1k.",
            f"Log in to its host {start}",
        ),
    }
    later = {
        "1": (f"{down} Replicas on it: 1k.", f"Log in to its host {start}", OLD),
        "2": (fenced, f"{quorum} Do not restart it first.", OLD),
        "3": (f"Its metadata are 14m 40s {stale}", quorum, OLD),
        "4": (f"{down} Replicas on it: 1k.", f"Log in to its host {start}", OLD),
    }
    texts = [
        text(minute, BROKER, summaries[broker], *lines[broker], broker=broker, explained="no")
        for minute, lines in ((10, now), (35, later))
        for broker in summaries
    ]
    return Reading("brokers that do not answer, or are of no use", [exporter], texts)


def _replicas() -> Reading:
    exporter = Exporter(35, outages=[(20 * MINUTE, HOUR)])
    for state, count in (("offline", 3000), ("leader_unavailable", 1990), ("in_sync", 10), ("moving", 7)):
        _out_of_sync(exporter, count, state)
    _out_of_sync(exporter, 1, "stuck", broker=3)
    for number, topic in enumerate("abcd", start=1):
        for partition in range(number):
            exporter.set("replica_out_of_sync_seconds", age(0), topic=topic, partition=partition, broker=2)
    less = "Their partitions have a copy less."
    check = f"Check the disk, the network and the log of the broker. {DESCRIBE} --under-replicated-partitions."
    many = "prod: replicas of broker 2 out of sync: 5k"
    one = "prod: replicas of broker 3 out of sync: 1"
    states = "State: just left (10), leader unavailable (1.99k), offline (3k)."
    topics = "Most affected topics: b (2), c (3), d (4)."
    texts = [
        text(12, OUT, many, f"{less} {states} Longest: 12m 0s.", topics, check, broker="2", explained="no"),
        text(12, OUT, one, f"{less} State: stuck (1).", check, broker="3", explained="no"),
        text(34, OUT, many, f"{less} {states} Longest: 19m 40s.", topics, check, OLD, broker="2", explained="no"),
        text(34, OUT, one, f"{less} State: stuck (1).", check, OLD, broker="3", explained="no"),
    ]
    return Reading("replicas out of sync", [exporter], texts)


def _flapping() -> Reading:
    exporter = Exporter(30)
    _out_of_sync(exporter, after(5 * MINUTE, in_each(240, 90, 400)), "slow")
    exporter.set("topic_isr_shrinks_total", lambda t: t // 60 * 10, topic="orders")
    look = "Look for pauses of garbage collection, a slow disk (iostat -x 5) or packet loss on the broker."
    flapping = text(
        30,
        FLAPPING,
        "prod: replicas of broker 2 leave and rejoin the ISR",
        "They left it or came back lately, times: 14. Most shrinks: orders (300).",
        look,
        broker="2",
        explained="no",
    )
    return Reading("replicas that flap", [exporter], [flapping])


def _partitions() -> Reading:
    """Broker 2 dies, and broker 3 loses a log directory; half an hour later more follows."""
    exporter = Exporter(40)
    broker_down(exporter, 2, MINUTE)
    exporter.set("log_dir_online", after(2 * MINUTE, 0, 1), broker=3, log_dir="/data/a")
    for name, topics in (
        ("offline", "topic_offline_partitions"),
        ("under_min_isr", "topic_under_min_isr_partitions"),
    ):
        exporter.set(f"{name}_partitions", after(MINUTE + 18, after(30 * MINUTE, 4000, 13)))
        _by_topic(exporter, topics, single=12, orders=1, quiet=0)
    exporter.set("broker_leader_candidate_partitions", after(MINUTE, 12), broker=2)
    exporter.set("broker_leader_candidate_partitions", after(MINUTE, 3), broker=1)
    exporter.set("unclean_leader_elections_total", after(20 * MINUTE, 1), node=1)
    causes = "Broker 2 is fenced. Broker 3 lost its log directory /data/a."
    topics = "Most affected topics: orders (1), single (12)."
    refuse = "They are below min.insync.replicas: producers with acks=all get errors."
    back = "Bring their missing replicas back."
    unavailable, under = f"{DESCRIBE} --unavailable-partitions.", f"{DESCRIBE} --under-min-isr-partitions."
    second = "fired before, for fewer partitions. This may be a second fault."
    start = "Start first, by partitions with it in the ISR or ELR: broker 2 (12)."
    clients = "Clients can neither write to them nor read from them."
    refused = "prod: partitions that refuse writes:"
    leaderless = "prod: partitions without a leader:"
    lost = (
        (
            "A replica outside the ISR became leader: acknowledged records that it lacks are gone, "
            "and consumers may see offsets go back."
        ),
        causes,
        (
            "Find the partitions in the log of the controller (grep -i unclean), "
            "then look at unclean.leader.election.enable of their topics."
        ),
    )
    alert, elections = "KafkaUncleanLeaderElection", "prod: unclean leader elections, records may be lost: 1"
    more = "prod: many more partitions"
    critical = {"severity": "critical"}
    texts = [
        text(10, OFFLINE, f"{leaderless} 13", f"{clients} {topics}", causes, f"{start} {unavailable}", **critical),
        text(10, UNDER, f"{refused} 13", f"{refuse} {topics}", causes, f"{back} {under}", **critical),
        text(22, alert, elections, *lost, **critical),
        text(35, OFFLINE, f"{leaderless} 4k", f"{clients} {topics}", causes, f"{start} {unavailable}", **critical),
        text(
            35,
            OFFLINE,
            f"{more} without a leader, now: 4k",
            f"{OFFLINE} {second}",
            causes,
            unavailable,
            tier="more",
            **critical,
        ),
        text(35, UNDER, f"{refused} 4k", f"{refuse} {topics}", causes, f"{back} {under}", **critical),
        text(35, UNDER, f"{more} refuse writes, now: 4k", f"{UNDER} {second}", causes, under, tier="more", **critical),
    ]
    return Reading("partitions offline and under min ISR", [exporter], texts)


def _partitions_and_many_brokers() -> Reading:
    """Seven of nine brokers are gone, and then no exporter runs."""
    exporter = Exporter(35, brokers=range(1, 10), outages=[(20 * MINUTE, HOUR)])
    for broker in range(1, 8):
        for state, value in (("active", 0), ("unanswering" if broker == 1 else "gone", 1)):
            exporter.set("broker_state", value, broker=broker, state=state)
    for name in ("offline", "under_min_isr"):
        exporter.set(f"{name}_partitions", 1)
    gone = "Broker 1 is not answering. Broker 2 is gone. Broker 3 is gone. Broker 4 is gone. Broker 5 is gone."
    what = {
        OFFLINE: "Clients can neither write to them nor read from them.",
        UNDER: "They are below min.insync.replicas: producers with acks=all get errors.",
    }
    do = {
        OFFLINE: f"Start the brokers that are down. {DESCRIBE} --unavailable-partitions.",
        UNDER: f"Bring their missing replicas back. {DESCRIBE} --under-min-isr-partitions.",
    }
    summaries = {
        OFFLINE: "prod: partitions without a leader: 1",
        UNDER: "prod: partitions that refuse writes: 1",
    }
    texts = [
        text(minute, alert, summaries[alert], what[alert], *causes, do[alert], *old, severity="critical")
        for minute, causes, old in ((10, (f"{gone} More are not active.",), ()), (35, (), (OLD,)))
        for alert in (OFFLINE, UNDER)
    ]
    return Reading("partitions and many brokers", [exporter], texts)


def _at_min_isr() -> Reading:
    exporter = Exporter(300, step=60, outages=[(270 * MINUTE, 400 * MINUTE)])
    exporter.set("at_min_isr_partitions", 1)
    failure = "prod: partitions at min ISR"
    just = "One failure away from refusing writes"
    which = f"{DESCRIBE} --at-min-isr-partitions."
    warning = (
        f"{just}, and no dead broker or reassignment explains it.",
        f"Bring their missing replicas back. {which}",
    )
    critical = (
        f"{just}: the next broker that stops is that failure.",
        f"Start the missing broker, or reassign its replicas. {which}",
    )
    texts = [
        text(40, AT, f"{failure}: 1", *warning),
        text(260, AT, f"{failure}: 1", *warning),
        text(260, AT, f"{failure} for hours: 1", *critical, severity="critical"),
        text(290, AT, f"{failure}: 1", *warning, OLD),
        text(290, AT, f"{failure} for hours: 1", *critical, OLD, severity="critical"),
    ]
    return Reading("partitions at min ISR", [exporter], texts, evaluation=60)


READINGS: Final = [
    _cluster(),
    _controller(),
    _without_label(),
    _brokers(),
    _replicas(),
    _flapping(),
    _partitions(),
    _partitions_and_many_brokers(),
    _at_min_isr(),
]
