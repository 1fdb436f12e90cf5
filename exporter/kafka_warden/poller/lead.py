"""Which broker leads: the one whose metadata is believed for the whole cluster, and how it is checked.

The answer for all topics leaves out what may not be described, without an error. So topics that vanish are asked for by
name. Without the refused ones a sum is lower than it was, and an alert on them would resolve: where they had a problem,
or none is left, the metadata counts as refused until they can be described again, or the exporter starts again. Topics
that were deleted together with their ACLs are refused, too: after `LOST_FOR`, when alerts do not keep their state any
longer, a few refused topics count as deleted.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import structlog

from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.requests import FENCED_BROKERS, QUORUM
from kafka_warden.errors import AuthorizationError, ProtocolError, SourceError, UnsupportedError
from kafka_warden.model import NO_BROKER, Bools, Broker, OptionalQuestion, Source
from kafka_warden.poller.answers import LOST_FOR, LastAnswers
from kafka_warden.poller.asking import PollContext, watched_replicas
from kafka_warden.poller.links import newer
from kafka_warden.releases import effective, is_capped, min_insync_replicas
from kafka_warden.sources.metadata import Layout, MetadataQuestion, read_fenced, topic_errors

SHUTDOWN: Final = 5.0
"""Seconds. A broker that is shut down in order leaves the metadata less than that before or after the end of its
connections. One that dies is listed for longer: `broker.session.timeout.ms`, 9 s; `zookeeper.session.timeout.ms`, 18 s.
"""


@dataclass(slots=True)
class Lead:
    """Metadata first, since all else depends on it."""

    context: PollContext

    async def find_cluster(self) -> None:
        """Ask for the metadata; leaves `layout` at `None` when no broker answers."""
        state = self.context.state
        candidates = state.links.metadata_candidates(state.active, state.lead, state.images)

        async def read(link: BrokerLink, until: float) -> tuple[BrokerLink, Layout]:
            try:
                layout = await state.answers.metadata.read(link, until)
            except Exception:
                state.links.mark_failed(link, self.context.now())
                raise
            if not layout.brokers:
                state.links.mark_failed(link, self.context.now())
                raise ProtocolError(f"{link.address} knows no brokers")
            state.links.mark_ok(link)
            return link, layout

        found, started = await self.context.ask_any(Source.METADATA, list(candidates), read), self.context.now()
        if found is None:
            self.context.reach.controller = None
            return
        link, layout = found
        state.answers.metadata.cluster_id = state.answers.metadata.cluster_id or layout.cluster_id
        if fault := await refuse_vanished(self.context, layout, link):
            self.context.note(Source.METADATA, NO_BROKER, started, fault)
            self.context.reach.controller = None
            state.links.mark_failed(link, self.context.now())
            return
        self.context.lead, self.context.forwarding, state.lead = link, [link], candidates[link]
        await self._adopt(layout, link, list(candidates))

    async def _adopt(self, layout: Layout, lead: BrokerLink, candidates: Sequence[BrokerLink]) -> None:
        state, answers = self.context.state, self.context.state.answers
        others = [link for link in candidates if link is not lead and not link.busy]
        fenced = await self._fenced(lead, others)
        assigned = frozenset(np.unique(layout.broker).tolist())
        lost = self._lost(layout) if fenced is None else {}
        for broker in answers.update_brokers(layout.brokers, fenced or {}, assigned, lost):
            state.forget(broker)
        state.images.keep(state.active)
        if state.lead is not None:
            state.links.leave_bootstrap()
        answers.kafka_version = lead.kafka_version or answers.kafka_version
        # In ZooKeeper mode, whose brokers do not know DescribeQuorum, the metadata names it: one of the brokers.
        self.context.zookeeper = lead.knows(QUORUM) is False
        known = answers.brokers.get(layout.controller)
        if self.context.zookeeper and known is not None and not known.gone:
            self.context.controller = known.id
        self.context.layout = answers.adopt(layout)
        self.context.make_columns(len(layout.partition))

    def _lost(self, layout: Layout) -> dict[int, float]:
        """Return the brokers that the metadata no longer lists, and since when, unless they were shut down in order.

        A shutdown in order ends the connection and the listing at about the same time. A broker that dies is listed for
        some seconds after the end of its connection. One that is cut off or hangs keeps its connection. If no poll came
        soon after the end of the connection, it is not known which happened: the broker then counts as lost.
        """
        state, clock, answers = self.context.state, self.context.clock, self.context.state.answers
        lost_at = {id_: state.links.broker(broker).lost_at for id_, broker in answers.brokers.items()}
        left = {
            broker: clock
            for broker in state.active
            if broker not in layout.brokers
            and (state.book.silent(Source.OFFSETS, str(broker)) or clock - lost_at[broker] > SHUTDOWN)
        }
        before = {
            broker: at
            for broker, at in answers.lost.items()
            if clock - at < LOST_FOR and not at <= lost_at[broker] < at + SHUTDOWN
        }
        return before | left

    async def _fenced(self, lead: BrokerLink, others: Sequence[BrokerLink]) -> dict[int, Broker] | None:
        """Ask for the fenced brokers. Without an answer they are those of before; `None` where it cannot be known."""
        if not self.context.wants(OptionalQuestion.FENCED_BROKERS):
            return None
        new = True
        with contextlib.suppress(SourceError):  # asking meets it again
            new = await lead.supports(FENCED_BROKERS, self.context.soon())
        # No connection is made only to find that another broker is old, too.
        candidates = [lead, *(link for link in others if new or link.connected)]
        read = partial(read_fenced, cluster_id=self.context.state.answers.metadata.cluster_id)
        fenced = await self.context.ask_any(Source.FENCED_BROKERS, candidates, read)
        if fenced is not None:
            return fenced
        if isinstance(self.context.outcomes[Source.FENCED_BROKERS, NO_BROKER].fault, UnsupportedError):
            return None
        return {id_: known for id_, known in self.context.state.answers.brokers.items() if known.fenced}

    async def compare(self) -> None:
        """Compare the metadata of the lead with that of another broker, once a minute or where there is a reason to.

        Call it at the end of the poll: no other question waits for it.
        """
        state, lead = self.context.state, self.context.lead
        cut_off = self.context.cut_off and True in self.context.forwarded
        if lead is None or state.lead is None or self.context.layout is None:
            return
        if cut_off:
            state.links.mark_failed(lead, self.context.now())
        elif not state.images.suspected and not self.context.due("compared"):
            return
        others = [id_ for id_ in state.active if id_ != state.lead and id_ in self.context.offsets_at]
        if others:
            state.answers.mark_answered("compared", self.context.clock)
            await self._compare(lead, state.lead, state.images.next(others))

    async def _compare(self, lead: BrokerLink, lead_id: int, other_id: int) -> None:
        """Ask another broker, and the lead again if that one is ahead: it may have learned the same since."""
        images, clock, brokers = self.context.state.images, self.context.clock, (lead_id, other_id)
        other = await self._metadata(self.context.state.links.broker(self.context.state.active[other_id]))
        first: Layout | None = self.context.layout
        if other is not None and first is not None and newer(first, other, brokers) > 0:
            first = await self._metadata(lead)
        if other is None or first is None:
            return
        verdict = newer(first, other, brokers)
        for broker, behind in zip(brokers, (verdict > 0, verdict < 0), strict=True):
            images.note(broker, clock if behind else None)

    async def _metadata(self, link: BrokerLink) -> Layout | None:
        question = MetadataQuestion(self.context.state.answers.metadata.cluster_id)
        answer = await self.context.attempt(link, question.read, self.context.soon())
        return None if isinstance(answer, SourceError) else answer


log = structlog.get_logger(__name__)

MOST: Final = 1000
"""Topics that are asked for by name in a poll. Where one of them is refused, the others count as refused."""


async def refuse_vanished(context: PollContext, layout: Layout, link: BrokerLink) -> SourceError | None:
    """Return why this metadata must not be used, if so. Call it before the metadata is adopted."""
    answers = context.state.answers
    refused = await _refused(context, layout, link)
    if isinstance(refused, SourceError):
        return refused
    before = answers.undescribed
    answers.undescribed = {name: before.get(name, context.clock) for name in refused}
    if not refused:
        if before:
            log.info("all topics may be described again")
        return None
    old = _deleted(answers.undescribed, layout, context.clock)
    if not layout.topics or not (refused - old).isdisjoint(_troubled(answers)):
        return _fault(refused)
    if old:
        log.warning("topics may not be described for 6 h and count as deleted", topics=len(old), first=min(old))
        answers.undescribed = {name: at for name, at in answers.undescribed.items() if name not in old}
    if refused - before.keys():
        log.warning("topics are missing from all numbers", error=str(_fault(refused)))
    return None


def _fault(refused: set[str]) -> AuthorizationError:
    others = len(refused) - 1
    more = f" and {others} more topic{'s' if others > 1 else ''}" if others else ""
    return AuthorizationError(
        f"{min(refused)}{more} may not be described any more: grant Describe (docs/reference/acls.md), or restart the"
        " exporter if that is intended"
    )


def _deleted(undescribed: Mapping[str, float], layout: Layout, clock: float) -> set[str]:
    """Return the topics that count as deleted: refused for long, while nearly all topics can be described."""
    few = max(1, (len(undescribed) + len(layout.topics)) // 10)
    return {name for name, at in undescribed.items() if clock - at >= LOST_FOR} if len(undescribed) <= few else set()


async def _refused(context: PollContext, layout: Layout, link: BrokerLink) -> set[str] | SourceError:
    """Return the topics that vanished, and that the broker refuses to describe, or why it did not answer."""
    answers = context.state.answers
    known = answers.layout.topics if answers.layout is not None else ()
    vanished = sorted({*answers.undescribed, *known}.difference(layout.topics))
    if not vanished:
        return set()
    asked = vanished[:: -(-len(vanished) // MOST)]
    errors = await context.attempt(link, partial(topic_errors, names=asked), context.soon())
    if isinstance(errors, SourceError):
        return errors
    refused = {name for name, fault in errors.items() if isinstance(fault, AuthorizationError)}
    return refused.union(set(vanished).difference(asked)) if refused else refused


def _troubled(answers: LastAnswers) -> set[str]:
    """Return the topics that last had a problem.

    A partition without a leader or under min ISR, a replica out of sync, a move or a throttle.
    """
    layout = answers.layout
    if layout is None:
        return set()
    replicas = ~layout.in_isr | layout.offline | watched_replicas(layout, answers)
    partitions = np.concatenate(
        [layout.partition[replicas], np.flatnonzero((layout.leader < 0) | _under(answers, layout))]
    )
    return {layout.topics[index] for index in np.unique(layout.topic[partitions]).tolist()}


def _under(answers: LastAnswers, layout: Layout) -> Bools:
    """Return which partitions have fewer replicas in sync than their leader needs (P,): before 3.7 even all of them."""
    least = min_insync_replicas(layout.topics, answers.topic_configs)
    assigned, in_sync = (
        np.bincount(rows, minlength=len(layout.leader)) for rows in (layout.partition, layout.partition[layout.in_isr])
    )
    needed = effective(least[layout.topic], assigned, is_capped(answers.kafka_version))
    under: Bools = in_sync < needed
    return under
