"""All requests that this program may send: their keys, versions, and how each is built. None changes anything.

Those that every poll repeats are encoded once, and their replies are decoded only as far as they are wanted. With
10,005 partitions x 3 replicas, building and encoding the same six ListOffsets requests took 84 ms of CPU a poll, and
decoding metadata that had not changed another 30.
"""

import functools
import itertools
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

from kafka.protocol.admin import (
    DescribeClientQuotasRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeLogDirsRequest,
    DescribeQuorumRequest,
    DescribeTopicPartitionsRequest,
    ListPartitionReassignmentsRequest,
)
from kafka.protocol.api_key import ApiKey
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from kafka_warden.clients.kafka.bounds import BoundedContext
from kafka_warden.errors import ProtocolError, TooLargeError


def _keys(*requests: Any) -> frozenset[ApiKey]:
    return frozenset(ApiKey(request.API_KEY) for request in requests)


LOGIN: Final = _keys(ApiVersionsRequest, SaslAuthenticateRequest, SaslHandshakeRequest)
"""Those before a login is complete: their replies are the smallest."""
LISTING: Final = _keys(
    DescribeClientQuotasRequest,
    DescribeConfigsRequest,
    DescribeLogDirsRequest,
    DescribeTopicPartitionsRequest,
    ListOffsetsRequest,
    ListPartitionReassignmentsRequest,
    MetadataRequest,
)
"""Those whose replies grow with the cluster: they list topics, logs or clients."""
READ_ONLY: Final = LOGIN | LISTING | _keys(DescribeClusterRequest, DescribeQuorumRequest)
"""No other request is sent."""


class Since(NamedTuple):
    """A version of a request, and the release of Kafka that brings it, where a message names that."""

    request: Any
    version: int = 0
    release: str = ""


RELEASE_4_4: Final = Since(ApiVersionsRequest, 5)
"""New in Kafka 4.4. kafka-python knows releases up to 4.3 by such versions."""
FRAMED_LOGIN: Final = Since(SaslHandshakeRequest, 1, "1.0")
"""From then on SASL goes in Kafka's own requests."""
REASSIGNMENTS: Final = Since(ListPartitionReassignmentsRequest, 0, "2.4")
QUOTAS: Final = Since(DescribeClientQuotasRequest, 0, "2.6")
QUORUM: Final = Since(DescribeQuorumRequest, 0, "3.3 in KRaft mode")
ELIGIBLE_LEADERS: Final = Since(DescribeTopicPartitionsRequest)
FENCED_BROKERS: Final = Since(DescribeClusterRequest, 2, "4.0")
LOCAL_STARTS: Final = Since(ListOffsetsRequest, 8, "3.5")
"""Before, the log's start is the local one."""
TIERED_ENDS: Final = Since(ListOffsetsRequest, 9, "3.9")
"""Before, no broker reports what is in remote storage."""
COPY_DUE: Final = Since(ListOffsetsRequest, 11, "4.2")
"""The last version before `remote.copy.lag.ms`, which topics of Kafka 4.4 have."""

Topics = Iterable[tuple[str, Sequence[int]]]
"""Names, each with partitions."""
DEBUGGING_REPLICA: Final = -2

request_quotas: Final = partial(DescribeClientQuotasRequest, components=[], strict=False)
request_fenced_brokers: Final = partial(DescribeClusterRequest, include_fenced_brokers=True)
request_reassignments: Final = partial(ListPartitionReassignmentsRequest, topics=None)
"""Takes `timeout_ms`: how long the broker waits for the active controller."""


def request_metadata(names: Iterable[str] | None = None, *, operations: bool = False) -> Any:
    """Build the request for some topics, by default for all, with the `operations` that this client may do on them."""
    topic = MetadataRequest.MetadataRequestTopic
    return MetadataRequest(
        topics=None if names is None else [topic(topic_id=None, name=name) for name in names],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=operations,
    )


def request_offsets(wanted: Topics, timestamp: int | Mapping[str, int], timeout_ms: int = 0) -> Any:
    """Build the request for offsets of one broker's replicas, by one timestamp or one per topic.

    No duplicates: the broker refuses them. `timeout_ms` is for a search in remote storage.
    """
    of = ListOffsetsRequest.ListOffsetsTopic
    at = timestamp if isinstance(timestamp, Mapping) else defaultdict(lambda: timestamp)
    build = partial(of.ListOffsetsPartition, current_leader_epoch=-1)
    topics = [
        of(name=name, partitions=[build(partition_index=number, timestamp=at[name]) for number in numbers])
        for name, numbers in wanted
    ]
    return ListOffsetsRequest(replica_id=DEBUGGING_REPLICA, isolation_level=0, topics=topics, timeout_ms=timeout_ms)


