"""Room on brokers for new replicas: KIP-578's limits and disks (docs/spec/limits.md#headroom).

Old replicas are deleted only after the whole partition was copied, so brokers need room for both.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from kafka_warden.derive import limits
from kafka_warden.model import UNKNOWN, Snapshot
from kafka_warden.planning.during_move import Bounds
from kafka_warden.planning.json_values import UNLIMITED, Key
from kafka_warden.planning.moving import Arriving, MovingPartition
from kafka_warden.replies import LogDir, for_new_replicas

_NOT_REPORTED: Final = "not reported by the broker"
_NO_SUM: Final = f"{_NOT_REPORTED}, or a log directory is offline"


@dataclass(frozen=True, slots=True)
class Partitions:
    """Replicas of one broker that count against the limit."""

    before: Annotated[int, Key("before")]
    during: Annotated[int, Key("during")]
    """Highest count or bytes, with old and new replicas."""
    after: Annotated[int, Key("after")]
    limit: Annotated[float, Key("limit", infinite=UNLIMITED)]
    """`+inf` if none is configured."""
    fits: Annotated[bool, Key("fits")]


@dataclass(frozen=True, slots=True)
class Disk:
    """Bytes of all log directories of one broker; `None` if unknown (without an answer, offline, before Kafka 3.3)."""

    before: Annotated[float | None, Key("bytes_before", _NO_SUM)]
    during: Annotated[float | None, Key("bytes_during", _NO_SUM)]
    """Highest count or bytes, with old and new replicas."""
    after: Annotated[float | None, Key("bytes_after", _NO_SUM)]
    usable: Annotated[float | None, Key("usable_bytes", _NOT_REPORTED)]
    """Free at present, without cordoned log directories."""
    capacity: Annotated[float | None, Key("capacity_bytes", _NOT_REPORTED)]
    fits: Annotated[bool | None, Key("fits", "{0.why}")]
    """`None` if unknown, or if it depends on the directory that the broker chooses."""
    why: str = ""
    """Why it does not fit or is unknown."""


@dataclass(frozen=True, slots=True)
class Room:
    """One broker during a plan."""

    broker: Annotated[int, Key("broker")]
    sends: Annotated[float, Key("sends_bytes")]
    """Bytes that it sends as a leader."""
    receives: Annotated[float, Key("receives_bytes")]
    bounds: Annotated[Bounds | None, Key("bounds", "it has no copies")]
    partitions: Annotated[Partitions, Key("partitions")]
    disk: Annotated[Disk, Key("disk")]


def derive_room(
    snapshot: Snapshot, moving: Sequence[MovingPartition], most_partitions: float, bounds: Mapping[int, Bounds]
) -> tuple[Room, ...]:
    """Evaluate every broker that takes part, by id.

    `most_partitions`: the limit of each broker, `+inf` for none. `bounds`: of brokers with copies.
    """
    hosts = {one.broker for p in moving for one in p.arriving}
    brokers = sorted(hosts | {broker for p in moving if p.arriving or p.leaving for broker in (*p.sources, *p.leaving)})
    counts = count_replicas(snapshot)
    rooms = []
    for broker in brokers:
        hosted = counts.get(broker, 0)
        arriving = [(p, one) for p in moving for one in p.arriving if one.broker == broker]
        new = sum(limits.is_counted(p.topic) and not one.under_way for p, one in arriving)
        deleted = sum(limits.is_counted(p.topic) and broker in p.leaving for p in moving)
        # A broker that is over its limit and gets no replica fits.
        fits = new <= max(limits.headroom(most_partitions, float(hosted)), 0.0)
        rooms.append(
            Room(
                broker=broker,
                sends=sum((one.remaining for p in moving if p.leader == broker for one in p.arriving), 0.0),
                receives=sum((one.remaining for _, one in arriving), 0.0),
                bounds=bounds.get(broker),
                partitions=Partitions(hosted, hosted + new, hosted + new - deleted, most_partitions, fits),
                disk=_disk(snapshot, moving, [one for _, one in arriving], broker),
            )
        )
    return tuple(rooms)


def count_replicas(snapshot: Snapshot) -> dict[int, int]:
    """Return the number of replicas per broker that count against its limit, also of adding ones."""
    counted = limits.counted_rows(snapshot.topics, snapshot.partitions.topic)
    hosts = snapshot.replicas.broker[counted[snapshot.replicas.partition]]
    return dict.fromkeys(sorted(snapshot.brokers), 0) | Counter(hosts.tolist())


def _disk(snapshot: Snapshot, moving: Sequence[MovingPartition], arriving: Sequence[Arriving], broker: int) -> Disk:
    directories = [directory for directory in snapshot.log_dirs if directory.broker == broker]
    if not directories:
        return Disk(None, None, None, None, None, None if arriving else True, "the log directories are unknown")
    usable = for_new_replicas(directories)
    sizes = [directory.bytes for directory in directories]
    before = float(sum(sizes)) if UNKNOWN not in sizes else None
    during = before + sum(one.remaining for one in arriving) if before is not None else None
    leaves = [p.leaving[broker] for p in moving if broker in p.leaving]
    after = during - sum(leaves) if during is not None and min(leaves, default=0.0) >= 0 else None
    known = all(directory.usable_bytes >= 0 for directory in usable)
    fits, why = _fits(usable, arriving) if known else (None, "their free space is unknown (needs Kafka 3.3)")
    return Disk(
        before=before,
        during=during,
        after=None if after is None else max(after, 0.0),
        usable=float(sum(directory.usable_bytes for directory in usable)) if known else None,
        capacity=float(sum(directory.total_bytes for directory in directories if directory.online)) if known else None,
        fits=fits if arriving else True,
        why=why if arriving else "",
    )


def _fits(directories: Sequence[LogDir], arriving: Sequence[Arriving]) -> tuple[bool | None, str]:
    """Return whether new replicas fit, and why not. The broker chooses a directory if the file names none.

    It chooses the one with the fewest logs, and ignores free space. So replicas fit for certain if they fit into the
    fullest directory, and not if they exceed the free space of all. Otherwise it is unknown: directories may also share
    a volume.
    """
    if not directories:
        return False, "all log directories are offline"
    usable = {directory.path: float(directory.usable_bytes) for directory in directories}
    for one in arriving:
        if one.log_dir is not None:
            usable[one.log_dir] = usable.get(one.log_dir, 0.0) - one.remaining
    full = next((one.log_dir for one in arriving if usable.get(one.log_dir or "", 0.0) < 0), None)
    if full is not None:
        return False, f"{full} has not enough free space for its new replicas"
    free = [one.remaining for one in arriving if one.log_dir is None]
    if not free or sum(free) <= min(usable.values()):
        return True, ""
    if sum(free) > sum(usable.values()) or max(free) > max(usable.values()):
        return False, "they have not enough free space for the new replicas"
    return None, "not every log directory has enough free space: it depends on which one the broker chooses"
