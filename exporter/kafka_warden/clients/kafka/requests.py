"""All requests that this program may send: classes of kafka-python, and their keys. None of them changes anything."""

from typing import Any, Final

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
