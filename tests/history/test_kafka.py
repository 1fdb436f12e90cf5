"""History as messages: complete and bounded in size; without a broker rows are counted as lost and no poll waits."""

import json
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given, settings

from kafka_warden.errors import ConfigError
from kafka_warden.history import kafka as kafka_module
from kafka_warden.history import messages as messages_module
from kafka_warden.history.column import HistoryTable
from kafka_warden.history.kafka import LARGEST_MESSAGE, KafkaSink
from kafka_warden.history.messages import ddl, messages
from kafka_warden.history.poll import Poll
from kafka_warden.history.schema import BY_NAME, TABLES, VERSION, Built, build, count
from kafka_warden.model import Parameters, Snapshot, TopicConfig
from sandbox import wait_for
from tests.history.anything import histories
from tests.history.consumed import tables_of
from tests.history.replay import differences, polls, rows, scene_polls
from tests.support.scripted import ScriptedCluster

SECONDS = 30.0
"""Longer than any step takes."""


def sent(poll: Poll) -> list[tuple[bytes, int]]:
    return [message for table in TABLES for message in messages(build(table, poll))]


@settings(max_examples=30)
@given(histories())
@example([poll.snapshot for poll in scene_polls()])
def test_any_poll_is_restored_from_messages(history: list[Snapshot]) -> None:
    evaluated = polls(history, Parameters())
    kept = tables_of(value for poll in evaluated for value, _ in sent(poll))
    for poll, found in zip(evaluated, kept, strict=True):
        assert differences(rows(poll), found) == []
        assert sum(number for _, number in sent(poll)) == count(poll)


def test_a_large_poll_takes_many_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    poll = scene_polls()[-1]
    whole = tables_of(value for value, _ in sent(poll))
    assert max(number for _, number in sent(poll)) == len(whole[0]["replicas"]["time"])
    monkeypatch.setattr(messages_module, "LARGEST", 2000)
    pieces = sent(poll)
    assert all(len(value) < 2500 or number == 1 for value, number in pieces)
    assert any(number > 1 for _, number in pieces)
    assert tables_of(value for value, _ in pieces) == whole


def test_messages_are_plain_json() -> None:
    for value, number in sent(scene_polls()[-1]):
        message = json.loads(value, parse_constant=pytest.fail)
        assert message["schema_version"] == VERSION
        assert next(iter(message)) == "table"
        assert len(message["rows"]) == number
        assert "time" not in message["rows"][0]
    limits = next(json.loads(value) for value, _ in sent(scene_polls()[-1]) if b'"configs"' in value)["rows"]
    assert "Infinity" in {row["broker_config"]["limits"]["leader"]["value"] for row in limits if row["broker_config"]}


def test_the_schema_is_spark_ddl() -> None:
    schema = ddl(BY_NAME["polls"])
    assert schema.startswith("`table` string, `schema_version` int, `cluster_id` string, ")
    assert "`rows` array<struct<remembered:string,parameters:struct<poll_interval:double," in schema


def no_broker() -> Mapping[str, str]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return {"bootstrap.servers": f"127.0.0.1:{taken.getsockname()[1]}"}


def sink_of(*answers: Mapping[str, str] | ConfigError, **given: Any) -> KafkaSink:
    """A sink that gets these properties, or errors, in turn; the last one again and again."""
    left = list(answers or [no_broker()])

    def connect() -> Mapping[str, str]:
        found = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(found, ConfigError):
            raise found
        return found

    return KafkaSink("history", connect, **given)


def all_lost(sink: KafkaSink, rows_: int) -> bool:
    sink.idle()
    return sum(sink.stats.status().dropped.values()) == rows_


def test_without_a_broker_rows_are_lost_and_counted() -> None:
    sink = sink_of(deliver_within=1.0)
    evaluated = scene_polls()[:3]
    for poll in evaluated:
        sink.write(poll)
    wait_for(lambda: all_lost(sink, sum(count(poll) for poll in evaluated)), SECONDS)
    status = sink.stats.status()
    assert (status.up, status.rows, set(status.dropped)) == (False, 0, {"unreachable"})
    sink.close(time.monotonic() + 0.1)
    assert sink.stats.status().dropped == status.dropped


