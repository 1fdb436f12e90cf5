"""The metadata quorum and its leader, the active controller: DescribeQuorum (KRaft)."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from kafka_warden.clients.kafka.faults import error_code_fault
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.requests import DescribeQuorumRequest
from kafka_warden.errors import ProtocolError
from kafka_warden.model import Quorum, QuorumReplica

METADATA_TOPIC: Final = "__cluster_metadata"

_Topic = DescribeQuorumRequest.TopicData


async def read_quorum(link: BrokerLink, timeout_at: float) -> Quorum:
    """Ask any broker, which forwards the question to the active controller.

    Raises:
        SourceError: the broker or the controller behind it did not answer, or may not.
    """
    wanted = [_Topic(topic_name=METADATA_TOPIC, partitions=[_Topic.PartitionData(partition_index=0)])]
    reply = await link.ask(DescribeQuorumRequest(topics=wanted), timeout_at)
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
