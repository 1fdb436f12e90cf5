"""Asking questions within one poll, noting their outcomes, and what all polls share."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import numpy as np
import structlog

from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.network import Network
from kafka_warden.errors import (
    AnswerTimeoutError,
    ForbiddenRequestError,
    OtherClusterError,
    PollAbandonedError,
    ProtocolError,
    RefusedError,
    ReplacedControllerError,
    SourceError,
    TokenError,
    UnsupportedError,
)
from kafka_warden.model import NO_BROKER, UNKNOWN, Bools, Broker, Longs, OptionalQuestion, Source
from kafka_warden.poller.answers import LastAnswers
from kafka_warden.poller.links import Images, Links
from kafka_warden.poller.status import StatusBook
from kafka_warden.poller.tables import mark_moves, partition_rows
from kafka_warden.replies import ControllerWindow
from kafka_warden.sources.cluster import EligibleLeaders
from kafka_warden.sources.metadata import Layout

SHARE: Final = 0.4
"""Share of the deadline for one question that others wait for, and for a broker that did not answer last time."""

HEDGE: Final = 0.15
"""Share of the deadline without an answer after which a question about the cluster goes to another broker, too."""

log = structlog.get_logger(__name__)

T = TypeVar("T")
Read = Callable[[BrokerLink, float], Coroutine[Any, Any, T]]
"""A question: asks over a link until a monotonic time, returns the parsed answer or raises a `SourceError`."""


SLOW: Final = 60.0
"""Seconds between questions about what changes rarely: quotas, configurations of what is at rest."""


@dataclass(frozen=True, slots=True)
class PollerSettings:
    """How often and how long to ask. Seconds."""

    interval: float = 10.0
    deadline: float = 5.0
    log_dirs: float = 60.0
    slow: float = SLOW
    controller_window: ControllerWindow | None = None
    """As configured, for a controller whose own listener cannot be read."""
    controllers: tuple[tuple[str, int], ...] = ()
    """Listeners of controllers as `(host, port)`, where DescribeQuorum does not name them (before Kafka 3.9)."""
    disabled: frozenset[OptionalQuestion] = frozenset()
    """Questions that are not asked."""


@dataclass(slots=True)
class PollerState:
    """What all polls share."""

    network: Network
    links: Links
    answers: LastAnswers
    book: StatusBook
    settings: PollerSettings
    images: Images = field(default_factory=Images)
    lead: int | None = None
    """The broker that answered the last question for the metadata."""
    window_of: int | None = None
    """The active controller when the quota window was asked for last."""
    replaced: int = 0
    """Polls in which all brokers that answered named an older controller, since the last one in which one did not."""

    @property
    def active(self) -> dict[int, Broker]:
        """The brokers that the cluster lists as active."""
        return {id_: broker for id_, broker in self.answers.brokers.items() if broker.active}

    def forget(self, broker: int) -> None:
        """Drop what belongs to a broker that the cluster no longer knows."""
        self.links.forget(broker)
        self.book.forget([str(broker)])


@dataclass(slots=True)
class SourceOutcome:
    """How one source at one broker fared in one poll."""

    duration: float = 0.0
    """Seconds of all its questions."""
    answered_at: float = 0.0
    """Unix time."""
    fault: SourceError | None = None
    """Of the first question that failed."""


@dataclass(slots=True)
class Reach:
    """What answered in one poll; `None` where that is not known."""

    reached: bool | None = None
    """Whether a broker that was asked is there."""
    no_token: bool = False
    """Whether a connection was not made since there was no token or ticket for it."""
    controller: bool | None = None
    """Whether the active controller answered a request that brokers forwarded to it, in the last poll that asked. False
    where brokers that answer other requests timed out."""

    fenced: dict[int, bool] = field(default_factory=dict)
    """By broker that is fenced, whether it answers for its API versions."""

    @property
    def cluster(self) -> bool | None:
        """Whether a broker answered anything or refused access. False where all were refused or timed out.

        Without a token a session that ends looks as if the broker had closed it, and no other connection is tried.
        """
        return None if self.no_token and not self.reached else self.reached

    def note(self, fault: SourceError | None, *, answered: bool = False) -> None:
        """Note the outcome of an attempt, and whether the process answered anything meanwhile."""
        self.no_token |= isinstance(fault, TokenError)
        answered &= not isinstance(fault, OtherClusterError)
        reached = fault is None or answered or fault.reached
        if reached is not None:
            self.reached = self.reached or reached


@dataclass(slots=True)
class PollContext:
    """One poll over the Kafka protocol. `clock` and `deadline_at` are monotonic seconds."""

    state: PollerState
    clock: float
    deadline_at: float
    tasks: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup)
    """Every task of the poll."""
    lead: BrokerLink | None = None
    """The link over which the metadata came."""
    answered: list[BrokerLink] = field(default_factory=list)
    """Links over which brokers answered for their offsets, the fastest first: questions about the cluster go there.
    None of a broker whose image of the metadata is old."""
    forwarding: list[BrokerLink] = field(default_factory=list)
    """The lead, then as `answered`: a lead that cannot forward while another broker can has lost its controllers."""
    forwarded: list[bool | None] = field(default_factory=list)
    """Of each request to the active controller, whether it was answered; `None` for an error that is no time-out."""
    cut_off: bool = False
    """Whether a request to it over the link of the lead timed out."""
    layout: Layout | None = None
    zookeeper: bool = False
    """Whether the cluster is in ZooKeeper mode."""
    controller: int | None = None
    """Id of the active controller in ZooKeeper mode, a broker."""
    ends: Longs = field(init=False)
    """(R,) as answered in this poll; so are these four:"""
    tiered: Longs = field(init=False)
    """Of leaders with remote storage: the highest offset there."""
    sizes: Longs = field(init=False)
    starts: Longs = field(init=False)
    """Of local logs, asked just before the sizes; and again just after them:"""
    starts_after: Longs = field(init=False)
    eligible: EligibleLeaders = field(default_factory=dict)
    """Who may lead the partitions without a leader, as answered in this poll."""
    followers_at: dict[int, float] = field(default_factory=dict)
    """Broker to when it answered for the ends of what it follows."""
    leaders_asked_at: dict[int, float] = field(default_factory=dict)
    """Broker to when it was asked for the ends of what it leads."""
    offsets_at: dict[int, float] = field(default_factory=dict)
    """Broker to when it answered for the ends of what it leads."""
    outcomes: dict[tuple[Source, str], SourceOutcome] = field(default_factory=dict)
    reach: Reach = field(default_factory=Reach)
    _watched: Bools | None = None

    def __post_init__(self) -> None:
        self.make_columns(0)

    def make_columns(self, replicas: int) -> None:
        """Make the columns of the answers, of which none is known yet."""
        columns = (np.full(replicas, UNKNOWN, np.int64) for _ in range(5))
        self.ends, self.tiered, self.sizes, self.starts, self.starts_after = columns

    def now(self) -> float:
        """Return the monotonic time."""
        return self.state.network.clock.monotonic()

    async def ask(self, source: Source, broker: str, link: BrokerLink, read: Read[T], until: float) -> T | None:
        """Ask one question and note its outcome; `None` when it was not answered."""
        started = self.now()
        return self.note(source, broker, started, await self.attempt(link, read, until))

    async def ask_any(
        self, source: Source, candidates: Sequence[BrokerLink], read: Read[T], most: int | None = None
    ) -> T | None:
        """Ask one broker after the other for the same until one answers, and note one outcome.

        The next one is asked when the one before fails or has not answered for a while. An answer that comes later is
        waited for by the poll, not by the caller. `candidates` has the best first and may grow meanwhile. `most` limits
        how many are asked, without those that do not know the request, or the active controller.
        """
        started, asked = self.now(), 0
        pending: set[asyncio.Task[T | SourceError]] = set()
        fault: SourceError | None = None
        if candidates and started >= self.deadline_at:
            fault = AnswerTimeoutError("the deadline of the poll passed before this question was asked")
        while True:
            more = asked < len(candidates) and asked != most and self.now() < self.deadline_at
            if more:
                pending.add(self.tasks.create_task(self.attempt(candidates[asked], read, self.soon())))
                asked += 1
            elif not pending:
                return self.note(source, NO_BROKER, started, fault or RefusedError("no broker can be asked"))
            hedge = HEDGE * (self.deadline_at - self.clock)
            done, pending = await asyncio.wait(pending, timeout=hedge, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                result = task.result()
                if not isinstance(result, SourceError):
                    return self.note(source, NO_BROKER, started, result)
                if not isinstance(result, UnsupportedError | ReplacedControllerError):
                    fault = fault if isinstance(fault, OtherClusterError) else result
                else:
                    fault, most = fault or result, most and most + 1

    async def attempt(self, link: BrokerLink, read: Read[T], until: float) -> T | SourceError:
        """Ask one question over one link; return the answer, or why there is none."""
        links = self.state.links
        if links.closed:
            raise PollAbandonedError("the exporter is stopping")
        fault: SourceError | None = links.refused(link, self.now())
        if fault is not None:
            self.reach.note(fault)
            return fault
        try:
            answer = await read(link, until)
        except SourceError as error:
            fault = error
        except ForbiddenRequestError:
            raise
        except Exception as error:
            # A reply that is not as the protocol says: an error of one source, not the end of a poll.
            log.exception("a reply of an unexpected shape", address=link.address)
            fault = ProtocolError(f"{link.address}: a reply of an unexpected shape: {error!r}")
        links.note(link, fault, self.now())
        self.reach.note(fault, answered=link.answered_at >= self.clock)
        return answer if fault is None else _without_frames(fault)

    def note(self, source: Source, broker: str, started: float, answer: T | SourceError) -> T | None:
        """Note the outcome of a question that was asked at a monotonic time; return the answer, if it is one."""
        outcome = self.outcomes.setdefault((source, broker), SourceOutcome())
        outcome.duration += self.now() - started
        if isinstance(answer, SourceError):
            outcome.fault = outcome.fault or answer
            return None
        outcome.answered_at = self.state.network.clock.time()
        return answer

    def publish(self) -> None:
        """Write the outcomes of this poll to the book: one for each source and broker.

        Failures first: where one broker answers a question and another refuses it, both for the first time, the rights
        are on their way to the brokers, and the next poll shows.
        """
        book, answered = self.state.book, []
        for key, outcome in self.outcomes.items():
            if outcome.fault is None:
                answered.append((key, outcome))
            else:
                book.failed(*key, outcome.duration, outcome.fault, self.clock)
        for key, outcome in answered:
            book.answered(*key, outcome.duration, outcome.answered_at)

    def wants(self, optional: OptionalQuestion, broker: object = NO_BROKER) -> bool:
        """Return whether to ask a question that the exporter can do without: not while it is not available."""
        disabled = optional in self.state.settings.disabled
        return self.state.book.due(optional, str(broker), self.clock, disabled=disabled)

    def due(self, question: object) -> bool:
        """Return whether a question about what changes rarely is due."""
        return self.state.answers.due(question, self.state.settings.slow, self.clock)

    def soon(self) -> float:
        """Return when to give up a question that others wait for."""
        return min(self.deadline_at, self.now() + SHARE * (self.deadline_at - self.clock))

    def watched(self, layout: Layout) -> Bools:
        """Mark replicas that move, also between log directories, or whose topic has a throttle list. Once a poll."""
        if self._watched is None:
            self._watched = watched_replicas(layout, self.state.answers)
        return self._watched


async def wait_for(event: asyncio.Event, until: float) -> None:
    """Wait for an event, but no longer than until a monotonic time."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout_at(until):
            await event.wait()


def _without_frames(fault: SourceError) -> SourceError:
    """Drop the frames that an error refers to: kept for a minute, it would keep a closed connection with it."""
    fault.__context__ = fault.__cause__ = None
    return fault.with_traceback(None)


def watched_replicas(layout: Layout, answers: LastAnswers) -> Bools:
    """Mark replicas as `PollContext.watched` does."""
    listed = [
        index
        for index, name in enumerate(layout.topics)
        if (config := answers.topic_configs.get(name)) and (config.leader_throttled or config.follower_throttled)
    ]
    reassigning, _, _ = mark_moves(layout, answers.reassignments)
    partitions = np.isin(layout.topic, listed) | reassigning
    between_dirs = {(moving.topic, moving.partition) for futures in answers.future.values() for moving in futures}
    partitions[list(partition_rows(layout, between_dirs).values())] = True
    watched: Bools = partitions[layout.partition]
    return watched
