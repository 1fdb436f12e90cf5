"""Warnings of a plan about replicas: disks, `acks=all`, racks, and what holds a reassignment up."""

from collections.abc import Collection, Iterable
from typing import Final

from kafka_warden.formatting import in_bytes
from kafka_warden.model import Snapshot, cordoned_brokers
from kafka_warden.planning.moving import Moving, names, skips
from kafka_warden.planning.plan import MovePlan
from kafka_warden.releases import completes, effective, is_capped

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
    snapshot = plan.snapshot
    changing = [p for p in plan.moving if p.arriving or p.leaving]
    found = {
        _REFUSES: [p for p in plan.moving if _refuses_after(snapshot, p)],
        _REFUSES_AT_FIRST: [p for p in changing if _refuses_at_first(snapshot, p)],
        _WAITS: [p for p in changing if not _completes(snapshot, p)],
        _RACKS: [p for p in changing if _share_racks(snapshot, p.replicas) > _share_racks(snapshot, p.sources)],
        _SKIPS: [p for p in changing if _begins_with_a_part(snapshot, p)],
        _CORDONED: [p for p in plan.moving if p.asked and cordoned_brokers(snapshot.log_dirs) & {*p.replicas}],
        _DIRS: [p for p in plan.moving if p.names_dirs_of_staying],
    }
    for what, partitions in found.items():
        if partitions:
            yield f"{names(partitions)}: {what}"


def _begins_with_a_part(snapshot: Snapshot, moving: Moving) -> bool:
    preferred = moving.replicas[0]
    return preferred in {one.broker for one in moving.arriving} and skips(snapshot, moving.row, preferred)


def _refuses_after(snapshot: Snapshot, moving: Moving) -> bool:
    """Whether even all replicas in sync are too few, as before Kafka 3.7."""
    return len(moving.replicas) < _needed(snapshot, moving, moving.replicas, moving.replicas[0])


def _refuses_at_first(snapshot: Snapshot, moving: Moving) -> bool:
    """Whether the leader refuses `acks=all` from the start of the move on, though not before."""
    assigned = {*moving.sources, *moving.leaving, *(one.broker for one in moving.arriving if one.under_way)}
    during = assigned | {*moving.replicas}
    now = _needed(snapshot, moving, assigned, moving.leader)
    return now <= len(moving.in_sync) < _needed(snapshot, moving, during, moving.leader)


def _completes(snapshot: Snapshot, moving: Moving) -> bool:
    """Whether the controller completes the move without a replica that is out of sync now."""
    return completes(
        snapshot.kafka_version,
        {*moving.sources},
        {*moving.replicas},
        moving.in_sync,
        zookeeper=snapshot.quorum is None,
    )


def _needed(snapshot: Snapshot, moving: Moving, replicas: Collection[int], leader: int) -> int:
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
