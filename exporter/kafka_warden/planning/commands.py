"""The commands of a plan, from `--execute` to the `--verify` that removes the throttle."""

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
"""Its name in the commands without the flag `--rollback`."""
ELECTION_FILE: Final = "elect.json"
"""Its name in the commands."""
PROPERTIES: Final = "admin.properties"


@dataclass(frozen=True, slots=True)
class Command:
    """One line for a shell, and its purpose."""

    purpose: str
    """A stable name: begin, watch, throttle, verify, roll_back, verify_roll_back, ..."""
    about: str
    line: str


@dataclass(frozen=True, slots=True)
class Where:
    """What the commands refer to."""

    bootstrap: str
    """`host:port,...`"""
    file: str
    rollback: str = ROLLBACK
    secured: bool = False
    """The tools need `PROPERTIES` to connect."""


def move_commands(plan: MovePlan, where: Where) -> tuple[Command, ...]:
    """Return the commands of a reassignment in order; none if it is impossible or changes nothing."""
    if not plan.changed or problems(plan):
        return ()
    throttle = [] if plan.limit is None else ["--throttle", str(plan.limit)]
    # The tool requires it during another move.
    additional = ["--additional"] if any(partition.under_way for partition in plan.moving) else []
    again = ["--execute", "--additional", "--throttle", "BYTES"]
    file, back = ["--reassignment-json-file", where.file], ["--reassignment-json-file", where.rollback]
    found = [
        ("begin", "start the move", ["--execute", *additional, *throttle, *file]),
        ("watch", "list the moves in progress", ["--list"]),
        ("throttle", "during the move: set another throttle, in bytes per second", [*again, *file]),
        _cancel(plan, file),
        ("verify", "at the end: repeat until it reports that the throttle was removed", ["--verify", *file]),
        *_rollback(plan.rollback_plan, back),
    ]
    return tuple(
        Command(purpose, about, _line(where, REASSIGN, options))
        for purpose, about, options in found
        if purpose != "throttle" or plan.limit is not None
    )


def _cancel(plan: MovePlan, file: Sequence[str]) -> tuple[str, str, list[str]]:
    """`--cancel` removes every throttle of the cluster, so it preserves them while another move needs one."""
    about = "during the move: cancel it. Incomplete new replicas are deleted. "
    if only_under_way(plan.moving):
        about += "The throttle stays for the other moves; --verify removes it when all moves have ended"
    elif only_growing(plan.moving):
        about += "The throttle stays until --verify: some versions of the tool do not cancel partitions that only grow"
    else:
        about += "All throttles of the cluster are removed: if --list shows other moves, add --preserve-throttles"
        return "cancel", about, ["--cancel", *file]
    return "cancel", about, ["--cancel", "--preserve-throttles", *file]


def _rollback(planned: RollbackPlan, back: Sequence[str]) -> list[tuple[str, str, list[str]]]:
    """No command without a planned throttle: an unthrottled rollback would use the whole network."""
    if planned.why or planned.bytes is None or planned.predicted is None:
        return []
    throttle, about = [], "rollback to the current assignment: nothing to copy"
    if planned.limit is not None and planned.replicas:
        throttle = ["--throttle", str(planned.limit)]
        copies = f"{in_count(planned.replicas, 'replica')} to copy, {in_bytes(planned.bytes)}"
        about = f"rollback to the current assignment: {copies}, {in_time(planned.predicted)}"
    return [
        ("roll_back", about, ["--execute", "--additional", *throttle, *back]),
        ("verify_roll_back", "at the end of the rollback", ["--verify", *back]),
    ]


def move_checks(plan: MovePlan, where: Where) -> tuple[Command, ...]:
    """Return the commands that check the result."""
    if not plan.changed or problems(plan):
        return ()
    in_sync = _line(where, TOPICS, ["--describe", "--under-replicated-partitions"])
    found = [Command("under_replicated", "all replicas are in sync: prints nothing", in_sync)]
    if plan.limit is not None:
        about = "no broker has a throttled.rate; --verify cannot remove it from a broker that is down"
        lists = _line(where, TOPICS, ["--describe", "--topics-with-overrides"])
        found += [
            Command("rates_left", about, _line(where, CONFIGS, ["--describe", "--entity-type", "brokers"])),
            Command("lists_left", "no topic has throttled.replicas", lists),
        ]
    return (*found, *_elect(plan, where))


def election_json(plan: MovePlan) -> str:
    """Write the partitions that get another preferred leader for kafka-leader-election, one per line."""
    lines = ",\n".join(f"  {json.dumps({'topic': p.topic, 'partition': p.number})}" for p in electing(plan.moving))
    return f'{{"partitions":[\n{lines}\n]}}\n'


def metric_checks(plan: MovePlan) -> tuple[tuple[str, str], ...]:
    """Return queries for Prometheus, each with its expected result."""
    if not plan.copies or problems(plan):
        return ()
    return (
        ("kafka_warden_reassigning_partitions", "0 at the end"),
        ("kafka_warden_reassignment_total_eta_seconds", "falls; +Inf: the throttle is too low"),
        ('kafka_warden_replication_throttle_problem_seconds{problem="left_behind"}', "no series after --verify"),
    )


def creation_commands(creation: Creation, where: Where) -> tuple[Command, ...]:
    """Return the command that creates the topic, if it fits."""
    if not creation.fits:
        return ()
    shape = ["--partitions", str(creation.partitions), "--replication-factor", str(creation.factor)]
    if creation.assignment is not None:
        shape = ["--replica-assignment", ",".join(":".join(map(str, brokers)) for brokers in creation.assignment)]
    options = ["--create", "--topic", creation.topic, *shape]
    return (Command("create", "create the topic", _line(where, TOPICS, options)),)


def _elect(plan: MovePlan, where: Where) -> Iterable[Command]:
    """Only for partitions that moved: `--all-topic-partitions` would move leaders in the whole cluster."""
    found = electing(plan.moving)
    if not found:
        return
    which = ["--path-to-json-file", ELECTION_FILE]
    if len(found) == 1:
        which = ["--topic", found[0].topic, "--partition", str(found[0].number)]
    yield Command(
        "elect",
        "elect the new preferred leaders now; auto.leader.rebalance.enable does it later",
        _line(where, ELECTION, ["--election-type", "preferred", *which]),
    )


def _line(where: Where, tool: str, options: Iterable[str]) -> str:
    option = "--admin.config" if tool == ELECTION else "--command-config"
    secured = [option, PROPERTIES] if where.secured else []
    return shlex.join([tool, "--bootstrap-server", where.bootstrap, *secured, *options])
