"""The parsers on what real brokers of two versions answered; `record.py` describes how the cluster was prepared."""

import json
import math
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
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

from kafka_warden.errors import ProtocolError
from kafka_warden.model import IN_ELR, LAST_KNOWN_ELR, UNKNOWN, Broker, Limit, Longs, Origin, QuotaEntity, Side
from kafka_warden.poller.tables import Rows
from kafka_warden.sources.cluster import (
    Reassignment,
    parse_eligible_leaders,
    parse_quorum,
    parse_quotas,
    parse_reassignments,
)
from kafka_warden.sources.configs import parse_broker_config, parse_configs, parse_topic_config
from kafka_warden.sources.log_dirs import MOST_OTHERS, parse_log_dirs
from kafka_warden.sources.metadata import MOST_BROKERS, Layout, parse_brokers, parse_fenced, parse_metadata
from kafka_warden.sources.offsets import RowIndex, parse_offsets

RECORDED = Path(__file__).with_name("recorded")
VERSIONS = ("4.1.1", "3.9.1")
HERE = "127.0.0.1:9092"
RESPONSES: Mapping[str, Any] = {
    "metadata": MetadataResponse,
    "cluster": DescribeClusterResponse,
    "ends": ListOffsetsResponse,
    "starts": ListOffsetsResponse,
    "log_dirs": DescribeLogDirsResponse,
    "reassignments": ListPartitionReassignmentsResponse,
    "broker_config": DescribeConfigsResponse,
    "other_broker_config": DescribeConfigsResponse,
    "controller_config": DescribeConfigsResponse,
    "topic_configs": DescribeConfigsResponse,
    "quotas": DescribeClientQuotasResponse,
    "quorum": DescribeQuorumResponse,
    "eligible_leaders": DescribeTopicPartitionsResponse,
}
OF_BROKER_1 = [("emptied", 0), ("lagging", 0), ("lagging", 1), ("moving", 0), ("sized", 0)]


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def reply(version: str, name: str) -> Any:
    (file,) = RECORDED.glob(f"kafka-{version}-{name}-v*.bin")
    response = RESPONSES[name][int(file.stem.rpartition("-v")[2])]
    return response.decode(file.read_bytes(), header=True)


