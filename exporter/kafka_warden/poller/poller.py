"""One poll: from the first question to a `Snapshot`. No judgement."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from kafka_warden.clients.kafka.network import Network
from kafka_warden.clients.kafka.properties import KafkaClientSettings
from kafka_warden.model import NO_BROKER, ControllerWindow, Snapshot, Source
from kafka_warden.poller.asking import Desk, Round
from kafka_warden.poller.beans import JmxQuestions, Question, fresh
from kafka_warden.poller.brokers import BrokerQuestions
from kafka_warden.poller.cluster import ClusterQuestions
from kafka_warden.poller.links import Links
from kafka_warden.poller.memory import Cadence, Memory
from kafka_warden.poller.status import StatusBook
from kafka_warden.poller.tables import in_order, mark_moves, partition_table, replica_table

T = TypeVar("T")

SHOWN_FOR: Final = 3
"""Intervals for which an answer is shown after nobody repeated it."""

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
    """Listeners of controllers as `(host, port)`, where DescribeQuorum does not tell them (before Kafka 3.9)."""


class Poller:
    """Asks everybody once per :meth:`poll`. One thread at a time."""

    def __init__(self, settings: PollerSettings, kafka: KafkaClientSettings, jmx: JmxQuestions | None) -> None:
        self._settings = settings
        self._jmx = jmx
        self._network = Network(kafka.client_id)
        self._desk = Desk(
            self._network,
            Links(self._network, kafka),
            Memory(window=settings.controller_window),
            StatusBook(),
            log_dirs_due=Cadence(settings.log_dirs),
            slow_due=Cadence(settings.slow),
            controllers=settings.controllers,
        )
        self._last: Snapshot | None = None

    def poll(self) -> Snapshot | None:
        """Ask everybody and return what was seen.

        Returns:
            A new snapshot; the previous one with a new `status` when nobody told about the cluster; `None` when
            nobody ever has.
        """
        now, clock = time.time(), time.monotonic()
        self._desk.links.refresh()
        asked = Round(self._desk, clock, clock + self._settings.deadline)
        # Looking for somebody who answers may take all the time there is: beans need not wait for that.
        beans = self._ask_jmx(asked) if self._desk.book.failing(Source.METADATA, NO_BROKER) else ()
        self._network.run(ClusterQuestions(asked).find_cluster)
        beans = (*beans, *self._ask_jmx(asked, beans))
        if asked.layout is not None:
            self._network.run(_remaining_questions(asked))
        if self._jmx is not None:
            for question in beans:
                self._jmx.keep(question, self._desk.memory, self._desk.book)
        self._last = self._snapshot(now, clock, asked)
        return self._last

    @property
    def status(self) -> Any:
        """How every source fares, also before the first snapshot."""
        return self._desk.book.publish()

    def close(self) -> None:
        """Close every connection and end the JMX child."""
        if self._jmx is not None:
            self._jmx.close()
        self._desk.links.close()
        self._network.close()

    def _ask_jmx(self, asked: Round, before: tuple[Question, ...] = ()) -> tuple[Question, ...]:
        """Ask all processes that are known by now, but for those that were asked before in this poll."""
        started = self._jmx.start(self._desk.memory.brokers, asked.deadline_at, before) if self._jmx else None
        return () if started is None else (started,)

    def _snapshot(self, now: float, clock: float, asked: Round) -> Snapshot | None:
        memory, status = self._desk.memory, self._desk.book.publish()
        layout = asked.layout
        if layout is None:
            return None if self._last is None else replace(self._last, status=status)
        oldest = clock - SHOWN_FOR * self._settings.interval
        slow = clock - SHOWN_FOR * max(self._settings.interval, self._settings.slow, self._settings.log_dirs)
        told = memory.heard_since(Source.REASSIGNMENTS, oldest)
        # A replica that was being added when last heard of is no replica that fell out of the ISR.
        reassigning, adding, removing = mark_moves(layout, memory.reassignments)
        ends = in_order(layout, asked.ends, asked.told_at, asked.asked_at)
        quorum = memory.quorum if memory.heard_since(Source.QUORUM, oldest) else None
        return Snapshot(
            time=now,
            clock=clock,
            cluster_id=layout.cluster_id,
            topics=layout.topics,
            topic_ids=layout.topic_ids,
            partitions=partition_table(layout, memory.columns, asked.tiered, reassigning),
            replicas=replica_table(layout, memory.columns, ends, adding, removing),
            brokers=dict(memory.brokers),
            controller=quorum.leader if quorum is not None else None,
            kafka_version=memory.kafka_version,
            offsets_at=dict(asked.offsets_at),
            log_dirs=_joined(memory, Source.LOG_DIRS, memory.log_dirs, slow),
            placed={
                broker: placed
                for broker, placed in memory.placed.items()
                if memory.heard_since((Source.LOG_DIRS, broker), slow)
            },
            future_replicas=_joined(memory, Source.LOG_DIRS, memory.future, slow),
            log_gaps={broker: gaps for broker, gaps in memory.log_gaps.items() if gaps.at >= slow},
            broker_configs={
                broker: config
                for broker, config in memory.broker_configs.items()
                if memory.heard_since((Source.CONFIGS, broker), slow)
            },
            topic_configs=memory.topic_configs_since(slow),
            reassignments_known=told,
            quotas=memory.quotas if memory.heard_since(Source.QUOTAS, slow) else None,
            quorum=quorum,
            controller_window=memory.window_of(quorum),
            broker_beans=fresh(memory.broker_beans, oldest),
            controller_beans=fresh(memory.controller_beans, oldest),
            status=status,
        )


def _joined(memory: Memory, source: Source, told: Mapping[int, tuple[T, ...]], oldest: float) -> tuple[T, ...]:
    """Join what brokers told, but for those that have not told it for long."""
    return tuple(
        part for broker, parts in told.items() if memory.heard_since((source, broker), oldest) for part in parts
    )


def _remaining_questions(asked: Round) -> Any:
    """Ask the brokers about themselves and one of them about the cluster, side by side.

    One after the other when the controller did not answer last time: the broker that forwards to it has one connection,
    and its own numbers must not wait for those of a controller that hangs.
    """
    network = asked.desk.network

    async def ask() -> None:
        questions = ClusterQuestions(asked)
        suspect = questions.failing
        cluster: Any = network.event() if suspect else network.spawn(questions.about_cluster)
        if suspect:
            cluster.success(None)
        if asked.layout is not None and asked.desk.memory.rows is not None:
            await BrokerQuestions(asked, asked.layout, asked.desk.memory.rows).ask_all(cluster)
        await (questions.about_cluster() if suspect else cluster)
        await questions.slow_questions()

    return ask
