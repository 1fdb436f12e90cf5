"""Brokers, topics and the assignment of their replicas."""

import base64
import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from fleet.settings import HOUR, Settings, chance
from kafka_warden.model import Floats, Ints

OFFSETS: Final = "__consumer_offsets"
NAMES: Final = (
    "orders", "payments", "clicks", "pageviews", "inventory", "shipments", "sessions", "audit", "metrics",
    "invoices", "emails", "searches", "returns", "prices", "accounts", "alerts", "logs", "trades",
)  # fmt: skip
CONTROLLERS: Final = (1001, 1002, 1003)
SKEW: Final = 1.1
"""Exponent of Zipf's law between a topic's rank and its produce rate."""

QUIET_EACH: Final = 5
"""One of this number of topics is quiet."""

QUIET: Final = 1 / 2000
"""Produce rate of such a topic, as a share of its rank's rate: a record from time to time."""

MIB: Final = 1 << 20

KEPT_BYTES: Final = 64 * MIB
"""Bytes that retention leaves in every log: more than the lag of followers in a burst."""


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic and its load. Bytes and seconds."""

    name: str
    id: bytes
    partitions: int
    bytes_in: float
    """Mean of one partition, bytes per second, on the first day."""
    record: int
    """Bytes of one record."""
    retention: float
    """Seconds; infinite where nothing is deleted."""
    phase: float
    """Seconds by which its daily cycle is shifted."""
    swing: float
    """Amplitude of its daily cycle, as a share of its mean."""
    compacted: bool = False

    @property
    def segment(self) -> int:
        """Bytes of one segment of its logs."""
        held = self.bytes_in * (self.retention if math.isfinite(self.retention) else 24 * HOUR)
        return int(min(max(held / 20, MIB), 1 << 30))


@dataclass(frozen=True, slots=True)
class Cluster:
    """The constant part of a cluster."""

    number: int
    id: str
    brokers: Ints
    """(B,) ids, from 1."""
    racks: tuple[str, ...]
    replication_factor: int


def make_cluster(settings: Settings, number: int) -> Cluster:
    """Make the brokers of one cluster, distributed over racks."""
    racks = tuple(f"rack-{chr(ord('a') + index % settings.racks % 26)}" for index in range(settings.brokers))
    brokers = np.arange(1, settings.brokers + 1, dtype=np.int32)
    return Cluster(number, _id(settings, number, "cluster"), brokers, racks, settings.replication_factor)


def make_topics(settings: Settings, number: int) -> tuple[Topic, ...]:
    """Make topics of skewed sizes with this number of partitions in total, including `__consumer_offsets`."""
    luck = chance(settings, number, "topics")
    left, sizes = settings.partitions, list[int]()
    offsets = max(settings.partitions // 20, 1) if settings.partitions > 1 else 0
    left -= offsets
    typical = max(settings.partitions / 12, 1)
    while left > 0:
        sizes.append(min(left, max(int(luck.geometric(1 / typical)), 1)))
        left -= sizes[-1]
    weights = np.arange(1, len(sizes) + 1) ** -SKEW
    weights *= settings.partitions / float((weights * sizes).sum())
    weights[QUIET_EACH - 1 :: QUIET_EACH] *= QUIET
    made = [draw_topic(settings, number, index, size, float(weights[index])) for index, size in enumerate(sizes)]
    if offsets:
        made.append(
            Topic(OFFSETS, _topic_id(settings, number, OFFSETS), offsets, 2000.0, 120, math.inf, 0, 0.3, compacted=True)
        )
    return tuple(made)


def draw_topic(settings: Settings, number: int, index: int, partitions: int, weight: float) -> Topic:
    """Draw the load of a topic; `weight` is the produce rate of a partition of it, as a multiple of the mean."""
    luck = chance(settings, number, f"topic {index}")
    name = f"{NAMES[index % len(NAMES)]}-{index // len(NAMES) + 1:04d}"
    return Topic(
        name=name,
        id=_topic_id(settings, number, name),
        partitions=partitions,
        bytes_in=settings.bytes_in * weight,
        record=int(luck.integers(100, 1500)),
        retention=float(luck.choice([6, 12, 24, 48])) * HOUR,
        phase=float(luck.normal(0, 1.5)) * HOUR,
        swing=float(luck.uniform(0.3, 0.7)),
    )


def place(cluster: Cluster, first: int, partitions: int) -> Ints:
    """Spread partitions over brokers by turns, replicas of one over racks where there are enough: (partitions, RF) ids.

    `first` is the number of partitions that were placed before.
    """
    count, racks, factor = len(cluster.brokers), len(set(cluster.racks)), cluster.replication_factor
    rows, step = np.arange(first, first + partitions)[:, None], np.arange(factor)[None, :]
    # The distance of followers grows with every round, so the leaders of a dead broker go to several brokers.
    shift = racks * (rows // count % ((count - factor) // racks + 1))
    chosen: Ints = cluster.brokers[(rows + step + np.where(step > 0, shift, 0)) % count]
    return chosen


def per_partition(topics: tuple[Topic, ...], topic: Ints, field: str) -> Floats:
    """(P,) the numeric field of the topic of each partition."""
    return np.array([float(getattr(each, field)) for each in topics])[topic]


def _topic_id(settings: Settings, number: int, name: str) -> bytes:
    return chance(settings, number, f"id {name}").bytes(16)


def _id(settings: Settings, number: int, name: str) -> str:
    return base64.urlsafe_b64encode(chance(settings, number, name).bytes(16)).decode().rstrip("=")
