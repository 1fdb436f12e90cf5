"""The cluster of the golden page: small, in every kind of trouble, the same whenever it is looked at.

Four brokers, one of them fenced. `orders` moves to broker 3 under throttles: partition 0 gets there, partition 1 never
does, since what is produced to it outruns the limit of its leader. Broker 1 lacks messages of `payments`, a replica of
which moves to another log directory and which is no longer copied to remote storage. `quiet` has a partition without a
leader, of which broker 1 shows no log; `hidden` may not have series, and does not count.
"""

import numpy as np

from kafka_warden.catalogue import Build, ExporterState, Figures, View
from kafka_warden.clients.jmx.protocol import Kind
from kafka_warden.derive import Derived
from kafka_warden.model import (
    IN_ELR,
    LAST_KNOWN_ELR,
    UNKNOWN,
    UNLIMITED,
    Broker,
    BrokerConfig,
    ClientBean,
    Limit,
    Origin,
    Parameters,
    PollResult,
    ProcessBeans,
    QuotaEntity,
    Side,
    SinkStatus,
    Snapshot,
    Source,
    SourceStatus,
    TopicConfig,
)
from kafka_warden.replies import (
    ControllerWindow,
    FutureReplica,
    LogDir,
    LogGaps,
    MissingLog,
    Quorum,
    QuorumReplica,
    StrayLog,
)
from kafka_warden.sources.bean_list import BEANS
from tests.building import EPOCH, Partition, Topics, answered, judge, snapshot

BUILD = Build("0.1.0", "4eccdd2", "3.11.2")
POLLS = range(0, 91, 10)
"""Seconds of the polls."""

PARAMETERS = Parameters(
    cluster_name="orders-prod",
    max_broker_partitions=4000,
    max_partitions=200_000,
    network_bytes_per_second=125_000_000,
    series_budget=76,
)

BROKERS = {
    1: Broker(1, "kafka-1.example", 9092, rack="a"),
    2: Broker(2, "kafka-2.example", 9092, rack="b"),
    3: Broker(3, "kafka-3.example", 9092, rack="c"),
    4: Broker(4, "kafka-4.example", 9092, rack="c", fenced=True),
}

LEADER_LIMITS = {1: Limit(2e6, Origin.BROKER), 2: Limit(2e5, Origin.BROKER), 3: Limit()}
"""By broker, bytes per second."""


def view() -> View:
    """Everything that the golden page is read from, but the page's own families."""
    derived = judge(*(poll(float(clock)) for clock in POLLS), parameters=PARAMETERS)
    hidden = np.array([name == "hidden" for name in derived.indexed.snapshot.topics])
    return View(derived, sidecar(), ~hidden, PARAMETERS, uncounted=hidden)


def view_of(derived: Derived) -> View:
    """Derived values with the figures of the scene; all topics are shown."""
    return View(derived, sidecar(), np.ones(len(derived.indexed.snapshot.topics), bool))


def sidecar() -> ExporterState:
    last = float(POLLS[-1])
    status = {(source, ""): answered(last, 0.004) for source in (Source.METADATA, Source.QUOTAS)}
    status[Source.OFFSETS, "1"] = answered(last, 0.012)
    status[Source.OFFSETS, "2"] = SourceStatus(up=False, duration=5.0, last_success=EPOCH, errors={"timeout": 3})
    status[Source.JMX, "4"] = SourceStatus(up=False, duration=0.0, last_success=None, errors={"refused": 1})
    not_available = {
        (Source.LOG_DIRS, "2"): "authorization",
        (Source.QUORUM, ""): "unsupported",
        (Source.CONFIGS, ""): "disabled",
        (Source.CONTROLLER_CONFIGS, "100"): "unreachable",
    }
    sinks = {"parquet": SinkStatus(up=False, rows=4100, dropped={"disk_full": 41}, last_success=EPOCH)}
    figures: Figures = {
        "web_connections": {(): 3},
        "web_connections_closed_total": {("limit",): 1, ("timeout",): 2},
        "web_logins_refused_total": {("wrong",): 4, ("overload",): 5},
        "web_config_in_use": {(): False},
        "state_last_save_successful": {(): True},
        "config_last_reload_successful": {(): True},
        "config_last_reload_success_timestamp_seconds": {(): EPOCH},
        "certificate_expiry_timestamp_seconds": {("web",): EPOCH + 86_400, ("kafka_client",): EPOCH + 172_800},
        "certificate_lifetime_seconds": {("web",): 31_536_000.0, ("kafka_client",): 604_800.0},
        "poll_interval_seconds": {(): 10.0},
    }
    polled = PollResult(
        status=status,
        not_available=not_available,
        cluster_reachable=True,
        controller_reachable=True,
        fenced_responding={4: True},
        throttle_seconds={1: 0.0, 2: 0.25},
        jmx_source="rmi",
        jmx_child_starts=1,
    )
    return ExporterState(polled, BUILD, EPOCH + last, sinks=sinks, figures=figures)


