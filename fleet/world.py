"""A cluster at one moment. All other modules of this package change it or read it."""

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from fleet.growth import Plan
from fleet.made import Creation
from fleet.settings import DAY, Settings
from fleet.topology import Cluster, Topic, per_partition
from fleet.truth import Truth
from kafka_warden.model import Bools, Floats, Ints, Longs

NO_REPLICA: Final = -1
"""No leader, no broker in a slot."""


@dataclass(frozen=True, slots=True)
class Down:
    """A time during which a broker is down. Unix seconds."""

    broker: int
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Held:
    """Slow or stopped fetches of all replicas of a broker, or of one replica. Unix seconds."""

    broker: int
    began: float
    ended: float
    share: float
    """Share of the inbound rate that it still fetches."""
    topic: str | None = None
    partition: int = 0


@dataclass(frozen=True, slots=True)
class Burst:
    """A burst: additional records to one topic."""

    topic: str
    began: float
    ended: float
    records: float
    """Per second, to each partition."""


@dataclass(slots=True)
class World:
    """P partitions, sorted by topic name and number, and W slots for the replicas of each; the last is for a move.

    Ends are records, as whole numbers in floats; sizes follow from them. `at` is where each replica's log ends.
    """

    settings: Settings
    cluster: Cluster
    plan: Plan
    truth: Truth
    now: float
    topics: tuple[Topic, ...]
    topic: Ints
    number: Ints
    lead: Ints
    """(P,) slot of the leader, `NO_REPLICA` without one."""
    epoch: Ints
    end: Floats
    """(P,) of the leader's log."""
    start: Longs
    rate: Floats
    """(P,) produced, bytes per second."""
    noise: Floats
    """(P,) logarithm of the noise of the produce rate; equal for all partitions of a topic."""
    broker: Ints
    """(P, W)"""
    isr: Bools
    adding: Bools
    removing: Bools
    at: Floats
    caught_at: Floats
    """(P, W) Unix time at which it was last caught up."""
    sized: Longs
    """(P, W) last size that its broker reported, -1 before."""
    sized_at: Floats
    up: Bools
    """(B + 1,) by broker id."""
    returned_at: Floats
    """(B + 1,) Unix time since which a broker runs."""
    refused: Longs
    """(B + 1,) requests that a broker did not answer."""
    answered_at: Floats
    """(B + 1,) Unix time of its last answer, 0 before."""
    counted: dict[str, Floats]
    """Values (B + 1,) by name of a counter bean."""
    catching_up: Floats
    """(B + 1, 2) bytes a second that adding replicas copy from, and to, each broker."""
    downs: list[Down] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    bursts: list[Burst] = field(default_factory=list)
    tokens: float = 22.0
    """Tokens of the client that creates topics, KIP-599."""
    made: int = 0
    """Topics that were created so far."""

    @property
    def partitions(self) -> int:
        """P."""
        return len(self.topic)

    @property
    def record(self) -> Floats:
        """(P,) bytes of one record."""
        return per_partition(self.topics, self.topic, "record")

    def rows(self, topic: str) -> Longs:
        """List the rows of one topic."""
        names = [each.name for each in self.topics]
        return np.flatnonzero(self.topic == names.index(topic)) if topic in names else np.zeros(0, np.int64)

    def row(self, topic: str, number: int) -> int:
        """Find the row of one partition."""
        rows = self.rows(topic)
        return int(rows[self.number[rows] == number][0])

    def leading(self) -> Bools:
        """(P, W) slots that lead."""
        width = np.arange(self.broker.shape[1])
        found: Bools = (self.lead[:, None] == width[None, :]) & (self.lead[:, None] >= 0)
        return found

    def leaders(self) -> Ints:
        """(P,) broker ids of leaders, `NO_REPLICA` without one."""
        return np.where(self.lead >= 0, self.broker[np.arange(self.partitions), self.lead], NO_REPLICA).astype(np.int32)

    def alive(self) -> Bools:
        """(P, W) slots whose broker runs."""
        found: Bools = (self.broker > 0) & self.up[np.maximum(self.broker, 0)]
        return found

    def sizes(self) -> Floats:
        """(P, W) bytes of each local log; a compacted one is repeatedly cleaned down to a quarter of a day."""
        kept = np.maximum(self.at - self.start[:, None], 0) * self.record[:, None]
        compacted = per_partition(self.topics, self.topic, "compacted")[:, None] > 0
        bottom = 21_600 * per_partition(self.topics, self.topic, "bytes_in")[:, None]
        return np.where(compacted, np.where(kept > bottom, bottom + kept % (bottom / 4 + 1), kept), kept)