def test_rows_that_cannot_be_made_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a table fails, the whole poll is lost before anything is sent; if a message fails, the rest of its table."""
    sink = sink_of()
    poll = scene_polls()[0]

    def fails(table: HistoryTable, poll: Poll) -> Built:
        if table.name == "polls":
            raise ZeroDivisionError
        return build(table, poll)

    with monkeypatch.context() as broken:
        broken.setattr(kafka_module, "build", fails)
        with pytest.raises(ZeroDivisionError):
            sink.write(poll)
    sink.close(time.monotonic())
    assert sink.stats.status().dropped == {}

    def half(built: Built) -> Iterator[tuple[bytes, int]]:
        for number, message in enumerate(messages(built)):
            assert number == 0 or built.table.name != "replicas"
            yield message

    monkeypatch.setattr(messages_module, "LARGEST", 200)
    monkeypatch.setattr(kafka_module, "messages", half)
    first = next(rows_ for _, rows_ in messages(build(BY_NAME["replicas"], poll)))
    sink.write(poll)
    lost = build(BY_NAME["replicas"], poll).rows - first
    assert sink.stats.status().dropped == {"error": lost}
    sink.close(time.monotonic())
    assert sink.stats.status().dropped == {"error": lost, "stopped": count(poll) - lost}


def test_the_stop_does_not_wait_for_a_broker() -> None:
    sink = sink_of()
    sink.write(scene_polls()[0])
    began = time.monotonic()
    sink.close(began + 0.2)
    assert time.monotonic() - began < SECONDS / 3
    assert sink.stats.status().dropped == {"stopped": count(scene_polls()[0])}
    sink.close(began)


def wide(poll: Poll, size: int) -> Poll:
    """The same poll with a topic whose configuration has `size` bytes: a row with its own message."""
    config = TopicConfig(leader_throttled="x" * size)
    return replace(poll, snapshot=replace(poll.snapshot, topic_configs={"wide": config}))


def test_a_row_above_the_default_limit_is_sent() -> None:
    sink = sink_of()
    poll = wide(scene_polls()[0], 2 << 20)
    assert max(len(value) for value, _ in sent(poll)) > 2 << 20
    sink.write(poll)
    assert sink.stats.status().dropped == {}
    sink.close(time.monotonic())
    assert sink.stats.status().dropped == {"stopped": count(poll)}


def test_a_row_above_the_largest_message_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """The error message does not name an option of the topic, since none helps."""
    sink = sink_of()
    sink.write(wide(scene_polls()[0], LARGEST_MESSAGE))
    assert sink.stats.status().dropped == {"too_large": 1}
    sink.close(time.monotonic())
    printed = capsys.readouterr().out
    assert "history.parquet.path" in printed
    assert "max.message.bytes" not in printed


def test_a_poll_may_be_larger_than_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages_module, "LARGEST", 2000)
    poll = scene_polls()[0]
    assert sum(len(value) for value, _ in sent(poll)) > 24 << 10
    sink = sink_of({"bootstrap.servers": "librdkafka's own", "test.mock.num.brokers": "1"}, waiting_kbytes=4)
    sink.write(poll)
    sink.close(time.monotonic() + SECONDS)
    status = sink.stats.status()
    assert (status.up, status.rows, status.dropped) == (True, count(poll), {})


def test_the_queue_of_the_producer_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each poll waits a bounded time for room, and then all the rest of it is lost."""
    monkeypatch.setattr(kafka_module, "ROOM_WITHIN", 0.1)
    sink = sink_of(waiting_kbytes=16)
    evaluated = scene_polls()
    began = time.monotonic()
    for poll in evaluated:
        sink.write(poll)
    assert time.monotonic() - began < SECONDS
    lost = sink.stats.status().dropped
    assert set(lost) == {"queue_full"}
    sink.close(time.monotonic())
    after = sink.stats.status().dropped
    assert after["queue_full"] == lost["queue_full"]
    assert sum(after.values()) == sum(count(poll) for poll in evaluated)


@pytest.mark.parametrize(
    ("problem", "reason"), [(ConfigError("kafka.sasl.password: no such file"), "auth"), (None, "error")]
)
def test_a_producer_that_cannot_be_made_is_tried_again(problem: ConfigError | None, reason: str) -> None:
    """While a password cannot be read or librdkafka refuses a property, polls are lost; then it works again."""
    sink = sink_of(problem or {"bootstrap.servers": "a:1", "no.such.property": "x"}, no_broker())
    poll = scene_polls()[0]
    sink.write(poll)
    assert (sink.stats.status().up, sink.stats.status().dropped) == (False, {reason: count(poll)})
    sink.write(poll)
    sink.close(time.monotonic())
    assert sink.stats.status().dropped == {reason: count(poll), "stopped": count(poll)}


def test_a_fatal_error_ends_the_producer_and_no_poll(capsys: pytest.CaptureFixture[str]) -> None:
    """Brokers that take no idempotent producer: every row is counted, and the next poll makes another producer."""
    poll = scene_polls()[0]
    with ScriptedCluster((1,)) as brokers:
        sink = sink_of({"bootstrap.servers": brokers.bootstrap})
        for written in (1, 2):
            sink.write(poll)
            wait_for(partial(all_lost, sink, written * count(poll)), SECONDS)
        sink.close(time.monotonic() + SECONDS)
    assert sink.stats.status().dropped == {"error": 2 * count(poll)}
    assert "the next poll makes a new one" in capsys.readouterr().out


def test_a_missing_login_file_changes_nothing() -> None:
    """The existing producer stays in use: a file may be missing for a moment when a secret is rotated."""
    sink = sink_of(no_broker(), ConfigError("half written"))
    poll = scene_polls()[0]
    sink.write(poll)
    sink.write(poll)
    assert sink.stats.status().dropped == {}
    sink.close(time.monotonic())
    assert sink.stats.status().dropped == {"stopped": 2 * count(poll)}
