"""Topics: creating, deleting, and who leads and follows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
)
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest

from sandbox.admin_base import REQUEST_TIMEOUT_MS, Asker, check
from sandbox.waiting import wait_for

# KRaft refuses a request that makes more than 10,000 records; a partition is one record, and a topic some more.
MOST_PARTITIONS_PER_REQUEST = 4000
ELECTION_NOT_NEEDED = 84
UNKNOWN_TOPIC = 3
LATEST, EARLIEST, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -4, -5
CONSUMER, DEBUGGING = -1, -2
Partition = tuple[str, int]


@dataclass(frozen=True)
class PartitionState:
    """One partition as a broker's metadata has it; `leader` is -1 where there is none."""

    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class TopicAdmin(Asker):
    """The part of Admin that knows topics."""

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication_factor: int = 1,
        config: Mapping[str, object] | None = None,
        assignment: Mapping[int, Sequence[int]] | None = None,
    ) -> None:
        """Create a topic and wait until every running broker knows all its leaders.

        Args:
            name: The topic.
            partitions: How many; as many requests as KRaft's limit of records asks for.
            replication_factor: Replicas per partition.
            config: Topic configs.
            assignment: Brokers by partition, the first one preferred as leader, in place of the two numbers.

        Raises:
            AdminError: The cluster refused.
        """
        brokers = None if assignment is None else [assignment[partition] for partition in range(len(assignment))]
        total = partitions if brokers is None else len(brokers)
        first = min(total, MOST_PARTITIONS_PER_REQUEST)
        wanted = _creatable(name, first, replication_factor, brokers and brokers[:first], config or {})
        request = CreateTopicsRequest(topics=[wanted], timeout_ms=REQUEST_TIMEOUT_MS, validate_only=False)
        for result in self.ask(request).topics:
            check(f"create topic {name}", result.error_code, result.error_message)
        for have in range(first, total, MOST_PARTITIONS_PER_REQUEST):
            count = min(have + MOST_PARTITIONS_PER_REQUEST, total)
            self.create_partitions(name, count, brokers and brokers[have:count])
        self.wait_for_topic(name, total)

    def create_tiered_topic(self, name: str, replication_factor: int = 1) -> None:
        """Create a topic with remote storage: segments of 1 MiB, the smallest of Kafka 4; brokers keep one of them."""
        sizes = {"segment.bytes": 1 << 20, "local.retention.bytes": 1 << 20}
        self.create_topic(name, 1, replication_factor, {"remote.storage.enable": True, **sizes})

    def create_partitions(self, name: str, count: int, brokers: Sequence[Sequence[int]] | None = None) -> None:
        """Let a topic have `count` partitions in all; `brokers` has the replicas of each new one."""
        topic = CreatePartitionsRequest.CreatePartitionsTopic
        new = None if brokers is None else [topic.CreatePartitionsAssignment(broker_ids=list(ids)) for ids in brokers]
        request = CreatePartitionsRequest(
            topics=[topic(name=name, count=count, assignments=new)], timeout_ms=REQUEST_TIMEOUT_MS, validate_only=False
        )
        for result in self.ask(request).results:
            check(f"create partitions of {name}", result.error_code, result.error_message)

    def delete_topic(self, *names: str) -> None:
        """Delete topics and wait until no running broker knows them; one that does not exist is fine."""
        if not names:
            return
        state = DeleteTopicsRequest.DeleteTopicState
        request = DeleteTopicsRequest(topics=[state(name=name) for name in names], timeout_ms=REQUEST_TIMEOUT_MS)
        for result in self.ask(request).responses:
            if result.error_code != UNKNOWN_TOPIC:
                check(f"delete topic {result.name}", result.error_code, result.error_message)
        wait_for(
            lambda: not any(set(names) & set(self.topics(broker, internal=True)) for broker in self.running()),
            what=f"every broker has forgotten {', '.join(names)}",
        )

    def topics(self, node: int | None = None, *, internal: bool = False) -> tuple[str, ...]:
        """Names of all topics, as a broker knows them."""
        reply = self.ask(MetadataRequest(topics=None, allow_auto_topic_creation=False), node)
        return tuple(topic.name for topic in reply.topics if internal or not _is_internal(topic))

    def describe(self, name: str, node: int | None = None) -> dict[int, PartitionState]:
        """Every partition of a topic; empty where the broker does not know the topic."""
        topic = MetadataRequest.MetadataRequestTopic
        reply = self.ask(MetadataRequest(topics=[topic(name=name)], allow_auto_topic_creation=False), node)
        return {p.partition_index: _state(p) for found in reply.topics for p in found.partitions}

    def isr(self, name: str, partition: int | None = None) -> dict[int, tuple[int, ...]]:
        """The in-sync replicas by partition, of one partition where it is named."""
        states = self.describe(name)
        return {p: state.isr for p, state in states.items() if partition in {None, p}}

    def offsets(
        self, name: str, timestamp: int = LATEST, node: int | None = None, replica_id: int = CONSUMER
    ) -> dict[int, int]:
        """Offsets by partition, from ListOffsets.

        Args:
            name: The topic.
            timestamp: `LATEST`, `EARLIEST`, `EARLIEST_LOCAL`, `LATEST_TIERED`, or ms since the epoch.
            node: The broker to ask; each leader by default.
            replica_id: `CONSUMER`, or `DEBUGGING` to get a follower's own log end, too.
        """
        by_broker: dict[int, list[int]] = {}
        for partition, state in self.describe(name).items():
            by_broker.setdefault(state.leader if node is None else node, []).append(partition)
        topic = ListOffsetsRequest.ListOffsetsTopic
        found = {}
        for broker, partitions in by_broker.items():
            wanted = [
                topic.ListOffsetsPartition(partition_index=partition, timestamp=timestamp, current_leader_epoch=-1)
                for partition in partitions
            ]
            request = ListOffsetsRequest(
                replica_id=replica_id, isolation_level=0, topics=[topic(name=name, partitions=wanted)]
            )
            for result in self.ask(request, broker).topics[0].partitions:
                check(f"offsets of {name}-{result.partition_index}", result.error_code)
                found[result.partition_index] = result.offset
        return found

    def out_of_sync(self) -> dict[Partition, tuple[int, ...]]:
        """Replicas that are missing from their ISR, of every topic, internal ones too."""
        reply = self.ask(MetadataRequest(topics=None, allow_auto_topic_creation=False))
        states = {(topic.name, p.partition_index): _state(p) for topic in reply.topics for p in topic.partitions}
        missing = {key: tuple(sorted(set(state.replicas) - set(state.isr))) for key, state in states.items()}
        return {key: replicas for key, replicas in missing.items() if replicas}

    def wait_for_topic(self, name: str, partitions: int, timeout: float = 120.0) -> None:
        """Wait until every running broker knows `partitions` partitions of a topic, each with a leader."""
        wait_for(
            lambda: all(_led(self.describe(name, broker).values(), partitions) for broker in self.running()),
            timeout,
            f"every broker knows {partitions} leaders of {name}",
        )

    def elect_preferred(self, partitions: Iterable[Partition] | None = None) -> None:
        """Let the first replica lead: of the given partitions, or of all."""
        election = ElectLeadersRequest.TopicPartitions
        chosen = None if partitions is None else [election(topic=t, partitions=[p]) for t, p in partitions]
        reply = self.ask(ElectLeadersRequest(election_type=0, topic_partitions=chosen, timeout_ms=REQUEST_TIMEOUT_MS))
        check("elect preferred leaders", reply.error_code)
        for topic, result in _election_results(reply):
            if result.error_code != ELECTION_NOT_NEEDED:
                check(f"elect leader of {topic}-{result.partition_id}", result.error_code, result.error_message)

    def delete_records(self, name: str, offsets: Mapping[int, int]) -> None:
        """Move the log start of partitions up to offsets; -1 is the high watermark."""
        by_leader: dict[int, dict[int, int]] = {}
        for partition, state in self.describe(name).items():
            if partition in offsets:
                by_leader.setdefault(state.leader, {})[partition] = offsets[partition]
        topic = DeleteRecordsRequest.DeleteRecordsTopic
        for leader, parts in by_leader.items():
            wanted = [topic.DeleteRecordsPartition(partition_index=p, offset=offset) for p, offset in parts.items()]
            request = DeleteRecordsRequest(topics=[topic(name=name, partitions=wanted)], timeout_ms=REQUEST_TIMEOUT_MS)
            for found in self.ask(request, leader).topics:
                for result in found.partitions:
                    check(f"delete records of {name}-{result.partition_index}", result.error_code)


