"""Problems, warnings and notes of a plan, one sentence each."""

import math
from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Final

from kafka_warden.derive import throttle
from kafka_warden.formatting import in_bytes, in_count, in_percent, in_rate, in_time
from kafka_warden.model import SIDES, UNLIMITED, Side, Snapshot
from kafka_warden.planning.during_move import LONGEST_LIST
from kafka_warden.planning.loads import Choice
from kafka_warden.planning.moving import MovingPartition, electing, first_of, names, only_growing, only_under_way, skips
from kafka_warden.planning.plan import MovePlan, Transfer, contradiction
from kafka_warden.releases import completes, effective, is_capped
from kafka_warden.replies import cordoned_brokers


class PlanVerdict(StrEnum):
    """Result of a plan."""

    POSSIBLE = "possible"
    IMPOSSIBLE = "impossible"
    NOT_PLANNED = "not_planned"
    """The file only moves replicas between log directories of a broker."""


def verdict(plan: MovePlan) -> PlanVerdict:
    """Return whether the move is possible as asked."""
    if problems(plan):
        return PlanVerdict.IMPOSSIBLE
    return PlanVerdict.NOT_PLANNED if plan.names_only_dirs else PlanVerdict.POSSIBLE


def problems(plan: MovePlan) -> tuple[str, ...]:
    """Return why the move is impossible; empty if it is possible."""
    return (*_contradiction(plan), *_no_room(plan))


def warnings(plan: MovePlan) -> tuple[str, ...]:
    """Return the warnings to read before the start."""
    found = [*about_replicas(plan), *_about_commands(plan)]
    if plan.choice is not None and plan.limit is not None:
        found += [*_about_throttle(plan, plan.choice, plan.limit), *_fetch_size(plan, plan.limit)]
        found += _replaced(plan, plan.limit)
    return tuple(found)


def notes(plan: MovePlan) -> tuple[str, ...]:
    """Return what the file changes."""
    asked = [partition for partition in plan.moving if partition.asked]
    same = [p for p in asked if p.replicas == p.sources and not p.under_way and not p.names_dirs_of_staying]
    reordered = [p for p in asked if p.replicas != p.sources and not p.arriving and not p.leaving]
    found = [
        (same, "no change: it already has these replicas"),
        (reordered, "only the order changes: nothing is copied, the first replica becomes the preferred leader"),
        ([p for p in asked if len(p.replicas) > len(p.sources)], "the replication factor grows"),
        ([p for p in asked if len(p.replicas) < len(p.sources)], "the replication factor shrinks"),
        ([p for p in asked if p.under_way], "a move is in progress: the file replaces it"),
        (only_under_way(plan.moving), "moves already, and is not in the file: it shares the throttle"),
        (electing(asked), "gets another preferred leader"),
    ]
    return tuple(f"{names(partitions)}: {what}" for partitions, what in found if partitions)


def _contradiction(plan: MovePlan) -> Iterable[str]:
    choice, goal = plan.choice, plan.goal
    if choice is None or choice.limit is not None:
        return
    yield f"deadline and network contradict: {contradiction(choice, goal)}"
    if choice.least_share is not None and choice.least_share <= 1:
        share = math.ceil(1000 * choice.least_share) / 1000
        yield f"possible within {in_time(goal.deadline)}: a share of {in_percent(share)} or more"
    elif choice.least_share is not None:
        yield f"the network is too slow for {in_time(goal.deadline)}: split the file, or set a longer deadline"


def _no_room(plan: MovePlan) -> Iterable[str]:
    for room in plan.rooms:
        if not room.partitions.fits:
            yield (
                f"broker {room.broker} would have {in_count(room.partitions.during, 'partition')} while it moves,"
                f" its limit is {room.partitions.limit:.0f}"
            )
        if room.disk.fits is False:
            yield (
                f"disks of broker {room.broker}: {room.disk.why} ({in_bytes(room.receives)} to receive,"
                f" {in_bytes(room.disk.usable or 0.0)} free)"
            )


