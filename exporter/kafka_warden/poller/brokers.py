"""The questions about each broker's own replicas, asked of all brokers at once.

The order is that of docs/spec/lag.md#log-ends: all followers first, then all leaders, so that no follower seems to be
ahead. The second round waits for the first, but only briefly for a broker that hangs, and not at all for one that hung
before.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np

from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.errors import AnswerTimeoutError, FencedError, MisdirectedError, SourceError
from kafka_warden.model import UNKNOWN, UNLIMITED, Broker, BrokerConfig, Floats, Longs, OptionalQuestion, Source
from kafka_warden.poller.answers import ALL_LOGS
from kafka_warden.poller.asking import PollContext, wait_for
from kafka_warden.poller.tables import Rows, log_gaps
from kafka_warden.sources.configs import read_broker_config
from kafka_warden.sources.log_dirs import LogDirs, read_log_dirs
from kafka_warden.sources.metadata import Layout, shared_addresses
from kafka_warden.sources.offsets import RowIndex, index_rows, read_copy_due, read_ends, read_starts, read_tiered

OPTIONAL: Final = OptionalQuestion.LOG_DIRS, OptionalQuestion.BROKER_CONFIGS

SEARCHED: Final = 20
"""Partitions of a broker that are searched by time in one poll: a fifth of the queue of `remote.log.reader.threads`."""

ReadOffsets = Callable[[BrokerLink, RowIndex, float, Longs], Awaitable[None]]


@dataclass(slots=True)
class BrokerQuestions:
    """Offsets in two rounds, the remote log ends, then log directories and configuration where they are due."""

    context: PollContext
    layout: Layout
    rows: Rows
    cluster_known: asyncio.Event
    """Set when it is known which replicas move, or that it cannot be known in this poll."""
    one_answered: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a broker has answered for its offsets, or none will."""
    _remote: dict[int, RowIndex] = field(default_factory=dict)
    """Rows that each broker leads of topics with remote storage."""
    _due: Floats = field(default_factory=lambda: np.zeros(0))
    """(T,) Unix time before which records are to be copied by now, 0 without such a limit."""
    _shared: dict[int, str] = field(default_factory=dict)
    """Brokers that have no address of their own, with a sentence on it."""
    _unfinished: int = 0
    """Brokers that may still answer for their offsets."""
    _followers_due: set[int] = field(default_factory=set)
    """Brokers whose answer about their followers the round of the leaders waits for."""
    _followers_done: asyncio.Event = field(default_factory=asyncio.Event)

    def start(self) -> None:
        """Start one task per broker, which asks it about its own replicas."""
        state = self.context.state
        self._remote = self.rows.remote(self.layout, state.answers.copied_topics())
        if self._remote:
            self._due = state.answers.copies_due(self.layout.topics, state.network.clock.time())
        brokers, hidden = state.answers.brokers.values(), self.layout.without_listener()
        self._shared = shared_addresses(state.active.values())
        for broker in brokers:
            if broker.id in hidden:
                for source in (Source.OFFSETS, *(optional.source for optional in OPTIONAL)):
                    state.book.forget([str(broker.id)], only=source)
                continue
            if not broker.active:
                self._not_asked(broker)
                if broker.fenced:
                    self.context.tasks.create_task(self._probe(broker))
                continue
            link = state.links.broker(broker)
            # A link that is busy now has not answered for the metadata.
            suspect = link.busy or state.book.failing(Source.OFFSETS, str(broker.id))
            if not suspect:
                self._followers_due.add(broker.id)
            self._unfinished += 1
            self.context.tasks.create_task(self._ask(broker.id, link, suspect=suspect))
        self._check_followers()
        self._check_finished()

    async def _ask(self, broker: int, link: BrokerLink, *, suspect: bool) -> None:
        until = self.context.soon() if suspect else self.context.deadline_at
        answered = await self._ask_offsets(broker, link, until)
        if answered and not self.context.state.images.old(broker):
            self.context.answered.append(link)
            if link is not self.context.lead:
                self.context.forwarding.append(link)
            self.one_answered.set()
        self._unfinished -= 1
        self._check_finished()
        if not answered:
            # Its other sources are not asked any more in this poll, for the same reason.
            if (fault := self.context.outcomes[Source.OFFSETS, str(broker)].fault) is not None:
                self._note_optional(broker, fault)
            return
        await self.cluster_known.wait()
        await self._ask_config_and_disks(broker, link, until)

    async def _ask_offsets(self, broker: int, link: BrokerLink, until: float) -> bool:
        context, ask = self.context, partial(self._offsets, broker, link, until)
        if answered := await ask(read_ends, self.rows.followed[broker], context.ends):
            context.followers_at[broker] = context.now()
        self._followers_due.discard(broker)
        self._check_followers()
        if not answered:
            return False
        await wait_for(self._followers_done, min(until, context.soon()))
        context.leaders_asked_at[broker] = context.now()
        if not await ask(read_ends, self.rows.led[broker], context.ends):
            return False
        context.offsets_at[broker] = context.now()
        # Right after the local ends that the ends of the remote logs are compared with.
        remote = self._remote.get(broker)
        return remote is None or await ask(read_tiered, remote, context.tiered)

    def _check_followers(self) -> None:
        if not self._followers_due:
            self._followers_done.set()

    def _check_finished(self) -> None:
        if not self._unfinished:
            self.one_answered.set()

    def _note_optional(self, broker: int, fault: SourceError) -> None:
        for optional in OPTIONAL:
            if self.context.wants(optional, broker):
                self.context.note(optional.source, str(broker), self.context.now(), fault)

    async def _offsets(
        self, broker: int, link: BrokerLink, until: float, ask: ReadOffsets, wanted: RowIndex, target: Longs
    ) -> bool:
        async def read(link: BrokerLink, until: float) -> bool:
            await ask(link, wanted, until, target)
            return True

        return bool(await self.context.ask(Source.OFFSETS, str(broker), link, read, until))

    async def _ask_config_and_disks(self, broker: int, link: BrokerLink, until: float) -> None:
        """Ask for the broker's configuration and for the contents of its log directories, where they are due."""
        if self.context.wants(OptionalQuestion.BROKER_CONFIGS, broker):
            await self._config_due(broker, link, until)
        if (fault := self._misdirected(broker)) is not None:
            self._discard(broker, fault)
            return
        if self.context.wants(OptionalQuestion.LOG_DIRS, broker):
            await self._log_dirs_due(broker, link, until)
        if broker in self._remote:
            await self._copy_due(broker, link, until)

    def _misdirected(self, broker: int) -> MisdirectedError | None:
        """Return why the answers may be those of another broker. Only a broker itself answers for its configuration."""
        outcome = self.context.outcomes.get((Source.CONFIGS, str(broker)))
        fault, shared = None if outcome is None else outcome.fault, self._shared.get(broker)
        if isinstance(fault, MisdirectedError):
            return fault if shared is None else MisdirectedError(f"{shared}: {fault}")
        if shared is not None and (outcome is None or fault is not None):
            return MisdirectedError(f"{shared}, and it is not known which of them answers there")
        return None

    def _discard(self, broker: int, fault: MisdirectedError) -> None:
        """Drop what was answered in this poll for a broker, by another one."""
        context, rows = self.context, self.rows.hosted[broker].rows
        context.ends[rows] = context.tiered[rows] = UNKNOWN
        for times in (context.followers_at, context.leaders_asked_at, context.offsets_at):
            times.pop(broker, None)
        context.note(Source.OFFSETS, str(broker), context.now(), fault)
        self._note_optional(broker, fault)

    async def _copy_due(self, broker: int, link: BrokerLink, until: float) -> None:
        """Ask which records are young enough not to be copied yet, for some of the partitions with such a limit.

        These searches share a pool of threads and a short queue with consumers that read remote storage.
        """
        rows = self._remote[broker].rows
        rows = rows[self._due[self.layout.topic[self.layout.partition[rows]]] > 0]
        if not len(rows):
            return
        columns, topic = self.context.state.answers.columns, self.layout.topic[self.layout.partition]
        rows = columns.search(rows, self._due[topic[rows]], SEARCHED)
        times = {self.layout.topics[place]: round(1000 * self._due[place]) for place in np.unique(topic[rows]).tolist()}
        found, wanted = np.full(len(topic), UNKNOWN, np.int64), index_rows(self.layout, rows)
        read = partial(read_copy_due, times=times, ends=self.context.ends)
        await self._offsets(broker, link, until, read, wanted, found)
        columns.searched(rows, self._due[topic[rows]], found[rows])

    async def _log_dirs_due(self, broker: int, link: BrokerLink, until: float) -> None:
        state = self.context.state
        failing, due = state.book.failing(Source.LOG_DIRS, str(broker)), state.answers.due
        everything = failing or due((ALL_LOGS, broker), state.settings.log_dirs, self.context.clock)
        every_poll = None if everything else self._rows_asked_every_poll(broker)
        if every_poll is None or every_poll:
            await self._log_dirs(broker, link, every_poll, until)

    async def _config_due(self, broker: int, link: BrokerLink, until: float) -> None:
        state = self.context.state
        failing = state.book.failing(Source.CONFIGS, str(broker))
        watched = self.context.watched(self.layout).any() or is_limited(state.answers.broker_configs.get(broker))
        if failing or watched or broker in self._shared or self.context.due((Source.CONFIGS, broker)):
            await self._broker_config(broker, link, until)

    async def _log_dirs(self, broker: int, link: BrokerLink, wanted: RowIndex | None, until: float) -> None:
        answers = self.context.state.answers
        known = self.rows.hosted[broker]
        sizes, before, after = self.context.sizes, self.context.starts, self.context.starts_after
        starts = self._start_rows(broker) if wanted is None else wanted

        async def read(link: BrokerLink, until: float) -> tuple[LogDirs, float]:
            if starts:
                await read_starts(link, starts, until, before)
            found = await read_log_dirs(link, broker, wanted, known, until, sizes, self.context.watched(self.layout))
            at = self.context.now()
            if starts:
                await read_starts(link, starts, until, after)
            return found, at

        answered = await self.context.ask(Source.LOG_DIRS, str(broker), link, read, until)
        if answered is None:
            return
        answer, sized_at = answered
        asked = None if wanted is None else {(topic, number) for topic, numbers in wanted for number in numbers}
        answers.keep_log_dirs(broker, answer, asked)
        answers.mark_answered((Source.LOG_DIRS, broker), self.context.clock)
        answers.columns.measure(known.rows, sizes, before, after, sized_at)
        if wanted is None:
            answers.log_gaps[broker] = log_gaps(self.layout, broker, sizes, answer, self.context.clock)
            answers.mark_answered((ALL_LOGS, broker), self.context.clock)

    async def _broker_config(self, broker: int, link: BrokerLink, until: float) -> None:
        read = partial(read_broker_config, broker=broker)
        config = await self.context.ask(Source.CONFIGS, str(broker), link, read, until)
        if config is not None:
            self.context.state.answers.broker_configs[broker] = config
            self.context.state.answers.mark_answered((Source.CONFIGS, broker), self.context.clock)

    def _start_rows(self, broker: int) -> RowIndex:
        watched = self.context.watched(self.layout)
        if not watched.any():
            return self.rows.led[broker]
        wanted = self.rows.leading | watched
        return index_rows(self.layout, np.flatnonzero(wanted & (self.layout.broker == broker)))

    def _rows_asked_every_poll(self, broker: int) -> RowIndex:
        """Index the replicas that are asked about in every poll: watched ones, and leaders whose log has just begun."""
        columns, rows = self.context.state.answers.columns, self.rows.hosted[broker].rows
        young = (columns.young[rows] > 0) & self.rows.leading[rows] & (self.context.ends[rows] > columns.start[rows])
        return index_rows(self.layout, rows[young | self.context.watched(self.layout)[rows]])

    async def _probe(self, broker: Broker) -> None:
        """Ask a fenced broker whether it is there; no other question waits for it.

        One that is silent and has kept its connection hangs. A stopped one has closed it; one that starts has none.
        """
        link, name = self.context.state.links.broker(broker), str(broker.id)
        answers = await link.answers(self.context.soon())
        self.context.reach.fenced[broker.id] = answers
        if not answers and link.connected:
            fault = AnswerTimeoutError(f"broker {name} is fenced, keeps its connection and does not answer")
            self.context.outcomes[Source.OFFSETS, name].fault = fault

    def _not_asked(self, broker: Broker) -> None:
        why = "is no longer listed by the cluster" if broker.gone else "is fenced"
        fault = FencedError(f"broker {broker.id} {why} and was not asked; is it running and connected?")
        self.context.note(Source.OFFSETS, str(broker.id), self.context.now(), fault)
        self._note_optional(broker.id, fault)


def is_limited(config: BrokerConfig | None) -> bool:
    """Return whether a broker has a throttle. Its configuration is then read in every poll, as the lists are.

    A tool removes lists and rates together. With an old rate and a new list the rate would look unused.
    """
    return config is not None and any(limit.value < UNLIMITED for limit in config.limits.values())
