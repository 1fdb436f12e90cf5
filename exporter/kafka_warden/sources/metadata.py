"""Brokers, topics and replicas: Metadata, and DescribeCluster for fenced brokers."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from kafka_warden.arrays import Keys
from kafka_warden.clients.kafka.columns.metadata import read_topics
from kafka_warden.clients.kafka.faults import error_code_fault
from kafka_warden.clients.kafka.link import Ask, BrokerLink
from kafka_warden.clients.kafka.requests import (
    FENCED_BROKERS,
    MetadataRequest,
    Repeated,
    Undecoded,
    request_fenced_brokers,
    request_metadata,
)
from kafka_warden.errors import OtherClusterError, ProtocolError, SourceError, UnsupportedError
from kafka_warden.model import NO_LISTENER, UNKNOWN, Bools, Broker, Ints, members_of_isr

NO_TOPIC_ID: Final = bytes(16)
MOST_BROKERS: Final = 10_000
"""Each is connected to. The largest clusters have some hundred brokers."""
LISTENER_NOT_FOUND: Final = 72
"""Error code of a partition whose leader lacks the listener of the request; its leader id is -1."""


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
    controller: int = UNKNOWN
    """Id of the active controller in ZooKeeper mode. In KRaft mode that of any broker."""

    def without_listener(self) -> frozenset[int]:
        """Return the brokers that are up, and that this reply does not list since they lack the listener."""
        found = members_of_isr(self.leader == NO_LISTENER, self.partition, self.broker, self.in_isr)
        return found - self.brokers.keys()

    def keys(self) -> Keys:
        """Keys of its rows."""
        return Keys(self.topics, self.topic_ids, self.topic, self.number, self.partition, self.broker)


def shared_addresses(brokers: Iterable[Broker]) -> dict[int, str]:
    """Return a sentence for each broker that advertises the address of another one: only one process answers there."""
    sharing: dict[tuple[str, int], list[int]] = defaultdict(list)
    for broker in brokers:
        sharing[broker.host.lower(), broker.port].append(broker.id)
    return {
        broker: f"brokers {', '.join(map(str, sorted(ids)))} advertise the same address {host}:{port}"
        for (host, port), ids in sharing.items()
        if len(ids) > 1
        for broker in ids
    }


class MetadataQuestion:
    """Asks one broker for the whole cluster. Topics that are the same as in the last reply are not parsed again.

    The rest of the reply is never the same: a KRaft broker names a random broker as the controller.
    """

    def __init__(self, cluster_id: str | None = None) -> None:
        self.cluster_id = cluster_id
        """The cluster that may answer; `None` for any."""
        self._request = Repeated(MetadataRequest, lambda version: request_metadata().encode(version=version))
        self._topics: tuple[int, bytes] | None = None
        """Version of the protocol, and the bytes that the layout was parsed from."""
        self._layout: Layout | None = None

    async def read(self, link: BrokerLink, timeout_at: float) -> Layout:
        """Ask; the columns are the same objects as before where all topics are the same, byte for byte.

        Raises:
            OtherClusterError: the broker belongs to another cluster.
            SourceError: it did not answer, or not usefully.
        """
        return self.parse(await link.ask(self._request, timeout_at), link.address)

    def parse(self, reply: Undecoded, address: str = "") -> Layout:
        """Turn a reply into a `Layout`, or into the last one with the brokers of this one.

        Raises:
            OtherClusterError: it is of another cluster.
            ProtocolError: it cannot be decoded.
        """
        head, body = reply.split("topics")
        topics, cluster_id = (reply.version, body), head.get("cluster_id")  # from version 2 on
        refuse_other_cluster(self.cluster_id, cluster_id, address)
        if self._layout is None or topics != self._topics:
            columns = read_topics(body, reply.version)
            brokers = parse_brokers(head["brokers"])
            layout = _layout(cluster_id, brokers, **columns) if columns else parse_metadata(reply.decode())
            self._topics, self._layout = topics, layout
        else:
            layout = replace(self._layout, brokers=parse_brokers(head["brokers"]))
        self._layout = replace(layout, controller=head.get("controller_id", UNKNOWN))
        return self._layout


async def verify_cluster(watched: Callable[[], str | None], address: str, ask: Ask) -> None:
    """Ask over a new connection for the id of the cluster, and for no topic. Before Kafka 0.10.1 it is not known.

    `watched` returns the cluster that may answer, `None` for any.

    Raises:
        OtherClusterError: the broker belongs to another cluster.
        SourceError: it did not answer.
    """
    if (wanted := watched()) is not None:
        reply = await ask(request_metadata([]))
        refuse_other_cluster(wanted, reply.cluster_id, address)


def refuse_other_cluster(watched: str | None, found: str | None, address: str) -> None:
    """Raise an OtherClusterError for the answer of a cluster that is not watched; `None` is an id that is not known."""
    if None not in (watched, found) and found != watched:
        raise OtherClusterError(
            f"{address} leads to the cluster {found!r}, which is not used: this exporter watches {watched!r}; correct"
            " DNS, NAT, bootstrap.servers or advertised.listeners, or remove the state file and restart to watch the"
            " other one"
        )


async def topic_errors(link: BrokerLink, until: float, names: Sequence[str]) -> dict[str, SourceError | None]:
    """Ask for topics by name; return why each is not described.

    A broker refuses a name that the principal may not describe, whether there is such a topic or not.

    Raises:
        SourceError: the broker did not answer.
    """
    if not names:
        return {}
    reply = await link.ask(request_metadata(names), until)
    return {str(topic.name): error_code_fault(topic.error_code, None, link.address) for topic in reply.topics}


async def read_fenced(link: BrokerLink, timeout_at: float, cluster_id: str | None = None) -> dict[int, Broker]:
    """Ask for the brokers that are registered and fenced. `cluster_id`: as in `MetadataQuestion`.

    Raises:
        UnsupportedError: Kafka before 4.0 does not report them.
        OtherClusterError: the broker belongs to another cluster.
        SourceError: it did not answer.
    """
    if not await link.supports(FENCED_BROKERS, timeout_at):
        raise UnsupportedError(f"{link.address} does not report fenced brokers (Kafka {FENCED_BROKERS.release})")
    reply = await link.ask(request_fenced_brokers(), timeout_at)
    if fault := error_code_fault(reply.error_code, reply.error_message, link.address):
        raise fault
    refuse_other_cluster(cluster_id, reply.cluster_id, link.address)
    return parse_fenced(reply)


def parse_fenced(reply: Any) -> dict[int, Broker]:
    """Turn a DescribeClusterResponse into its fenced brokers.

    Raises:
        ProtocolError: there are more brokers than any cluster has.
    """
    return _bounded(
        {
            broker.broker_id: Broker(broker.broker_id, broker.host, broker.port, broker.rack, fenced=True)
            for broker in reply.brokers
            if broker.is_fenced
        }
    )


def parse_metadata(reply: Any) -> Layout:
    """Turn a MetadataResponse into a `Layout`. A topic that is being deleted (error code) is left out."""
    topics = sorted((topic for topic in reply.topics if not topic.error_code), key=lambda topic: topic.name)
    rows = [
        (index, partition)
        for index, topic in enumerate(topics)
        for partition in sorted(topic.partitions, key=lambda partition: partition.partition_index)
    ]
    replicas = [(row, each, broker) for row, (_, each) in enumerate(rows) for broker in each.replica_nodes]
    return _layout(
        reply.cluster_id,
        parse_brokers(reply.brokers),
        topics=tuple(topic.name for topic in topics),
        topic_ids=tuple(topic.topic_id.bytes if topic.topic_id else NO_TOPIC_ID for topic in topics),
        topic=np.array([index for index, _ in rows], np.int32),
        number=np.array([each.partition_index for _, each in rows], np.int32),
        error=np.array([each.error_code for _, each in rows], np.int32),
        leader=np.array([each.leader_id for _, each in rows], np.int32),
        leader_epoch=np.array([each.leader_epoch for _, each in rows], np.int32),
        partition=np.array([row for row, _, _ in replicas], np.int32),
        broker=np.array([broker for _, _, broker in replicas], np.int32),
        in_isr=np.array([broker in each.isr_nodes for _, each, broker in replicas], bool),
        offline=np.array([broker in (each.offline_replicas or ()) for _, each, broker in replicas], bool),
    )


def _layout(
    cluster_id: str | None, brokers: Mapping[int, Broker], *, error: Any, leader: Any, **columns: Any
) -> Layout:
    """Make a `Layout` of the columns of `read_topics`. A leader that is no replica has the row `UNKNOWN`."""
    leader = np.where(error == LISTENER_NOT_FOUND, NO_LISTENER, leader).astype(np.int32)
    leading = np.flatnonzero(columns["broker"] == leader[columns["partition"]])[::-1]
    rows = np.full(len(leader), UNKNOWN, np.int32)
    rows[columns["partition"][leading]] = leading
    return Layout(cluster_id, brokers, leader=leader, leader_row=rows, **columns)


def parse_brokers(nodes: Iterable[Any]) -> dict[int, Broker]:
    """Turn the brokers of a MetadataResponse, which are those that are not fenced, into those of the model.

    Raises:
        ProtocolError: there are more than any cluster has.
    """
    return _bounded({node.node_id: Broker(node.node_id, node.host, node.port, node.rack) for node in nodes})


def _bounded(brokers: dict[int, Broker]) -> dict[int, Broker]:
    if len(brokers) > MOST_BROKERS:
        raise ProtocolError(f"the reply names {len(brokers)} brokers; {MOST_BROKERS} are read at most")
    return brokers