def poll(clock: float) -> Snapshot:
    """What the sidecar sees at one poll."""
    return snapshot(
        topics(clock),
        clock=clock,
        brokers=BROKERS,
        controller=101,
        kafka_version="4.1.1",
        metadata_ages={1: 0.0, 2: 12.5, 3: 0.0},
        log_dirs=(
            LogDir(1, "/data/a", online=True, bytes=60_000_000, usable_bytes=400_000_000, total_bytes=1_000_000_000),
            LogDir(1, "/data/b", online=False, bytes=UNKNOWN, usable_bytes=UNKNOWN, total_bytes=UNKNOWN),
            LogDir(
                3,
                "/data/a",
                online=True,
                bytes=40_000_000,
                usable_bytes=600_000_000,
                total_bytes=1_000_000_000,
                cordoned=True,
            ),
        ),
        log_gaps={
            1: LogGaps(clock // 60, frozenset({MissingLog("quiet", bytes(16), 1)}), frozenset({StrayLog("deleted", 0)}))
        },
        future_replicas=(FutureReplica("payments", 0, 2, "/data/b", 3_000_000 + int(clock) * 20_000, UNKNOWN),),
        broker_configs={broker: config(broker) for broker in (1, 2, 3)},
        topic_configs={
            "orders": TopicConfig(leader_throttled="0:1,0:2,1:1,1:2", follower_throttled="0:3,1:3"),
            "payments": TopicConfig(
                min_insync_replicas=3,
                remote_storage=True,
                segment_bytes=1 << 20,
                remote_copy_lag_seconds=UNLIMITED,
                remote_copy_lag_bytes=2000.0,
            ),
            "quiet": TopicConfig(min_insync_replicas=2),
            "hidden": TopicConfig(),
            "__consumer_offsets": TopicConfig(compacted=True),
        },
        quotas=(
            QuotaEntity("ada", None, {"controller_mutation_rate": 5.0}),
            QuotaEntity("", None, {"controller_mutation_rate": 10.0}),
        ),
        quorum=Quorum(
            leader=101,
            leader_epoch=3,
            high_watermark=5000,
            replicas=(
                QuorumReplica(101, voter=True, log_end_offset=5000, last_caught_up_time=EPOCH + clock),
                QuorumReplica(4, voter=False, log_end_offset=4200, last_caught_up_time=EPOCH),
            ),
        ),
        controller_window=ControllerWindow(11, 1.0),
        broker_beans={1: beans(clock)},
        controller_beans={"101": controller_beans(clock)},
        status={(Source.OFFSETS, str(broker)): answered(clock) for broker in (1, 3)},
    )


def topics(clock: float) -> Topics:
    """What is in the brokers' logs: 100 bytes a message."""
    seconds = int(clock)
    slow, fast = 4_000_000 + seconds * 1000, 10_000 + seconds * 30_000
    return {
        "hidden": [Partition(end=50_000, lag={2: 10}, out=(2,))],
        "orders": [
            Partition(replicas=(1, 2, 3), adding=(3,), removing=(2,), end=slow, lag={3: 3_000_000 - seconds * 16_000}),
            Partition(replicas=(2, 1, 3), adding=(3,), removing=(1,), end=fast, lag={3: fast}),
        ],
        "payments": [Partition(replicas=(2, 1, 3), end=90_000 + seconds * 10, tiered=59_999, lag={1: 2500}, out=(1,))],
        "quiet": [
            Partition(replicas=(3, 2), end=1000),
            Partition(replicas=(4,), leader=UNKNOWN, out=(4,), eligible={4: IN_ELR + LAST_KNOWN_ELR}),
        ],
    }


def config(broker: int) -> BrokerConfig:
    """The configuration of a broker; the third has a copy quota."""
    limits = {
        Side.LEADER: LEADER_LIMITS[broker],
        Side.FOLLOWER: Limit(4e6, Origin.CLUSTER_DEFAULT),
        Side.LOG_DIRS: Limit(),
    }
    if broker != 3:
        return BrokerConfig(limits=limits)
    return BrokerConfig(limits=limits, remote_copy_quota=1e6, remote_fetch_quota=2e6)


def beans(clock: float) -> ProcessBeans:
    """The beans of broker 1: every bean of the list, numbered so that no two are alike."""
    return ProcessBeans(
        clock, numbered("broker", 1000.0, 1.0), requests=(ClientBean("ada", "batch", {"throttle_time": 0.25}),)
    )


def numbered(kind: Kind, first: float, step: float) -> dict[str, float]:
    names = [bean.name for bean in BEANS if bean.where == kind]
    return {name: first + step * number for number, name in enumerate(names)}


def controller_beans(clock: float) -> ProcessBeans:
    """The beans of the active controller."""
    ada = {"tokens": -45.0, "mutation_rate": 9.5, "throttle_time": 0.5}
    return ProcessBeans(clock, numbered("controller", 1.0, 0.125), mutations=(ClientBean("ada", None, ada),))
