"""What is in remote storage: the question that only newer brokers are asked, and what their answers mean."""

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from kafka.protocol.consumer import ListOffsetsResponse

from kafka_warden.model import NOTHING_TIERED, UNKNOWN
from kafka_warden.poller.tables import Rows
from kafka_warden.sources.offsets import LATEST_TIERED, RowIndex, _request, parse_tiered
from tests.building import Partition, layout

NOT_LEADER = 6
LAYOUT = layout({"a": [Partition(replicas=(1, 2))], "t": [Partition(replicas=(2, 1)), Partition(replicas=(1, 2))]})
VERSIONS = [9, 10]


def led() -> RowIndex:
    """Partitions that broker 1 leads: rows 0 and 4 of the replicas."""
    return Rows(LAYOUT).led[1]


def reply(version: int, *parts: tuple[str, int, int, int]) -> Any:
    """A response as it comes from the wire: topic, partition, error code and offset."""
    topics = [
        ListOffsetsResponse.ListOffsetsTopicResponse(
            name=name,
            partitions=[
                ListOffsetsResponse.ListOffsetsTopicResponse.ListOffsetsPartitionResponse(
                    partition_index=number, error_code=error, timestamp=-1, offset=offset, leader_epoch=3
                )
            ],
        )
        for name, number, error, offset in parts
    ]
    response = ListOffsetsResponse[version]
    return response.decode(response(throttle_time_ms=0, topics=topics).encode(version=version))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("why", "parts", "expected"),
    [
        ("-1 is an answer", [("t", 1, 0, -1), ("a", 0, 0, 5346)], {0: 5346, 4: NOTHING_TIERED}),
        ("it does not lead any more, or was not asked", [("t", 1, NOT_LEADER, -1), ("t", 0, 0, 7), ("x", 0, 0, 7)], {}),
        ("offset 0 is one record: it is inclusive", [("a", 0, 0, 0)], {0: 0}),
        ("no log has offsets below 0", [("a", 0, 0, -2), ("t", 1, 0, -(2**63))], {}),
    ],
)
def test_answers(version: int, why: str, parts: list[tuple[str, int, int, int]], expected: dict[int, int]) -> None:
    target = np.full(6, UNKNOWN, np.int64)
    parse_tiered(reply(version, *parts), led(), target)
    assert {row: offset for row, offset in enumerate(target.tolist()) if offset != UNKNOWN} == expected, why


def test_a_request_is_freed_with_its_replicas() -> None:
    """By reference counts: 200,000 partitions that change with every poll do not wait for the garbage collector."""
    wanted = led()
    _request(wanted, LATEST_TIERED).body(10)
    keys = weakref.ref(wanted.keys)
    gc.disable()
    try:
        del wanted
        assert keys() is None
    finally:
        gc.enable()
