"""Replies as bytes: made from the cluster, changed by a rule, kept for the next request that is the same."""

from dataclasses import dataclass
from typing import Any

from kafka_warden.sources.configs import TOPIC
from tests.support.scripted import replies
from tests.support.scripted.description import Description
from tests.support.scripted.kinds import KINDS, Patched
from tests.support.scripted.rules import Rule, set_errors
from tests.support.scripted.timing import Time

FORWARDED = "DescribeQuorum", "ListPartitionReassignments"
"""Requests that a broker forwards to the active controller."""

RIGHTS = {
    "DescribeLogDirs": "cluster_describe",
    "DescribeQuorum": "cluster_describe",
    "ListPartitionReassignments": "cluster_describe",
    "DescribeClientQuotas": "cluster_configs",
}
"""Request to the right that it needs, where that is one on the cluster only."""


@dataclass(slots=True)
class Request:
    """One request. `body` has no header."""

    key: int
    version: int
    correlation: int
    body: bytes
    name: str = ""
    side: str = ""
    _asked: Any = None

    def asked(self) -> Any:
        """Return what kafka-python decodes it to, which is decoded once: a large one takes a tenth of a second."""
        if self._asked is None:
            self._asked = KINDS[self.key][1].decode(self.body, version=self.version)
        return self._asked


class Encoder:
    """Encodes replies of one cluster. What is kept is dropped when the cluster changes."""

    def __init__(self, cluster: Description, time: Time) -> None:
        self._cluster = cluster
        self._time = time
        self._revision = cluster.revision
        self._encoded: dict[Any, bytes | Patched] = {}
        self._sides: dict[Any, str] = {}

    def reply(self, broker: int, request: Request, rule: Rule) -> bytes:
        self._drop_old()
        if rule.changes or rule.error or rule.throttle_ms:
            return _changed(self._made(broker, request), request, rule, self._time.now())
        return self._kept(broker, request)

    def _drop_old(self) -> None:
        if self._revision != self._cluster.revision:
            self._revision = self._cluster.revision
            self._encoded.clear()
            self._sides.clear()

    def _kept(self, broker: int, request: Request) -> bytes:
        key = (request.key, request.version, broker, request.body)
        if key not in self._encoded:
            made = self._made(broker, request)
            self._encoded[key] = made if isinstance(made, Patched) else made.encode(version=request.version)
        kept = self._encoded[key]
        return kept.at(self._time.now()) if isinstance(kept, Patched) else kept

    def _made(self, broker: int, request: Request) -> Any:
        cluster, asked = self._cluster, request.asked()
        denied = RIGHTS.get(request.name) in cluster.denied
        if denied or (request.name == "ListPartitionReassignments" and cluster.zookeeper not in (None, broker)):
            refused = KINDS[request.key][2]()
            set_errors(refused, replies.CLUSTER_DENIED if denied else replies.NOT_CONTROLLER)
            return refused
        match request.name:
            case "ListOffsets":
                return replies.list_offsets(cluster, broker, asked, request.version)
            case "DescribeLogDirs":
                return replies.log_dirs(cluster, broker, asked, request.version)
            case "DescribeConfigs":
                return replies.configs(cluster.image(broker), broker, asked)
        by_request = {"DescribeTopicPartitions": replies.topic_partitions, "Metadata": replies.metadata}
        if request.name in by_request:
            return by_request[request.name](cluster.image(broker), asked)
        make = {
            "DescribeClientQuotas": replies.quotas,
            "DescribeCluster": replies.describe_cluster,
            "DescribeQuorum": replies.quorum,
            "ListPartitionReassignments": replies.reassignments,
        }
        return make[request.name](cluster.image(broker))

    def side(self, broker: int, request: Request) -> str:
        """Return what a request is about, nothing when both or none.

        ListOffsets: `leaders` or `followers`; DescribeConfigs: `topics` or `brokers`.
        """
        if request.name == "DescribeConfigs":
            kinds = {resource.resource_type for resource in request.asked().resources}
            return "topics" if kinds == {TOPIC} else "brokers" if TOPIC not in kinds else ""
        if request.name != "ListOffsets":
            return ""
        self._drop_old()
        key = (broker, request.version, request.body)
        if key not in self._sides:
            asked = request.asked()
            topics = ((self._cluster.topics.get(topic.name), topic.partitions) for topic in asked.topics)
            leading = {
                topic.leader(partition.partition_index) == broker
                for topic, partitions in topics
                if topic is not None
                for partition in partitions
            }
            self._sides[key] = "" if len(leading) != 1 else "leaders" if True in leading else "followers"
        return self._sides[key]


def _changed(made: Any, request: Request, rule: Rule, now: float) -> bytes:
    reply = made
    if isinstance(made, Patched):
        reply = KINDS[request.key][2].decode(made.at(now), version=request.version)
        reply._header = None  # which kafka-python leaves unset, and wants when it encodes
    if rule.error:
        set_errors(reply, rule.error)
    # A reply without the field, as that of DescribeQuorum, cannot name its pause.
    throttled = rule.throttle_ms and hasattr(reply, "throttle_time_ms")
    for name, value in (rule.changes | ({"throttle_time_ms": rule.throttle_ms} if throttled else {})).items():
        setattr(reply, name, value)
    encoded: bytes = reply.encode(version=request.version)
    return encoded
