"""Snapshots are restored from rows, and all derived values are computed from them again, bit by bit."""

import random
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_warden.errors import HistoryRowsError
from kafka_warden.history.poll import Poll, Remembered, topic_id_bytes, topic_id_text
from kafka_warden.history.replay import snapshot_of
from kafka_warden.history.tables import polls as polls_table
from kafka_warden.history.tables.polls import document_of
from kafka_warden.model import Parameters, Snapshot
from tests import scene
from tests.building import Partition, snapshot
from tests.history.anything import histories
from tests.history.replay import Rows, differences, in_order_of, polls, replay, rows, scene_polls


def test_the_scene_has_values_to_compare() -> None:
    """The scene has stuck moves, tokens, problems and ages for the test above."""
    found = rows(scene_polls()[-1])
    assert {"throttle_below_inbound", None} <= set(found["moves"]["stuck"])
    assert -45.0 in found["quotas"]["tokens"]
    assert any(found["brokers"]["throttle_problems"])
    assert any(found["brokers"]["tiered_problems"])
    assert {"moving", "in_sync"} < set(found["replicas"]["state"])
    assert any(found["replicas"]["out_seconds"])
    assert any(load and load["measured"] for load in found["brokers"]["follower_load"])


def test_a_move_that_copies_nothing_is_of_another_kind() -> None:
    """Jobs that compute rates and outcomes of copies leave it out."""
    removal, copied = Partition(replicas=(1, 3), removing=(1,), out=(3,)), Partition(replicas=(1, 2), adding=(2,))
    (poll,) = polls([snapshot({"t": [removal, copied]})], Parameters())
    found = rows(poll)["moves"]
    assert list(zip(found["broker"], found["kind"], strict=True)) == [(3, "waiting"), (2, "reassignment")]


@settings(max_examples=60)
@given(histories(), st.randoms(use_true_random=False))
def test_any_poll_is_restored(history: list[Snapshot], chance: random.Random) -> None:
    kept = [rows(poll) for poll in polls(history, Parameters())]
    mixed = [{name: shuffled(columns, chance) for name, columns in tables.items()} for tables in kept]
    for seen, tables in zip(history, mixed, strict=True):
        assert comparable(snapshot_of(tables)) == comparable(seen)
    for before, again in zip(kept, replay(mixed), strict=True):
        assert differences(before, in_order_of(before, rows(again))) == []


def comparable(seen: Snapshot) -> dict[str, Any]:
    """Return all of a snapshot as Python values; lists by broker are sorted by broker."""
    found: dict[str, Any] = plain(seen)
    found["log_dirs"] = plain(sorted(seen.log_dirs, key=lambda each: each.broker))
    of_log_dirs = sorted(seen.future_replicas, key=lambda each: (each.broker, each.topic, each.partition))
    return {**found, "future_replicas": plain(of_log_dirs)}


def plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.tolist()
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def shuffled(columns: Rows, chance: random.Random) -> Rows:
    order = list(range(len(columns["time"])))
    chance.shuffle(order)
    return {name: [values[row] for row in order] for name, values in columns.items()}


def test_a_large_state_file_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polls_table, "PART", 7)
    document = {"replicas": ["ü" * 9, "x" * 20]}
    (poll, *_) = polls([scene.poll(0.0)])
    restored = Poll(poll.snapshot, poll.derived, poll.parameters, "run", 0, Remembered.RESTORED, document)
    pieces = rows(restored)["restored"]
    assert len(pieces["part"]) > 5
    assert document_of(shuffled(pieces, random.Random(1))) == document
    with pytest.raises(HistoryRowsError, match="pieces are missing"):
        document_of({name: values[1:] for name, values in pieces.items()})


def test_rows_of_several_polls_are_refused() -> None:
    tables = rows(scene_polls()[0])
    twice = {name: [*values, *values] for name, values in tables["polls"].items()}
    with pytest.raises(HistoryRowsError, match="expected the one row of one poll, got 2"):
        snapshot_of({**tables, "polls": twice})
    for name in ("partitions", "replicas", "configs"):
        fewer: Rows = {column: values[1:] for column, values in tables[name].items()}
        with pytest.raises(HistoryRowsError, match=rf"{name}: \d+ rows where the poll of run run, sequence 0 has \d+"):
            snapshot_of({**tables, name: fewer})


@given(st.binary(min_size=16, max_size=16))
def test_topic_ids_are_formatted_like_kafka(topic_id: bytes) -> None:
    assert len(topic_id_text(topic_id)) == 22
    assert topic_id_bytes(topic_id_text(topic_id)) == topic_id
    assert topic_id_text(bytes(16)) == "A" * 22
