"""Topics that vanish from the metadata: deleted, or topics that the principal may not describe any more.

The answer for all topics leaves out what may not be described, without an error. So topics that vanish are asked for by
name. Without the refused ones a sum is lower than it was, and an alert on them would resolve: where they had a problem,
or none is left, the metadata counts as refused until they can be described again, or the sidecar starts again. Topics
that were deleted together with their ACLs are refused, too: after `LOST_FOR`, when alerts do not keep their state any
longer, a few refused topics count as deleted.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

import numpy as np
import structlog

from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.errors import AuthorizationError, SourceError
from kafka_warden.model import Bools, min_insync_replicas
from kafka_warden.poller.answers import LOST_FOR, LastAnswers
from kafka_warden.poller.asking import PollContext, watched_replicas
from kafka_warden.releases import effective, is_capped
from kafka_warden.sources.metadata import Layout, topic_errors

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
        f"{min(refused)}{more} may not be described any more: grant Describe (docs/security.md), or restart the"
        " sidecar if that is intended"
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
