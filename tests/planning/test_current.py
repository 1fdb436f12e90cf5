"""`plan --current`: the reassignments in progress, as kafka-reassign-partitions reads them."""

import json
from pathlib import Path

import pytest

from kafka_warden import cli
from kafka_warden.planning.reassignment import parse_reassignment
from tests.support.scripted import ScriptedCluster

pytestmark = pytest.mark.process
NOT_AUTHORIZED = 31


@pytest.fixture
def moving(brokers: ScriptedCluster) -> ScriptedCluster:
    """One partition of two moves from 1, 2 to 3, 1, one of another topic gets a replica, and a third one is at rest."""
    brokers.topic("a", [[1, 2], [3, 1, 2]], moves={1: {"adding": [3], "removing": [2]}})
    brokers.topic("b.c", [[2, 3]], moves={0: {"adding": [3], "removing": []}})
    brokers.topic("rest", [[1]])
    return brokers


def run(brokers: ScriptedCluster, *arguments: str) -> int:
    return cli.main(["plan", "--bootstrap-servers", brokers.bootstrap, "--current", *arguments])


def test_it_prints_the_replicas_at_the_end_and_only_reads(
    folder: Path, moving: ScriptedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of moving partitions only, one a line, in the form that the tool reads. It asks nothing that changes anything."""
    assert run(moving) == 0

    printed = capsys.readouterr()
    assert printed.err == ""
    assert json.loads(printed.out) == {
        "version": 1,
        "partitions": [
            {"topic": "a", "partition": 1, "replicas": [3, 1]},
            {"topic": "b.c", "partition": 0, "replicas": [2, 3]},
        ],
    }
    assert [target.topic for target in parse_reassignment(printed.out)] == ["a", "b.c"]
    assert [line for line in printed.out.splitlines() if '"topic"' in line and line.count("{") != 1] == []
    assert moving.seen("AlterPartitionReassignments") == []
    assert moving.seen("IncrementalAlterConfigs") == []
    assert moving.seen("ListPartitionReassignments") != []


def test_rollback_has_the_replicas_from_before(folder: Path, moving: ScriptedCluster) -> None:
    """To submit where the tool does not cancel (3.9.1)."""
    assert run(moving, "--rollback", "old.json") == 0

    old = parse_reassignment((folder / "old.json").read_text())
    assert [(target.topic, target.partition, target.replicas) for target in old] == [
        ("a", 1, (1, 2)),
        ("b.c", 0, (2,)),
    ]


def test_without_a_move_it_is_exit_code_1(
    folder: Path, brokers: ScriptedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is on stdout, so a redirection makes a file that the tool refuses."""
    brokers.topic("rest", [[1]])

    assert run(brokers, "--rollback", "old.json") == 1

    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "kafka-warden: no reassignment is in progress\n"
    assert not (folder / "old.json").exists()


def test_unknown_moves_are_exit_code_3(
    folder: Path, moving: ScriptedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    for broker in (1, 2, 3):
        moving.rule(broker, "ListPartitionReassignments", error=NOT_AUTHORIZED)

    assert run(moving) == 3

    printed = capsys.readouterr()
    assert printed.out == ""
    assert "the moves in progress are unknown: authorization; docs/reference/acls.md lists" in printed.err
