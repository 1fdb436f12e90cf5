"""The values of bulk history, for many replicas at once."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from fleet.evaluated import run_name
from fleet.settings import DAY, Settings, chance
from fleet.simulation import CLOCK
from fleet.topology import Topic, make_cluster, make_topics, place
from kafka_warden.history.parquet.folder import SECONDS
from kafka_warden.model import Bools, Floats, Ints, Longs

BULK: Final = "bulk-"
"""Start of the ids of such clusters."""

TROUBLED: Final = 0.02
"""Replicas that are behind for a part of an hour."""

LATENCY: Final = 0.1
"""Seconds by which healthy followers are behind, at most."""

LATE: Final = 30.0
"""`replica.lag.time.max.ms`, seconds."""


@dataclass(frozen=True, slots=True)
class BulkCluster:
    """One cluster. P partitions, R replicas, partition by partition."""

    cluster: int
    id: str
    run: str
    brokers: Ints
    racks: tuple[str, ...]
    topics: tuple[Topic, ...]
    topic: Ints
    """(P,)"""
    number: Ints
    rate: Floats
    """(P,) bytes per second, the mean."""
    record: Floats
    replicas: Ints
    """(P, RF) broker ids; the first one leads."""


@dataclass(frozen=True, slots=True)
class Block:
    """Polls that go into one file. K polls; the rest is as wide as the bulk."""

    bulk: BulkCluster
    polls: range
    time: Floats
    """(K,)"""
    clock: Floats
    end: Longs
    """(K, P) of the leaders' logs."""
    rate: Floats
    """(K, P) bytes per second."""
    lag: Longs
    """(K, P, RF) messages."""
    behind: Floats
    """(K, P, RF) seconds."""

    @property
    def late(self) -> Bools:
        """(K, P, RF) replicas that are behind for longer than their leader allows."""
        found: Bools = self.behind > LATE
        return found


def make_bulk_cluster(settings: Settings, number: int) -> BulkCluster:
    """Make one cluster."""
    cluster, topics = make_cluster(settings, number), make_topics(settings, number)
    sizes = [topic.partitions for topic in topics]
    topic = np.repeat(np.arange(len(topics)), sizes).astype(np.int32)
    identity = f"{BULK}{cluster.id}"
    return BulkCluster(
        cluster=number,
        id=identity,
        run=run_name(f"{settings.seed}/{identity}", 0),
        brokers=cluster.brokers,
        racks=cluster.racks,
        topics=topics,
        topic=topic,
        number=np.concatenate([np.arange(size) for size in sizes]).astype(np.int32),
        rate=np.array([each.bytes_in for each in topics])[topic],
        record=np.array([float(each.record) for each in topics])[topic],
        replicas=place(cluster, 0, sum(sizes)),
    )


def make_block(settings: Settings, bulk: BulkCluster, hour: int, polls: range) -> Block:
    """Make the values of some polls of an hour, given by its first poll; lags are drawn per hour, not per block."""
    shape = bulk.replicas.shape
    luck = chance(settings, bulk.cluster, f"hour {hour}")
    troubled = luck.random(shape) < TROUBLED
    troubled[:, 0] = False
    edge = settings.start + hour * settings.interval
    began = edge + luck.uniform(0, 0.5 * SECONDS, shape)
    ended = began + luck.uniform(0, 0.5 * SECONDS, shape)
    time = settings.start + np.array(polls) * settings.interval
    turn = 2 * math.pi * (time - settings.start) / DAY
    rate = bulk.rate * (1.0 + 0.5 * np.sin(turn))[:, None]
    appended = bulk.rate / bulk.record
    passed = DAY + time - settings.start + 0.5 * DAY / (2 * math.pi) * (1.0 - np.cos(turn))
    end = np.floor(appended * passed[:, None]).astype(np.int64)
    here = troubled & (began <= time[:, None, None]) & (time[:, None, None] < ended)
    behind = np.where(here, time[:, None, None] - began, 0.0)
    noise = chance(settings, bulk.cluster, f"poll {polls.start}").random((len(polls), *shape), dtype=np.float32)
    lacks = np.where(here, behind, noise * LATENCY) * (rate / bulk.record)[:, :, None]
    lag = np.minimum(lacks.astype(np.int64), end[:, :, None])
    lag[:, :, 0] = 0
    clock = CLOCK + time - settings.start
    return Block(bulk, polls, time, clock, end, rate, lag, behind)
