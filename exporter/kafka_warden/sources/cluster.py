"""Questions about the whole cluster: client quotas, reassignments, the quorum, and who may lead without a leader.

Any broker answers. Reassignments and the quorum come from the active controller: the broker forwards the question.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafka_warden.clients.kafka.faults import error_code_fault
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.requests import (
    request_eligible_leaders,
    request_quorum,
    request_quotas,
    request_reassignments,
)
from kafka_warden.errors import ProtocolError
from kafka_warden.model import DEFAULT, IN_ELR, LAST_KNOWN_ELR, QuotaEntity
from kafka_warden.replies import Quorum, QuorumReplica


async def read_quotas(link: BrokerLink, timeout_at: float) -> tuple[QuotaEntity, ...]:
    """Ask one broker for every configured client quota.

    Raises:
        SourceError: it did not answer, or may not.
    """
    reply = await link.ask(request_quotas(), timeout_at)
    if fault := error_code_fault(reply.error_code, reply.error_message, link.address):
        raise fault
    return parse_quotas(reply)


def parse_quotas(reply: Any) -> tuple[QuotaEntity, ...]:
    """Turn a DescribeClientQuotasResponse into entities by name; those of other types (`ip`) are left out.

    Values that no quota has, negative ones and NaN, are left out, too.
    """
    entities = []
    for entry in reply.entries or ():
        # The wire has a null name for a default entity.
        names = {part.entity_type: DEFAULT if part.entity_name is None else part.entity_name for part in entry.entity}
        if names.keys() <= {"user", "client-id"}:
            values = {value.key: value.value for value in entry.values if value.value >= 0}
            entities.append(QuotaEntity(names.get("user"), names.get("client-id"), values))
    # Brokers differ in their order, and `limits.series` keeps the first ones.
    return tuple(sorted(entities, key=lambda entity: (entity.user or "", entity.client_id or "")))


@dataclass(frozen=True, slots=True)
class Reassignment:
    """An ongoing reassignment of one partition, as broker ids."""

    adding: frozenset[int]
    removing: frozenset[int]


Reassignments = dict[tuple[str, int], Reassignment]
"""Topic name and partition number to what happens to it."""


async def read_reassignments(link: BrokerLink, timeout_at: float) -> Reassignments:
    """Ask any broker, which forwards the question to the active controller.

    Raises:
        SourceError: the broker or the controller behind it did not answer, or may not.
    """
    left = int(1000 * max(0.0, timeout_at - link.now()))
    reply = await link.ask(request_reassignments(timeout_ms=left), timeout_at)
    if fault := error_code_fault(reply.error_code, reply.error_message, link.address):
        raise fault
    return parse_reassignments(reply)


def parse_reassignments(reply: Any) -> Reassignments:
    """Turn a ListPartitionReassignmentsResponse into a mapping."""
    return {
        (topic.name, partition.partition_index): Reassignment(
            adding=frozenset(partition.adding_replicas),
            removing=frozenset(partition.removing_replicas),
        )
        for topic in reply.topics
        for partition in topic.partitions
    }


async def read_quorum(link: BrokerLink, timeout_at: float) -> Quorum:
    """Ask any broker, which forwards the question to the active controller.

    Raises:
        SourceError: the broker or the controller behind it did not answer, or may not.
    """
    reply = await link.ask(request_quorum(), timeout_at)
    if fault := error_code_fault(reply.error_code, reply.error_message, link.address):
        raise fault
    return parse_quorum(reply, link.address)


def parse_quorum(reply: Any, address: str) -> Quorum:
    """Turn a DescribeQuorumResponse into the quorum.

    Raises:
        SourceError: the partition itself carries an error, or is missing.
    """
    if not reply.topics or not reply.topics[0].partitions:
        raise ProtocolError(f"{address}: DescribeQuorum returned no partition")
    partition = reply.topics[0].partitions[0]
    if fault := error_code_fault(partition.error_code, partition.error_message, address):
        raise fault
    return Quorum(
        leader=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        high_watermark=partition.high_watermark,
        replicas=(
            *_replicas(partition.current_voters, voter=True),
            *_replicas(partition.observers, voter=False),
        ),
        controllers={
            node.node_id: f"{node.listeners[0].host}:{node.listeners[0].port}"
            for node in reply.nodes or ()
            if node.listeners
        },
    )


def _replicas(states: Iterable[Any], *, voter: bool) -> Iterator[QuorumReplica]:
    """Make one member of each node. Of two directory ids of a node (KIP-853: a replaced disk), the newer log counts."""
    newest = {state.replica_id: state for state in sorted(states, key=lambda state: state.log_end_offset)}
    for node, state in sorted(newest.items()):
        caught_up = state.last_caught_up_timestamp
        yield QuorumReplica(node, voter, state.log_end_offset, caught_up / 1000 if caught_up >= 0 else None)


MOST_PARTITIONS: Final = 500
"""In one reply: some 50 kB."""
MOST_REQUESTS: Final = 10
"""In one poll. The partitions that these do not reach stay unknown."""

EligibleLeaders = Mapping[tuple[str, int], Mapping[int, int]]
"""Topic name and partition number to the flags of brokers, `IN_ELR` and `LAST_KNOWN_ELR`: empty without ELR."""


async def read_eligible_leaders(
    link: BrokerLink, timeout_at: float, partitions: Sequence[tuple[str, int]]
) -> EligibleLeaders:
    """Ask any broker for some partitions, in ascending order. Each request begins at the next one that is missing.

    Only these are returned: a reply also has those between.

    Raises:
        SourceError: the broker did not answer.
    """
    found: dict[tuple[str, int], Mapping[int, int]] = {}
    left = list(partitions)
    wanted = set(partitions)
    for _ in range(MOST_REQUESTS):
        if not left:
            break
        names = dict.fromkeys(name for name, _ in left)
        reply = await link.ask(request_eligible_leaders(names, left[0], MOST_PARTITIONS), timeout_at)
        found |= {key: flags for key, flags in parse_eligible_leaders(reply).items() if key in wanted}
        after = reply.next_cursor
        left = [each for each in left if after is not None and each >= (after.topic_name, after.partition_index)]
    return found


def parse_eligible_leaders(reply: Any) -> EligibleLeaders:
    """Turn a DescribeTopicPartitionsResponse into a mapping. A topic with an error has none."""
    return {
        (topic.name, partition.partition_index): _flags(partition)
        for topic in reply.topics
        for partition in topic.partitions
    }


def _flags(partition: Any) -> Mapping[int, int]:
    eligible, last_known = set(partition.eligible_leader_replicas or ()), set(partition.last_known_elr or ())
    return {
        broker: IN_ELR * (broker in eligible) + LAST_KNOWN_ELR * (broker in last_known)
        for broker in eligible | last_known
    }
