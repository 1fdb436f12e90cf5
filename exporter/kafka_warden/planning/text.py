"""A plan as text: the verdict, the throttle, the reasons, the commands."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

from kafka_warden.formatting import in_bytes, in_count, in_percent, in_rate, in_time
from kafka_warden.planning.commands import (
    ELECTION_FILE,
    PROPERTIES,
    Command,
    Where,
    creation_commands,
    election_json,
    metric_checks,
    move_checks,
    move_commands,
)
from kafka_warden.planning.creation import Creation
from kafka_warden.planning.findings import notes, problems, warnings
from kafka_warden.planning.inbound import InboundRates, outdated
from kafka_warden.planning.moving import electing
from kafka_warden.planning.plan import MovePlan
from kafka_warden.planning.room import Room

MOST_ROWS: Final = 40
"""Highest number of rows in a table; JSON has all."""


def move_text(plan: MovePlan, inbound: InboundRates, where: Where | None, rollback: str) -> str:
    """Return the plan for a reassignment. `where`: `None` for no commands.

    `rollback`: text of the file to print; empty if it was written.
    """
    sections = [
        _verdict(plan),
        _listed("Warnings", [*outdated(inbound, plan.snapshot.time), *warnings(plan)]),
        _listed("Notes", notes(plan)),
        _sides(plan),
        _brokers(plan),
        _assumptions(inbound) if plan.copies or (plan.rollback_plan is not None and plan.rollback_plan.copies) else "",
        *(() if where is None else _to_run(plan, where, rollback)),
    ]
    return "\n\n".join(section.rstrip("\n") for section in sections if section) + "\n"


def _to_run(plan: MovePlan, where: Where, rollback: str) -> Iterable[str]:
    queries = "\n".join(f"{check.query}   # {check.expect}" for check in metric_checks(plan))
    yield _commands("Commands", move_commands(plan, where), where)
    yield "\n".join(part for part in (_commands("Checks at the end", move_checks(plan, where), where), queries) if part)
    yield _election(plan, where)
    yield _rollback(plan, where, rollback)


def creation_text(creation: Creation, where: Where) -> str:
    """Return the plan for a new topic, or for more partitions of one."""
    more = f"{in_count(creation.partitions, 'more partition')}, {creation.total} in all," if creation.existing else ""
    shape = more or in_count(creation.partitions, "partition")
    what = f"{creation.topic}: {shape} with {in_count(creation.factor, 'replica')}"
    verdict = f"FITS  {what}" if creation.fits else f"DOES NOT FIT  {what}\n" + _bullets(creation.reasons)
    if not creation.counted:
        verdict += "\n  The limits do not count this topic (KIP-578)."
    elif math.isinf(creation.broker_limit) and math.isinf(creation.cluster_limit):
        verdict += (
            "\n  No limit is configured: set limits.max_broker_partitions and limits.max_partitions."
            " KIP-578 recommends 4000 and 200000."
        )
    if creation.fits and creation.existing:
        verdict += "\n  Messages with a key go to other partitions than before: the order per key ends."
    if creation.fits and not math.isinf(creation.broker_limit):
        verdict += f"\n  {_placed(creation)}"
    cluster = (
        f"Cluster: {creation.cluster_before} partitions now, limit {_limit(creation.cluster_limit)}"
        if creation.counted
        else ""
    )
    rows = [
        (
            str(broker),
            str(count.before),
            "-" if count.after is None else str(count.after),
            _limit(creation.broker_limit),
        )
        for broker, count in list(creation.brokers.items())[:MOST_ROWS]
    ]
    counts = table(("broker", "partitions", "after", "limit"), rows, len(creation.brokers))
    commands = _commands("Commands", creation_commands(creation, where), where)
    return "\n\n".join(part for part in (verdict, cluster, counts, commands) if part) + "\n"


def _placed(creation: Creation) -> str:
    most = f"{in_count(creation.most_by_kafka, 'replica')} of it on one broker"
    if creation.assignment is None:
        return f"Assumption: Kafka's placement (StripedReplicaPlacer) puts at most {most}, which fits on each."
    racks = ", with the replicas of a partition in different racks" if creation.racks_apart else ""
    return f"Kafka's placement ignores limits and may put {most}, which is too many: assign as below{racks}."


def _verdict(plan: MovePlan) -> str:
    found, goal = problems(plan), plan.goal
    asked = in_count(sum(p.asked for p in plan.moving), "partition")
    what = f"{asked} in the file, {in_count(plan.copies, 'replica')} to copy"
    if found:
        return f"IMPOSSIBLE  {what}, {in_bytes(plan.copied)}\n{_bullets(found)}\n{_summary(plan)}".rstrip("\n")
    if plan.names_only_dirs:
        return (
            f"NOT PLANNED  {what}: the file only names log directories for replicas that stay. Moves between log"
            " directories of a broker are not planned"
        )
    if not plan.changed:
        return f"NOTHING TO DO  {what}: the cluster already has this assignment"
    if plan.choice is None:
        return f"POSSIBLE  {what}: no throttle is needed"
    share = f", at most {in_percent(goal.share)} of the network" if goal.share is not None else ""
    head = f"POSSIBLE  {what}, {in_bytes(plan.copied)}, within {in_time(goal.deadline)}{share}"
    return f"{head}\n{_summary(plan)}"


def _summary(plan: MovePlan) -> str:
    choice = plan.choice
    if choice is None:
        return ""
    rows = [
        ("Throttle", f"{plan.limit} bytes/s ({in_rate(float(plan.limit))})" if plan.limit is not None else "none"),
        ("Needed", f"{in_rate(choice.needed)} for the deadline"),
        ("Allowed", "unlimited: no network is configured" if math.isinf(choice.most) else in_rate(choice.most)),
        ("KIP-73 bounds", f"{_bound(choice.lower_bound)} < throttle < {_bound(choice.upper_bound)}"),
        ("MoveRatio", f"{plan.ratio:.3g}"),
    ]
    if plan.move_time_applies:
        rows.append(("MoveTime", "unknown" if plan.move_time is None else f"{in_time(plan.move_time)} (KIP-73)"))
    if plan.last is not None:
        load, seconds = plan.last
        at = "" if plan.limit is not None else f" at {in_rate(choice.assumed_limit)}"
        rows += [
            ("Predicted", f"{in_time(seconds)}{at}, by the law of throttled moves"),
            ("Bottleneck", f"broker {load.broker}, {load.side} side"),
        ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"  {name:<{width}}  {value}" for name, value in rows)


def _bound(bound: float | None) -> str:
    return "unknown" if bound is None else in_rate(bound)


def _sides(plan: MovePlan) -> str:
    if plan.choice is None:
        return ""
    at = plan.choice.assumed_limit
    loads = sorted(plan.loads, key=lambda load: -load.needed(plan.goal.deadline))[:MOST_ROWS]
    rows = [
        (
            str(load.broker),
            str(load.side),
            in_rate(load.floor),
            in_rate(load.bytes_in),
            in_bytes(load.remaining),
            in_rate(load.needed(plan.goal.deadline)),
            in_time(load.seconds(at)),
        )
        for load in loads
    ]
    head = ("broker", "side", "floor", "inbound", "to copy", "needed", "predicted")
    return "Sides: the throttle must be above the floor\n" + table(head, rows, len(plan.loads))


def _brokers(plan: MovePlan) -> str:
    if not plan.rooms:
        return ""
    head = ("broker", "sends", "receives", "partitions", "limit", "disk", "free", "fits")
    rows = [_room(room) for room in plan.rooms[:MOST_ROWS]]
    return "Brokers: now > during the move > after\n" + table(head, rows, len(plan.rooms))


def _room(room: Room) -> tuple[str, ...]:
    counts, disk = room.partitions, room.disk
    fits = "no" if not counts.fits or disk.fits is False else "unknown" if disk.fits is None else "yes"
    return (
        str(room.broker),
        in_bytes(room.sends),
        in_bytes(room.receives),
        f"{counts.before} > {counts.during} > {counts.after}",
        _limit(counts.limit),
        " > ".join("?" if part is None else in_bytes(part) for part in (disk.before, disk.during, disk.after)),
        "?" if disk.usable is None else in_bytes(disk.usable),
        fits,
    )


def _limit(limit: float) -> str:
    return "none" if math.isinf(limit) else f"{limit:.0f}"


def _assumptions(inbound: InboundRates) -> str:
    return (
        f"Assumptions\n- {inbound.about}\n"
        "- Leaders do not change, and disks and network are fast enough for the throttle.\n"
        "- No other move starts: the tool would replace its lists and rates.\n"
        "- The rollback starts after the end of the move. Then the first replicas of the file lead."
    )


def _election(plan: MovePlan, where: Where) -> str:
    """Return the file for the check `elect`, if it needs one."""
    found = len(electing(plan.moving))
    if not any(ELECTION_FILE in check.line for check in move_checks(plan, where)):
        return ""
    if found > MOST_ROWS:
        return f"{ELECTION_FILE} has {found} partitions: see the key election of --output json"
    return f"Partitions with another preferred leader, for {ELECTION_FILE}\n{election_json(plan)}"


def _rollback(plan: MovePlan, where: Where, rollback: str) -> str:
    if not rollback or not move_commands(plan, where):
        return ""
    if len(plan.rollback) > MOST_ROWS:
        return f"The current assignment has {len(plan.rollback)} partitions: --rollback {where.rollback} writes it"
    return f"Current assignment, for {where.rollback}\n{rollback}"


def _commands(head: str, commands: Sequence[Command], where: Where) -> str:
    if not commands:
        return ""
    about = f"   ({PROPERTIES}: properties of a principal with the rights)" if where.secured else ""
    return f"{head}{about}\n" + "\n".join(f"# {command.about}\n{command.line}" for command in commands)


def _listed(head: str, sentences: Iterable[str]) -> str:
    bullets = _bullets(sentences)
    return f"{head}\n{bullets}" if bullets else ""


def _bullets(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], whole: int) -> str:
    """Format a table with right-aligned cells. `whole`: number of all rows, of which `rows` are the first."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    text = "\n".join(
        "  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True)) for line in lines
    )
    return text if whole <= len(rows) else f"{text}\n  and {whole - len(rows)} more: see --output json"