def request_log_dirs(wanted: Topics | None = None) -> Any:
    """Build the request for the logs of some partitions, by default of all."""
    topic = DescribeLogDirsRequest.DescribableLogDirTopic
    topics = None if wanted is None else [topic(topic=name, partitions=numbers) for name, numbers in wanted]
    return DescribeLogDirsRequest(topics=topics)


def request_configs(kind: int, names: Iterable[str], keys: Sequence[str], *, synonyms: bool) -> Any:
    """Build the request for some keys of resources of one ConfigResource type."""
    of = DescribeConfigsRequest.DescribeConfigsResource
    return DescribeConfigsRequest(
        resources=[of(resource_type=kind, resource_name=name, configuration_keys=list(keys)) for name in names],
        include_synonyms=synonyms,
        include_documentation=False,
    )


def request_quorum() -> Any:
    """Build the request for the quorum of the controllers."""
    topic = DescribeQuorumRequest.TopicData
    partitions = [topic.PartitionData(partition_index=0)]
    return DescribeQuorumRequest(topics=[topic(topic_name="__cluster_metadata", partitions=partitions)])


def request_eligible_leaders(names: Iterable[str], first: tuple[str, int], most: int) -> Any:
    """Build the request for so many partitions of some topics, from the `first` on."""
    of = DescribeTopicPartitionsRequest
    cursor = of.Cursor(topic_name=first[0], partition_index=first[1])
    return of(topics=[of.TopicRequest(name=name) for name in names], response_partition_limit=most, cursor=cursor)


MOST_DECODED: Final = 5 * 1024 * 1024
"""Bytes of a reply for which kafka-python makes objects: 100,000 quotas fit. No other broker is read then."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """A request that stays the same from poll to poll; `encode` is called once per version of the protocol.

    Its reply comes as :class:`Undecoded`. `bodies`: by version, where they outlive this object.
    """

    request_class: Any
    encode: Callable[[int], bytes]
    bodies: dict[int, bytes] = field(default_factory=dict, repr=False)

    def body(self, version: int) -> bytes:
        """Return the request without its header, encoded."""
        if version not in self.bodies:
            self.bodies[version] = self.encode(version)
        return self.bodies[version]


@dataclass(frozen=True, slots=True)
class Undecoded:
    """A reply without its header, as it came."""

    version: int
    body: bytes = field(repr=False)
    response_class: Any = field(repr=False)

    @property
    def throttle_time_ms(self) -> int:
        """How long the broker wants to be left alone; the first field of most replies."""
        first = self.response_class._struct.untagged_fields(self.version)[0]  # noqa: SLF001  # this room may
        return int.from_bytes(self.body[:4], "big", signed=True) if first.name == "throttle_time_ms" else 0

    def split(self, name: str) -> tuple[dict[str, Any], bytes]:
        """Decode the fields before the one of that name; return them, and the rest as it came.

        Raises:
            ProtocolError: they cannot be decoded, or have more bytes than `MOST_DECODED`.
        """
        with decoding(self.response_class):
            values, end = _decoder(self.response_class, self.version, name)(memoryview(self.body)[:MOST_DECODED], 0)
        return values, self.body[end:]

    def decode(self) -> Any:
        """Return kafka-python's object.

        Raises:
            ProtocolError: it cannot be decoded.
            TooLargeError: it has more bytes than `MOST_DECODED`.
        """
        if len(self.body) > MOST_DECODED:
            what = f"a {self.response_class.__name__} that is not as expected has {len(self.body)} bytes"
            raise TooLargeError(f"{what}; of such replies {MOST_DECODED} are decoded at most")
        with decoding(self.response_class):
            return self.response_class.decode(self.body)


@functools.cache
def _decoder(response_class: Any, version: int, end: str) -> Any:
    """Make a decoder of the fields before the one of that name, with the limits that those of whole replies have."""
    context, flexible = BoundedContext(), response_class.flexible_version_q(version)
    context.lines.append("def decode(data, pos):")
    context.emit(" ", "obj = {}")
    fields = response_class._struct.untagged_fields(version)  # noqa: SLF001  # this room may
    for part in itertools.takewhile(lambda part: part.name != end, fields):
        part.emit_decode_from(context, f"obj['{part.name}']", " ", version=version, compact=flexible, tagged=flexible)
    context.emit(" ", "return obj, pos")
    exec(context.source(), context.globs)  # noqa: S102  # as kafka-python does it
    return context.globs["decode"]


@contextmanager
def decoding(response_class: Any) -> Iterator[None]:
    """Turn whatever a decoder raises into a `ProtocolError`."""
    try:
        yield
    except (
        AssertionError,
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        struct.error,
    ) as failure:
        # Not its `repr`: that of a UnicodeDecodeError has the whole field.
        what = f"{type(failure).__name__}: {failure}"
        raise ProtocolError(f"a {response_class.__name__} cannot be decoded: {what}") from failure
