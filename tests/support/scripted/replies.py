"""Replies of a scripted broker, encoded by kafka-python's schemas from a `Description`."""

import time
import uuid
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from kafka.protocol.admin import (
    DescribeClientQuotasResponse,
    DescribeClusterResponse,
    DescribeConfigsResponse,
    DescribeLogDirsResponse,
    DescribeQuorumResponse,
    DescribeTopicPartitionsResponse,
    ListPartitionReassignmentsResponse,
)
from kafka.protocol.consumer import ListOffsetsResponse
from kafka.protocol.metadata import MetadataResponse

from tests.support.scripted.description import Description, Topic
from tests.support.scripted.kinds import MARK, Patched

UNKNOWN_PARTITION: Final = 3
TOPIC_DENIED, CLUSTER_DENIED, NOT_CONTROLLER, INVALID_REQUEST, STORAGE_ERROR = 29, 31, 41, 42, 56
LISTENER_NOT_FOUND: Final = 72
READ, WRITE, DESCRIBE = 3, 4, 8
"""Authorized operations."""
CONTROLLER_DEFAULTS: Final = {"controller.quota.window.num": "11", "controller.quota.window.size.seconds": "1"}
TOPIC: Final = 2
NO_ID: Final = uuid.UUID(int=0)


def metadata(cluster: Description, request: Any) -> Any:
    response = MetadataResponse
    shown = [topic for topic in cluster.topics.values() if topic.listed and "topic_describe" not in cluster.denied]
    topics = [_topic(cluster, topic) for topic in shown]
    if request.topics is not None:
        known = {topic.name: topic for topic in topics}
        topics = [known.get(asked.name) or _no_topic(cluster, asked.name) for asked in request.topics]
    return response(
        brokers=[
            response.MetadataResponseBroker(
                node_id=broker.id, host=broker.address()[0], port=broker.address()[1], rack=None
            )
            for broker in cluster.brokers.values()
            if broker.listener and not broker.fenced
        ],
        cluster_id=cluster.cluster_id,
        controller_id=min((broker.id for broker in cluster.brokers.values() if not broker.fenced), default=-1)
        if cluster.zookeeper is None
        else cluster.zookeeper,
        topics=topics,
    )


def topic_partitions(cluster: Description, request: Any) -> Any:
    """Partitions of the topics that are asked for, from the cursor on, at most as many as are asked for."""
    response = DescribeTopicPartitionsResponse
    kind = response.DescribeTopicPartitionsResponseTopic
    names = sorted(asked.name for asked in request.topics)
    wanted = [(name, number) for name in names for number in range(len(cluster.topics[name].replicas))]
    wanted = [each for each in wanted if each >= (request.cursor.topic_name, request.cursor.partition_index)]
    partitions: dict[str, list[Any]] = {}
    for name, number in wanted[: request.response_partition_limit]:
        topic = cluster.topics[name]
        partition = kind.DescribeTopicPartitionsResponsePartition(
            partition_index=number,
            leader_id=topic.leader(number),
            replica_nodes=topic.replicas[number],
            isr_nodes=topic.isr[number],
            eligible_leader_replicas=topic.elr.get(number, []),
            last_known_elr=topic.last_known_elr.get(number, []),
            offline_replicas=[],
        )
        partitions.setdefault(name, []).append(partition)
    rest = wanted[request.response_partition_limit :]
    return response(
        topics=[kind(name=name, topic_id=cluster.topics[name].id, partitions=of) for name, of in partitions.items()],
        next_cursor=response.Cursor(topic_name=rest[0][0], partition_index=rest[0][1]) if rest else None,
    )


def _no_topic(cluster: Description, name: str) -> Any:
    """The answer for a topic that does not exist, or is hidden."""
    hidden = name in cluster.topics and not cluster.topics[name].deleted
    denied = hidden or "topic_describe" in cluster.denied
    return MetadataResponse.MetadataResponseTopic(
        error_code=TOPIC_DENIED if denied else UNKNOWN_PARTITION, name=name, topic_id=NO_ID, partitions=[]
    )