def known(version: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((RECORDED / f"kafka-{version}-known.json").read_text())
    return facts


def layout(version: str) -> Layout:
    return parse_metadata(reply(version, "metadata"))


def hosted(version: str) -> RowIndex:
    return Rows(layout(version)).hosted[1]


def by_replica(version: str, column: Longs, broker: int = 1) -> dict[tuple[str, int], int]:
    """A column of the replica table by topic and partition, for one broker."""
    table = layout(version)
    return {
        (table.topics[table.topic[partition]], int(table.number[partition])): int(value)
        for partition, where, value in zip(table.partition, table.broker, column, strict=True)
        if where == broker
    }


def unknown(version: str) -> Longs:
    return np.full(len(layout(version).partition), UNKNOWN, np.int64)


def test_metadata_becomes_sorted_rows(version: str) -> None:
    """Partitions by topic and number, replicas in the order of their assignment, the dead broker in no ISR."""
    table, facts = layout(version), known(version)
    replicas = [
        (table.topics[table.topic[row]], int(table.number[row]), int(broker), bool(in_isr))
        for row, broker, in_isr in zip(table.partition, table.broker, table.in_isr, strict=True)
    ]
    assert table.cluster_id == facts["cluster_id"]
    assert table.topics == ("compacted", "emptied", "lagging", "moving", "sized")
    assert len({*table.topic_ids}) == 5
    assert {len(topic_id) for topic_id in table.topic_ids} == {16}
    assert replicas == [
        ("compacted", 0, 2, True),
        ("emptied", 0, 1, True),
        ("emptied", 0, 2, True),
        ("lagging", 0, 1, True),
        ("lagging", 0, 3, False),
        ("lagging", 1, 3, False),
        ("lagging", 1, 1, True),
        ("moving", 0, 1, True),
        ("moving", 0, 3, False),
        ("moving", 0, 2, True),
        ("sized", 0, 1, True),
    ]
    assert table.leader.tolist() == [2, 1, 1, 1, 1, 1]
    assert table.leader_row.tolist() == [0, 1, 3, 6, 7, 10]
    assert table.offline.tolist() == [broker == 3 for _, _, broker, _ in replicas]
    assert {f"{node.host}:{node.port}" for node in table.brokers.values()} == {facts["addresses"][b] for b in "12"}


def test_kafka_4_reports_fenced_brokers() -> None:
    host, port = known("4.1.1")["addresses"]["3"].split(":")
    assert parse_fenced(reply("4.1.1", "cluster")) == {3: Broker(3, host, int(port), fenced=True)}


def test_kafka_4_reports_eligible_leaders() -> None:
    """Of partitions without a leader. Broker 3 was killed first, 2 led `pair` last."""
    assert parse_eligible_leaders(reply("4.4.0", "eligible_leaders")) == {
        ("pair", 0): {2: IN_ELR + LAST_KNOWN_ELR, 3: IN_ELR},
        ("single", 0): {3: IN_ELR + LAST_KNOWN_ELR},
    }


def test_ends_and_starts_go_to_the_rows_of_the_broker_that_was_asked(version: str) -> None:
    """Ends as many as were produced, a start that deletion moved, nothing for the replicas of other brokers."""
    ends, starts = unknown(version), unknown(version)
    parse_offsets(reply(version, "ends"), hosted(version), ends)
    parse_offsets(reply(version, "starts"), hosted(version), starts)
    assert by_replica(version, ends) == dict(zip(OF_BROKER_1, (10, 37, 30, 3000, 2500), strict=True))
    assert by_replica(version, starts) == dict(zip(OF_BROKER_1, (4, 0, 0, 0, 0), strict=True))
    assert set(by_replica(version, ends, broker=2).values()) == {UNKNOWN}


def test_log_dirs_report_the_bytes_of_the_segments(version: str) -> None:
    """Sizes are those of the files; the copy in another directory is a future replica and not the replica's size."""
    sizes, facts = unknown(version), known(version)
    parsed = parse_log_dirs(reply(version, "log_dirs"), 1, hosted(version), sizes)
    real = {f"{topic}-{number}": size for (topic, number), size in by_replica(version, sizes).items()}
    (future,) = parsed.future
    assert {directory.path for directory in parsed.directories} == set(facts["directories"])
    assert all(directory.online for directory in parsed.directories)
    assert all(0 < directory.usable_bytes < directory.total_bytes for directory in parsed.directories)
    assert (future.topic, future.partition, future.broker) == ("sized", 0, 1)
    assert real == facts["sizes"]
    assert 0 < future.size < real["sized-0"]
    assert 0 < future.offset_lag < 2500
    assert sum(directory.bytes for directory in parsed.directories) == sum(real.values()) + future.size
    assert parsed.stray == set()


def test_the_bytes_of_an_offline_directory_are_unknown(version: str) -> None:
    answer = reply(version, "log_dirs")
    answer.results[0].error_code, answer.results[0].topics = 56, []  # KAFKA_STORAGE_ERROR
    offline, *others = parse_log_dirs(answer, 1, hosted(version), unknown(version)).directories
    assert (offline.online, offline.bytes) == (False, UNKNOWN)
    assert all(other.bytes > 0 for other in others)


def test_a_log_without_a_row_is_stray(version: str) -> None:
    sizes, some = unknown(version), hosted(version)
    some.places = {name: place for name, place in some.places.items() if not name.endswith(b"lagging")}
    assert parse_log_dirs(reply(version, "log_dirs"), 1, some, sizes).stray == {("lagging", 0), ("lagging", 1)}
    assert by_replica(version, sizes)["lagging", 0] == UNKNOWN


def test_a_future_replica_is_not_stray(version: str) -> None:
    """Also where its topic has no row: it is there on purpose, and its current log is what counts."""
    answer, some = reply(version, "log_dirs"), hosted(version)
    some.places = {name: place for name, place in some.places.items() if not name.endswith(b"sized")}
    for directory in answer.results:
        for topic in directory.topics:
            for partition in topic.partitions:
                partition.is_future_key = topic.name == "sized"
    assert parse_log_dirs(answer, 1, some, unknown(version)).stray == set()


@pytest.mark.parametrize("future", [False, True])
def test_a_broker_with_many_logs_of_other_topics_is_read(version: str, future: bool) -> None:
    """A sidecar that may describe few topics: their sizes are known, and so many others are not kept or counted."""
    answer, sizes = reply(version, "log_dirs"), unknown(version)
    for directory in answer.results:
        topic = copy(directory.topics[0])
        partition = copy(topic.partitions[0])
        partition.is_future_key = future
        topic.name, topic.partitions = "unknown", [copy(partition) for _ in range(MOST_OTHERS // 2 + 1)]
        for number, other in enumerate(topic.partitions):
            other.partition_index = 2 * number + (directory is answer.results[0])
        directory.topics = [*directory.topics, topic]
    parsed = parse_log_dirs(answer, 1, hosted(version), sizes)
    real = {f"{topic}-{number}": size for (topic, number), size in by_replica(version, sizes).items()}
    assert real == known(version)["sizes"]
    assert "sized" in {each.topic for each in parsed.future}
    assert (len(parsed.stray), parsed.more_stray) == ((0, False) if future else (MOST_OTHERS, True))
    assert len(parsed.future) == (1 + MOST_OTHERS if future else 1)


def test_the_move_between_brokers_is_a_reassignment(version: str) -> None:
    expected = {("moving", 0): Reassignment(adding=frozenset({3}), removing=frozenset({2}))}
    assert parse_reassignments(reply(version, "reassignments")) == expected


def test_limits_come_from_the_broker_and_else_from_the_default_of_all(version: str) -> None:
    """Broker 1 has rates of its own, broker 2 the cluster's default; a limit that is not set is unlimited."""
    own = parse_broker_config(parse_configs(reply(version, "broker_config"), HERE)[0]["1"])
    other = parse_broker_config(parse_configs(reply(version, "other_broker_config"), HERE)[0]["2"])
    default = Limit(777_777.0, Origin.CLUSTER_DEFAULT)
    assert own.limits == dict.fromkeys(Side, Limit(1.0, Origin.BROKER))
    assert other.limits == {Side.LEADER: default, Side.FOLLOWER: default, Side.LOG_DIRS: Limit()}
    assert (own.replica_lag_time_max, own.replica_fetch_max_bytes) == (6.0, 1 << 20)
    assert (own.quota_window_num, own.quota_window_size) == (11, 1.0)
    assert own.remote_copy_quota is None
    assert own.remote_copy_window == 11.0


def test_the_window_of_the_copy_quota_is_its_own() -> None:
    values = {
        "remote.log.storage.system.enable": "true",
        "remote.log.manager.copy.max.bytes.per.second": "1000",
        "remote.log.manager.copy.quota.window.num": "5",
        "remote.log.manager.copy.quota.window.size.seconds": "2",
    }
    config = parse_broker_config({key: SimpleNamespace(value=value) for key, value in values.items()})
    assert (config.remote_copy_quota, config.remote_copy_window, config.quota_window_num) == (1000.0, 10.0, 11)


def test_topic_configs_have_lists_policy_and_sizes(version: str) -> None:
    """The throttled lists as the move set them, compaction beside deletion, min ISR, and defaults elsewhere."""
    entries, _ = parse_configs(reply(version, "topic_configs"), HERE)
    configs = {name: parse_topic_config(entry) for name, entry in entries.items()}
    assert configs.keys() == {"compacted", "emptied", "lagging", "moving", "sized"}
    assert [name for name, config in configs.items() if config.compacted] == ["compacted"]
    assert (configs["moving"].leader_throttled, configs["moving"].follower_throttled) == ("0:1,0:2", "0:3")
    assert (configs["sized"].leader_throttled, configs["sized"].follower_throttled) == ("", "")
    assert (configs["moving"].segment_bytes, configs["sized"].segment_bytes) == (2 << 20, 1 << 30)
    assert (configs["emptied"].min_insync_replicas, configs["sized"].min_insync_replicas) == (2, 1)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, (False, False)),
        ({"remote.storage.enable": "true"}, (True, False)),
        ({"remote.storage.enable": "true", "remote.log.copy.disable": "true"}, (True, True)),
        ({"remote.storage.enable": "true", "remote.log.copy.disable": "false"}, (True, False)),
    ],
)
def test_remote_storage_may_be_for_reading_only(values: dict[str, str], expected: tuple[bool, bool]) -> None:
    """Kafka 4.0 can stop copying and keep what was copied; before, there is no such key."""
    config = parse_topic_config({key: SimpleNamespace(value=value) for key, value in values.items()})
    assert (config.remote_storage, config.remote_copy_disabled) == expected


