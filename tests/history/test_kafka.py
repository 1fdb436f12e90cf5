"""History as messages: complete, bounded in size, and without a broker counted, not waited for."""

import json
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from kafka_warden.errors import ConfigError
from kafka_warden.history import kafka as kafka_module
from kafka_warden.history import messages as messages_module
from kafka_warden.history.column import Table
from kafka_warden.history.kafka import LARGEST_MESSAGE, KafkaSettings, KafkaSink
from kafka_warden.history.messages import ddl, messages
from kafka_warden.history.poll import Poll
from kafka_warden.history.schema import BY_NAME, TABLES, VERSION, Built, build, count
from kafka_warden.model import Parameters, Snapshot, TopicConfig
from sandbox import wait_for
from tests.history.anything import histories
from tests.history.consumed import tables_of
from tests.history.replay import differences, polls, rows, scene_polls

SECONDS = 30.0
"""More than any of this takes."""


def sent(poll: Poll) -> list[tuple[bytes, int]]:
    """All messages of a poll."""
    return [message for table in TABLES for message in messages(build(table, poll))]


def test_the_scene_comes_back_from_its_messages() -> None:
    """Every row of every table, and nothing else."""
    kept = tables_of(value for poll in scene_polls() for value, _ in sent(poll))
    for poll, found in zip(scene_polls(), kept, strict=True):
        assert differences(rows(poll), found) == []
        assert sum(number for _, number in sent(poll)) == count(poll)


@settings(max_examples=30)
@given(histories())
def test_anything_comes_back_from_its_messages(history: list[Snapshot]) -> None:
    """Any mixture of the known and the unknown, of the limited and the unlimited."""
    judged = polls(history, Parameters())
    kept = tables_of(value for poll in judged for value, _ in sent(poll))
    for poll, found in zip(judged, kept, strict=True):
        assert differences(rows(poll), found) == []


def test_a_large_poll_takes_many_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """None is larger than it may be, but for a row that is so by itself; rows keep their order."""
    poll = scene_polls()[-1]
    whole = tables_of(value for value, _ in sent(poll))
    assert max(number for _, number in sent(poll)) == len(whole[0]["replicas"]["time"])
    monkeypatch.setattr(messages_module, "LARGEST", 2000)
    pieces = sent(poll)
    assert all(len(value) < 2500 or number == 1 for value, number in pieces)
    assert any(number > 1 for _, number in pieces)
    assert tables_of(value for value, _ in pieces) == whole


def test_messages_are_plain_json() -> None:
    """No NaN, no bare infinity; what all rows have in common stands in front."""
    for value, number in sent(scene_polls()[-1]):
        message = json.loads(value, parse_constant=pytest.fail)
        assert message["schema_version"] == VERSION
        assert next(iter(message)) == "table"
        assert len(message["rows"]) == number
        assert "time" not in message["rows"][0]
    limits = next(json.loads(value) for value, _ in sent(scene_polls()[-1]) if b'"configs"' in value)["rows"]
    assert "Infinity" in {row["broker_config"]["limits"]["leader"]["value"] for row in limits if row["broker_config"]}


def test_the_form_is_told_in_sparks_words() -> None:
    """One structure for `from_json`: what is in front, and the array of rows."""
    told = ddl(BY_NAME["polls"])
    assert told.startswith("`table` string, `schema_version` int, `cluster_id` string, ")
    assert "`rows` array<struct<remembered:string,parameters:struct<poll_interval:double," in told


def nowhere() -> Mapping[str, str]:
    """Properties of a broker that is not there."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return {"bootstrap.servers": f"127.0.0.1:{taken.getsockname()[1]}"}


def settled(sink: KafkaSink, rows_: int) -> bool:
    """Whether everything that it was given is lost, and counted."""
    sink.idle()
    return sum(sink.stats.status().dropped.values()) == rows_


def test_without_a_broker_rows_are_lost_and_counted() -> None:
    """No poll waits: the producer tries for as long as it may, then each row counts as unreachable."""
    properties = nowhere()
    sink = KafkaSink(KafkaSettings("history", deliver_within=1.0), lambda: properties)
    judged = scene_polls()[:3]
    for poll in judged:
        sink.write(poll)
    wait_for(lambda: settled(sink, sum(count(poll) for poll in judged)), SECONDS)
    status = sink.stats.status()
    assert (status.up, status.rows, set(status.dropped)) == (False, 0, {"unreachable"})
    sink.close(time.monotonic() + 0.1)
    assert sink.stats.status().dropped == status.dropped


def test_what_cannot_be_made_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that fails costs the whole poll before anything is sent; a message that fails the rest of its table."""
    properties = nowhere()
    sink = KafkaSink(KafkaSettings("history"), lambda: properties)
    poll = scene_polls()[0]

    def fails(table: Table[Any], poll: Poll) -> Built:
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


