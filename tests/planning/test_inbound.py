"""Inbound rates: the mean of several polls, and the strict file that the live cluster uses instead of a measurement."""

import json
import math
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kafka_warden import cli
from kafka_warden.errors import ConfigError
from kafka_warden.history.poll import topic_id_text
from kafka_warden.planning.files import read_inbound, write_inbound
from kafka_warden.planning.inbound import OLD, Percentile, outdated, step
from tests.building import Partition, snapshot
from tests.support.planned import MB
from tests.support.scripted import ScriptedCluster

CLUSTER_ID = "scripted-cluster-00001"
SEEN = snapshot(
    {"a": [Partition(), Partition()], "b": [Partition()]}, cluster_id="here", topic_ids=(b"a" * 16, b"b" * 16)
)
WRITTEN = Percentile(0.95, np.array([1.5, math.nan, 7.0]), 100, 10.0, 610.0)


def test_the_mean_is_weighted_by_time() -> None:
    """10 s at 100 and 30 s at 20 have the mean 40; unknown rates do not count."""
    topics = {"t": [Partition(), Partition()]}
    state = step(None, snapshot(topics, clock=0), np.array([math.nan, math.nan]))
    assert np.isnan(state.rates).all()

    state = step(state, snapshot(topics, clock=10), np.array([100.0, math.nan]))
    state = step(state, snapshot(topics, clock=40), np.array([20.0, 7.0]))

    assert state.rates.tolist() == [40.0, 7.0]
    assert (state.polls, state.longest) == (3, 40.0)


def test_new_topics_move_the_rows() -> None:
    state = step(None, snapshot({"b": [Partition()]}, clock=0), np.array([math.nan]))
    state = step(state, snapshot({"b": [Partition()]}, clock=10), np.array([50.0]))
    state = step(state, snapshot({"a": [Partition()], "b": [Partition()]}, clock=20), np.array([math.nan, 70.0]))
    assert math.isnan(state.rates[0])
    assert state.rates[1] == pytest.approx(60.0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The rates of two of three partitions."""
    write_inbound(tmp_path / "inbound.json", SEEN, WRITTEN)
    return tmp_path / "inbound.json"


def test_rates_follow_their_partitions(file: Path) -> None:
    again = read_inbound(file).of(SEEN)
    assert again.rates.tolist() == pytest.approx(WRITTEN.rates.tolist(), nan_ok=True)
    assert replace(again, rates=WRITTEN.rates) == WRITTEN

    later = snapshot(
        {"Z": [Partition()], "a": [Partition(), Partition()], "b": [Partition()]},
        cluster_id="here",
        topic_ids=(b"z" * 16, b"a" * 16, b"n" * 16),
    )
    expected = [math.nan, 1.5, math.nan, math.nan]
    assert read_inbound(file).of(later).rates.tolist() == pytest.approx(expected, nan_ok=True)


def test_another_cluster_is_refused(file: Path) -> None:
    """Its topics may have the same names."""
    with pytest.raises(ConfigError, match="has the rates of cluster here, not of there"):
        read_inbound(file).of(replace(SEEN, cluster_id="there"))


def test_old_rates_bring_a_warning() -> None:
    """A week is not old; a measurement never is."""
    assert outdated(WRITTEN, 610.0 + OLD) == ()
    assert outdated(WRITTEN, 610.0 + OLD + 3600) == (
        "the inbound rates are 7 d 1 h old: write them again from a newer history",
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"format": 2}, "expected format 1, got 2"),
        ({"format": True}, "format: expected a whole number from 0 on, got true"),
        ({"more": 1}, "the file: expected an object with the keys format, cluster_id, percentile"),
        ({"cluster_id": 5}, "cluster_id: expected text, got 5"),
        ({"percentile": 101}, "expected a percentile above 0 and up to 100"),
        ({"first": 700}, "first before last"),
        ({"last": math.inf}, "expected numbers of at most 64 bits, got Infinity"),
        ({"partitions": {}}, "partitions: expected a list"),
        ({"partitions": [5]}, r"partitions\[0\]: expected an object with the keys topic, topic_id"),
        ({"bytes_per_second": -1}, r"partitions\[1\]: bytes_per_second: expected a number from 0 on, got -1"),
        ({"partition": 0, "topic": "a", "topic_id": topic_id_text(b"a" * 16)}, r"partitions\[1\]: a-0 appears twice"),
    ],
)
def test_a_file_of_another_form_is_refused(file: Path, changed: dict[str, Any], message: str) -> None:
    content = json.loads(file.read_text())
    target = content["partitions"][1] if changed.keys() <= content["partitions"][1].keys() else content
    target.update(changed)
    file.write_text(json.dumps(content))
    with pytest.raises(ConfigError, match=rf"^--inbound: .*inbound\.json: .*{message}"):
        read_inbound(file)


@pytest.mark.parametrize("content", [b"", b"\xe9"])
def test_a_file_that_is_not_json_is_refused(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"^--inbound: .*inbound\.json: [^\n]+$"):
        read_inbound(file)


@pytest.mark.process
@pytest.mark.parametrize("age", [60.0, OLD + 60.0])
def test_the_live_command_uses_the_rates(
    brokers: ScriptedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], logging_as_before: None, age: float
) -> None:
    brokers.controller()
    brokers.topic("a", [[1, 2]], end=1000)
    move, rates = tmp_path / "move.json", tmp_path / "inbound.json"
    move.write_text(json.dumps({"version": 1, "partitions": [{"topic": "a", "partition": 0, "replicas": [1, 3]}]}))
    live = snapshot(
        {"a": [Partition()]},
        cluster_id=CLUSTER_ID,
        topic_ids=(uuid.uuid5(uuid.NAMESPACE_DNS, "a").bytes,),
    )
    ended = time.time() - age
    write_inbound(rates, live, Percentile(0.99, np.array([MB]), 8640, ended - 86400.0, ended))

    arguments = ["--bootstrap-servers", brokers.bootstrap, "--reassignment", str(move), "--inbound", str(rates)]
    assert cli.main(["plan", *arguments, "--output", "json"]) == 0
    printed = capsys.readouterr()

    document = json.loads(printed.out)
    assert "measuring" not in printed.err
    assert document["measured"]["percentile"] == 99
    assert document["measured"]["bytes_in_per_second"] == MB
    assert document["sides"][1]["bytes_in_per_second"] == MB
    assert any("old: write them again" in warning for warning in document["warnings"]) is (age > OLD)
    assert f"--throttle {document['throttle']['bytes_per_second']} " in document["commands"][0]["command"]
