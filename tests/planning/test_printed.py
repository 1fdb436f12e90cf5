"""The text and the JSON of a plan."""

import math
from pathlib import Path
from typing import Any

import pytest

from kafka_warden.cli import _parser
from kafka_warden.model import UNKNOWN, BrokerConfig, Limit, Origin, Side
from kafka_warden.planning.commands import move_commands
from kafka_warden.planning.creation import plan_creation
from kafka_warden.planning.document import creation_document
from kafka_warden.planning.findings import PlanVerdict, verdict
from kafka_warden.planning.reassignment import to_json
from kafka_warden.planning.text import move_text
from tests.building import Partition, known
from tests.planning.printed import SEEN, WHERE, document, text, usual
from tests.support.planned import GB, MB, cluster, measured, plan, sized, to

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "plan.md"


def nulls(value: Any, path: str = "") -> set[str]:
    if isinstance(value, dict):
        return {found for key, part in value.items() for found in nulls(part, f"{path}.{key}" if path else key)}
    if isinstance(value, list):
        return {found for index, part in enumerate(value) for found in nulls(part, f"{path}[{index}]")}
    return {path} if value is None else set()


def test_an_impossible_plan_has_no_commands() -> None:
    impossible = usual(share=0.001)

    assert document(impossible)["commands"] == document(impossible)["checks"] == document(impossible)["metrics"] == []
    first = "IMPOSSIBLE  2 partitions in the file, 2 replicas to copy, 72 GB\n- deadline and"
    assert text(impossible).startswith(first)
    assert "kafka-" not in text(impossible)
    assert document(impossible)["verdict"] == "impossible"


def test_nothing_to_do() -> None:
    found = plan(SEEN, to("t", 0, 1, 2))
    assert text(found).startswith("NOTHING TO DO  1 partition in the file, 0 replicas to copy")
    assert (document(found)["commands"], document(found)["verdict"]) == ([], "possible")
    assert (found.changed, found.choice, found.copied, found.predicted, found.loads) == (False, None, 0, 0, ())


def test_moves_between_log_directories_are_not_planned() -> None:
    """A file that only names log directories has its own verdict; beside a move there is a warning."""
    only = plan(SEEN, to("t", 0, 1, 2, log_dirs=["/data", None]))
    beside = plan(SEEN, to("t", 0, 1, 2, log_dirs=["/data", None]), to("t", 1, 2, 3))
    free = plan(SEEN, to("t", 0, 1, 2, log_dirs=[None, None]))

    first = "NOT PLANNED  1 partition in the file, 0 replicas to copy: the file only names log dir"
    assert text(only).startswith(first)
    assert "no change" not in text(only)
    assert "the file names a log directory for a replica that stays" in text(only)
    assert (document(only)["verdict"], document(only)["commands"]) == ("not_planned", [])
    assert [verdict(found) for found in (beside, free)] == [PlanVerdict.POSSIBLE, PlanVerdict.POSSIBLE]
    assert "t-0: the file names a log directory for a replica that stays" in text(beside)


def test_fewer_replicas_need_no_throttle() -> None:
    """Nothing is copied, so the command has no --throttle. The rollback copies, and has one."""
    found = plan(SEEN, to("t", 0, 1))
    lines = {command.purpose: command.line for command in move_commands(found, WHERE)}
    assert "POSSIBLE  1 partition in the file, 0 replicas to copy: no throttle is needed" in text(found)
    assert list(lines) == ["begin", "watch", "cancel", "verify", "roll_back", "verify_roll_back"]
    assert [purpose for purpose, line in lines.items() if "--throttle" in line] == ["roll_back"]


def test_text() -> None:
    found = text(usual())

    assert found.startswith(
        "POSSIBLE  2 partitions in the file, 2 replicas to copy, 72 GB, within 1 h, at most 30% of the network\n"
        "  Throttle       27500000 bytes/s (27.5 MB/s)\n"
    )
    for piece in (
        "KIP-73 bounds  2 MB/s < throttle < 124 MB/s",
        "MoveRatio      1\n",
        "Bottleneck     broker 3, follower side",
        "the mean of 2 polls over 10 s: 2 MB/s in total",
        '{"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "any"]}',
        "t-0: gets another preferred leader",
        "kafka-leader-election.sh",
        'problem="left_behind"',
    ):
        assert piece in found, piece
    assert [line for line in found.splitlines() if line != line.rstrip()] == []


def test_long_tables_are_cut() -> None:
    seen = cluster({"t": [sized([n], GB) for n in range(1, 42)]}, more=[50])
    found = plan(seen, *(to("t", n, 50) for n in range(41)), network=1e12)

    shown = move_text(found, measured(seen), WHERE, to_json(found.rollback))

    assert shown.count("  and 2 more: see --output json") == 2
    assert "elect.json has 41 partitions: see the key election of --output json" in shown
    assert "The current assignment has 41 partitions: --rollback rollback.json writes it" in shown
    assert len(document(found)["brokers"]) == 42


