"""What a plan has to say in words: why it cannot be, what to mind, what to know. One sentence each."""

import math
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Final

from kafka_warden.formulas import throttle
from kafka_warden.formulas.ops import NUMBERS
from kafka_warden.model import UNLIMITED, Side
from kafka_warden.planning.formatting import in_bytes, in_percent, in_rate, in_time
from kafka_warden.planning.moving import Moving, electing, names, only_growing, only_under_way
from kafka_warden.planning.plan import MovePlan


class Verdict(StrEnum):
    """What a plan comes to."""

    POSSIBLE = "possible"
    IMPOSSIBLE = "impossible"
    NOT_PLANNED = "not_planned"
    """All that the file asks for are moves between log directories."""


def verdict(plan: MovePlan) -> Verdict:
    """Tell whether it can be done as asked."""
    if problems(plan):
        return Verdict.IMPOSSIBLE
    return Verdict.NOT_PLANNED if plan.names_only_dirs else Verdict.POSSIBLE


def problems(plan: MovePlan) -> tuple[str, ...]:
    """Why it cannot be done as asked; empty where it can."""
    return (*_contradiction(plan), *_no_room(plan))


def warnings(plan: MovePlan) -> tuple[str, ...]:
    """What to mind before it is begun."""
    return tuple(sentence for check in _CHECKS for sentence in check(plan))


def notes(plan: MovePlan) -> tuple[str, ...]:
    """What the file comes to."""
    asked = [partition for partition in plan.moving if partition.asked]
    same = [p for p in asked if p.replicas == p.sources and not p.under_way and not p.names_dirs_of_staying]
    reordered = [p for p in asked if p.replicas != p.sources and not p.arriving and not p.leaving]
    found = [
        (same, "no change: the replicas are those of the file already"),
        (reordered, "only the order changes: nothing is copied, the first replica becomes the preferred leader"),
        ([p for p in asked if len(p.replicas) > len(p.sources)], "the replication factor grows"),
        ([p for p in asked if len(p.replicas) < len(p.sources)], "the replication factor shrinks"),
        ([p for p in asked if p.under_way], "moves already: what the file says takes the place of that move"),
        (only_under_way(plan.moving), "moves already, and is not in the file: it shares the throttle"),
        (electing(asked), "gets another preferred leader"),
    ]
    return tuple(f"{names(partitions)}: {what}" for partitions, what in found if partitions)


def _contradiction(plan: MovePlan) -> Iterable[str]:
    choice, goal = plan.choice, plan.goal
    if choice is None or choice.possible:
        return
    cap = f"{in_percent(goal.share)} of the network" if goal.share is not None else "the network"
    yield (
        f"deadline and network contradict: to end within {in_time(goal.deadline)} it needs {in_rate(choice.needed)},"
        f" and {cap} is {in_rate(choice.most)}"
    )
    if math.isinf(choice.least_deadline):
        yield f"no deadline is possible with {in_rate(choice.most)}: what is produced meanwhile takes all of it"
    else:
        yield f"possible with {cap}: a deadline of {in_time(choice.least_deadline)} or more"
    if choice.least_share is not None and choice.least_share <= 1:
        share = math.ceil(1000 * choice.least_share) / 1000
        yield f"possible within {in_time(goal.deadline)}: a share of {in_percent(share)} or more"
    elif choice.least_share is not None:
        yield f"no network carries it within {in_time(goal.deadline)}: split the file, or take more time"


def _no_room(plan: MovePlan) -> Iterable[str]:
    for room in plan.rooms:
        if not room.partitions.fits:
            yield (
                f"broker {room.broker} would have {room.partitions.during} partitions while it moves,"
                f" its limit is {room.partitions.limit:.0f}"
            )
        if room.disk.fits is False:
            yield (
                f"the disks of broker {room.broker}: {room.disk.why} ({in_bytes(room.receives)} arrive,"
                f" {in_bytes(room.disk.usable or 0.0)} are free)"
            )


def _disks(plan: MovePlan) -> Iterable[str]:
    for room in plan.rooms:
        if room.disk.fits is None:
            yield f"the disks of broker {room.broker}: {room.disk.why} ({in_bytes(room.receives)} arrive)"


def _few_replicas(plan: MovePlan) -> Iterable[str]:
    configs = plan.snapshot.topic_configs
    few = [p for p in plan.moving if p.topic in configs and len(p.replicas) < configs[p.topic].min_insync_replicas]
    if few:
        yield f"{names(few)}: fewer replicas than min.insync.replicas: producers with acks=all will be refused"


