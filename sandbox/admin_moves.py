"""Reassignments and replication throttles, as kafka-reassign-partitions handles them (KIP-73, KIP-455)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    AlterReplicaLogDirsRequest,
    DescribeLogDirsRequest,
    ListPartitionReassignmentsRequest,
)

from sandbox.admin_base import REQUEST_TIMEOUT_MS, check
from sandbox.admin_configs import ConfigAdmin
from sandbox.admin_topics import Partition, TopicAdmin
from sandbox.waiting import wait_for

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
NO_REASSIGNMENT_IN_PROGRESS = 85


@dataclass(frozen=True)
class Reassignment:
    """One partition that moves."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


@dataclass(frozen=True)
class LogDirReplica:
    """One replica in one log directory; `is_future` while it is being copied there from another directory."""

    topic: str
    partition: int
    log_dir: str
    size: int
    offset_lag: int
    is_future: bool


class MoveAdmin(TopicAdmin, ConfigAdmin):
    """The part of Admin that moves replicas."""

    def reassign(self, moves: Mapping[Partition, Sequence[int]], throttle: int | None = None) -> None:
        """Start moves to the given replicas; with `throttle` in bytes/s the throttle is set first, as the tool does."""
        if throttle is not None:
            self.set_throttle(moves, throttle)
        self._alter_reassignments({partition: list(replicas) for partition, replicas in moves.items()})

    def cancel(self, partitions: Iterable[Partition] | None = None) -> None:
        """Cancel the moves of the given partitions, or all; one that does not move is fine."""
        self._alter_reassignments(dict.fromkeys(self.reassignments() if partitions is None else partitions))

    def reassignments(self) -> dict[Partition, Reassignment]:
        """Everything that moves between brokers."""
        reply = self.ask(ListPartitionReassignmentsRequest(topics=None, timeout_ms=REQUEST_TIMEOUT_MS))
        check("list reassignments", reply.error_code, reply.error_message)
        return {
            (topic.name, p.partition_index): Reassignment(
                tuple(p.replicas), tuple(p.adding_replicas), tuple(p.removing_replicas)
            )
            for topic in reply.topics
            for p in topic.partitions
        }

    def wait_for_moves(self, timeout: float = 120.0) -> None:
        """Wait until nothing moves between brokers."""
        wait_for(lambda: not self.reassignments(), timeout, "every reassignment has ended")

    def set_throttle(self, moves: Mapping[Partition, Sequence[int]], rate: int) -> None:
        """What `kafka-reassign-partitions --execute --throttle` sets before it starts.

        Per topic the sources on the leader list and the destinations on the follower list, of these moves and of those
        under way; on every broker that is either, both rates.

        Args:
            moves: The new replicas by partition.
            rate: Bytes/s.
        """
        sources, destinations = self._ends(moves)
        for topic in {topic for topic, _ in sources}:
            self.alter_topic_config(
                topic, {LEADER_REPLICAS: _pairs(topic, sources), FOLLOWER_REPLICAS: _pairs(topic, destinations)}
            )
        for broker in sorted({b for ends in (sources, destinations) for brokers in ends.values() for b in brokers}):
            self.set_throttle_rate(broker, rate)

    def set_throttle_rate(self, broker: int | str, rate: int | None) -> None:
        """Both replication rates of one broker in bytes/s; "" is the cluster's default, None deletes."""
        self.alter_broker_config(broker, {LEADER_RATE: rate, FOLLOWER_RATE: rate})

    def clear_throttle(self, topics: Iterable[str]) -> None:
        """What `kafka-reassign-partitions --verify` deletes in the end: rates of brokers and lists of these topics.

        A broker that is down keeps its rates, since the tool cannot reach it.
        """
        for broker in self.running():
            self.alter_broker_config(broker, {LEADER_RATE: None, FOLLOWER_RATE: None, LOG_DIR_RATE: None})
        for topic in topics:
            self.alter_topic_config(topic, {LEADER_REPLICAS: None, FOLLOWER_REPLICAS: None})

    def move_log_dir(self, broker: int, partition: Partition, log_dir: str) -> None:
        """Start to move one replica to another log directory of its broker."""
        directory = AlterReplicaLogDirsRequest.AlterReplicaLogDir
        name, index = partition
        wanted = directory(path=log_dir, topics=[directory.AlterReplicaLogDirTopic(name=name, partitions=[index])])
        for topic in self.ask(AlterReplicaLogDirsRequest(dirs=[wanted]), broker).results:
            for result in topic.partitions:
                check(f"move {name}-{index} to {log_dir}", result.error_code)

    def log_dirs(self, broker: int) -> list[LogDirReplica]:
        """Every replica of a broker, with its directory and its bytes."""
        found = []
        for directory in self.ask(DescribeLogDirsRequest(topics=None), broker).results:
            check(f"describe {directory.log_dir} of broker {broker}", directory.error_code)
            found += [
                LogDirReplica(
                    topic.name, p.partition_index, directory.log_dir, p.partition_size, p.offset_lag, p.is_future_key
                )
                for topic in directory.topics
                for p in topic.partitions
            ]
        return found

    def _ends(self, moves: Mapping[Partition, Sequence[int]]) -> tuple[dict[Partition, set[int]], ...]:
        sources: dict[Partition, set[int]] = {}
        destinations: dict[Partition, set[int]] = {}
        under_way = self.reassignments()
        for partition, move in under_way.items():
            sources[partition] = set(move.replicas) - set(move.adding)
            destinations[partition] = set(move.adding)
        known = {topic: self.describe(topic) for topic in {topic for topic, _ in moves}}
        for partition, replicas in moves.items():
            now = set(known[partition[0]][partition[1]].replicas)
            sources[partition] = sources.get(partition) or now
            destinations[partition] = set(replicas) - sources[partition]
        return sources, destinations

    def _alter_reassignments(self, targets: Mapping[Partition, list[int] | None]) -> None:
        reassignable = AlterPartitionReassignmentsRequest.ReassignableTopic
        by_topic = defaultdict(list)
        for (topic, partition), replicas in targets.items():
            by_topic[topic].append(reassignable.ReassignablePartition(partition_index=partition, replicas=replicas))
        if not by_topic:
            return
        topics = [reassignable(name=topic, partitions=partitions) for topic, partitions in by_topic.items()]
        reply = self.ask(AlterPartitionReassignmentsRequest(topics=topics, timeout_ms=REQUEST_TIMEOUT_MS))
        check("alter reassignments", reply.error_code, reply.error_message)
        for response in reply.responses:
            for result in response.partitions:
                cancelled = targets[response.name, result.partition_index] is None
                if not (cancelled and result.error_code == NO_REASSIGNMENT_IN_PROGRESS):
                    check(f"reassign {response.name}-{result.partition_index}", result.error_code, result.error_message)


def _pairs(topic: str, ends: Mapping[Partition, set[int]]) -> str:
    """The value of a throttled replica list: partition:broker,partition:broker."""
    return ",".join(
        f"{partition}:{broker}"
        for (name, partition), brokers in sorted(ends.items())
        if name == topic
        for broker in sorted(brokers)
    )
