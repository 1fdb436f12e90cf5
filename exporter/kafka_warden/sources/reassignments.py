"""Which replicas are being added and removed: ListPartitionReassignments, answered by the active controller."""

from dataclasses import dataclass
from typing import Any

from kafka_warden.clients.kafka.faults import error_code_fault
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.requests import ListPartitionReassignmentsRequest


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
    reply = await link.ask(ListPartitionReassignmentsRequest(timeout_ms=left, topics=None), timeout_at)
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
