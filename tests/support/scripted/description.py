"""The cluster that the scripted brokers describe: plain data, with offsets that advance by a rate."""

import ssl
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LATEST, LATEST_TIERED = -1, -5
"""Timestamps of ListOffsets; other negative ones ask for the start of a log here, and positive ones are times."""


@dataclass(slots=True)
class Topic:
    """One topic. Lists have one entry per partition; all partitions have the same rate and the same offsets."""

    name: str
    replicas: list[list[int]]
    isr: list[list[int]] = field(default_factory=list)
    """As `replicas` where it is not given."""
    leaders: dict[int, int] = field(default_factory=dict)
    """Partition to its leader, where that is not the first replica in the ISR."""
    epochs: dict[int, int] = field(default_factory=dict)
    """Partition to its leader epoch, 0 for all others."""
    elr: dict[int, list[int]] = field(default_factory=dict)
    """Partition to its eligible leader replicas."""
    last_known_elr: dict[int, list[int]] = field(default_factory=dict)
    start: int = 0
    end: int = 0
    """The log's end offset at time 0."""
    rate: float = 0.0
    """Messages per second."""
    message_bytes: int = 100
    lag: dict[int, int] = field(default_factory=dict)
    """Messages by which a broker's copies are behind the leader."""
    moves: dict[int, dict[str, list[int]]] = field(default_factory=dict)
    """Reassignments: partition to `adding` and `removing`."""
    config: dict[str, str] = field(default_factory=dict)
    tiered: int = -1
    """The highest offset in remote storage, -1 for none."""
    due: int = -1
    """The first offset of any time that is asked for, -1 where all records are earlier."""
    config_error: int = 0
    """The error code of its configuration."""
    listed: bool = True
    """Whether the metadata has it; its logs stay."""
    deleted: bool = False
    """Whether a topic that is not listed does not exist, instead of being hidden."""
    logged: bool = True
    """Whether log directories have it."""

    def __post_init__(self) -> None:
        """Fill in what follows from the rest, and turn the keys of JSON objects back into numbers."""
        self.isr = self.isr or [list(replicas) for replicas in self.replicas]
        for name in ("lag", "epochs", "moves", "elr", "last_known_elr"):
            setattr(self, name, {int(key): value for key, value in getattr(self, name).items()})

    @property
    def id(self) -> uuid.UUID:
        """The topic id, the same in every run."""
        return uuid.uuid5(uuid.NAMESPACE_DNS, self.name)

    def leader(self, partition: int) -> int:
        if partition in self.leaders:
            return self.leaders[partition]
        return next((broker for broker in self.replicas[partition] if broker in self.isr[partition]), -1)

    def behind(self, broker: int, partition: int) -> int:
        """Return the messages by which a broker's copy is behind; a leader's never is."""
        return 0 if self.leader(partition) == broker else self.lag.get(broker, 0)


@dataclass(slots=True)
class Broker:
    """One broker, as the metadata shows it. `config` are its own dynamic values."""

    id: int
    port: int = 0
    host: str = "127.0.0.1"
    advertised: tuple[str, int] | None = None
    """The address in the metadata, where it is not the own one."""
    fenced: bool = False
    listener: bool = True
    """Whether it has the listener over which the metadata is asked."""
    config: dict[str, str] = field(default_factory=dict)
    certificate: str = ""
    """PEM files of a certificate and its key, for a port that speaks TLS."""
    key: str = ""
    client_ca: str = ""
    """PEM file of the authority whose client certificates are required."""
    offline: list[str] = field(default_factory=list)
    """Log directories that are offline, besides the one that has all logs."""

    def address(self) -> tuple[str, int]:
        host, port = self.advertised or (self.host, self.port)
        return host, port

    def tls(self) -> ssl.SSLContext | None:
        """Make the context of the port, `None` for a port without TLS."""
        if not self.certificate:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        if self.client_ca:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.client_ca)
        return context