def _about_commands(plan: MovePlan) -> Iterable[str]:
    if plan.changed and plan.rollback_problem:
        yield (
            f"the rollback has no throttle and no command: {plan.rollback_problem}. Keep the current assignment, and"
            " plan it with --reassignment when you need it"
        )
    yield from _about_hand("", plan)
    yield from _about_hand("the rollback: ", plan.rollback_plan)
    growing = only_growing(plan.moving)
    if growing:
        yield (
            f"{names(growing)}: only gets more replicas. --cancel of some versions of the tool (3.9.1; not 4.1.1) skips"
            " it, but removes the throttle. Check --list after --cancel; if it still moves, use the rollback"
        )
    rollback_throttle = plan.rollback_plan is not None and plan.rollback_plan.limit is not None
    if (plan.choice is not None or rollback_throttle) and plan.goal.network is None:
        yield (
            "the network capacity is not configured, so nothing limits the throttle: set network.bytes_per_second, or"
            " --network 125MB/s"
        )


def _about_hand(what: str, move: Transfer | None) -> Iterable[str]:
    if move is None or move.by_hand is None or move.limit is None:
        return
    hand = move.by_hand
    if hand.down:
        down = first_of([f"broker {broker}" for broker in hand.down])
        yield (
            f"{what}{down}: down, and --execute --throttle would wait for it and start no move (KAFKA-13392)."
            " The commands set the throttle of the others with kafka-configs"
        )
    if hand.long:
        yield (
            f"{what}{first_of(hand.long)}: a throttled list has more than {LONGEST_LIST} bytes: --execute --throttle"
            " cannot set it (KAFKA-17993). The commands set * with kafka-configs: all replicas of the topic count"
        )


def _about_throttle(plan: MovePlan, choice: Choice, limit: int) -> Iterable[str]:
    if choice.lower_bound is not None and limit < choice.lower_bound:
        yield (
            f"the throttle is below KIP-73's lower bound of {in_rate(choice.lower_bound)}: if the leader moves to a"
            " listed replica, it may slow that replica down"
        )
    if choice.upper_bound is not None and limit > choice.upper_bound:
        yield (
            f"the throttle is above KIP-73's upper bound of {in_rate(choice.upper_bound)}: after leaders have moved,"
            " the network is too slow for the inbound rate"
        )
    if plan.predicted > plan.goal.deadline:
        yield (
            f"the law of throttled moves predicts {in_time(plan.predicted)} with this throttle, because of"
            " replication.quota.window.* of the brokers: check the ETA during the move"
        )
    most = max(load.most(limit) for load in plan.loads)
    if most > plan.goal.most:
        yield (
            f"a whole fetch response passes before it is counted: up to {in_rate(most)} in the mean of a quota window,"
            f" above the allowed {in_rate(plan.goal.most)}; move fewer partitions at a time"
        )


def _fetch_size(plan: MovePlan, limit: int) -> Iterable[str]:
    network = plan.goal.network if plan.goal.network is not None else UNLIMITED
    brokers = max(sum(not broker.gone for broker in plan.snapshot.brokers.values()), 1)
    for load in plan.loads:
        size = plan.snapshot.broker_configs[load.broker].replica_fetch_response_max_bytes
        largest = throttle.largest_fetch(float(limit), brokers, load.window.seconds, network)
        if size > largest and load.side is Side.FOLLOWER:
            yield (
                f"broker {load.broker}: replica.fetch.response.max.bytes is {in_bytes(size)}; with more than"
                f" {in_bytes(largest)} the first responses exceed a quota window (KIP-73, Q&A 5)"
            )


def _replaced(plan: MovePlan, limit: int) -> Iterable[str]:
    brokers = {b for p in plan.moving for b in (*p.sources, *p.replicas)}
    configs = plan.snapshot.broker_configs
    for broker in sorted(brokers & configs.keys()):
        values = {found.value for side in SIDES if (found := configs[broker].limits.get(side))}
        for value in sorted(values - {UNLIMITED, float(limit)}):
            yield f"broker {broker}: its throttle of {in_rate(value)} is replaced, and --verify removes it"