def _topic(cluster: Description, topic: Topic) -> Any:
    kind = MetadataResponse.MetadataResponseTopic
    away = {broker.id for broker in cluster.brokers.values() if broker.fenced or not broker.listener}
    hidden = {broker.id for broker in cluster.brokers.values() if not broker.listener}
    return kind(
        name=topic.name,
        topic_id=topic.id,
        authorized_operations={READ, DESCRIBE} if "topic_write" in cluster.denied else {READ, WRITE, DESCRIBE},
        partitions=[
            kind.MetadataResponsePartition(
                partition_index=partition,
                error_code=LISTENER_NOT_FOUND if topic.leader(partition) in hidden else 0,
                leader_id=-1 if topic.leader(partition) in hidden else topic.leader(partition),
                leader_epoch=topic.epochs.get(partition, 0),
                replica_nodes=replicas,
                isr_nodes=topic.isr[partition],
                offline_replicas=[broker for broker in replicas if broker in away],
            )
            for partition, replicas in enumerate(topic.replicas)
        ],
    )


def describe_cluster(cluster: Description) -> Any:
    response = DescribeClusterResponse
    return response(
        endpoint_type=1,
        cluster_id=cluster.cluster_id,
        controller_id=-1,
        brokers=[
            response.DescribeClusterBroker(
                broker_id=broker.id, host=broker.host, port=broker.port, rack=None, is_fenced=broker.fenced
            )
            for broker in cluster.brokers.values()
        ],
    )


