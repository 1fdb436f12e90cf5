"""Whether brokers have room for what arrives: KIP-578's limits, and their disks (judgement.md 5, 8).

Old replicas go only when the whole partition has been copied, so room is needed for both at once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_warden.formulas import limits
from kafka_warden.model import LogDir, Snapshot
from kafka_warden.planning.moving import Arriving, Moving


@dataclass(frozen=True, slots=True)
class Partitions:
    """Replicas of one broker that count against the limit."""

    before: int
    during: int
    """At most, while old replicas are still there."""
    after: int
    limit: float
    """`+inf` where none is configured."""
    fits: bool


@dataclass(frozen=True, slots=True)
class Disk:
    """Bytes over all log directories of one broker; `None` where it does not tell (before Kafka 3.3, or unanswered)."""

    before: float | None
    during: float | None
    """At most, while old replicas are still there."""
    after: float | None
    usable: float | None
    """Free now."""
    capacity: float | None
    fits: bool | None
    """`None` where it is not told, or depends on the directory that the broker chooses."""
    why: str = ""
    """Of what does not fit, or cannot be told."""


@dataclass(frozen=True, slots=True)
class Room:
    """One broker and what a plan makes of it."""

    broker: int
    sends: float
    """Bytes that it copies to others as a leader."""
    receives: float
    partitions: Partitions
    disk: Disk


def derive_room(snapshot: Snapshot, moving: Sequence[Moving], most_partitions: float) -> tuple[Room, ...]:
    """Judge every broker that takes part, by id. `most_partitions`: the limit of each broker, `+inf` for none."""
    hosts = {one.broker for p in moving for one in p.arriving}
    brokers = sorted(hosts | {broker for p in moving if p.arriving or p.leaving for broker in (*p.sources, *p.leaving)})
    counts = _counts(snapshot)
    rooms = [_room(snapshot, moving, broker, counts.get(broker, 0), most_partitions) for broker in brokers]
    return tuple(rooms)


def count_partitions(snapshot: Snapshot) -> int:
    """Partitions that count against the cluster's limit, each once."""
    return int(limits.counted_rows(snapshot.topics, snapshot.partitions.topic).sum())


def count_replicas(snapshot: Snapshot) -> dict[int, int]:
    """Replicas by broker that count against its limit, adding ones included; every broker that is there."""
    return dict.fromkeys(sorted(snapshot.brokers), 0) | _counts(snapshot)


def _counts(snapshot: Snapshot) -> dict[int, int]:
    counted = limits.counted_rows(snapshot.topics, snapshot.partitions.topic)
    return Counter(snapshot.replicas.broker[counted[snapshot.replicas.partition]].tolist())


def _room(snapshot: Snapshot, moving: Sequence[Moving], broker: int, hosted: int, most: float) -> Room:
    arriving = [(p, one) for p in moving for one in p.arriving if one.broker == broker]
    return Room(
        broker=broker,
        sends=sum((one.remaining for p in moving if p.leader == broker for one in p.arriving), 0.0),
        receives=sum((one.remaining for _, one in arriving), 0.0),
        partitions=_partitions(moving, arriving, broker, hosted, most),
        disk=_disk(snapshot, moving, [one for _, one in arriving], broker),
    )


def _partitions(
    moving: Sequence[Moving], arriving: Sequence[tuple[Moving, Arriving]], broker: int, hosted: int, most: float
) -> Partitions:
    new = sum(p.counted and not one.under_way for p, one in arriving)
    gone = sum(p.counted and broker in p.leaving for p in moving)
    headroom = {broker: limits.headroom(most, float(hosted))}
    fits = limits.reassignment_fits(headroom, {broker: new})
    return Partitions(hosted, hosted + new, hosted + new - gone, most, fits)


def _disk(snapshot: Snapshot, moving: Sequence[Moving], arriving: Sequence[Arriving], broker: int) -> Disk:
    directories = [directory for directory in snapshot.log_dirs if directory.broker == broker]
    if not directories:
        return Disk(None, None, None, None, None, None if arriving else True, "its log directories are not told")
    online = [directory for directory in directories if directory.online]
    before = float(sum(directory.bytes for directory in directories))
    receives = sum(one.remaining for one in arriving)
    leaves = [p.leaving[broker] for p in moving if broker in p.leaving]
    after = before + receives - sum(leaves) if min(leaves, default=0.0) >= 0 else None
    told = all(directory.usable_bytes >= 0 for directory in online)
    fits, why = _fits(online, arriving) if told else (None, "it does not tell the room on its disks (Kafka 3.3 does)")
    return Disk(
        before=before,
        during=before + receives,
        after=None if after is None else max(after, 0.0),
        usable=float(sum(directory.usable_bytes for directory in online)) if told else None,
        capacity=float(sum(directory.total_bytes for directory in online)) if told else None,
        fits=fits if arriving else True,
        why=why if arriving else "",
    )


def _fits(online: Sequence[LogDir], arriving: Sequence[Arriving]) -> tuple[bool | None, str]:
    """Tell whether arriving replicas find room, and why not. The broker chooses a directory where the file names none.

    It takes the one with the fewest logs, whatever its room. So what fits the fullest directory fits for certain, what
    is more than all have together does not, and in between nobody can tell: directories may share a volume, too.
    """
    if not online:
        return False, "all its log directories are offline"
    usable = {directory.path: float(directory.usable_bytes) for directory in online}
    for path, amount in _by_path(arriving).items():
        if path is not None and amount > usable.get(path, 0.0):
            return False, f"{path} has less room than what arrives there"
        if path is not None:
            usable[path] -= amount
    free = [one.remaining for one in arriving if one.log_dir is None]
    if not free or sum(free) <= min(usable.values()):
        return True, ""
    if sum(free) > sum(usable.values()) or max(free) > max(usable.values()):
        return False, "it has less room than what arrives"
    return None, "it has room, but not in every log directory: it depends on which of them the broker chooses"


def _by_path(arriving: Sequence[Arriving]) -> Mapping[str | None, float]:
    found: dict[str | None, float] = {}
    for one in arriving:
        found[one.log_dir] = found.get(one.log_dir, 0.0) + one.remaining
    return found