def _creatable(
    name: str, partitions: int, factor: int, brokers: Sequence[Sequence[int]] | None, config: Mapping[str, object]
) -> Any:
    topic = CreateTopicsRequest.CreatableTopic
    assignments = [
        topic.CreatableReplicaAssignment(partition_index=partition, broker_ids=list(ids))
        for partition, ids in enumerate(brokers or ())
    ]
    return topic(
        name=name,
        num_partitions=-1 if assignments else partitions,
        replication_factor=-1 if assignments else factor,
        assignments=assignments,
        configs=[topic.CreatableTopicConfig(name=key, value=_text(value)) for key, value in config.items()],
    )


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_internal(topic: Any) -> bool:
    # __remote_log_metadata is not marked as internal, and is.
    return bool(topic.is_internal) or topic.name.startswith("__")


def _state(partition: Any) -> PartitionState:
    return PartitionState(partition.leader_id, tuple(partition.replica_nodes), tuple(partition.isr_nodes))


def _led(states: Iterable[PartitionState], partitions: int) -> bool:
    known = list(states)
    return len(known) == partitions and all(state.leader >= 0 for state in known)


def _election_results(reply: Any) -> Iterator[tuple[str, Any]]:
    for topic in reply.replica_election_results:
        for result in topic.partition_result:
            yield topic.topic, result
