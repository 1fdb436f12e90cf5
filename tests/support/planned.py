"""Plans on snapshots made by hand. A test gives what differs from a healthy cluster without unknown values."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kafka_warden.model import Broker, BrokerConfig, Floats, Snapshot, TopicConfig
from kafka_warden.planning.inbound import InboundMean, step
from kafka_warden.planning.loads import Goal
from kafka_warden.planning.plan import MovePlan, plan_move
from kafka_warden.planning.reassignment import Target
from kafka_warden.replies import LogDir
from tests.building import Partition, Topics, brokers_of, snapshot

MB = 1e6
GB = 1e9
HOUR = 3600.0


def cluster(topics: Topics, more: Iterable[int] = (), **fields: Any) -> Snapshot:
    """Make a snapshot with all configurations; the brokers `more` have no replicas."""
    brokers = brokers_of(topics) | {broker: Broker(broker, f"broker-{broker}.example", 9092) for broker in more}
    made: dict[str, Any] = {
        "brokers": dict(sorted(brokers.items())),
        "broker_configs": {broker: BrokerConfig() for broker in brokers},
        "topic_configs": {topic: TopicConfig() for topic in topics},
        "log_dirs": tuple(log_dir(broker) for broker in sorted(brokers)),
    }
    return snapshot(topics, **{**made, **fields})


def without(seen: Snapshot, *down: int, gone: bool = False) -> Snapshot:
    """Make these brokers fenced, or gone."""
    changed = {one: replace(seen.brokers[one], fenced=not gone, gone=gone) for one in down}
    return replace(seen, brokers={**seen.brokers, **changed})


def log_dir(broker: int, path: str = "/data", usable: float = 1e15, used: float = 0.0, **more: Any) -> LogDir:
    """Make a log directory with much free space."""
    return replace(LogDir(broker, path, True, int(used), int(usable), int(usable + used)), **more)  # noqa: FBT003


def sized(replicas: Sequence[int], size: float, **more: Any) -> Partition:
    """Make a partition with this size on each of its brokers."""
    return Partition(replicas=replicas, end=1000, sizes=dict.fromkeys(replicas, int(size)), **more)


def rates(seen: Snapshot, by_topic: Mapping[str, float] | float = 0.0) -> Floats:
    if not isinstance(by_topic, Mapping):
        return np.full(len(seen.partitions), float(by_topic))
    return np.array([by_topic.get(seen.topics[topic], 0.0) for topic in seen.partitions.topic.tolist()])


def to(topic: str, partition: int, *replicas: int, log_dirs: Sequence[str | None] = ()) -> Target:
    return Target(topic, partition, replicas, tuple(log_dirs), f"partitions[{partition}] ({topic}-{partition})")


def plan(
    seen: Snapshot,
    *targets: Target,
    bytes_in: Mapping[str, float] | float = 0.0,
    deadline: float = HOUR,
    share: float | None = None,
    network: float | None = None,
    most_partitions: float = math.inf,
) -> MovePlan:
    goal = Goal(deadline, share, network)
    return plan_move(seen, targets, rates(seen, bytes_in), goal, most_partitions)


def measured(seen: Snapshot, bytes_in: Mapping[str, float] | float = 0.0) -> InboundMean:
    """Return the inbound rate measured over one poll interval."""
    first = step(None, replace(seen, clock=seen.clock - 10.0), rates(seen, math.nan))
    return step(first, seen, rates(seen, bytes_in))
