"""One poll: from the first request to a `Snapshot`. It evaluates nothing."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import wait
from itertools import chain
from typing import Any, Final, TypeVar

import numpy as np
import structlog

from kafka_warden.clients.kafka.network import Network
from kafka_warden.clients.kafka.properties import KafkaClientSettings
from kafka_warden.clock import Clock
from kafka_warden.errors import PollAbandonedError
from kafka_warden.model import (
    NO_BROKER,
    UNKNOWN,
    Bools,
    Ints,
    Longs,
    OptionalQuestion,
    PartitionTable,
    PollResult,
    ReplicaTable,
    Snapshot,
    Source,
)
from kafka_warden.poller.answers import LastAnswers
from kafka_warden.poller.asking import PollContext, PollerSettings, PollerState, SourceOutcome
from kafka_warden.poller.beans import SHOWN_FOR, JmxQuestions, Question, fresh
from kafka_warden.poller.brokers import BrokerQuestions
from kafka_warden.poller.cluster import ClusterQuestions
from kafka_warden.poller.lead import Lead
from kafka_warden.poller.links import Images, Links
from kafka_warden.poller.status import StatusBook
from kafka_warden.poller.tables import Columns, Rows, mark_moves, partition_rows
from kafka_warden.sources.cluster import EligibleLeaders
from kafka_warden.sources.metadata import Layout

log = structlog.get_logger(__name__)

T = TypeVar("T")

REQUESTS: Final = 15
"""Requests to one broker in a poll that asks everything, without those for topic configurations."""

LONGEST_PAUSE: Final = 1.0
"""Seconds: the longest pause for an exceeded request quota with Kafka's default `quota.window.size.seconds`."""


