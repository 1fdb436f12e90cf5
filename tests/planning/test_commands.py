"""The commands that a plan prints, word by word: only what Kafka's tools take, and nothing that harms others."""

import json
import shlex
from pathlib import Path

import pytest

from kafka_warden.planning.commands import Where, move_checks, move_commands
from kafka_warden.planning.plan import MovePlan
from tests.planning.planned import GB, cluster, plan, sized, to
from tests.planning.printed import SEEN, WHERE, document, text, usual

RECORDED = Path(__file__).parents[1] / "alerts" / "recorded"
"""What `--help` of Kafka 4.1.1 says, by tool."""


def test_the_commands_word_by_word() -> None:
    """From --execute with the throttle to the --verify that takes it away, and the rollback."""
    tool = "kafka-reassign-partitions.sh --bootstrap-server a:9092"
    file = "--reassignment-json-file 'move it.json'"
    limit = usual().limit

    assert [(command.purpose, command.line) for command in move_commands(usual(), WHERE)] == [
        ("begin", f"{tool} --execute --throttle {limit} {file}"),
        ("watch", f"{tool} --list"),
        ("throttle", f"{tool} --execute --additional --throttle BYTES {file}"),
        ("cancel", f"{tool} --cancel {file}"),
        ("verify", f"{tool} --verify {file}"),
        (
            "roll_back",
            f"{tool} --execute --additional --throttle {limit} --reassignment-json-file rollback.json",
        ),
        ("verify_roll_back", f"{tool} --verify --reassignment-json-file rollback.json"),
    ]


def test_additional_while_something_moves() -> None:
    """The tool refuses a second plan without it."""
    seen = cluster({"t": [sized([1], GB)], "u": [sized([1, 2], GB, adding=[2])]})

    assert "--execute --additional --throttle" in move_commands(plan(seen, to("t", 0, 2)), WHERE)[0].line


def cancel(found: MovePlan) -> tuple[str, str]:
    """What the command that gives a move up is about, and its line."""
    (command,) = (command for command in move_commands(found, WHERE) if command.purpose == "cancel")
    return command.about, command.line


def test_to_cancel_leaves_the_throttle_of_other_moves() -> None:
    """The tool clears all throttles, whatever it cancels: not while somebody else's move needs one."""
    seen = cluster({"t": [sized([1], GB)], "u": [sized([1, 2], GB, adding=[2])]})
    about, line = cancel(plan(seen, to("t", 0, 2)))
    both = plan(seen, to("t", 0, 2), to("u", 0, 2))

    assert "--cancel --preserve-throttles --reassignment-json-file" in line
    assert "the throttle stays for what moves besides" in about
    assert "--preserve-throttles" not in cancel(both)[1]
    assert "where --list shows other moves, add --preserve-throttles" in cancel(both)[0]


def test_to_cancel_what_only_grows_is_warned_of() -> None:
    """The tool of Kafka 3.9.1 skips it and clears the throttle: kept, and the way that works is told."""
    seen = cluster({"t": [sized([1], GB)], "u": [sized([1], GB)]}, more=[2])
    found = plan(seen, to("t", 0, 1, 2), to("u", 0, 2))

    assert "--cancel --preserve-throttles --reassignment-json-file" in cancel(found)[1]
    assert "t-0: only gets replicas: --cancel of some versions of the tool (3.9.1; not 4.1.1) skips that" in text(found)
    assert "roll_back" in [command.purpose for command in move_commands(found, WHERE)]
    assert "only gets replicas" not in text(plan(seen, to("u", 0, 2)))


def test_a_secured_cluster_wants_its_properties() -> None:
    """Every command gets them, and the text says what they are."""
    secured = Where("a:9092", "move.json", secured=True)
    commands = (*move_commands(usual(), secured), *move_checks(usual(), secured))

    for command in commands:
        option = "--admin.config" if "kafka-leader-election.sh" in command.line else "--command-config"
        assert f" {option} admin.properties " in command.line
    assert "elect" in [command.purpose for command in commands]
    assert "(admin.properties: the properties of a principal that may)" in text(usual(), secured)


@pytest.mark.parametrize("where", [WHERE, Where("a:9092", "move.json", secured=True)])
def test_every_flag_is_one_of_kafkas_tools(where: Where) -> None:
    """Checked against what Kafka 4.1.1's own --help says, of a secured cluster, too."""
    one = cluster({"t": [sized([1], GB)]}, more=[2])
    two = plan(SEEN, to("t", 0, 3, 2), to("t", 1, 3, 1))
    plans = (two, plan(one, to("t", 0, 1, 2)), plan(one, to("t", 0, 2)))
    commands = [command for found in plans for command in (*move_commands(found, where), *move_checks(found, where))]
    assert {"--path-to-json-file", "--topic"} <= {word for command in commands for word in shlex.split(command.line)}
    for command in commands:
        tool, *words = shlex.split(command.line)
        known = (RECORDED / f"{tool.removesuffix('.sh')}.txt").read_text()
        flags = [word for word in words if word.startswith("--")]
        assert flags
        assert [flag for flag in flags if f"\n{flag} " not in known] == [], command.line


def test_leaders_are_elected_of_what_moved_only() -> None:
    """One partition by its name, more in a file that is printed; never all of the cluster's."""
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