def test_the_end_does_not_wait_for_a_broker() -> None:
    """What nobody took when the time is over is counted once, and the producer is let go of at once."""
    properties = nowhere()
    sink = KafkaSink(KafkaSettings("history"), lambda: properties)
    sink.write(scene_polls()[0])
    began = time.monotonic()
    sink.close(began + 0.2)
    assert time.monotonic() - began < SECONDS / 3
    assert sink.stats.status().dropped == {"stopped": count(scene_polls()[0])}
    sink.close(began)


def wide(poll: Poll, size: int) -> Poll:
    """The same poll with a topic whose configuration has some bytes: a row that has a message of its own."""
    config = TopicConfig(leader_throttled="x" * size)
    return replace(poll, snapshot=replace(poll.snapshot, topic_configs={"wide": config}))


def test_a_large_row_is_left_to_the_topic_to_judge() -> None:
    """Above 1 MB, where librdkafka would stop it by default, it is handed on."""
    properties = nowhere()
    sink = KafkaSink(KafkaSettings("history"), lambda: properties)
    poll = wide(scene_polls()[0], 2 << 20)
    assert max(len(value) for value, _ in sent(poll)) > 2 << 20
    sink.write(poll)
    assert sink.stats.status().dropped == {}
    sink.close(time.monotonic())
    assert sink.stats.status().dropped == {"stopped": count(poll)}


def test_a_row_that_cannot_even_wait_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    """No option of the topic helps it, and the message names none."""
    properties = nowhere()
    sink = KafkaSink(KafkaSettings("history"), lambda: properties)
    sink.write(wide(scene_polls()[0], LARGEST_MESSAGE))
    assert sink.stats.status().dropped == {"too_large": 1}
    sink.close(time.monotonic())
    printed = capsys.readouterr().out
    assert "history.parquet.path" in printed
    assert "max.message.bytes" not in printed


def test_what_waits_is_bounded() -> None:
    """Above the bound rows are lost at once, and counted."""
    properties = nowhere()
    sink = KafkaSink(KafkaSettings("history", waiting_kbytes=16), lambda: properties)
    judged = scene_polls()
    for poll in judged:
        sink.write(poll)
    lost = sink.stats.status().dropped
    assert set(lost) == {"queue_full"}
    sink.close(time.monotonic())
    after = sink.stats.status().dropped
    assert after["queue_full"] == lost["queue_full"]
    assert sum(after.values()) == sum(count(poll) for poll in judged)


@pytest.mark.parametrize(
    ("problem", "reason"), [(ConfigError("kafka.sasl.password: no such file"), "auth"), (None, "error")]
)
def test_a_producer_that_cannot_be_made_is_tried_again(problem: ConfigError | None, reason: str) -> None:
    """A password that cannot be read, or a property that librdkafka refuses, costs the polls until it is mended."""
    answers: list[Any] = [problem or {"bootstrap.servers": "a:1", "no.such.property": "x"}, nowhere()]

    def connect() -> Mapping[str, str]:
        found = answers.pop(0)
        if isinstance(found, ConfigError):
            raise found
        return found

    sink = KafkaSink(KafkaSettings("history"), connect)
    poll = scene_polls()[0]
    sink.write(poll)
    assert (sink.stats.status().up, sink.stats.status().dropped) == (False, {reason: count(poll)})
    sink.write(poll)
    sink.close(time.monotonic())
    assert sink.stats.status().dropped == {reason: count(poll), "stopped": count(poll)}


def test_a_login_that_cannot_be_read_for_a_moment_changes_nothing() -> None:
    """The producer that there is goes on: a file is gone for a moment when a secret is rotated."""
    answers: list[Any] = [nowhere(), ConfigError("half written")]

    def connect() -> Mapping[str, str]:
        found = answers.pop(0)
        if isinstance(found, ConfigError):
            raise found
        return found

    sink = KafkaSink(KafkaSettings("history"), connect)
    poll = scene_polls()[0]
    sink.write(poll)
    sink.write(poll)
    assert sink.stats.status().dropped == {}
    sink.close(time.monotonic())
    assert sink.stats.status().dropped == {"stopped": 2 * count(poll)}