class Description:
    """Brokers, topics and the rest. `revision` grows with every change, so that encoded replies can be kept."""

    def __init__(self) -> None:
        self.cluster_id = "scripted-cluster-00001"
        self.controller = 100
        """The one that is active."""
        self.controller_epoch = 1
        self.zookeeper: int | None = None
        """In ZooKeeper mode, the broker that is the active controller, -1 for none."""
        self.brokers: dict[int, Broker] = {}
        self.controllers: dict[int, Broker] = {}
        self.topics: dict[str, Topic] = {}
        self.quotas: list[dict[str, Any]] = []
        """Each with `entity` (type to name, None for the default) and `values` (key to number)."""
        self.denied: set[str] = set()
        """Rights that the clients lack: `cluster_` or `topic_` and `describe`, `configs` or `write`."""
        self.skew: float | None = None
        """Seconds by which the active controller's clock is ahead; `None` where it does not report its time."""
        self.quorum_ages: dict[int, float] = {}
        """Broker to the seconds since it caught up with the active controller; only these are reported."""
        self.images: dict[int, Description] = {}
        """Brokers that are cut off from the controllers, with the cluster as they know it."""
        self.revision = 0
        self._first: dict[str, int] = {}
        self._start, self._end, self._bytes, self._tiered, self._due = (np.zeros(0, np.int64) for _ in range(5))
        self._rate: Floats = np.zeros(0)

    def image(self, broker: int) -> "Description":
        """Return the cluster as a broker knows it."""
        return self.images.get(broker, self)

    def add_topics(self, topics: Iterable[Topic]) -> None:
        self.topics |= {topic.name: topic for topic in topics}
        self.index()

    def index(self) -> None:
        """Make the columns of partitions, in the order of the topics."""
        self.revision += 1
        topics = list(self.topics.values())
        counts = [len(topic.replicas) for topic in topics]
        firsts = np.cumsum([0, *counts])
        self._first = {topic.name: int(first) for topic, first in zip(topics, firsts, strict=False)}

        def column(name: str, kind: type) -> Any:
            return np.repeat(np.array([getattr(topic, name) for topic in topics], dtype=kind), counts)

        self._start, self._end = column("start", np.int64), column("end", np.int64)
        self._bytes, self._tiered = column("message_bytes", np.int64), column("tiered", np.int64)
        self._due = column("due", np.int64)
        self._rate = column("rate", np.float64)

    def row(self, topic: str, partition: int) -> int:
        known = self.topics.get(topic)
        return self._first[topic] + partition if known and 0 <= partition < len(known.replicas) else -1

    def offsets(self, rows: Longs, lags: Longs, timestamp: int, now: float) -> Longs:
        """Offsets of some partitions.

        Args:
            rows: their indexes in the columns.
            lags: messages by which the broker that is asked is behind.
            timestamp: of the ListOffsets request.
            now: seconds.
        """
        if timestamp != LATEST:
            columns = {LATEST_TIERED: self._tiered}
            given: Longs = (self._due if timestamp > 0 else columns.get(timestamp, self._start))[rows]
            return given
        ends = self._end[rows] + np.floor(self._rate[rows] * now).astype(np.int64)
        held: Longs = np.maximum(ends - lags, self._start[rows])
        return held

    def sizes(self, rows: Longs, lags: Longs, now: float) -> Longs:
        """Bytes of the logs of some partitions; as `offsets` otherwise."""
        held: Longs = (self.offsets(rows, lags, LATEST, now) - self._start[rows]) * self._bytes[rows]
        return held


def spread(name: str, partitions: int, brokers: list[int], replicas: int, first: int = 0, **given: Any) -> Topic:
    """Make a topic whose partitions are spread evenly, the first of them from the broker at place `first`."""
    count = len(brokers)
    return Topic(
        name,
        [[brokers[(first + partition + copy) % count] for copy in range(replicas)] for partition in range(partitions)],
        **given,
    )
