"""Questions about the whole cluster, except its metadata. Some are forwarded to the active controller."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

import numpy as np

from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.requests import ELIGIBLE_LEADERS, QUORUM
from kafka_warden.errors import (
    AnswerTimeoutError,
    ProtocolError,
    RefusedError,
    ReplacedControllerError,
    SourceError,
    UnsupportedError,
)
from kafka_warden.model import NO_BROKER, UNKNOWN, OptionalQuestion, Source
from kafka_warden.poller.asking import PollContext, Read
from kafka_warden.poller.tables import recently_finished
from kafka_warden.replies import Quorum
from kafka_warden.sources.cluster import (
    read_eligible_leaders,
    read_quorum,
    read_quotas,
    read_reassignments,
)
from kafka_warden.sources.configs import read_controller_window, read_topic_configs
from kafka_warden.sources.metadata import Layout

TOPICS_A_REQUEST: Final = 2000
"""Topics in one DescribeConfigs request: some 1 MB of reply."""

FORWARDED: Final = Source.REASSIGNMENTS, Source.QUORUM

CONTROLLER_TRIES: Final = 2
"""Brokers that are asked for what the active controller knows: when it hangs, each of them waits for it."""

AGREED: Final = 3
"""Polls in which no broker knows the newest controller, before an older one is believed: epochs begin again when the
quorum is formatted again."""

T = TypeVar("T")


@dataclass(slots=True)
class ClusterQuestions:
    """They go to brokers that have just answered for their offsets.

    Such a broker does not hang, and its own offsets do not wait for a controller that does.
    """

    context: PollContext
    layout: Layout
    _replaced: bool = False
    """Whether a broker named a controller that another one has replaced."""

    @property
    def failing(self) -> bool:
        """Whether the active controller did not answer in the last poll."""
        return any(self.context.state.book.failing(source, NO_BROKER) for source in FORWARDED)

    @property
    def _candidates(self) -> Sequence[BrokerLink]:
        return self.context.answered or [link for link in (self.context.lead,) if link is not None]

    async def about_cluster(self) -> None:
        """Ask what the active controller knows, and note whether it answers."""
        answers, started = self.context.state.answers, self.context.now()
        reassignments, candidates = None, self._controller_candidates()
        if self.context.wants(OptionalQuestion.REASSIGNMENTS):
            reassignments = await self._ask_controller(Source.REASSIGNMENTS, read_reassignments, candidates)
        if reassignments is not None:
            ended = recently_finished(self.layout, answers.reassignments, reassignments)
            answers.reassignments = reassignments | ended
            answers.mark_answered(Source.REASSIGNMENTS, self.context.clock)
        if self.context.wants(OptionalQuestion.QUORUM):
            await self._ask_quorum(started)
        faults = [outcome.fault for (source, _), outcome in self.context.outcomes.items() if source in FORWARDED]
        neither = {OptionalQuestion.REASSIGNMENTS, OptionalQuestion.QUORUM} <= self.context.state.settings.disabled
        if True in self.context.forwarded:
            self.context.reach.controller = True
        elif self.context.forwarded:
            self.context.reach.controller = None if None in self.context.forwarded else False
        elif neither or any(isinstance(fault, UnsupportedError) for fault in faults):
            self.context.reach.controller = None

    async def _ask_quorum(self, started: float) -> None:
        state, quorum = self.context.state, None
        asked = self.context.outcomes.get((Source.REASSIGNMENTS, NO_BROKER))
        if asked is not None and isinstance(asked.fault, AnswerTimeoutError):
            self.context.note(Source.QUORUM, NO_BROKER, started, asked.fault)  # the same controller
        else:
            quorum = await self._ask_controller(Source.QUORUM, self._read_quorum, self._candidates)
            if quorum is not None:
                state.answers.quorum, state.replaced = quorum, 0
                state.answers.mark_answered(Source.QUORUM, self.context.clock)
            elif self._replaced:
                state.replaced += 1
        # While a cluster migrates to KRaft, brokers in ZooKeeper mode do not read the metadata of its controllers.
        readers = [id_ for id_, broker in state.active.items() if state.links.broker(broker).knows(QUORUM) is not False]
        state.images.note_quorum(quorum, state.answers.brokers, readers, self.context.clock)

    async def _read_quorum(self, link: BrokerLink, timeout_at: float) -> Quorum:
        quorum, before = await read_quorum(link, timeout_at), self.context.state.answers.quorum
        agreed = self.context.state.replaced >= AGREED
        if before is not None and quorum.leader_epoch < before.leader_epoch and not agreed:
            self._replaced = True
            raise ReplacedControllerError(
                f"{link.address} names controller {quorum.leader} of epoch {quorum.leader_epoch}, which controller "
                f"{before.leader} of epoch {before.leader_epoch} has replaced"
            )
        return quorum

    def _controller_candidates(self) -> Sequence[BrokerLink]:
        """Return the brokers that forward to the active controller; in ZooKeeper mode none does, and it is a broker."""
        if not self.context.zookeeper:
            return self.context.forwarding
        if self.context.controller is None:
            self.context.forwarded.append(False)
            return []
        return [self._broker(self.context.controller)]

    def _broker(self, node: int) -> BrokerLink:
        return self.context.state.links.broker(self.context.state.answers.brokers[node])

    async def _ask_controller(self, source: Source, read: Read[T], candidates: Sequence[BrokerLink]) -> T | None:
        """Ask through two brokers at most, which have answered other requests in this poll."""

        async def forward(link: BrokerLink, until: float) -> T:
            # A time-out after less than the usual time, or behind another question, proves nothing.
            proves = until < self.context.deadline_at and not link.busy
            try:
                answer = await read(link, until)
            except UnsupportedError:
                raise  # it was not sent
            except SourceError as fault:
                timed_out = isinstance(fault, AnswerTimeoutError)
                self.context.cut_off |= timed_out and link is self.context.lead
                if not timed_out:
                    self.context.forwarded.append(None)
                elif proves and not fault.reached:
                    self.context.forwarded.append(False)
                raise
            self.context.forwarded.append(True)
            return answer

        return await self.context.ask_any(source, candidates, forward, CONTROLLER_TRIES)

    async def eligible_leaders(self) -> None:
        """Ask who may lead the partitions without a leader. Brokers that do not know the request have no ELR."""
        rows = np.flatnonzero(self.layout.leader == UNKNOWN)
        if not len(rows):
            self.context.state.book.forget([NO_BROKER], only=Source.ELIGIBLE_LEADERS)
            return
        numbers = zip(self.layout.topic[rows].tolist(), self.layout.number[rows].tolist(), strict=True)
        partitions = [(self.layout.topics[topic], number) for topic, number in numbers]
        if self.context.lead is not None and self.context.lead.knows(ELIGIBLE_LEADERS) is False:
            self.context.eligible = {partition: {} for partition in partitions}
        elif self.context.wants(OptionalQuestion.ELIGIBLE_LEADERS):
            read = partial(read_eligible_leaders, partitions=partitions)
            self.context.eligible = (await self.context.ask_any(Source.ELIGIBLE_LEADERS, self._candidates, read)) or {}

    async def slow_questions(self) -> None:
        """Ask what changes rarely: quotas, topic configurations, the controller's window."""
        answers = self.context.state.answers
        if self.context.wants(OptionalQuestion.QUOTAS) and self.context.due(Source.QUOTAS):
            quotas = await self.context.ask_any(Source.QUOTAS, self._candidates, read_quotas)
            if quotas is not None:
                answers.quotas = quotas
                answers.mark_answered(Source.QUOTAS, self.context.clock)
        if self.context.wants(OptionalQuestion.TOPIC_CONFIGS):
            await self._topic_configs()
        await self._controller_window()

    async def _topic_configs(self) -> None:
        """Ask for the configurations of all topics where they are due, else of the watched ones.

        A topic that may not be described is left out; only when no topic may be described is that a failure.
        """
        answers, everything = self.context.state.answers, self.context.due("topics")
        wanted = list(self.layout.topics) if everything else self._watched_topics()
        refused: SourceError | None = None
        for first in range(0, len(wanted), TOPICS_A_REQUEST):
            part = wanted[first : first + TOPICS_A_REQUEST]
            read = partial(read_topic_configs, topics=part)
            answer = await self.context.ask_any(Source.CONFIGS, self._candidates, read)
            if answer is None:
                return
            answers.store_topic_configs(answer.configs, part, self.context.clock)
            refused = refused or answer.refused
        if refused is not None and answers.refused_topics.issuperset(self.layout.topics):
            self.context.note(Source.CONFIGS, NO_BROKER, self.context.now(), refused)
        if everything:
            answers.mark_answered("topics", self.context.clock)

    def _watched_topics(self) -> list[str]:
        """Topics to ask about in every poll: in a move, with a throttle list, or new."""
        answers = self.context.state.answers
        moving = {topic for topic, _ in answers.reassignments}
        return [
            topic
            for topic in self.layout.topics
            if topic not in answers.refused_topics
            and (
                topic in moving
                or (config := answers.topic_configs.get(topic)) is None
                or config.leader_throttled
                or config.follower_throttled
            )
        ]

    async def _controller_window(self) -> None:
        """Ask the active controller on its own listener. Of several configured ones only it answers for its id.

        With a window that is configured, since that listener is out of reach, nothing is asked.
        """
        state, quorum = self.context.state, self.context.state.answers.quorum
        node = self.context.controller if quorum is None else quorum.leader
        if node is None:
            return
        if state.settings.controller_window is not None or node != state.window_of:
            state.book.forget([str(state.window_of)], Source.CONTROLLER_CONFIGS)
            state.answers.forget("window")
            state.window_of = node
        if state.settings.controller_window is not None:
            return
        if not self.context.wants(OptionalQuestion.CONTROLLER_CONFIGS, node) or not self.context.due("window"):
            return
        started = self.context.now()
        # Also when there is no answer: a listener behind a firewall must not make every poll wait.
        state.answers.mark_answered("window", self.context.clock)

        faults = []
        for link in [self._broker(node)] if quorum is None else self._controller_links(quorum):
            answer = await self.context.attempt(link, partial(read_controller_window, node=node), self.context.soon())
            if not isinstance(answer, SourceError):
                self.context.note(Source.CONTROLLER_CONFIGS, str(node), started, answer)
                state.answers.windows = {node: answer}
                state.answers.mark_answered(Source.CONTROLLER_CONFIGS, self.context.clock)
                return
            faults.append(answer)
        if faults:
            # Another controller answers with an error (`protocol`), and a stopped one refuses: these count least.
            fault = max(faults, key=lambda each: [not isinstance(each, kind) for kind in (ProtocolError, RefusedError)])
            self.context.note(Source.CONTROLLER_CONFIGS, str(node), started, fault)

    def _controller_links(self, quorum: Quorum) -> Sequence[BrokerLink]:
        state, addresses = self.context.state, self.context.state.settings.controllers
        if quorum.leader in quorum.controllers:
            host, _, port = quorum.controllers[quorum.leader].rpartition(":")
            addresses = tuple(dict.fromkeys(((host, int(port)), *addresses)))
        state.links.keep_controllers(addresses)
        return [state.links.controller(host, port) for host, port in addresses]