def list_offsets(cluster: Description, broker: int, request: Any, version: int) -> Patched:
    """Offsets of the broker's own copies; all partitions of a request are asked with the timestamp of the first."""
    response = ListOffsetsResponse
    rows, lags, topics, timestamp = [], [], [], -1
    for topic in request.topics:
        partitions = []
        for asked in topic.partitions:
            timestamp = asked.timestamp
            row = cluster.row(topic.name, asked.partition_index)
            hosted = row >= 0 and broker in cluster.topics[topic.name].replicas[asked.partition_index]
            if hosted:
                rows.append(row)
                lags.append(cluster.topics[topic.name].behind(broker, asked.partition_index))
            partitions.append(
                response.ListOffsetsTopicResponse.ListOffsetsPartitionResponse(
                    partition_index=asked.partition_index,
                    error_code=0 if hosted else UNKNOWN_PARTITION,
                    timestamp=-1,
                    offset=MARK if hosted else -1,
                    leader_epoch=0,
                )
            )
        topics.append(response.ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
    body = response(topics=topics).encode(version=version)
    where, behind = np.array(rows, np.int64), np.array(lags, np.int64)
    return Patched(body, lambda now: cluster.offsets(where, behind, timestamp, now))


def log_dirs(cluster: Description, broker: int, request: Any, version: int) -> Patched:
    """One directory with all logs of the broker, or with those that were asked for, and those that are offline."""
    kind = DescribeLogDirsResponse.DescribeLogDirsResult
    asked = None if request.topics is None else {topic.topic: set(topic.partitions) for topic in request.topics}
    rows, lags, topics = [], [], []
    for topic in cluster.topics.values():
        hosted = [
            partition
            for partition, replicas in enumerate(topic.replicas)
            if topic.logged and broker in replicas and (asked is None or partition in asked.get(topic.name, ()))
        ]
        if not hosted:
            continue
        rows += [cluster.row(topic.name, partition) for partition in hosted]
        lags += [topic.behind(broker, partition) for partition in hosted]
        partitions = [
            kind.DescribeLogDirsTopic.DescribeLogDirsPartition(partition_index=partition, partition_size=MARK)
            for partition in hosted
        ]
        topics.append(kind.DescribeLogDirsTopic(name=topic.name, partitions=partitions))
    directory = kind(log_dir="/data", topics=topics, total_bytes=10**12, usable_bytes=5 * 10**11)
    offline = [
        kind(error_code=STORAGE_ERROR, log_dir=path, topics=[], total_bytes=-1, usable_bytes=-1)
        for path in cluster.brokers[broker].offline
    ]
    body = DescribeLogDirsResponse(results=[directory, *offline]).encode(version=version)
    where, behind = np.array(rows, np.int64), np.array(lags, np.int64)
    return Patched(body, lambda now: cluster.sizes(where, behind, now))


def configs(cluster: Description, broker: int, request: Any) -> Any:
    """What the resources have set, as far as it was asked for. A broker answers for no other one."""
    kind = DescribeConfigsResponse.DescribeConfigsResult
    results = []
    for resource in request.resources:
        values, source, error = _values(cluster, broker, resource)
        wanted = values if resource.configuration_keys is None else resource.configuration_keys
        results.append(
            kind(
                error_code=error,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=[
                    kind.DescribeConfigsResourceResult(
                        name=name,
                        value=values[name],
                        read_only=False,
                        config_source=source,
                        is_sensitive=False,
                        synonyms=[],
                        config_type=0,
                    )
                    for name in wanted or ()
                    if values and name in values
                ],
            )
        )
    return DescribeConfigsResponse(results=results)


def _values(cluster: Description, broker: int, resource: Any) -> tuple[Mapping[str, str] | None, int, int]:
    """Return the values of a resource, their source, and the error code."""
    name, topic_kind = resource.resource_name, resource.resource_type == TOPIC
    if ("topic_configs" if topic_kind else "cluster_configs") in cluster.denied:
        return None, 2, TOPIC_DENIED if topic_kind else CLUSTER_DENIED
    if resource.resource_type == TOPIC and name in cluster.topics:
        topic = cluster.topics[name]
        return (None if topic.config_error else topic.config), 1, topic.config_error
    if resource.resource_type != TOPIC and name != str(broker):
        return None, 2, INVALID_REQUEST
    if resource.resource_type != TOPIC and name == str(cluster.controller):
        return CONTROLLER_DEFAULTS, 5, 0
    if resource.resource_type != TOPIC and broker in cluster.brokers:
        return cluster.brokers[broker].config, 2, 0
    return None, 2, UNKNOWN_PARTITION


def quotas(cluster: Description) -> Any:
    kind = DescribeClientQuotasResponse.EntryData
    entries = [
        kind(
            entity=[kind.EntityData(entity_type=each, entity_name=name) for each, name in quota["entity"].items()],
            values=[kind.ValueData(key=key, value=float(value)) for key, value in quota["values"].items()],
        )
        for quota in cluster.quotas
    ]
    return DescribeClientQuotasResponse(entries=entries)


def quorum(cluster: Description) -> Any:
    """One controller, which leads, and the brokers as observers."""
    response, node = DescribeQuorumResponse, DescribeQuorumResponse.Node
    kind = response.TopicData.PartitionData

    now = time.time() + (cluster.skew or 0.0)
    ages = cluster.quorum_ages | ({} if cluster.skew is None and not cluster.quorum_ages else {cluster.controller: 0.0})

    def state(replica: int) -> Any:
        return kind.ReplicaState(
            replica_id=replica,
            replica_directory_id=Topic(str(replica), []).id,
            log_end_offset=1000,
            last_fetch_timestamp=-1,
            last_caught_up_timestamp=int(1000 * (now - ages[replica])) if replica in ages else -1,
        )

    partition = kind(
        partition_index=0,
        leader_id=cluster.controller,
        leader_epoch=cluster.controller_epoch,
        high_watermark=1000,
        current_voters=[state(cluster.controller)],
        observers=[state(broker) for broker in cluster.brokers],
    )
    controller = cluster.controllers.get(cluster.controller)
    places = [] if controller is None else [controller.address()]
    listeners = [node.Listener(name="C", host=host, port=port) for host, port in places]
    return response(
        topics=[response.TopicData(topic_name="__cluster_metadata", partitions=[partition])],
        nodes=[node(node_id=cluster.controller, listeners=listeners)],
    )


def reassignments(cluster: Description) -> Any:
    kind = ListPartitionReassignmentsResponse.OngoingTopicReassignment
    topics = [
        kind(
            name=topic.name,
            partitions=[
                kind.OngoingPartitionReassignment(
                    partition_index=partition,
                    replicas=topic.replicas[partition],
                    adding_replicas=move.get("adding", []),
                    removing_replicas=move.get("removing", []),
                )
                for partition, move in topic.moves.items()
            ],
        )
        for topic in cluster.topics.values()
        if topic.moves
    ]
    return ListPartitionReassignmentsResponse(topics=topics)
