"""The `Snapshot` of a simulated cluster, as the poller makes it."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from fleet.advance import TOKENS_A_SECOND
from fleet.beans import broker_beans, controller_beans
from fleet.moving import Campaign
from fleet.topology import CONTROLLERS
from fleet.world import World
from kafka_warden.model import (
    UNKNOWN,
    Broker,
    BrokerConfig,
    Limit,
    Origin,
    PartitionTable,
    QuotaEntity,
    ReplicaTable,
    Side,
    Snapshot,
    Source,
    SourceStatus,
    TopicConfig,
)
from kafka_warden.replies import ControllerWindow, LogDir, LogGaps, Quorum, QuorumReplica

KAFKA: Final = "4.1.1"
LOG_DIR: Final = "/var/lib/kafka/data"
CLIENT: Final = "deployer"
PORT: Final = 9092


def see(world: World, campaign: Campaign | None, clock: float, config: BrokerConfig) -> Snapshot:
    """Make the snapshot of now; `clock` is the monotonic time of the sidecar, in seconds."""
    _measure(world, clock)
    brokers = world.cluster.brokers.tolist()
    up = [broker for broker in brokers if world.up[broker]]
    slots = _slots(world)
    partitions, replicas = _tables(world, slots)
    return Snapshot(
        time=world.now,
        clock=clock,
        cluster_id=world.cluster.id,
        topics=tuple(topic.name for topic in world.topics),
        topic_ids=tuple(topic.id for topic in world.topics),
        partitions=partitions,
        replicas=replicas,
        brokers={broker: _broker(world, broker) for broker in brokers},
        controller=CONTROLLERS[0],
        kafka_version=KAFKA,
        offsets_at=dict.fromkeys(up, clock),
        log_dirs=tuple(_log_dir(world, broker) for broker in brokers),
        placed={broker: _placed(world, broker) for broker in up},
        log_gaps={broker: LogGaps(clock, frozenset(), frozenset()) for broker in up},
        broker_configs={broker: _config(config, campaign, broker) for broker in brokers},
        topic_configs={topic.name: _topic_config(world, campaign, topic) for topic in world.topics},
        quotas=(QuotaEntity(CLIENT, None, {"controller_mutation_rate": TOKENS_A_SECOND}),),
        quorum=_quorum(world),
        controller_window=ControllerWindow(11, 1.0),
        broker_beans={broker: broker_beans(world, campaign, broker, clock) for broker in up},
        controller_beans={str(CONTROLLERS[0]): controller_beans(world, CLIENT, clock)},
        status=_status(world, brokers),
    )


def _measure(world: World, clock: float) -> None:
    """Read the log sizes of every running broker."""
    alive = world.alive()
    world.sized = np.where(alive, world.sizes().astype(np.int64), world.sized)
    world.sized_at = np.where(alive, clock, world.sized_at)


def _slots(world: World) -> tuple[np.ndarray, np.ndarray]:
    """Find rows and columns of the slots with a replica, partition by partition."""
    rows, columns = np.nonzero(world.broker > 0)
    return rows, columns


def _tables(world: World, slots: tuple[np.ndarray, np.ndarray]) -> tuple[PartitionTable, ReplicaTable]:
    rows = slots[0]
    leads, alive = world.leading()[slots], world.alive()[slots]
    leader_row = np.full(world.partitions, UNKNOWN, np.int32)
    leader_row[rows[leads]] = np.flatnonzero(leads)
    leaders, started = world.leaders(), leads | world.adding[slots]
    partitions = PartitionTable(
        topic=world.topic.copy(),
        number=world.number.copy(),
        leader=leaders,
        leader_epoch=world.epoch.copy(),
        leader_row=leader_row,
        start=world.start.copy(),
        tiered=np.full(world.partitions, UNKNOWN, np.int64),
        copy_due=np.full(world.partitions, UNKNOWN, np.int64),
        reassigning=np.asarray(world.adding.any(axis=1)),
    )
    replicas = ReplicaTable(
        partition=rows.astype(np.int32),
        broker=world.broker[slots],
        in_isr=world.isr[slots],
        offline=~alive,
        adding=world.adding[slots],
        removing=world.removing[slots],
        end=np.where(alive, np.floor(world.at[slots]), UNKNOWN).astype(np.int64),
        size=world.sized[slots],
        sized_at=world.sized_at[slots],
        start=np.where(started & alive, world.start[rows], UNKNOWN),
        eligible=np.full(len(rows), UNKNOWN, np.int32),
    )
    return partitions, replicas


def _broker(world: World, broker: int) -> Broker:
    up = bool(world.up[broker])
    rack = world.cluster.racks[broker - 1]
    return Broker(broker, f"kafka-{broker}.example", PORT, rack, fenced=not up)


def _log_dir(world: World, broker: int) -> LogDir:
    mine = (world.broker == broker) & (world.sized > 0)
    used = int(world.sized[mine].sum())
    return LogDir(broker, LOG_DIR, True, used, max(world.plan.disk - used, 0), world.plan.disk)  # noqa: FBT003  # online


def _placed(world: World, broker: int) -> dict[tuple[str, int], str]:
    rows = np.flatnonzero(world.adding.any(axis=1) & (world.broker == broker).any(axis=1))
    return {(world.topics[world.topic[row]].name, int(world.number[row])): LOG_DIR for row in rows.tolist()}


def _config(config: BrokerConfig, campaign: Campaign | None, broker: int) -> BrokerConfig:
    limit = Limit()
    if campaign is not None and broker in campaign.brokers and np.isfinite(campaign.limit):
        limit = Limit(campaign.limit, Origin.BROKER)
    return BrokerConfig(
        limits={Side.LEADER: limit, Side.FOLLOWER: limit, Side.LOG_DIRS: Limit()},
        replica_lag_time_max=config.replica_lag_time_max,
        replica_fetch_wait_max=config.replica_fetch_wait_max,
        kafka_version=KAFKA,
    )


def _topic_config(world: World, campaign: Campaign | None, topic: Any) -> TopicConfig:
    listed = campaign is not None and campaign.topic == topic.name and np.isfinite(campaign.limit)
    leader = follower = ""
    if listed and campaign is not None:
        leader = ",".join(f"{number}:{broker}" for number, brokers in campaign.listed.items() for broker in brokers)
        follower = ",".join(f"{number}:{campaign.target}" for number in campaign.listed)
    least = max(world.cluster.replication_factor - 1, 1)
    return TopicConfig(leader, follower, topic.compacted, topic.segment, min_insync_replicas=least)


def _quorum(world: World) -> Quorum:
    end = 1000 + int(world.now - world.settings.start) * 2
    voters = [QuorumReplica(node, True, end, world.now) for node in CONTROLLERS]  # noqa: FBT003  # voter
    brokers = [
        QuorumReplica(broker, False, end, world.now)  # noqa: FBT003  # no voter
        for broker in world.cluster.brokers.tolist()
        if world.up[broker]
    ]
    return Quorum(CONTROLLERS[0], 1, end, (*voters, *brokers))


def _status(world: World, brokers: list[int]) -> Mapping[tuple[Source, str], SourceStatus]:
    good = SourceStatus(up=True, duration=0.004, last_success=world.now, errors={})
    found = {(source, ""): good for source in (Source.METADATA, Source.REASSIGNMENTS, Source.QUOTAS, Source.QUORUM)}
    found[Source.JMX, str(CONTROLLERS[0])] = good
    for broker in brokers:
        world.refused[broker] += not world.up[broker]
        status = _broker_status(world, broker)
        found |= {
            (source, str(broker)): status for source in (Source.OFFSETS, Source.LOG_DIRS, Source.CONFIGS, Source.JMX)
        }
    return found


def _broker_status(world: World, broker: int) -> SourceStatus:
    errors = {"refused": int(world.refused[broker])} if world.refused[broker] else {}
    if world.up[broker]:
        world.answered_at[broker] = world.now
    last = float(world.answered_at[broker])
    return SourceStatus(bool(world.up[broker]), 0.008, last or None, errors)
