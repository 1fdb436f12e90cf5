"""The commands of a plan, from `--execute` to the `--verify` that removes the throttle."""

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from kafka_warden.formatting import in_bytes, in_count, in_time
from kafka_warden.model import SIDES, Side
from kafka_warden.planning.creation import Creation
from kafka_warden.planning.during_move import ByHand
from kafka_warden.planning.findings import problems
from kafka_warden.planning.json_values import Key
from kafka_warden.planning.moving import electing, only_growing, only_under_way
from kafka_warden.planning.plan import MovePlan, Transfer

REASSIGN: Final = "kafka-reassign-partitions.sh"
TOPICS: Final = "kafka-topics.sh"
CONFIGS: Final = "kafka-configs.sh"
ELECTION: Final = "kafka-leader-election.sh"
ROLLBACK: Final = "rollback.json"
"""Its name in the commands without the flag `--rollback`."""
ELECTION_FILE: Final = "elect.json"
"""Its name in the commands."""
PROPERTIES: Final = "admin.properties"
COMMAND_CONFIG_SINCE: Final = (4, 2)
"""First release whose election tool takes `--command-config`, and warns of `--admin.config` (KIP-1147)."""


@dataclass(frozen=True, slots=True)
class Command:
    """One line for a shell, and its purpose."""

    purpose: Annotated[str, Key("purpose")]
    """A stable name: rates, lists, begin, watch, throttle, verify, roll_back, verify_roll_back, ..."""
    about: Annotated[str, Key("about")]
    line: Annotated[str, Key("command")]


@dataclass(frozen=True, slots=True)
class Check:
    """A query for Prometheus, and its expected result."""

    query: Annotated[str, Key("query")]
    expect: Annotated[str, Key("expect")]


@dataclass(frozen=True, slots=True)
class Where:
    """What the commands refer to."""

    bootstrap: str
    """`host:port,...`"""
    file: str
    rollback: str = ROLLBACK
    secured: bool = False
    """The tools need `PROPERTIES` to connect."""
    kafka_version: str | None = None
    """Release of the cluster, such as `4.1`, and so most likely that of the tools."""


def move_commands(plan: MovePlan, where: Where) -> tuple[Command, ...]:
    """Return the commands of a reassignment in order; none if it is impossible or changes nothing."""
    if not plan.changed or problems(plan):
        return ()
    additional = any(partition.under_way for partition in plan.moving)
    file, back = ["--reassignment-json-file", where.file], ["--reassignment-json-file", where.rollback]
    about, options = _cancel(plan)
    return (
        *_execute("begin", "start the move", plan, where, additional=additional, file=file),
        Command("watch", "list the moves in progress", _line(where, REASSIGN, ["--list"])),
        *_throttle(plan, where, file),
        Command("cancel", about, _line(where, REASSIGN, [*options, *file])),
        Command(
            "verify",
            "at the end: repeat until it reports that the throttle was removed",
            _line(where, REASSIGN, ["--verify", *file]),
        ),
        *_rollback(plan, where, back),
    )


def _execute(
    purpose: str, about: str, plan: Transfer, where: Where, *, additional: bool, file: Sequence[str]
) -> Iterable[Command]:
    """Start a move. If the tool cannot set its throttle, kafka-configs sets it first."""
    limit, hand = plan.limit, plan.by_hand
    throttle = [] if limit is None or hand is not None else ["--throttle", str(limit)]
    if limit is not None and hand is not None:
        prefix = "" if purpose == "begin" else f"{purpose}_"
        about_rates = "set the throttle of the brokers first. Start the move only if each of them reports Completed"
        yield Command(f"{prefix}rates", about_rates, _rates(where, hand, str(limit)))
        groups: dict[tuple[tuple[Side, str], ...], list[str]] = {}
        for topic, sides in hand.lists.items():
            groups.setdefault(tuple(sides.items()), []).append(topic)
        for lists, topics in groups.items():
            config = ",".join(f"{side}.replication.throttled.replicas=[{value}]" for side, value in lists)
            yield Command(f"{prefix}lists", "set the throttled lists", _each(where, "topics", topics, config))
    # The tool requires --additional during another move.
    options = ["--execute", *["--additional"] * additional, *throttle, *file]
    yield Command(purpose, about, _line(where, REASSIGN, options))