_REFUSES: Final = "fewer replicas than min.insync.replicas: writes with acks=all will fail"
_REFUSES_AT_FIRST: Final = (
    "Kafka counts new replicas from the start of the move on, so fewer than min.insync.replicas are in sync: writes"
    " with acks=all fail until enough copies are complete"
)
_WAITS: Final = "a replica that stays is not in sync: Kafka does not complete the move before it is"
_RACKS: Final = "more replicas share a rack after the move than now, although there are enough racks"
_SKIPS: Final = (
    "the new preferred leader gets only what is not in remote storage (follower.fetch.last.tiered.offset.enable): once"
    " it leads, consumers read all else from there"
)
_CORDONED: Final = (
    "stays on a broker whose log directories are all cordoned. Kafka refuses that from 4.4 on (KAFKA-20832): move it"
    " away too, or uncordon one for the move"
)
_DIRS: Final = (
    "the file names a log directory for a replica that stays on its broker. That copy is not planned; its limit is"
    " --replica-alter-log-dirs-throttle"
)


def about_replicas(plan: MovePlan) -> Iterable[str]:
    """Return what to check before the start."""
    for room in plan.rooms:
        if room.disk.fits is None:
            yield f"disks of broker {room.broker}: {room.disk.why} ({in_bytes(room.receives)} to receive)"
    snapshot, version, zookeeper = plan.snapshot, plan.snapshot.kafka_version, plan.snapshot.quorum is None
    changing = [p for p in plan.moving if p.arriving or p.leaving]
    found = {
        # Even all replicas in sync are too few, as before Kafka 3.7.
        _REFUSES: [p for p in plan.moving if len(p.replicas) < _needed(snapshot, p, p.replicas, p.replicas[0])],
        _REFUSES_AT_FIRST: [p for p in changing if _refuses_at_first(snapshot, p)],
        _WAITS: [
            p for p in changing if not completes(version, {*p.sources}, {*p.replicas}, p.in_sync, zookeeper=zookeeper)
        ],
        _RACKS: [p for p in changing if _share_racks(snapshot, p.replicas) > _share_racks(snapshot, p.sources)],
        _SKIPS: [p for p in changing if p.replicas[0] not in p.sources and skips(snapshot, p.row, p.replicas[0])],
        _CORDONED: [p for p in plan.moving if p.asked and cordoned_brokers(snapshot.log_dirs) & {*p.replicas}],
        _DIRS: [p for p in plan.moving if p.names_dirs_of_staying],
    }
    for what, partitions in found.items():
        if partitions:
            yield f"{names(partitions)}: {what}"


def _refuses_at_first(snapshot: Snapshot, moving: MovingPartition) -> bool:
    """Whether the leader refuses `acks=all` from the start of the move on, though not before."""
    assigned = {*moving.sources, *moving.leaving, *(one.broker for one in moving.arriving if one.under_way)}
    during = assigned | {*moving.replicas}
    now = _needed(snapshot, moving, assigned, moving.leader)
    return now <= len(moving.in_sync) < _needed(snapshot, moving, during, moving.leader)


def _needed(snapshot: Snapshot, moving: MovingPartition, replicas: Collection[int], leader: int) -> int:
    """Return how many replicas must be in sync; 0 if min.insync.replicas is unknown."""
    config = snapshot.topic_configs.get(moving.topic)
    if config is None:
        return 0
    capped = is_capped(snapshot.kafka_version_of(leader))
    return int(effective(config.min_insync_replicas, len(replicas), capped))


def _share_racks(snapshot: Snapshot, replicas: Collection[int]) -> int:
    """Return how many replicas are in the rack of another one, though there are racks for them; 0 if one is unknown."""
    brokers = snapshot.brokers
    racks = {broker: brokers[broker].rack if broker in brokers else None for broker in replicas}
    if None in racks.values():
        return 0
    usable = {broker.rack for broker in brokers.values() if broker.active} - {None}
    return max(min(len(usable), len(replicas)) - len({*racks.values()}), 0)
