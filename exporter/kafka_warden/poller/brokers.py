"""The questions about each broker's own replicas, asked of all brokers at once.

The order is that of judgement.md 1: all followers first, then all leaders, so that no follower seems to be ahead. The
second round waits for the first, but not for long for a broker that hangs, and not at all for one that hung before.
"""

import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.network import Network
from kafka_warden.errors import FencedError
from kafka_warden.model import UNKNOWN, UNLIMITED, Broker, BrokerConfig, Source
from kafka_warden.poller.asking import Round
from kafka_warden.poller.tables import Rows, log_gaps
from kafka_warden.sources.configs import read_broker_config
from kafka_warden.sources.log_dirs import read_log_dirs
from kafka_warden.sources.metadata import Layout
from kafka_warden.sources.offsets import read_ends, read_starts, read_tiered
from kafka_warden.sources.replies import RowIndex, index_rows


@dataclass(slots=True)
class BrokerQuestions:
    """Offsets in two rounds, what is in remote storage, then log directories and configuration where they are due."""

    round: Round
    layout: Layout
    rows: Rows
    _remote: dict[int, RowIndex] = field(default_factory=dict)
    """What each broker leads of topics with remote storage."""

    async def ask_all(self, cluster: Any) -> None:
        """Ask every broker about its own replicas.

        Args:
            cluster: a future of the questions about the cluster. The broker that answers them is asked about itself
                afterwards, since it has one connection, and all learn from them which replicas move.
        """
        desk = self.round.desk
        network = desk.network
        followers = _Gate(network)
        self._remote = self.rows.remote(self.layout, desk.memory.copied_topics())
        tasks: list[Awaitable[None]] = []
        for broker in desk.memory.brokers.values():
            if broker.fenced or broker.gone:
                self._not_asked(broker)
                continue
            suspect = desk.book.failing(Source.OFFSETS, str(broker.id))
            until = self.round.soon() if suspect else self.round.deadline_at
            if not suspect:
                followers.expect(broker.id)
            tasks.append(network.spawn(self._asking(broker, followers, cluster, until)))
        followers.seal()
        for task in tasks:
            await task

    def _asking(
        self, broker: Broker, followers: "_Gate", cluster: Any, until: float
    ) -> Callable[[], Coroutine[Any, Any, None]]:
        async def ask() -> None:
            link = self.round.desk.links.broker(broker)
            try:
                if link is self.round.lead:
                    await cluster
                answered = await self._followed(broker.id, link, until)
            finally:
                followers.passed(broker.id)
            if not answered:
                self._silent(broker.id)
                return
            await followers.open(min(until, self.round.soon()))
            if not (await self._led(broker.id, link, until) and await self._tiered(broker.id, link, until)):
                self._silent(broker.id)
                return
            await cluster
            await self._at_rest(broker.id, link, until)

        return ask

    def _silent(self, broker: int) -> None:
        """Note for what is not asked any more in this poll why it is not."""
        fault = self.round.faults.get((Source.OFFSETS, str(broker)))
        for source in (Source.LOG_DIRS, Source.CONFIGS):
            if fault is not None:
                self.round.desk.book.failed(source, str(broker), 0.0, fault)

    async def _followed(self, broker: int, link: BrokerLink, until: float) -> bool:
        wanted = self.rows.followed.get(broker, RowIndex())
        if not await self._ends(broker, link, wanted, until):
            return False
        self.round.told_at[broker] = time.monotonic()
        return True

    async def _led(self, broker: int, link: BrokerLink, until: float) -> bool:
        self.round.asked_at[broker] = time.monotonic()
        if not await self._ends(broker, link, self.rows.led.get(broker, RowIndex()), until):
            return False
        self.round.offsets_at[broker] = time.monotonic()
        return True

    async def _tiered(self, broker: int, link: BrokerLink, until: float) -> bool:
        """Ask what is in remote storage, right after the ends that it is compared with; most have nothing to ask."""
        wanted = self._remote.get(broker)
        if wanted is None:
            return True

        async def read(link: BrokerLink, until: float) -> bool:
            await read_tiered(link, wanted, until, self.round.tiered)
            return True

        return bool(await self.round.ask(Source.OFFSETS, str(broker), link, read, until))

    async def _ends(self, broker: int, link: BrokerLink, wanted: RowIndex, until: float) -> bool:
        async def read(link: BrokerLink, until: float) -> bool:
            await read_ends(link, wanted, until, self.round.ends)
            return True

        return bool(await self.round.ask(Source.OFFSETS, str(broker), link, read, until))

    async def _at_rest(self, broker: int, link: BrokerLink, until: float) -> None:
        """Ask for what lies on the broker's disks, and how it is configured."""
        desk = self.round.desk
        failing = desk.book.failing(Source.LOG_DIRS, str(broker))
        everything = failing or desk.log_dirs_due.due(broker, self.round.clock)
        restless = None if everything else self._restless_rows(broker)
        if (restless is None or restless) and await self._log_dirs(broker, link, restless, until) and everything:
            desk.log_dirs_due.done(broker, self.round.clock)
        failing = desk.book.failing(Source.CONFIGS, str(broker))
        watched = self.round.watched(self.layout).any() or is_limited(desk.memory.broker_configs.get(broker))
        if failing or watched or desk.slow_due.due(("broker", broker), self.round.clock):
            await self._broker_config(broker, link, until)

    async def _log_dirs(self, broker: int, link: BrokerLink, wanted: RowIndex | None, until: float) -> bool:
        memory = self.round.desk.memory
        known = self.rows.hosted.get(broker, RowIndex())
        sizes, begins = (np.full(len(memory.columns.size), UNKNOWN, np.int64) for _ in range(2))
        starts = self._start_rows(broker) if wanted is None else wanted

        async def read(link: BrokerLink, until: float) -> Any:
            if starts:
                await read_starts(link, starts, until, begins)
                memory.columns.begin(begins)
            return await read_log_dirs(link, broker, wanted, known, until, sizes, self.round.watched(self.layout))

        told = await self.round.ask(Source.LOG_DIRS, str(broker), link, read, until)
        if told is None:
            return False
        asked = None if wanted is None else {(topic, number) for topic, numbers in wanted for number in numbers}
        memory.keep_log_dirs(broker, told, asked)
        memory.hear((Source.LOG_DIRS, broker), self.round.clock)
        memory.columns.measure(sizes, time.monotonic())
        if wanted is None:
            memory.log_gaps[broker] = log_gaps(self.layout, broker, sizes, told, self.round.clock)
        return True

    async def _broker_config(self, broker: int, link: BrokerLink, until: float) -> None:
        async def read(link: BrokerLink, until: float) -> Any:
            return await read_broker_config(link, broker, until)

        config = await self.round.ask(Source.CONFIGS, str(broker), link, read, until)
        if config is not None:
            self.round.desk.memory.broker_configs[broker] = config
            self.round.desk.memory.hear((Source.CONFIGS, broker), self.round.clock)
            self.round.desk.slow_due.done(("broker", broker), self.round.clock)

    def _start_rows(self, broker: int) -> RowIndex:
        watched = self.round.watched(self.layout)
        if not watched.any():
            return self.rows.led.get(broker, RowIndex())
        wanted = self.rows.leading | watched
        return index_rows(self.layout, np.flatnonzero(wanted & (self.layout.broker == broker)))

    def _restless_rows(self, broker: int) -> RowIndex:
        """Replicas that are asked about in every poll: watched ones, and leaders whose log has just begun."""
        columns = self.round.desk.memory.columns
        young = (columns.young > 0) & self.rows.leading & (self.round.ends > columns.start)
        rows = young | self.round.watched(self.layout)
        return index_rows(self.layout, np.flatnonzero(rows & (self.layout.broker == broker)))

    def _not_asked(self, broker: Broker) -> None:
        why = "is no longer listed by the cluster" if broker.gone else "is fenced"
        fault = FencedError(f"broker {broker.id} {why} and was not asked; is it running and connected?")
        for source in (Source.OFFSETS, Source.LOG_DIRS, Source.CONFIGS):
            self.round.desk.book.failed(source, str(broker.id), 0.0, fault)


def is_limited(config: BrokerConfig | None) -> bool:
    """Tell whether a broker has a throttle: then it is read in every poll, since a tool takes lists and rates away.

    Were the rate read before and the list after that, the rate would seem to be idle until it is read again.
    """
    return config is not None and any(limit.value < UNLIMITED for limit in config.limits.values())


class _Gate:
    """Opens when everybody who is expected has passed."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._opened = network.event()
        self._awaited: set[int] = set()
        self._sealed = False

    def expect(self, broker: int) -> None:
        self._awaited.add(broker)

    def seal(self) -> None:
        self._sealed = True
        self._check()

    def passed(self, broker: int) -> None:
        self._awaited.discard(broker)
        self._check()

    async def open(self, until: float) -> None:
        await self._network.first(self._opened, until)

    def _check(self) -> None:
        if self._sealed and not self._awaited and not self._opened.is_done:
            self._opened.success(None)
