"""Brokers, topics and replicas: Metadata, and DescribeCluster for fenced brokers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from kafka_warden.clients.kafka.faults import error_code_fault
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.repeated import Repeated, Undecoded
from kafka_warden.clients.kafka.requests import DescribeClusterRequest, MetadataRequest
from kafka_warden.formulas.rows import Keys
from kafka_warden.model import UNKNOWN, Bools, Broker, Ints
from kafka_warden.sources.metadata_columns import parse_columns

NO_TOPIC_ID: Final = bytes(16)
FENCED_BROKERS: Final = 2
"""First version of DescribeCluster that reports fenced brokers (Kafka 4.0)."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Partitions (P) and replicas (R) as the metadata has them: sorted by topic name and partition number."""

    cluster_id: str | None
    brokers: Mapping[int, Broker]
    topics: tuple[str, ...]
    topic_ids: tuple[bytes, ...]
    topic: Ints
    number: Ints
    leader: Ints
    leader_epoch: Ints
    leader_row: Ints
    partition: Ints
    broker: Ints
    in_isr: Bools
    offline: Bools

    def keys(self) -> Keys:
        """Keys of its rows."""
        return Keys(self.topics, self.topic_ids, self.topic, self.number, self.partition, self.broker)


class MetadataQuestion:
    """Asks one broker for the whole cluster. Topics that are the same as in the last reply are not parsed again.

    The rest of the reply is never the same: a KRaft broker names a random broker as the controller.
    """

    def __init__(self) -> None:
        self._request = Repeated(MetadataRequest, request_metadata, undecoded=True)
        self._topics: tuple[int, bytes] | None = None
        """Version of the protocol, and the bytes that the layout was parsed from."""
        self._layout: Layout | None = None

    async def read(self, link: BrokerLink, timeout_at: float) -> Layout:
        """Ask; the columns are the same objects as before where all topics are the same, byte for byte.

        Raises:
            SourceError: the broker did not answer, or not usefully.
        """
        return self.parse(await link.ask(self._request, timeout_at))

    def parse(self, reply: Undecoded) -> Layout:
        """Turn a reply into a `Layout`, or into the last one with the brokers of this one.

        Raises:
            ProtocolError: it cannot be decoded.
        """
        head, body = reply.split("topics")
        topics = (reply.version, body)
        if self._layout is None or topics != self._topics:
            self._topics, self._layout = topics, _parse(reply, head, body)
        else:
            self._layout = replace(self._layout, brokers=parse_brokers(head["brokers"]))
        return self._layout


def request_metadata() -> Any:
    """Build the request for all topics."""
    return MetadataRequest(topics=None, allow_auto_topic_creation=False)


async def read_fenced(link: BrokerLink, timeout_at: float) -> dict[int, Broker]:
    """Ask for the brokers that are registered and fenced; empty before Kafka 4.0, which does not report them.

    Raises:
        SourceError: it did not answer.
    """
    if not await link.supports(DescribeClusterRequest, FENCED_BROKERS, timeout_at):
        return {}
    reply = await link.ask(DescribeClusterRequest(include_fenced_brokers=True), timeout_at)
    if fault := error_code_fault(reply.error_code, reply.error_message, link.address):
        raise fault
    return parse_fenced(reply)


def parse_fenced(reply: Any) -> dict[int, Broker]:
    """Turn a DescribeClusterResponse into its fenced brokers."""
    return {
        broker.broker_id: Broker(broker.broker_id, broker.host, broker.port, broker.rack, fenced=True)
        for broker in reply.brokers
        if broker.is_fenced
    }


def _parse(reply: Undecoded, head: Mapping[str, Any], topics: bytes) -> Layout:
    """Make a `Layout` of the topics' columns, or else of kafka-python's objects."""
    columns = parse_columns(topics, reply.version)
    if columns is None:
        return parse_metadata(reply.decode())
    return Layout(cluster_id=head["cluster_id"], brokers=parse_brokers(head["brokers"]), **columns)


def parse_metadata(reply: Any) -> Layout:
    """Turn a MetadataResponse into a `Layout`. A topic that is being deleted (error code) is left out."""
    topics = sorted((topic for topic in reply.topics if not topic.error_code), key=lambda topic: topic.name)
    rows = _Rows()
    for index, topic in enumerate(topics):
        for partition in sorted(topic.partitions, key=lambda partition: partition.partition_index):
            rows.add(index, partition)
    return Layout(
        cluster_id=reply.cluster_id,
        brokers=parse_brokers(reply.brokers),
        topics=tuple(topic.name for topic in topics),
        topic_ids=tuple(topic.topic_id.bytes if topic.topic_id else NO_TOPIC_ID for topic in topics),
        **rows.columns(),
    )


def parse_brokers(nodes: Iterable[Any]) -> dict[int, Broker]:
    """Turn the brokers of a MetadataResponse, which are those that are not fenced, into those of the model."""
    return {node.node_id: Broker(node.node_id, node.host, node.port, node.rack) for node in nodes}


class _Rows:
    """Collects plain lists, since one numpy array a column is cheaper than many small ones."""

    def __init__(self) -> None:
        self.topic: list[int] = []
        self.number: list[int] = []
        self.leader: list[int] = []
        self.leader_epoch: list[int] = []
        self.leader_row: list[int] = []
        self.partition: list[int] = []
        self.broker: list[int] = []
        self.in_isr: list[bool] = []
        self.offline: list[bool] = []

    def add(self, topic: int, partition: Any) -> None:
        row, first = len(self.topic), len(self.partition)
        replicas, leader = partition.replica_nodes, partition.leader_id
        isr, offline = partition.isr_nodes, partition.offline_replicas
        self.topic.append(topic)
        self.number.append(partition.partition_index)
        self.leader.append(leader)
        self.leader_epoch.append(partition.leader_epoch)
        self.leader_row.append(first + replicas.index(leader) if leader in replicas else UNKNOWN)
        self.partition += [row] * len(replicas)
        self.broker += replicas
        self.in_isr += [broker in isr for broker in replicas]
        self.offline += [broker in offline for broker in replicas] if offline else [False] * len(replicas)

    def columns(self) -> dict[str, Any]:
        kinds = {"in_isr": np.bool_, "offline": np.bool_}
        return {name: np.array(values, dtype=kinds.get(name, np.int32)) for name, values in vars(self).items()}