class Poller:
    """Asks all brokers once per :meth:`poll`. One thread at a time.

    `clock` is that of all times and waits, except those of the JMX child. `turn` decides which broker is asked first.
    """

    def __init__(
        self,
        settings: PollerSettings,
        kafka: KafkaClientSettings,
        jmx: JmxQuestions | None,
        clock: Clock | None = None,
        lost: Callable[[], None] = lambda: None,
        turn: int = 0,
    ) -> None:
        self.jmx = jmx
        self._network = Network(clock)
        self._clock = self._network.clock
        answers = LastAnswers()
        self.links = Links(self._network, kafka, lost, lambda: answers.metadata.cluster_id)
        self._state = PollerState(
            self._network,
            self.links,
            answers,
            StatusBook(),
            settings,
            images=Images(turn),
        )
        self._last = PollResult()
        self.outcomes: Mapping[tuple[Source, str], SourceOutcome] = {}
        """How each source at each broker fared in the last poll."""

    def poll(self, interval: float = 0.0) -> PollResult:
        """Ask all brokers and return a snapshot; only what else was learned if no broker answered for the metadata.

        `interval`: seconds between the starts of two polls, where that is more than configured.

        Raises:
            PollAbandonedError: the poller was closed meanwhile.
        """
        now = self._clock.time()
        # A broker that throttles this user answers all questions, but later. It said in the last poll how much.
        pauses = REQUESTS * min(max(self._last.throttle_seconds.values(), default=0.0), LONGEST_PAUSE)
        try:
            asked, beans = self._ask(pauses)
            if self._state.images.misled_by(self._state.lead, self._state.active):
                log.warning("the image of the metadata is old: another broker is asked", broker=self._state.lead)
                now = self._clock.time()
                asked, beans = self._ask(pauses, beans)
            wait([question.answers for question in beans])
        finally:
            if self.links.closed:
                raise PollAbandonedError("the exporter is stopping") from None
        asked.publish()
        self.outcomes = asked.outcomes
        metadata = asked.outcomes[Source.METADATA, NO_BROKER]
        if asked.layout is None and metadata.fault is not None:
            # Without the metadata no broker is asked anything: what was up a poll ago is not known to be up now.
            self._state.book.fail_others(metadata.fault, spared=(Source.METADATA, Source.JMX))
        if self.jmx is not None:
            self.jmx.keep(beans, self._state.answers, self._state.book)
        self._last = self._result(now, asked, max(interval, self._state.settings.interval))
        return self._last

    def configure(self, settings: PollerSettings, kafka: KafkaClientSettings | None, jmx: JmxQuestions | None) -> None:
        """Use these from the next poll on; without `kafka` the connections stay. Call it between two polls."""
        state = self._state
        state.settings = settings
        state.answers.drop(settings.disabled)
        if kafka is not None:
            state.links.replace(kafka)
            state.book.ask_again()
        before, self.jmx = self.jmx, jmx
        if before is not None and before is not jmx:
            before.close()
            asked = {target.key for target in jmx.targets(state.answers.brokers)} if jmx is not None else set()
            state.answers.keep_beans(asked)
            names = {name for source, name in state.book.publish() if source is Source.JMX}
            state.book.forget(names - {key.partition(" ")[2] for key in asked}, only=Source.JMX)

    @property
    def bootstrap(self) -> frozenset[str]:
        """The addresses of `bootstrap.servers`."""
        return frozenset(map(str, self.links.settings.bootstrap))

    def watch(self, cluster_id: str, ever_answered: Collection[OptionalQuestion] = ()) -> None:
        """Use the answers of this cluster only; without this call, of the one that answers first.

        `ever_answered`: the questions that an earlier process had its answers to. Call it before the first poll.
        """
        self._state.answers.metadata.cluster_id = cluster_id
        self._state.book.ever_answered = frozenset(ever_answered)

    def close(self) -> None:
        """Close every connection and end the JMX child."""
        self.links.close()
        if self.jmx is not None:
            self.jmx.close()
        self._network.close()

    def _ask(self, pauses: float, beans: Sequence[Question] = ()) -> tuple[PollContext, Sequence[Question]]:
        clock = self._clock.monotonic()
        asked = PollContext(self._state, clock, clock + self._state.settings.deadline + pauses)
        asked.reach.controller = self._last.controller_reachable
        return asked, self._network.run(lambda: self._ask_all(asked, beans))

    async def _ask_all(self, asked: PollContext, beans: Sequence[Question]) -> Sequence[Question]:
        # Returns no context: that refers to its own task, and the columns of the poll would be freed much later.
        if self.links.refresh():
            self._state.book.ask_again()
        async with asked.tasks:
            # The search for a broker that answers may take the whole deadline; beans need not wait for that.
            if self._state.book.failing(Source.METADATA, NO_BROKER):
                beans = (*beans, *self._ask_jmx(asked, beans))
            lead = Lead(asked)
            await lead.find_cluster()
            beans = (*beans, *self._ask_jmx(asked, beans))
            rows = self._state.answers.rows
            if asked.layout is not None and rows is not None:
                await _remaining_questions(asked, asked.layout, rows)
        await lead.compare()
        return beans

    def _ask_jmx(self, asked: PollContext, before: Sequence[Question]) -> Sequence[Question]:
        """Ask all processes that are known by now, except those that were asked before in this poll."""
        if self.jmx is None:
            return ()
        started = self.jmx.start(self._state.answers.brokers, asked.controller, asked.deadline_at, before)
        return () if started is None else (started,)

    def _result(self, now: float, asked: PollContext, interval: float) -> PollResult:
        settings, answers, book = self._state.settings, self._state.answers, self._state.book
        layout, rows, clock = asked.layout, answers.rows, asked.clock
        learned: dict[str, Any] = {
            "status": book.publish(),
            "not_available": book.not_available(),
            "ever_answered": book.ever_answered,
            "cluster_reachable": asked.reach.cluster,
            "controller_reachable": asked.reach.controller,
            "fenced_responding": asked.reach.fenced,
            "throttle_seconds": self.links.take_throttle_times(),
            "undescribed_topics": len(answers.undescribed),
            "jmx_source": self.jmx and self.jmx.session.source,
            "jmx_child_starts": self.jmx and self.jmx.session.starts,
        }
        if layout is None or rows is None:
            return PollResult(**learned)
        # Since when answers count, and since when those to questions that are asked less often.
        longest = max(interval, settings.slow, settings.log_dirs)
        oldest, slow = clock - SHOWN_FOR * interval, clock - SHOWN_FOR * longest
        answers.columns.expire(slow)
        self._state.images.expire(oldest)
        # Old reassignments mark replicas, too: an adding replica did not fall out of the ISR.
        reassigning, adding, removing = mark_moves(layout, answers.reassignments)
        ends = in_order(layout, rows, asked.ends, asked.followers_at, asked.leaders_asked_at)
        quorum = answers.quorum if answers.answered_since(Source.QUORUM, oldest) else None
        controller = quorum.leader if quorum is not None else asked.controller
        windows = answers.windows if answers.answered_since(Source.CONTROLLER_CONFIGS, slow) else {}
        return Snapshot(
            time=now,
            clock=clock,
            cluster_id=layout.cluster_id,
            topics=layout.topics,
            topic_ids=layout.topic_ids,
            partitions=partition_table(layout, answers.columns, asked.tiered, reassigning),
            replicas=replica_table(
                layout, answers.columns, ends, (adding, removing), eligible_column(layout, asked.eligible)
            ),
            brokers=dict(answers.brokers),
            controller=controller,
            kafka_version=answers.kafka_version,
            offsets_at=dict(asked.offsets_at),
            log_dirs=_joined(_recent(answers, Source.LOG_DIRS, answers.log_dirs, slow)),
            placed=_recent(answers, Source.LOG_DIRS, answers.placed, slow),
            future_replicas=_joined(_recent(answers, Source.LOG_DIRS, answers.future, slow)),
            log_gaps={broker: gaps for broker, gaps in answers.log_gaps.items() if gaps.at >= slow},
            broker_configs=_recent(answers, Source.CONFIGS, answers.broker_configs, slow),
            topic_configs=answers.topic_configs_since(slow),
            reassignments_known=answers.answered_since(Source.REASSIGNMENTS, oldest),
            quotas=answers.quotas if answers.answered_since(Source.QUOTAS, slow) else None,
            quorum=quorum,
            metadata_ages=self._state.images.ages(clock),
            controller_window=windows.get(controller, settings.controller_window),
            broker_beans=fresh(answers.broker_beans, clock, interval),
            controller_beans=fresh(answers.controller_beans, clock, interval),
            **learned,
        )


