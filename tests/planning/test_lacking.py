"""Bytes that a new replica copies: the local log of the leader, or what of it is not in remote storage (KIP-1023)."""

import pytest

from kafka_warden.model import NOTHING_TIERED, UNKNOWN, BrokerConfig, TopicConfig
from kafka_warden.planning.findings import warnings
from kafka_warden.planning.plan import MovePlan
from tests.building import Partition
from tests.support.planned import GB, cluster, plan, to

REMOTE = TopicConfig(remote_storage=True)
SKIPS = BrokerConfig(follower_fetch_last_tiered=True)


def moved(partition: Partition, topic: TopicConfig = REMOTE, broker: BrokerConfig = SKIPS) -> MovePlan:
    """Move a partition with 1000 local offsets of 1 MB, 1000 to 2000, from brokers 1 and 2 to 3 and 2."""
    configs = {1: BrokerConfig(), 2: BrokerConfig(), 3: broker}
    seen = cluster({"t": [partition]}, more=[3], topic_configs={"t": topic}, broker_configs=configs)
    return plan(seen, to("t", 0, 3, 2))


def local(**more: object) -> Partition:
    """Offsets below 1000 are in remote storage only, and those below 1750 there, too."""
    made = {"replicas": (1, 2), "start": 1000, "end": 2000, "tiered": 1749, "sizes": {1: GB, 2: GB}, **more}
    return Partition(**made)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("why", "partition", "topic", "broker", "share"),
    [
        ("a quarter is not in remote storage", local(), REMOTE, SKIPS, 0.25),
        ("by default all of the local log is copied", local(), REMOTE, BrokerConfig(), 1),
        ("a topic without remote storage", local(tiered=UNKNOWN), TopicConfig(), SKIPS, 1),
        ("a compacted topic", local(), TopicConfig(remote_storage=True, compacted=True), SKIPS, 1),
        ("nothing is in remote storage", local(tiered=NOTHING_TIERED), REMOTE, SKIPS, 1),
        ("that is unknown", local(tiered=UNKNOWN), REMOTE, SKIPS, 1),
        ("the leader has all: it answers for offset 0", local(start=0, tiered=1000), REMOTE, SKIPS, 1),
        ("only what is no longer local is there", local(tiered=800), REMOTE, SKIPS, 1),
        ("all of it is there", local(tiered=1999), REMOTE, SKIPS, 0),
    ],
)
def test_an_empty_follower_begins_behind_remote_storage(
    why: str, partition: Partition, topic: TopicConfig, broker: BrokerConfig, share: float
) -> None:
    """Bytes and disks of the plan; the new leader has little of the log then."""
    found = moved(partition, topic, broker)
    assert found.copied == share * GB, why
    (room,) = (each for each in found.rooms if each.broker == 3)
    assert room.disk.during == share * GB
    little = "t-0: the new preferred leader gets only what is not in remote storage"
    skips = broker is SKIPS and topic is REMOTE and partition.tiered >= 0 and partition.start > 0
    assert any(little in each for each in warnings(found)) is skips
