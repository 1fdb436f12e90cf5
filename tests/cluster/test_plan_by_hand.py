"""The commands of `kafka-warden plan`, pasted as printed, where `--execute --throttle` of Kafka's tool fails."""

import json
import subprocess
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sandbox import Cluster, ClusterSettings, wait_for
from sandbox.admin_moves import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from tests.alerts.shell import paste, write_tools
from tests.cluster.test_plan import MEGABYTE, Files, command, run

pytestmark = [pytest.mark.cluster, pytest.mark.full_kafka]

SETTINGS = ClusterSettings(brokers=4, tiered=False, broker_heap=512)
RATES = (LEADER_RATE, FOLLOWER_RATE)
LISTS = (LEADER_REPLICAS, FOLLOWER_REPLICAS)
MANY = 2000
PATIENT = {"interval": "20s", "deadline": "18s"}
NODE_TIMEOUT = "default.api.timeout.ms=4000\nrequest.timeout.ms=2000\n"
"""The tool waits a minute for a broker that is down."""

Shell = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def shell(own: Cluster, tmp_path: Path) -> Shell:
    """Run a line in the folder of the plan, with Kafka's tools on the path."""
    write_tools(tmp_path, own.settings.version)
    return partial(paste, tmp_path)


def planned(cluster: Cluster, folder: Path, moves: Files, *more: str) -> dict[str, Any]:
    """The document of a plan that is possible. Its commands are those of the text."""
    arguments = ("--measure", "3s", "--deadline", "1m", "--rollback", str(folder / "back.json"), *more)
    text = run(cluster, folder, moves, *arguments, poll=PATIENT).stdout
    made = run(cluster, folder, moves, *arguments, "--output", "json", poll=PATIENT)
    document: dict[str, Any] = json.loads(made.stdout)
    assert [line for line in text.splitlines() if line.startswith("for name in ")] != []
    return document


def lines(document: dict[str, Any], *purposes: str) -> list[str]:
    return [command["command"] for command in document["commands"] if command["purpose"] in purposes]


def carry_out(cluster: Cluster, shell: Shell, commands: Iterable[str], verify: str) -> None:
    """Start a move, wait for its end, and remove its throttle."""
    for line in commands:
        shell(line)
    cluster.admin.wait_for_moves(240.0)
    assert "Clearing broker-level throttles" in shell(verify).stdout
    wait_for(lambda: not any(limits(cluster)), 60.0, "--verify has removed all throttles")


def limits(cluster: Cluster, topics: Sequence[str] = ()) -> list[str]:
    admin = cluster.admin
    configs = [admin.broker_config(broker, RATES) for broker in admin.running()]
    configs += [admin.topic_config(topic, LISTS) for topic in topics or admin.topics()]
    return [value for config in configs for value in config.values() if value]


def replicas(cluster: Cluster, topic: str) -> dict[int, tuple[int, ...]]:
    return {number: state.replicas for number, state in cluster.admin.describe(topic).items()}


def test_a_move_away_from_a_dead_broker(own: Cluster, shell: Shell, tmp_path: Path) -> None:
    """The tool alone waits for the dead broker and starts no move; the printed commands carry it out, throttled."""
    own.admin.create_topic("away", assignment={0: [1, 3], 1: [3, 2]})
    own.admin.create_topic("also", assignment={0: [2, 3]})
    for topic, partitions in (("away", 2), ("also", 1)):
        own.load.produce(topic, bytes=4 * MEGABYTE, partitions=range(partitions))
    own.wait_in_sync()
    own.kill(3)
    wait_for(lambda: 3 not in own.admin.brokers(), 60.0, "broker 3 is fenced")
    moves: Files = {("away", 0): [1, 4], ("away", 1): [4, 2], ("also", 0): [2, 4]}

    document = planned(own, tmp_path, moves)
    (begin,) = lines(document, "begin")
    (tmp_path / "timeout.properties").write_text(NODE_TIMEOUT)
    limit = document["throttle"]["bytes_per_second"]
    tool = shell(f"{begin} --throttle {limit} --command-config timeout.properties", code=1)
    assert "Timed out waiting for a node assignment" in tool.stdout
    assert own.admin.reassignments() == {}
    own.admin.clear_throttle(["away", "also"])

    for line in lines(document, "rates", "lists"):
        shell(line)
    expected = {"away": ("0:1,0:3,1:3,1:2", "0:4,1:4"), "also": ("0:2,0:3", "0:4")}
    for topic, values in expected.items():
        wait_for(lambda topic=topic, values=values: tuple(own.admin.topic_config(topic, LISTS).values()) == values)  # type: ignore[misc]
    assert [set(own.admin.broker_config(broker, RATES).values()) for broker in (1, 2, 4)] == [{str(limit)}] * 3
    carry_out(own, shell, [begin], lines(document, "verify")[0])

    assert (replicas(own, "away"), replicas(own, "also")) == ({0: (1, 4), 1: (4, 2)}, {0: (2, 4)})
    assert document["commands"][0]["purpose"] == "rates"
    assert any("broker 3: down, and --execute --throttle would wait for it" in each for each in document["warnings"])


