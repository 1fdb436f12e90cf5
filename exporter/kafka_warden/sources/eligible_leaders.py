"""Which replicas may lead a partition without a leader: DescribeTopicPartitions (KIP-966)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.requests import DescribeTopicPartitionsRequest
from kafka_warden.model import IN_ELR, LAST_KNOWN_ELR

MOST_PARTITIONS: Final = 500
"""In one reply: some 50 kB."""
MOST_REQUESTS: Final = 10
"""In one poll. The partitions that these do not reach stay unknown."""

EligibleLeaders = Mapping[tuple[str, int], Mapping[int, int]]
"""Topic name and partition number to the flags of brokers, `IN_ELR` and `LAST_KNOWN_ELR`: empty without ELR."""

_Topic = DescribeTopicPartitionsRequest.TopicRequest
_Cursor = DescribeTopicPartitionsRequest.Cursor


async def read_eligible_leaders(
    link: BrokerLink, partitions: Sequence[tuple[str, int]], timeout_at: float
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
        topics = [_Topic(name=name) for name in dict.fromkeys(name for name, _ in left)]
        cursor = _Cursor(topic_name=left[0][0], partition_index=left[0][1])
        request = DescribeTopicPartitionsRequest(topics=topics, response_partition_limit=MOST_PARTITIONS, cursor=cursor)
        reply = await link.ask(request, timeout_at)
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