COUNTERS: Final = (
    "bytes_in_total",
    "bytes_out_total",
    "replication_bytes_in_total",
    "replication_bytes_out_total",
    "reassignment_bytes_in_total",
    "reassignment_bytes_out_total",
    "isr_shrinks_total",
    "isr_expands_total",
)


def make_world(settings: Settings, cluster: Cluster, plan: Plan) -> World:
    """Make a cluster as it is at the first poll: healthy, and with logs as old as their retention."""
    brokers, width = len(cluster.brokers) + 1, cluster.replication_factor + 1
    flat, wide = np.zeros(0), np.zeros((0, width))
    world = World(
        settings=settings,
        cluster=cluster,
        plan=plan,
        truth=Truth(cluster.id, growth=list(plan.growth)),
        now=settings.start,
        topics=(),
        topic=flat.astype(np.int32),
        number=flat.astype(np.int32),
        lead=flat.astype(np.int32),
        epoch=flat.astype(np.int32),
        end=flat,
        start=flat.astype(np.int64),
        rate=flat,
        noise=flat,
        broker=wide.astype(np.int32),
        isr=wide.astype(bool),
        adding=wide.astype(bool),
        removing=wide.astype(bool),
        at=wide,
        caught_at=wide,
        sized=wide.astype(np.int64),
        sized_at=wide,
        up=np.ones(brokers, bool),
        returned_at=np.full(brokers, settings.start - 30 * DAY),
        refused=np.zeros(brokers, np.int64),
        answered_at=np.zeros(brokers),
        catching_up=np.zeros((brokers, 2)),
        counted={name: np.zeros(brokers) for name in COUNTERS},
    )
    for creation in plan.creations:
        if creation.at <= 0:
            add_topic(world, creation, settings.start)
    return world


FLAT: Final = ("number", "lead", "epoch", "end", "start", "rate", "noise")
WIDE: Final = ("broker", "isr", "adding", "removing", "at", "caught_at", "sized", "sized_at")


def add_topic(world: World, creation: Creation, now: float) -> None:
    """Make a topic; topics of the first day already have logs."""
    topic, count = creation.topic, creation.topic.partitions
    names = sorted([*world.topics, topic], key=lambda each: each.name)
    place = names.index(topic)
    width = world.broker.shape[1]
    old = creation.at <= 0
    kept = (topic.retention if math.isfinite(topic.retention) else DAY) if old else 0.0
    end = np.full(count, float(round(kept * topic.bytes_in / topic.record)))
    new: dict[str, np.ndarray] = {
        "number": np.arange(count),
        "lead": np.zeros(count),
        "epoch": np.zeros(count),
        "end": end,
        "start": np.zeros(count),
        "rate": np.zeros(count),
        "noise": np.zeros(count),
        "broker": np.concatenate((creation.replicas, np.full((count, 1), NO_REPLICA)), axis=1),
        "isr": np.broadcast_to(np.arange(width) < width - 1, (count, width)),
        "adding": np.zeros((count, width)),
        "removing": np.zeros((count, width)),
        "at": np.broadcast_to(end[:, None], (count, width)),
        "caught_at": np.full((count, width), now),
        "sized": np.full((count, width), -1),
        "sized_at": np.zeros((count, width)),
    }
    shifted = world.topic + (world.topic >= place)
    before = int(np.searchsorted(shifted, place))
    world.topics = tuple(names)
    world.topic = np.insert(shifted, before, np.full(count, place)).astype(np.int32)
    for name, values in new.items():
        present = getattr(world, name)
        joined = np.concatenate((present[:before], values.astype(present.dtype), present[before:]))
        setattr(world, name, joined)
    world.made += 1