@pytest.mark.timeout(900)
def test_2000_partitions_of_one_topic(own: Cluster, shell: Shell, tmp_path: Path) -> None:
    """The tool alone cannot send the list, and hangs; the printed commands carry out the move and its rollback."""
    before = {number: tuple(1 + (number + at) % 3 for at in range(3)) for number in range(MANY)}
    own.admin.create_topic("many", assignment=before)
    for broker in (1, 2, 3):
        wait_for(lambda broker=broker: len(own.admin.log_dirs(broker)) >= MANY, 120.0, f"logs of {broker}")  # type: ignore[misc]
    moves: Files = {("many", number): [*brokers[:2], 4] for number, brokers in before.items()}

    document = planned(own, tmp_path, moves)
    limit = document["throttle"]["bytes_per_second"]
    (begin,) = lines(document, "begin")
    tool = shell(f"timeout 20 {begin} --throttle {limit}", code=124)
    assert "'value' field is too long to be serialized" in tool.stdout + tool.stderr
    assert own.admin.reassignments() == {}

    carry_out(own, shell, lines(document, "rates", "lists", "begin"), lines(document, "verify")[0])
    assert replicas(own, "many") == {number: (*brokers[:2], 4) for number, brokers in before.items()}
    back = lines(document, "roll_back_rates", "roll_back_lists", "roll_back")
    assert len(back) == 3
    carry_out(own, shell, back, lines(document, "verify_roll_back")[0])
    assert replicas(own, "many") == before


@pytest.mark.parametrize(
    ("version", "after", "held"), [("4.1.1", (1, 2, 4), True), ("4.4.0", (1, 2, 4), False), ("4.4.0", (2,), True)]
)
def test_a_replica_that_stays_out_of_sync(
    make_cluster: Callable[..., Cluster], tmp_path: Path, version: str, after: tuple[int, ...], held: bool
) -> None:
    """The new replica is in sync. Some versions of Kafka wait for the other one, too, and then the plan warns."""
    made = make_cluster(brokers=4, tiered=False, version=version)
    admin = made.admin
    admin.create_topic("held", assignment={0: [1, 2]})
    admin.alter_topic_config("held", {LEADER_REPLICAS: "*", FOLLOWER_REPLICAS: "0:2"})
    admin.set_throttle_rate(2, 1)
    made.pause(2)
    made.load.produce("held", bytes=40 * MEGABYTE)
    wait_for(lambda: admin.describe("held")[0].isr == (1,), 60.0, "replica 2 is out of sync")
    made.resume(2)
    made.wait_ready(2)

    found = warnings(made, tmp_path, {("held", 0): list(after)})
    admin.reassign({("held", 0): list(after)})
    wait_for(lambda: set(admin.describe("held")[0].isr) == {1, *after} - {2}, 60.0, "all others are in sync")
    for _ in range(3 * held):  # each takes longer than the controller needs after a change of the ISR
        assert admin.reassignments() != {}
        made.load.produce("held", bytes=MEGABYTE)
    if not held:
        admin.wait_for_moves(60.0)
    assert 2 not in admin.describe("held")[0].isr
    admin.set_throttle_rate(2, None)
    admin.wait_for_moves(60.0)
    wait_for(lambda: admin.describe("held")[0].replicas == after, 60.0, "the asked broker knows that it has completed")

    assert any("held-0: a replica that stays is not in sync" in warning for warning in found) is held


def test_more_partitions_are_added_by_the_tool(own: Cluster, shell: Shell, tmp_path: Path) -> None:
    """With assigned brokers where Kafka's placement may exceed a limit, and to no other topic that matches the name."""
    own.admin.create_topic("a.b", assignment={0: [1, 2], 1: [2, 3]})
    own.admin.create_topic("axb", assignment={0: [1, 2]})
    counts = {broker["broker"]: broker["partitions_before"] for broker in adding(own, tmp_path)["brokers"]}

    document = adding(own, tmp_path, limits={"max_broker_partitions": max(counts.values()) + 1})
    (alter,) = lines(document, "alter")
    assert "--replica-assignment 1:2,2:3," in alter
    shell(alter)
    wait_for(lambda: len(own.admin.describe("a.b")) == 5, 60.0, "the partitions are there")

    assert (replicas(own, "a.b")[1], len(own.admin.describe("axb"))) == ((2, 3), 1)
    added = [broker for number, brokers in replicas(own, "a.b").items() if number > 1 for broker in brokers]
    after = {broker["broker"]: broker["partitions_after"] for broker in document["brokers"]}
    assert {broker: counts[broker] + added.count(broker) for broker in counts} == after


def adding(cluster: Cluster, folder: Path, **sections: Any) -> dict[str, Any]:
    arguments = ("--topic", "a.b", "--partitions", "5", "--output", "json")
    document: dict[str, Any] = json.loads(command(cluster, folder, *arguments, code=0, **sections).stdout)
    return document


def test_an_output_of_generate_is_no_file_for_the_tool(own: Cluster, shell: Shell, tmp_path: Path) -> None:
    """The plan names the line to keep; with it the tool starts the move."""
    own.admin.create_topic("generated", assignment={0: [1]})
    (tmp_path / "topics.json").write_text('{"version": 1, "topics": [{"topic": "generated"}]}')
    tool = f"kafka-reassign-partitions.sh --bootstrap-server {own.bootstrap}"
    shell(f"{tool} --generate --topics-to-move-json-file topics.json --broker-list 4 > whole.json")
    shell(f"{tool} --execute --reassignment-json-file whole.json", code=1)

    refused = command(own, tmp_path, "--reassignment", "whole.json", code=2).stderr
    keep = refused.partition("keep only line ")[2].partition(",")[0]
    shell(f"sed -n {keep}p whole.json > move.json && {tool} --execute --reassignment-json-file move.json")
    own.admin.wait_for_moves()

    wait_for(lambda: replicas(own, "generated") == {0: (4,)}, what="all brokers know that it has ended")


def warnings(cluster: Cluster, folder: Path, moves: Files) -> list[str]:
    found: list[str] = json.loads(run(cluster, folder, moves, "--measure", "3s", "--output", "json").stdout)["warnings"]
    return found