@pytest.mark.parametrize(
    ("why", "values", "expected"),
    [
        ("before Kafka 4.4", {"local.retention.ms": "-2", "retention.ms": "1000"}, (0, 0)),
        ("the defaults", {"remote.copy.lag.ms": "0", "remote.copy.lag.bytes": "-1"}, (0, 0)),
        ("an age of 0 overrides bytes", {"remote.copy.lag.ms": "0", "remote.copy.lag.bytes": "9"}, (0, 0)),
        ("and 0 bytes an age", {"remote.copy.lag.ms": "9", "remote.copy.lag.bytes": "0"}, (0, 0)),
        ("both", {"remote.copy.lag.ms": "9000", "remote.copy.lag.bytes": "8"}, (9, 8)),
        ("an age alone", {"remote.copy.lag.ms": "9000", "remote.copy.lag.bytes": "-1"}, (9, math.inf)),
        (
            "the local retention",
            {"remote.copy.lag.ms": "-1", "local.retention.ms": "5000", "retention.ms": "7000"}
            | {"remote.copy.lag.bytes": "-1", "local.retention.bytes": "6", "retention.bytes": "8"},
            (5, 6),
        ),
        (
            "that of the whole log",
            {"remote.copy.lag.ms": "-1", "local.retention.ms": "-2", "retention.ms": "7000"}
            | {"remote.copy.lag.bytes": "-1", "local.retention.bytes": "-2", "retention.bytes": "8"},
            (7, 8),
        ),
        (
            "no retention at all: never copied",
            {"remote.copy.lag.ms": "-1", "local.retention.ms": "-1", "remote.copy.lag.bytes": "-1"},
            (math.inf, math.inf),
        ),
        ("retention.bytes has no least value", {"remote.copy.lag.ms": "-1", "retention.bytes": "-5"}, (0, 0)),
    ],
)
def test_the_allowed_lag_is_resolved_as_kafka_does(why: str, values: dict[str, str], expected: object) -> None:
    """Seconds and bytes; a segment is copied when it passes either, so 0 in one is 0 in both."""
    config = parse_topic_config({key: SimpleNamespace(value=value) for key, value in values.items()})
    assert (config.remote_copy_lag_seconds, config.remote_copy_lag_bytes) == expected, why


