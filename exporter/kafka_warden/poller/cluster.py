"""The questions about the cluster as a whole, asked of one broker, which forwards some to the active controller."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.model import NO_BROKER, UNKNOWN, ControllerWindow, Quorum, Source
from kafka_warden.poller.asking import Round
from kafka_warden.poller.tables import lingering
from kafka_warden.sources.configs import read_controller_window, read_topic_configs
from kafka_warden.sources.metadata import Layout, read_fenced
from kafka_warden.sources.quorum import read_quorum
from kafka_warden.sources.quotas import read_quotas
from kafka_warden.sources.reassignments import read_reassignments

TOPICS_A_REQUEST: Final = 2000
"""Topics in one DescribeConfigs request: some 1 MB of reply."""


@dataclass(slots=True)
class ClusterQuestions:
    """Metadata first, since all else depends on it; the rest beside the brokers' own questions."""

    round: Round

    async def find_cluster(self) -> None:
        """Ask for the metadata, one door after the other; leaves `layout` at `None` when nobody answers."""
        desk, memory = self.round.desk, self.round.desk.memory
        for broker, link in desk.links.doors(memory.brokers, desk.lead):
            if time.monotonic() >= self.round.deadline_at:
                break
            layout = await self.round.ask(Source.METADATA, NO_BROKER, link, memory.metadata.read, self.round.soon())
            if layout is not None and layout.brokers:
                desk.links.opened(link)
                desk.lead, self.round.lead = broker, link
                await self._adopt(layout, link)
                return
            desk.links.shut(link, time.monotonic())
        self._nobody_answers()

    def _nobody_answers(self) -> None:
        """Without the metadata nobody is asked anything: what was up a poll ago is not known to be up now."""
        fault = self.round.faults.get((Source.METADATA, NO_BROKER))
        if fault is not None:
            self.round.desk.book.fail_others(fault, spared=(Source.METADATA, Source.JMX))

    async def _adopt(self, layout: Layout, link: BrokerLink) -> None:
        desk, memory = self.round.desk, self.round.desk.memory
        fenced = await self.round.ask(Source.METADATA, NO_BROKER, link, read_fenced, self.round.soon())
        assigned = frozenset(np.unique(layout.broker).tolist())
        if fenced is None:
            fenced = {id_: known for id_, known in memory.brokers.items() if known.fenced}
        for broker in memory.meet(layout.brokers, fenced, assigned):
            desk.forget(broker)
        if desk.lead is not None:
            desk.links.leave_bootstrap()
        memory.kafka_version = link.kafka_version or memory.kafka_version
        self.round.layout = memory.adopt(layout)
        self.round.ends, self.round.tiered = (np.full(len(layout.partition), UNKNOWN, np.int64) for _ in range(2))

    @property
    def failing(self) -> bool:
        """Whether the active controller did not answer last time."""
        return any(self.round.desk.book.failing(source, NO_BROKER) for source in (Source.REASSIGNMENTS, Source.QUORUM))

    async def about_cluster(self) -> None:
        """Ask what the active controller knows, through the broker that told the metadata."""
        link, memory = self.round.lead, self.round.desk.memory
        if link is None:
            return
        reassignments = await self.round.ask(
            Source.REASSIGNMENTS, NO_BROKER, link, read_reassignments, self.round.soon()
        )
        if reassignments is not None and self.round.layout is not None:
            memory.reassignments = reassignments | lingering(self.round.layout, memory.reassignments, reassignments)
            memory.hear(Source.REASSIGNMENTS, self.round.clock)
        quorum = await self.round.ask(Source.QUORUM, NO_BROKER, link, read_quorum, self.round.soon())
        if quorum is not None:
            self._lead_by(quorum)

    def _lead_by(self, quorum: Quorum) -> None:
        desk, before = self.round.desk, self.round.desk.memory.quorum
        if before is not None and before.leader != quorum.leader and before.leader not in desk.memory.brokers:
            desk.book.forget([str(before.leader)], Source.CONFIGS)
        desk.memory.quorum = quorum
        desk.memory.hear(Source.QUORUM, self.round.clock)

    async def slow_questions(self) -> None:
        """Ask what changes rarely: quotas, topic configurations, the controller's window."""
        desk, memory, link = self.round.desk, self.round.desk.memory, self.round.lead
        if link is None:
            return
        if desk.slow_due.due(Source.QUOTAS, self.round.clock):
            quotas = await self.round.ask(Source.QUOTAS, NO_BROKER, link, read_quotas, self.round.deadline_at)
            if quotas is not None:
                memory.quotas = quotas
                memory.hear(Source.QUOTAS, self.round.clock)
                desk.slow_due.done(Source.QUOTAS, self.round.clock)
        await self._topic_configs(link)
        await self._controller_window()

    async def _topic_configs(self, link: BrokerLink) -> None:
        desk, memory, layout = self.round.desk, self.round.desk.memory, self.round.layout
        assert layout is not None  # noqa: S101  # for mypy: no slow question without a layout
        everything = desk.slow_due.due("topics", self.round.clock)
        wanted = list(layout.topics) if everything else self._watched_topics(layout)
        for first in range(0, len(wanted), TOPICS_A_REQUEST):
            part = wanted[first : first + TOPICS_A_REQUEST]

            async def read(link: BrokerLink, until: float, part: list[str] = part) -> Any:
                return await read_topic_configs(link, part, until)

            told = await self.round.ask(Source.CONFIGS, NO_BROKER, link, read, self.round.deadline_at)
            if told is None:
                return
            memory.tell_topics(told, self.round.clock)
        if everything:
            desk.slow_due.done("topics", self.round.clock)

    def _watched_topics(self, layout: Layout) -> list[str]:
        """Topics to ask about in every poll: in a move, carrying a throttle, or never read."""
        configs = self.round.desk.memory.topic_configs
        moving = {topic for topic, _ in self.round.desk.memory.reassignments}
        return [
            topic
            for topic in layout.topics
            if topic in moving
            or (config := configs.get(topic)) is None
            or config.leader_throttled
            or config.follower_throttled
        ]

    async def _controller_window(self) -> None:
        """Ask the active controller on its own listener; one of several configured ones, only it knows its own id."""
        desk, quorum = self.round.desk, self.round.desk.memory.quorum
        if quorum is None or not desk.slow_due.due(("window", quorum.leader), self.round.clock):
            return
        node = quorum.leader
        # Also when nobody answers: a listener behind a firewall must not make every poll wait.
        desk.slow_due.done(("window", node), self.round.clock)
        for host, port in self._controller_addresses(quorum):
            link = desk.links.controller(host, port)

            async def read(link: BrokerLink, until: float) -> ControllerWindow:
                return await read_controller_window(link, node, until)

            window = await self.round.ask(Source.CONFIGS, str(node), link, read, self.round.soon())
            if window is not None:
                desk.memory.windows[node] = window
                return

    def _controller_addresses(self, quorum: Quorum) -> Sequence[tuple[str, int]]:
        if quorum.leader not in quorum.controllers:
            return self.round.desk.controllers
        host, _, port = quorum.controllers[quorum.leader].rpartition(":")
        return [(host, int(port))]
