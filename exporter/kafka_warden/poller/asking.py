"""Asking one question and noting how it went, and what all questions of one poll share."""

import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import numpy as np
import structlog

from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.network import Network
from kafka_warden.errors import PollAbandonedError, ProtocolError, SourceError
from kafka_warden.model import Bools, Longs, Source
from kafka_warden.poller.links import Links
from kafka_warden.poller.memory import Cadence, Memory
from kafka_warden.poller.status import StatusBook
from kafka_warden.poller.tables import mark_moves, partition_rows
from kafka_warden.sources.metadata import Layout

PATIENCE: Final = 0.4
"""Share of the deadline for one question that others wait for, and for a broker that did not answer last time."""

BAD_REPLY: Final = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What parsing a reply raises that is not as the protocol says: one error of one source, not the end of a poll."""

log = structlog.get_logger(__name__)

T = TypeVar("T")
Read = Callable[[BrokerLink, float], Coroutine[Any, Any, T]]
"""A question: asks over a link until a monotonic time, returns the parsed answer or raises a `SourceError`."""


@dataclass(slots=True)
class Desk:
    """What all polls share."""

    network: Network
    links: Links
    memory: Memory
    book: StatusBook
    log_dirs_due: Cadence
    slow_due: Cadence
    controllers: tuple[tuple[str, int], ...] = ()
    """Listeners of controllers as configured, where DescribeQuorum does not tell them."""
    lead: int | None = None
    """The broker that answered the questions about the cluster last."""

    def forget(self, broker: int) -> None:
        """Drop what belongs to a broker that the cluster no longer knows."""
        self.links.forget(broker)
        self.book.forget([str(broker)])
        self.log_dirs_due.forget(broker)
        self.slow_due.forget(("broker", broker))


@dataclass(slots=True)
class Round:
    """One poll over the Kafka protocol. `clock` and `deadline_at` are monotonic seconds."""

    desk: Desk
    clock: float
    deadline_at: float
    lead: BrokerLink | None = None
    """The link over which the metadata came: questions about the cluster go there."""
    layout: Layout | None = None
    ends: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    tiered: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    """Per replica, of leaders with remote storage: the highest offset there."""
    told_at: dict[int, float] = field(default_factory=dict)
    """Broker to when it told the ends of what it follows."""
    asked_at: dict[int, float] = field(default_factory=dict)
    """Broker to when it was asked for the ends of what it leads."""
    offsets_at: dict[int, float] = field(default_factory=dict)
    """Broker to when it told the ends of what it leads."""
    faults: dict[tuple[Source, str], SourceError] = field(default_factory=dict)
    """Why questions of this poll were not answered."""
    _watched: Bools | None = None

    async def ask(self, source: Source, broker: str, link: BrokerLink, read: Read[T], until: float) -> T | None:
        """Ask one question and note how it went; `None` when it was not answered."""
        desk, started = self.desk, time.monotonic()
        if desk.links.closed:
            raise PollAbandonedError("the sidecar is stopping")
        fault: SourceError | None = desk.links.refused(link, started)
        answer: T | None = None
        if fault is None:
            try:
                answer = await read(link, until)
            except SourceError as error:
                fault = error
            except BAD_REPLY as error:
                log.exception("a reply of an unexpected shape", source=str(source), address=link.address)
                fault = ProtocolError(f"{link.address}: a reply of an unexpected shape: {error!r}")
            desk.links.note(link, fault, time.monotonic())
        took = time.monotonic() - started
        if fault is None:
            desk.book.answered(source, broker, took, time.time())
        else:
            self.faults[source, broker] = fault
            desk.book.failed(source, broker, took, fault)
        return answer

    def soon(self) -> float:
        """Return when to give up a question that others wait for."""
        return min(self.deadline_at, time.monotonic() + PATIENCE * (self.deadline_at - self.clock))

    def watched(self, layout: Layout) -> Bools:
        """Mark replicas that move, also between log directories, or whose topic has a throttle list. Once a poll."""
        if self._watched is None:
            self._watched = _watched(layout, self.desk.memory)
        return self._watched


def _watched(layout: Layout, memory: Memory) -> Bools:
    listed = [
        index
        for index, name in enumerate(layout.topics)
        if (config := memory.topic_configs.get(name)) and (config.leader_throttled or config.follower_throttled)
    ]
    reassigning, _, _ = mark_moves(layout, memory.reassignments)
    partitions = np.isin(layout.topic, listed) | reassigning
    between_dirs = {(moving.topic, moving.partition) for told in memory.future.values() for moving in told}
    partitions[partition_rows(layout, between_dirs)] = True
    watched: Bools = partitions[layout.partition]
    return watched