def test_the_controller_reports_its_window(version: str) -> None:
    entries = parse_configs(reply(version, "controller_config"), HERE)[0]["101"]
    parsed = {key: entry.value for key, entry in entries.items()}
    assert parsed == {"controller.quota.window.num": "11", "controller.quota.window.size.seconds": "1"}


def test_quotas_keep_exact_and_default_entities_apart(version: str) -> None:
    parsed = parse_quotas(reply(version, "quotas"))
    assert sorted(parsed, key=str) == sorted(
        [
            QuotaEntity("alice", "app", {"controller_mutation_rate": 5.0, "producer_byte_rate": 1000.0}),
            QuotaEntity("", None, {"controller_mutation_rate": 2.5}),
            QuotaEntity(None, "", {"consumer_byte_rate": 1e6}),
        ],
        key=str,
    )


def test_values_that_no_quota_has_are_left_out() -> None:
    values = {"a": 0.0, "b": -1.0, "c": math.nan, "d": math.inf, "e": -math.inf}
    part = SimpleNamespace(entity_type="user", entity_name="alice")
    entry = SimpleNamespace(entity=[part], values=[SimpleNamespace(key=key, value=values[key]) for key in values])
    assert parse_quotas(SimpleNamespace(entries=[entry])) == (QuotaEntity("alice", None, {"a": 0.0, "d": math.inf}),)


def test_the_quorum_has_its_leader_and_where_that_listens(version: str) -> None:
    """One voter that leads, the live brokers as observers, and the controller's own address."""
    quorum = parse_quorum(reply(version, "quorum"), HERE)
    ends = {replica.node: replica.log_end_offset for replica in quorum.replicas}
    assert quorum.leader == 101
    assert [replica.node for replica in quorum.replicas if replica.voter] == [101]
    assert {1, 2} <= ends.keys() <= {1, 2, 3, 101}
    assert quorum.controllers == {int(node): address for node, address in known(version)["controllers"].items()}
    assert max(ends.values()) == ends[101] >= quorum.high_watermark > 0
    assert all(replica.last_caught_up_time for replica in quorum.replicas if replica.node in {1, 2, 101})


def test_more_brokers_than_any_cluster_has_are_refused() -> None:
    nodes = [SimpleNamespace(node_id=number, host="h", port=9092, rack=None) for number in range(MOST_BROKERS + 1)]
    assert len(parse_brokers(nodes[1:])) == MOST_BROKERS
    with pytest.raises(ProtocolError, match="10001 brokers"):
        parse_brokers(nodes)