def _joined(parts: Mapping[int, tuple[T, ...]]) -> tuple[T, ...]:
    return tuple(chain.from_iterable(parts.values()))


def _recent(answers: LastAnswers, source: Source, parts: Mapping[int, T], oldest: float) -> dict[int, T]:
    """Return the answers of brokers, except those that are too old."""
    return {broker: part for broker, part in parts.items() if answers.answered_since((source, broker), oldest)}


async def _remaining_questions(asked: PollContext, layout: Layout, rows: Rows) -> None:
    """Ask the brokers about themselves, and some that have answered about the cluster.

    When the active controller did not answer in the last poll it is asked last, and no other question waits for it.
    """
    questions, cluster_known = ClusterQuestions(asked, layout), asyncio.Event()
    suspect = questions.failing
    if suspect:
        cluster_known.set()
    brokers = BrokerQuestions(asked, layout, rows, cluster_known)
    brokers.start()
    await brokers.one_answered.wait()
    if not suspect:
        await questions.about_cluster()
        cluster_known.set()
    await questions.eligible_leaders()
    await questions.slow_questions()
    if suspect:
        await questions.about_cluster()


def in_order(
    layout: Layout, rows: Rows, ends: Longs, followers_at: dict[int, float], leaders_asked_at: dict[int, float]
) -> Longs:
    """Blank the follower ends (R,) that were answered after their leader was asked: they may be above its end.

    `followers_at`: broker to the monotonic time of its answer for what it follows. `leaders_asked_at`: broker to that
    at which it was asked for what it leads.
    """
    asked, late = np.full(len(layout.topic), np.inf), np.zeros(len(ends), bool)
    for broker, clock in leaders_asked_at.items():
        asked[layout.partition[rows.led[broker].rows]] = clock
    for broker, clock in followers_at.items():
        followed = rows.followed[broker].rows
        late[followed] = clock > asked[layout.partition[followed]]
    return np.where(late, UNKNOWN, ends)


def partition_table(layout: Layout, columns: Columns, tiered: Longs, reassigning: Bools) -> PartitionTable:
    """Make the table of a snapshot. `tiered` is per replica, answered by leaders."""
    return PartitionTable(
        topic=layout.topic,
        number=layout.number,
        leader=layout.leader,
        leader_epoch=layout.leader_epoch,
        leader_row=layout.leader_row,
        start=_of_leaders(layout, columns.start),
        tiered=_of_leaders(layout, tiered),
        copy_due=_of_leaders(layout, columns.copy_due),
        reassigning=reassigning,
    )


def _of_leaders(layout: Layout, column: Longs) -> Longs:
    led = layout.leader_row >= 0
    values = np.full(len(layout.topic), UNKNOWN, np.int64)
    values[led] = column[layout.leader_row[led]]
    return values


def eligible_column(layout: Layout, answer: EligibleLeaders) -> Ints:
    """Make `ReplicaTable.eligible`: `UNKNOWN` where the answer does not have the partition."""
    column = np.full(len(layout.partition), UNKNOWN, np.int32)
    for key, row in partition_rows(layout, answer).items():
        first, last = np.searchsorted(layout.partition, (row, row + 1))
        column[first:last] = [answer[key].get(broker, 0) for broker in layout.broker[first:last].tolist()]
    return column


def replica_table(
    layout: Layout, columns: Columns, ends: Longs, moves: tuple[Bools, Bools], eligible: Ints
) -> ReplicaTable:
    """Make the table of a snapshot, which shares the columns. `moves`: replicas that are added, and removed."""
    columns.shared = True
    return ReplicaTable(
        partition=layout.partition,
        broker=layout.broker,
        in_isr=layout.in_isr,
        offline=layout.offline,
        adding=moves[0],
        removing=moves[1],
        end=ends,
        size=columns.size,
        sized_at=columns.sized_at,
        start=columns.start,
        eligible=eligible,
    )