def test_json() -> None:
    found = document(usual())

    assert found["throttle"]["bytes_per_second"] == 27_500_000
    assert found["throttle"]["needed_bytes_per_second"] == pytest.approx(27.5 * MB)
    assert found["throttle"]["allowed_bytes_per_second"] == pytest.approx(37.5 * MB)
    assert found["move"]["bottleneck"] == {"broker": 3, "side": "follower"}
    assert found["move"]["bytes"] == sum(broker["sends_bytes"] for broker in found["brokers"]) == 72 * GB
    assert found["rollback"]["partitions"][0]["replicas"] == [1, 2]


@pytest.mark.parametrize("asked", [{}, {"share": None, "network": None}, {"share": 0.001}, {"share": None}])
def test_every_null_has_its_reason(asked: dict[str, Any]) -> None:
    found = document(usual(**asked))
    assert nulls(found) == set(found["reasons"])
    assert all(found["reasons"].values())


def test_a_partition_without_a_leader_may_lose_replicas() -> None:
    """Nothing is copied; the leader is null, with a reason."""
    seen = cluster({"t": [Partition(replicas=[1, 2], leader=UNKNOWN)]})
    found = document(plan(seen, to("t", 0, 1)))
    assert found["partitions"][0]["leader"] is None
    assert found["reasons"]["partitions[0].leader"] == "it has none"
    assert nulls(found) == set(found["reasons"])


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for name, part in value.items() if name != "reasons" for key in keys(part)}
    return {key for part in value for key in keys(part)} if isinstance(value, list) else set()


def test_every_key_and_every_purpose_is_documented() -> None:
    documents = (document(usual()), creation_document(plan_creation(SEEN, "new", 1, 1, 10, 10), WHERE))
    commands = [command for made in documents for name in ("commands", "checks") for command in made.get(name, [])]
    wanted = {command["purpose"] for command in commands} | {key for made in documents for key in keys(made)}
    text = DOCUMENT.read_text()
    # The keys of the rollback are Kafka's.
    theirs = {"version", "replicas", "log_dirs", "format", "kind", "reasons"}
    assert {key for key in wanted - theirs if f"`{key}`" not in text and f"`{key}[]`" not in text} == set()


def test_every_flag_is_documented() -> None:
    text = DOCUMENT.read_text()
    commands: Any = _parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr]  # there are subcommands
    flags = set(commands["plan"]._option_string_actions)
    shared = {"-h", "--help", "--config", "--bootstrap-servers", "--log-level", "--log-format"}
    assert {flag for flag in flags - shared if f"`{flag} " not in text and f" {flag} " not in text} == set()


def test_replaced_throttles_are_warned_of() -> None:
    """A throttle that was set by hand is gone after --verify."""
    mine = BrokerConfig(limits={Side.LEADER: Limit(5 * MB, Origin.BROKER), Side.FOLLOWER: Limit()})
    seen = cluster({"t": [sized([1], GB)]}, more=[2], broker_configs={1: mine, 2: BrokerConfig()})

    found = move_text(plan(seen, to("t", 0, 2)), measured(seen), WHERE, "")

    assert "broker 1: its throttle of 5 MB/s is replaced, and --verify removes it" in found
    assert "broker 2: the tool replaces" not in found
    assert "the network capacity is not configured" in found


@pytest.mark.parametrize(("size", "shown"), [(0.0, False), (1000.0, False), (GB, True)])
def test_move_time_is_left_out_where_it_says_nothing(size: float, shown: bool) -> None:
    """A small quiet partition beside a busy one: the throttle is at KIP-73's lower bound, the pole of its formula."""
    seen = cluster({"busy": [sized([1, 2], GB)], "quiet": [sized([1], size)]}, more=[3])
    found = plan(seen, to("quiet", 0, 3), bytes_in={"busy": MB / 3 if not shown else 0.0})

    assert known(found.move_time) > 1000 if not shown else known(found.move_time) > 0
    assert ("MoveTime" in text(found)) is shown
    assert (document(found)["move"]["kip73_seconds"] is not None) is shown
    reason = document(found)["reasons"].get("move.kip73_seconds")
    assert reason == (None if shown else "partitions or inbound rates are too uneven for the formula of KIP-73")


def test_move_time_that_never_ends_is_shown_if_the_prediction_agrees() -> None:
    """The share is below the inbound rate of the partition that moves."""
    found = usual(share=0.005)
    assert (found.move_time, found.predicted) == (math.inf, math.inf)
    assert "MoveTime       never (KIP-73)" in text(found)
