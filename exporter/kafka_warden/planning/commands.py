"""The commands of a plan, word by word, up to the `--verify` that takes the throttle away again."""

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kafka_warden.planning.creation import Creation
from kafka_warden.planning.findings import problems
from kafka_warden.planning.formatting import in_bytes, in_count, in_time
from kafka_warden.planning.moving import electing, only_growing, only_under_way
from kafka_warden.planning.plan import MovePlan
from kafka_warden.planning.rollback import RollbackPlan

REASSIGN: Final = "kafka-reassign-partitions.sh"
TOPICS: Final = "kafka-topics.sh"
CONFIGS: Final = "kafka-configs.sh"
ELECTION: Final = "kafka-leader-election.sh"
ROLLBACK: Final = "rollback.json"
"""Its name in the commands where `--rollback` wrote none."""
ELECTION_FILE: Final = "elect.json"
"""Its name in the commands."""
PROPERTIES: Final = "admin.properties"


@dataclass(frozen=True, slots=True)
class Command:
    """One line for a shell, and what it is for."""

    purpose: str
    """A stable word: begin, watch, throttle, verify, roll_back, verify_roll_back, ..."""
    about: str
    line: str


@dataclass(frozen=True, slots=True)
class Where:
    """What commands name."""

    bootstrap: str
    """`host:port,...`"""
    file: str
    rollback: str = ROLLBACK
    secured: bool = False
    """The cluster wants `PROPERTIES`."""


def move_commands(plan: MovePlan, where: Where) -> tuple[Command, ...]:
    """Commands of a reassignment, in order; none where the file changes nothing or cannot be done as asked."""
    if not plan.changed or problems(plan):
        return ()
    throttle = [] if plan.limit is None else ["--throttle", str(plan.limit)]
    additional = ["--additional"] if plan.additional else []
    file, back = ["--reassignment-json-file", where.file], ["--reassignment-json-file", where.rollback]
    found = [
        ("begin", "begin", ["--execute", *additional, *throttle, *file]),
        ("watch", "see what still moves", ["--list"]),
        (
            "throttle",
            "while it runs: another throttle, BYTES a second",
            ["--execute", "--additional", "--throttle", "BYTES", *file],
        ),
        _cancel(plan, file),
        ("verify", "at the end, and again until it says that the throttle was removed", ["--verify", *file]),
        *_rollback(plan.rollback_plan, back),
    ]
    if plan.limit is None:
        found = [entry for entry in found if entry[0] != "throttle"]
    return tuple(Command(purpose, about, _line(where, REASSIGN, options)) for purpose, about, options in found)


def _cancel(plan: MovePlan, file: Sequence[str]) -> tuple[str, str, list[str]]:
    """Kafka's tool clears every throttle of the cluster, whatever it has cancelled: not while others need theirs."""
    about = "while it runs: give it up; what has not arrived goes, and "
    if only_under_way(plan.moving):
        about += "the throttle stays for what moves besides; --verify takes it away when all is over"
    elif only_growing(plan.moving):
        about += "the throttle stays until --verify, as not every version of the tool cancels what only grows"
    else:
        about += "so does the throttle, everybody's: where --list shows other moves, add --preserve-throttles"
        return "cancel", about, ["--cancel", *file]
    return "cancel", about, ["--cancel", "--preserve-throttles", *file]


def _rollback(planned: RollbackPlan, back: Sequence[str]) -> list[tuple[str, str, list[str]]]:
    """None where no throttle could be planned for it: without one it would take all of the network."""
    if planned.why or planned.bytes is None or planned.predicted is None:
        return []
    throttle, about = [], "back to today's assignment: nothing to copy"
    if planned.limit is not None and planned.replicas:
        throttle = ["--throttle", str(planned.limit)]
        copies = f"{in_count(planned.replicas, 'replica')} to copy, {in_bytes(planned.bytes)}"
        about = f"back to today's assignment: {copies}, {in_time(planned.predicted)}"
    return [
        ("roll_back", about, ["--execute", "--additional", *throttle, *back]),
        ("verify_roll_back", "and its end", ["--verify", *back]),
    ]


def move_checks(plan: MovePlan, where: Where) -> tuple[Command, ...]:
    """What to look at when it is over."""
    if not plan.changed or problems(plan):
        return ()
    found = [
        Command(
            "under_replicated",
            "every replica is in sync: must print nothing",
            _line(where, TOPICS, ["--describe", "--under-replicated-partitions"]),
        )
    ]
    if plan.limit is not None:
        found += [
            Command(
                "rates_left",
                "no throttled.rate is left on a broker; --verify cannot reach one that is down",
                _line(where, CONFIGS, ["--describe", "--entity-type", "brokers"]),
            ),
            Command(
                "lists_left",
                "no throttled.replicas is left on a topic",
                _line(where, TOPICS, ["--describe", "--topics-with-overrides"]),
            ),
        ]
    return (*found, *_elect(plan, where))


def election_json(plan: MovePlan) -> str:
    """Write the partitions that get another preferred leader as kafka-leader-election reads them, one a line."""
    lines = ",\n".join(f"  {json.dumps({'topic': p.topic, 'partition': p.number})}" for p in electing(plan.moving))
    return f'{{"partitions":[\n{lines}\n]}}\n'


def metric_checks(plan: MovePlan) -> tuple[tuple[str, str], ...]:
    """Queries of Prometheus beside them, with what they have to show."""
    if not plan.copies or problems(plan):
        return ()
    return (
        ("kafka_warden_reassigning_partitions", "0 in the end"),
        ("kafka_warden_reassignment_total_eta_seconds", "falls; +Inf: the throttle is too low by now"),
        ('kafka_warden_replication_throttle_problem_seconds{problem="left_behind"}', "no series after --verify"),
    )


def creation_commands(creation: Creation, where: Where) -> tuple[Command, ...]:
    """The command that creates a topic that fits."""
    if not creation.fits:
        return ()
    shape = ["--partitions", str(creation.partitions), "--replication-factor", str(creation.factor)]
    if creation.assignment is not None:
        shape = ["--replica-assignment", ",".join(":".join(map(str, brokers)) for brokers in creation.assignment)]
    options = ["--create", "--topic", creation.topic, *shape]
    return (Command("create", "create it", _line(where, TOPICS, options)),)


def _elect(plan: MovePlan, where: Where) -> Iterable[Command]:
    """Only for what moved: `--all-topic-partitions` would move leaders in the whole cluster."""
    found = electing(plan.moving)
    if not found:
        return
    which = ["--path-to-json-file", ELECTION_FILE]
    if len(found) == 1:
        which = ["--topic", found[0].topic, "--partition", str(found[0].number)]
    yield Command(
        "elect",
        "let the new preferred leaders lead, unless auto.leader.rebalance.enable does it in its time",
        _line(where, ELECTION, ["--election-type", "preferred", *which]),
    )


def _line(where: Where, tool: str, options: Iterable[str]) -> str:
    option = "--admin.config" if tool == ELECTION else "--command-config"
    secured = [option, PROPERTIES] if where.secured else []
    return shlex.join([tool, "--bootstrap-server", where.bootstrap, *secured, *options])
