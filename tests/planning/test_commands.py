"""The commands of a plan: only flags of Kafka's tools, and nothing that affects other moves."""

import json
import shlex

import pytest

from kafka_warden.planning.commands import Where, move_checks, move_commands
from kafka_warden.planning.plan import MovePlan
from tests.alerts.record_help import VERSIONS, options
from tests.planning.printed import SEEN, WHERE, document, text, usual
from tests.support.planned import GB, cluster, plan, sized, to, without


def test_all_commands_of_a_move() -> None:
    tool = "kafka-reassign-partitions.sh --bootstrap-server a:9092"
    file = "--reassignment-json-file 'move it.json'"
    limit = usual().limit

    assert [(command.purpose, command.line) for command in move_commands(usual(), WHERE)] == [
        ("begin", f"{tool} --execute --throttle {limit} {file}"),
        ("watch", f"{tool} --list"),
        ("throttle", f"{tool} --execute --additional --throttle BYTES {file}"),
        ("cancel", f"{tool} --cancel {file}"),
        ("verify", f"{tool} --verify {file}"),
        ("roll_back", f"{tool} --execute --additional --throttle {limit} --reassignment-json-file rollback.json"),
        ("verify_roll_back", f"{tool} --verify --reassignment-json-file rollback.json"),
    ]


def cancel(found: MovePlan) -> tuple[str, str]:
    (command,) = (command for command in move_commands(found, WHERE) if command.purpose == "cancel")
    return command.about, command.line


def test_to_cancel_leaves_the_throttle_of_other_moves() -> None:
    """--cancel removes all throttles, so it preserves them while another move needs one."""
    seen = cluster({"t": [sized([1], GB)], "u": [sized([1, 2], GB, adding=[2])]})
    one = plan(seen, to("t", 0, 2))
    about, line = cancel(one)
    both = plan(seen, to("t", 0, 2), to("u", 0, 2))

    assert "--execute --additional --throttle" in move_commands(one, WHERE)[0].line
    assert "--cancel --preserve-throttles --reassignment-json-file" in line
    assert "The throttle stays for the other moves" in about
    assert "--preserve-throttles" not in cancel(both)[1]
    assert "if --list shows other moves, add --preserve-throttles" in cancel(both)[0]


def test_to_cancel_what_only_grows_is_warned_of() -> None:
    """The tool of Kafka 3.9.1 skips it and removes the throttle: preserve it, and warn."""
    seen = cluster({"t": [sized([1], GB)], "u": [sized([1], GB)]}, more=[2])
    found = plan(seen, to("t", 0, 1, 2), to("u", 0, 2))

    assert "--cancel --preserve-throttles --reassignment-json-file" in cancel(found)[1]
    assert "t-0: only gets more replicas. --cancel of some versions of the tool (3.9.1; not 4.1.1) skips" in text(found)
    assert "roll_back" in [command.purpose for command in move_commands(found, WHERE)]
    assert "only gets more replicas" not in text(plan(seen, to("u", 0, 2)))


def test_a_secured_cluster_needs_properties() -> None:
    secured = Where("a:9092", "move.json", secured=True, kafka_version="4.2")
    commands = (*move_commands(usual(), secured), *move_checks(usual(), secured))

    for command in commands:
        assert " --command-config admin.properties " in command.line
    assert "elect" in [command.purpose for command in commands]
    assert "(admin.properties: properties of a principal with the rights)" in text(usual(), secured)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("secured", [False, True])
def test_every_flag_is_one_of_kafkas_tools(version: str, *, secured: bool) -> None:
    """They are in the --help of the version, also those for a secured cluster, and none is deprecated."""
    where = Where("a:9092", "move.json", secured=secured, kafka_version=version.rpartition(".")[0])
    one = cluster({"t": [sized([1], GB)]}, more=[2])
    two = plan(SEEN, to("t", 0, 3, 2), to("t", 1, 3, 1))
    away = plan(without(SEEN, 2, gone=True), to("t", 0, 1, 3))
    plans = (two, plan(one, to("t", 0, 1, 2)), plan(one, to("t", 0, 2)), away)
    commands = [command for found in plans for command in (*move_commands(found, where), *move_checks(found, where))]
    assert {"--path-to-json-file", "--topic", "--add-config"} <= {
        word for command in commands for word in shlex.split(command.line)
    }
    for command in commands:
        tool, *words = shlex.split(command.line.rpartition("; do ")[2].removesuffix("; done"))
        flags = {word for word in words if word.startswith("--")}
        assert flags
        assert flags <= options(version, tool.removesuffix(".sh")), command.line


def test_leaders_of_moved_partitions_only_are_elected() -> None:
    one = plan(SEEN, to("t", 0, 3, 2), to("t", 1, 2, 3))
    two = plan(SEEN, to("t", 0, 3, 2), to("t", 1, 3, 1))
    tool = "kafka-leader-election.sh --bootstrap-server a:9092 --election-type preferred"

    assert move_checks(one, WHERE)[-1].line == f"{tool} --topic t --partition 0"
    assert "elect.json" not in text(one)
    assert move_checks(two, WHERE)[-1].line == f"{tool} --path-to-json-file elect.json"
    wanted = [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 1}]
    assert document(two)["election"] == {"partitions": wanted}
    shown = text(two).split("for elect.json\n")[1].split("\n\n")[0]
    assert json.loads(shown) == {"partitions": wanted}
    assert document(plan(SEEN, to("t", 1, 2, 3)))["election"] == {"partitions": []}