def _throttle(plan: MovePlan, where: Where, file: Sequence[str]) -> Iterable[Command]:
    if plan.limit is None:
        return
    line = _line(where, REASSIGN, ["--execute", "--additional", "--throttle", "BYTES", *file])
    if plan.by_hand is not None:
        line = _rates(where, plan.by_hand, "BYTES")
    yield Command("throttle", "during the move: set another throttle, in bytes per second", line)


def _rates(where: Where, hand: ByHand, limit: str) -> str:
    config = ",".join(f"{side}.replication.throttled.rate={limit}" for side in SIDES)
    return _each(where, "brokers", map(str, hand.brokers), config)


def _each(where: Where, kind: str, names: Iterable[str], config: str) -> str:
    """Return a loop of the shell: kafka-configs changes one entity at a time."""
    tool = _line(where, CONFIGS, ["--alter", "--entity-type", kind, "--add-config", config, "--entity-name"])
    return f'for name in {shlex.join(names)}; do {tool} "$name"; done'


def _cancel(plan: MovePlan) -> tuple[str, list[str]]:
    """`--cancel` removes every throttle of the cluster, so it preserves them while another move needs one."""
    about = "during the move: cancel it. Incomplete new replicas are deleted. "
    if only_under_way(plan.moving):
        about += "The throttle stays for the other moves; --verify removes it when all moves have ended"
    elif only_growing(plan.moving):
        about += "The throttle stays until --verify: some versions of the tool do not cancel partitions that only grow"
    else:
        about += "All throttles of the cluster are removed: if --list shows other moves, add --preserve-throttles"
        return about, ["--cancel"]
    return about, ["--cancel", "--preserve-throttles"]


def _rollback(plan: MovePlan, where: Where, back: Sequence[str]) -> Iterable[Command]:
    """No command without a planned throttle: an unthrottled rollback would use the whole network."""
    planned = plan.rollback_plan
    if planned is None or plan.rollback_problem:
        return
    about = "rollback to the current assignment: nothing to copy"
    if planned.limit is not None:
        copies = f"{in_count(planned.copies, 'replica')} to copy, {in_bytes(planned.copied)}"
        about = f"rollback to the current assignment: {copies}, {in_time(planned.predicted)}"
    yield from _execute("roll_back", about, planned, where, additional=True, file=back)
    yield Command("verify_roll_back", "at the end of the rollback", _line(where, REASSIGN, ["--verify", *back]))


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


def metric_checks(plan: MovePlan) -> tuple[Check, ...]:
    """Return what to ask Prometheus during and after the move."""
    if not plan.copies or problems(plan):
        return ()
    return (
        Check("kafka_warden_reassigning_partitions", "0 at the end"),
        Check("kafka_warden_reassignment_total_eta_seconds", "falls; +Inf: the throttle is too low"),
        Check('kafka_warden_replication_throttle_problem_seconds{problem="left_behind"}', "no series after --verify"),
    )


def creation_commands(creation: Creation, where: Where) -> tuple[Command, ...]:
    """Return the command that creates the topic, or adds the partitions, if they fit."""
    if not creation.fits:
        return ()
    partitions, factor = str(creation.total), str(creation.factor)
    assigned = [":".join(map(str, brokers)) for brokers in (*creation.existing, *(creation.assignment or ()))]
    assignment = [] if creation.assignment is None else ["--replica-assignment", ",".join(assigned)]
    if creation.existing:
        # Only for --create is it a name. Here it is a pattern, and the tool skips the partitions that exist.
        pattern = creation.topic.replace(".", r"\.")
        options = ["--alter", "--topic", pattern, "--partitions", partitions, *assignment]
        return (Command("alter", "add the partitions", _line(where, TOPICS, options)),)
    shape = assignment or ["--partitions", partitions, "--replication-factor", factor]
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
    release = tuple(map(int, (where.kafka_version or "0").split(".")))
    option = "--admin.config" if tool == ELECTION and release < COMMAND_CONFIG_SINCE else "--command-config"
    secured = [option, PROPERTIES] if where.secured else []
    return shlex.join([tool, "--bootstrap-server", where.bootstrap, *secured, *options])