def _moves_between_dirs(plan: MovePlan) -> Iterable[str]:
    if _naming_dirs(plan):
        yield (
            f"{names(_naming_dirs(plan))}: where the file names another log directory for a replica that stays, that"
            " copy is not in these figures: it has a limit of its own, --replica-alter-log-dirs-throttle"
        )


def _naming_dirs(plan: MovePlan) -> list[Moving]:
    return [p for p in plan.moving if p.names_dirs_of_staying]


def _no_rollback(plan: MovePlan) -> Iterable[str]:
    if plan.changed and plan.rollback_plan.why:
        yield (
            f"no throttle for the rollback, so no command for it: {plan.rollback_plan.why}. Keep today's assignment,"
            " and plan it with --reassignment when it is needed"
        )


def _not_cancelled(plan: MovePlan) -> Iterable[str]:
    growing = only_growing(plan.moving)
    if growing:
        yield (
            f"{names(growing)}: only gets replicas: --cancel of some versions of the tool (3.9.1; not 4.1.1) skips that"
            " and takes the throttle away all the same. Look at --list after it; what still moves is given up by the"
            " rollback, today's assignment"
        )


def _no_network(plan: MovePlan) -> Iterable[str]:
    if (plan.choice is not None or plan.rollback_plan.limit is not None) and plan.goal.network is None:
        yield (
            "nobody said what the network carries, so nothing caps the throttle: set network.bytes_per_second, or"
            " --network 125MB/s"
        )


def _outside_bounds(plan: MovePlan) -> Iterable[str]:
    choice, limit = plan.choice, plan.limit
    if choice is None or limit is None:
        return
    if choice.lower_bound is not None and limit < choice.lower_bound:
        yield (
            f"the throttle is below KIP-73's lower bound of {in_rate(choice.lower_bound)}: should a leader move to a"
            " listed replica meanwhile, it may hold that one back"
        )
    if choice.upper_bound is not None and limit > choice.upper_bound:
        yield (
            f"the throttle is above KIP-73's upper bound of {in_rate(choice.upper_bound)}: it leaves too little of the"
            " network for what is produced once leaders have moved"
        )


def _late(plan: MovePlan) -> Iterable[str]:
    if plan.limit is not None and plan.predicted > plan.goal.deadline:
        yield (
            f"the law of throttled moves gives {in_time(plan.predicted)} at this throttle: replication.quota.window.*"
            " of the brokers leaves little of it; look at the ETA once it runs"
        )


def _bursts(plan: MovePlan) -> Iterable[str]:
    limit = plan.limit
    most = max((load.most(limit) for load in plan.loads), default=0.0) if limit is not None else 0.0
    if most > plan.goal.most:
        yield (
            f"a whole fetch response passes before it is counted: up to {in_rate(most)} in the mean of a quota window,"
            f" above the {in_rate(plan.goal.most)} that are allowed; fewer partitions at a time make it less"
        )


def _fetch_size(plan: MovePlan) -> Iterable[str]:
    if plan.limit is None:
        return
    network = plan.goal.network if plan.goal.network is not None else UNLIMITED
    brokers = float(sum(not broker.gone for broker in plan.snapshot.brokers.values()))
    for load in plan.loads:
        size = plan.snapshot.broker_configs[load.broker].replica_fetch_response_max_bytes
        largest = throttle.largest_fetch(NUMBERS, float(plan.limit), brokers, load.window.seconds, network)
        if size > largest and load.side is Side.FOLLOWER:
            yield (
                f"broker {load.broker}: replica.fetch.response.max.bytes is {in_bytes(size)}, and"
                f" {in_bytes(largest)} are the most whose first responses pass within a quota window (KIP-73, Q&A 5)"
            )


def _replaced(plan: MovePlan) -> Iterable[str]:
    if plan.limit is None:
        return
    brokers = {b for p in plan.moving for b in (*p.sources, *p.replicas)}
    configs = plan.snapshot.broker_configs
    for broker in sorted(brokers & configs.keys()):
        values = {found.value for side in (Side.LEADER, Side.FOLLOWER) if (found := configs[broker].limits.get(side))}
        for value in sorted(values - {UNLIMITED, float(plan.limit)}):
            yield f"broker {broker}: the tool replaces its throttle of {in_rate(value)}, and --verify takes it away"


_CHECKS: Final[tuple[Callable[[MovePlan], Iterable[str]], ...]] = (
    _disks,
    _few_replicas,
    _moves_between_dirs,
    _no_rollback,
    _not_cancelled,
    _no_network,
    _outside_bounds,
    _late,
    _bursts,
    _fetch_size,
    _replaced,
)
