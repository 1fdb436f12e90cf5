"""The copies that a reassignment file needs on this cluster, and the moves that are in progress.

As in the tool (`calculateProposedMoveMap`): a partition that moves keeps its sources, and moves in progress share lists
and throttle with the new ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np

from kafka_warden.arrays import as_known
from kafka_warden.derive.tiered import first_copied, skips_tiered
from kafka_warden.errors import IncompleteError, PlanError
from kafka_warden.model import UNKNOWN, Bools, Floats, Longs, ReplicaTable, Snapshot
from kafka_warden.planning.json_values import Key
from kafka_warden.planning.reassignment import Target
from kafka_warden.replies import LogDir, cordoned_brokers


def lacking_bytes(snapshot: Snapshot, row: int, broker: int, replica: int | None) -> float:
    """Return what a replica lacks of the log of its partition, 0 if the size of that is unknown.

    `row`: of the partition. `replica`: row of the replica, `None` for one that is new. An unknown size of it counts as
    0: then all of the log is copied, and the plan is not too short.
    """
    partitions, replicas = snapshot.partitions, snapshot.replicas
    leader = int(partitions.leader_row[row])
    if leader == UNKNOWN:
        return 0.0
    start, end, size = int(partitions.start[row]), int(replicas.end[leader]), float(replicas.size[leader])
    begin = _begin(snapshot, row, broker, replica)
    if begin is not None and start != UNKNOWN and end > start:
        return max(size * (end - min(begin, end)) / (end - start), 0.0)
    return max(size - (max(float(replicas.size[replica]), 0.0) if replica is not None else 0.0), 0.0)


def skips(snapshot: Snapshot, row: int, broker: int) -> bool:
    """Return whether a new replica begins behind what is in remote storage, with a part of the log only (KIP-1023)."""
    topic = snapshot.topics[int(snapshot.partitions.topic[row])]
    allowed = skips_tiered(snapshot.topic_configs.get(topic), snapshot.broker_configs.get(broker))
    return allowed and int(snapshot.partitions.start[row]) > 0 and int(snapshot.partitions.tiered[row]) >= 0


def _begin(snapshot: Snapshot, row: int, broker: int, replica: int | None) -> int | None:
    """Return the next offset that a replica copies; `None` if its log starts as the leader's does."""
    partitions, replicas = snapshot.partitions, snapshot.replicas
    if replica is not None and int(replicas.end[replica]) > 0:
        begun = int(replicas.start[replica])
        return None if begun in {UNKNOWN, int(partitions.start[row])} else int(replicas.end[replica])
    if not skips(snapshot, row, broker):
        return None
    one = slice(row, row + 1)
    first: Longs = first_copied(partitions.start[one], partitions.tiered[one])
    return int(first[0])


MOST_NAMED: Final = 3
"""Number of problems or partitions that one message names."""


@dataclass(frozen=True, slots=True)
class Arriving:
    """One replica that must be copied."""

    broker: Annotated[int, Key("broker")]
    remaining: Annotated[float, Key("bytes")]
    """Bytes to copy."""
    log_dir: str | None
    """Path from the file; `None` if the broker chooses."""
    under_way: bool
    """The move that adds it is in progress."""


@dataclass(frozen=True, slots=True)
class MovingPartition:
    """One partition of the file, or one whose move is in progress."""

    topic: Annotated[str, Key("topic")]
    number: Annotated[int, Key("partition")]
    row: int
    """In the `PartitionTable`."""
    leader: Annotated[int, Key("leader", "it has none")]
    sources: Annotated[tuple[int, ...], Key("replicas_before")]
    """Broker ids before the move, without the replicas that are being added."""
    in_sync: frozenset[int]
    replicas: Annotated[tuple[int, ...], Key("replicas_after")]
    """Broker ids after the move, the preferred leader first."""
    arriving: Annotated[tuple[Arriving, ...], Key("copies")]
    leaving: Mapping[int, float]
    """Brokers that delete their replica, with its bytes; `UNKNOWN` if its size is."""
    size: float
    """Bytes of the leader's log; may be `UNKNOWN` if nothing is copied."""
    bytes_in: float
    """Inbound rate, bytes per second."""
    asked: Annotated[bool, Key("in_file")]
    """The file names it."""
    under_way: Annotated[bool, Key("moves_already")]
    """A move of it is in progress."""
    names_dirs_of_staying: bool
    """The file names a log directory for a replica that stays on its broker."""


def resolve(snapshot: Snapshot, targets: Sequence[Target], bytes_in: Floats) -> tuple[MovingPartition, ...]:
    """Compare the file with the cluster. `bytes_in` (P,): bytes per second of each partition, NaN if unknown.

    Raises:
        PlanError: an entry names something that does not exist.
        IncompleteError: a leader, a size or a rate that the plan needs is unknown.
    """
    moving = _Resolver(snapshot, bytes_in).all_moving(targets)
    _check_known(moving)
    return moving


def copies_anything(snapshot: Snapshot, targets: Sequence[Target]) -> bool:
    """Return whether the file, its rollback or a move in progress copies any replica. Needs no sizes and no rates.

    Raises:
        PlanError: an entry names something that does not exist.
    """
    resolver = _Resolver(snapshot, np.zeros(len(snapshot.partitions)))
    return any(partition.arriving or partition.leaving for partition in resolver.all_moving(targets))


def only_under_way(moving: Iterable[MovingPartition]) -> list[MovingPartition]:
    """Return the partitions that are moving and not in the file."""
    return [partition for partition in moving if not partition.asked]


def only_growing(moving: Iterable[MovingPartition]) -> list[MovingPartition]:
    """Return the partitions of the file that only get more replicas."""
    return [partition for partition in moving if partition.asked and partition.arriving and not partition.leaving]


def electing(moving: Iterable[MovingPartition]) -> list[MovingPartition]:
    """Return the partitions of the file that get another preferred leader."""
    return [partition for partition in moving if partition.asked and partition.replicas[0] != partition.sources[0]]


def names(moving: Iterable[MovingPartition]) -> str:
    """Return the names of the first partitions, and the number of the others."""
    return first_of([f"{partition.topic}-{partition.number}" for partition in moving])


def first_of(found: Sequence[str]) -> str:
    """Return the first names, and the number of the others."""
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return ", ".join(found[:MOST_NAMED]) + more


class _Resolver:
    """Finds the rows of partitions in one snapshot."""

    def __init__(self, snapshot: Snapshot, bytes_in: Floats) -> None:
        self._snapshot = snapshot
        self._bytes_in = bytes_in
        partitions = snapshot.partitions
        starts = np.searchsorted(partitions.topic, np.arange(len(snapshot.topics) + 1, dtype=partitions.topic.dtype))
        ends = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        self._rows = dict(zip(snapshot.topics, ends, strict=True))
        self._dirs: dict[int, dict[str, LogDir]] = {}
        for directory in snapshot.log_dirs:
            self._dirs.setdefault(directory.broker, {})[directory.path] = directory
        self._cordoned = cordoned_brokers(snapshot.log_dirs)

    def all_moving(self, targets: Sequence[Target]) -> tuple[MovingPartition, ...]:
        """Resolve the partitions of the file, then those whose move is in progress."""
        self.check(targets)
        asked = [self.moving(self.row(target) or 0, target) for target in targets]
        named = {moving.row for moving in asked}
        rows = np.flatnonzero(self._snapshot.partitions.reassigning).tolist()
        return (*asked, *(self.moving(row, None) for row in rows if row not in named))

    def row(self, target: Target) -> int | None:
        """Return the row of a partition, `None` if it does not exist."""
        first, last = self._rows.get(target.topic, (0, 0))
        number = self._snapshot.partitions.number
        row = first + int(np.searchsorted(number[first:last], np.array(target.partition, number.dtype)))
        return row if row < last and number[row] == target.partition else None

    def check(self, targets: Sequence[Target]) -> None:
        """Refuse topics, partitions, brokers and log directories that do not exist or are down."""
        found = [f"{target.place}: {problem}" for target in targets for problem in self._problems(target)]
        if found:
            more = f"; and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
            raise PlanError("; ".join(found[:MOST_NAMED]) + more)

    def _problems(self, target: Target) -> Iterable[str]:
        row, hosts, replicas = self.row(target), set[int](), self._snapshot.replicas
        if target.topic not in self._rows:
            yield "the cluster has no such topic, or the ACL Describe on it is missing"
        elif row is not None:
            hosts = set(replicas.broker[slice(*rows_of(replicas, row))].tolist())
        else:
            first, last = self._rows[target.topic]
            yield f"the topic has no such partition, only 0 to {last - first - 1}"
        for broker in target.replicas:
            known = self._snapshot.brokers.get(broker)
            if known is None:
                yield f"the cluster has no broker {broker}"
            elif not known.active:
                yield f"broker {broker} is down: start it first, or use another broker"
            elif broker in self._cordoned and broker not in hosts:
                yield f"all log directories of broker {broker} are cordoned: uncordon one first, or use another broker"
            elif (path := target.log_dir(broker)) is not None:
                yield from self._log_dir_problems(broker, path)

    def _log_dir_problems(self, broker: int, path: str) -> Iterable[str]:
        directories = self._dirs.get(broker, {})
        if directories and path not in directories:
            yield f"broker {broker} has no log directory {path}; it has {', '.join(sorted(directories))}"
        elif directories and not directories[path].online:
            yield f"the log directory {path} of broker {broker} is offline"
        elif directories and directories[path].cordoned:
            yield f"the log directory {path} of broker {broker} is cordoned: the broker refuses replicas for it"

    def moving(self, row: int, target: Target | None) -> MovingPartition:
        """Resolve the partition of one row. `target` is `None` if the file does not name it."""
        partitions, replicas = self._snapshot.partitions, self._snapshot.replicas
        first, last = rows_of(replicas, row)
        at = {int(replicas.broker[index]): index for index in range(first, last)}
        sources = tuple(broker for broker, index in at.items() if not replicas.adding[index])
        staying = tuple(broker for broker, index in at.items() if not replicas.removing[index])
        wanted = target.replicas if target is not None else staying
        leader_row = int(partitions.leader_row[row])
        size = float(replicas.size[leader_row]) if leader_row != UNKNOWN else float(UNKNOWN)
        rate = as_known(float(self._bytes_in[row]))
        return MovingPartition(
            topic=self._snapshot.topics[int(partitions.topic[row])],
            number=int(partitions.number[row]),
            row=row,
            leader=int(partitions.leader[row]) if leader_row != UNKNOWN else UNKNOWN,
            sources=sources,
            in_sync=frozenset(broker for broker, index in at.items() if replicas.in_isr[index]),
            replicas=wanted,
            arriving=tuple(
                Arriving(
                    broker=broker,
                    remaining=lacking_bytes(self._snapshot, row, broker, at.get(broker)),
                    log_dir=target.log_dir(broker) if target is not None else None,
                    under_way=broker in at,
                )
                for broker in wanted
                if broker not in sources
            ),
            leaving={b: float(replicas.size[index]) for b, index in at.items() if b not in wanted},
            size=size,
            bytes_in=UNKNOWN if rate is None else rate,
            asked=target is not None,
            under_way=bool(partitions.reassigning[row]),
            names_dirs_of_staying=target is not None and any(target.log_dir(broker) for broker in sources),
        )


def rows_of(replicas: ReplicaTable, row: int) -> tuple[int, int]:
    """Return the first row of the replicas of a partition, and that behind the last."""
    first, last = np.searchsorted(replicas.partition, np.array([row, row + 1], replicas.partition.dtype)).tolist()
    return first, last


def _check_known(moving: Iterable[MovingPartition]) -> None:
    """Refuse a plan that needs an unknown number."""
    copied = [partition for partition in moving if partition.arriving]
    checks: Mapping[str, list[MovingPartition]] = {
        "no leader: nothing can be copied until there is one": [p for p in copied if p.leader == UNKNOWN],
        "log size of the leader unknown: is that broker up?": [p for p in copied if p.size < 0],
        "not measured, the inbound rate is unknown in all polls: measure longer (--measure), or use a longer history": [
            p for p in copied if p.bytes_in < 0
        ],
    }
    for problem, found in checks.items():
        if found:
            raise IncompleteError(f"{names(found)}: {problem}")


def in_progress(snapshot: Snapshot, without: Bools) -> tuple[Target, ...]:
    """Return each partition that is being reassigned, without the replicas of a column.

    Without `adding` they are those from before the move, without `removing` those at its end.
    """
    partitions, replicas = snapshot.partitions, snapshot.replicas
    targets = []
    for row in np.flatnonzero(partitions.reassigning).tolist():
        rows = slice(*rows_of(replicas, row))
        brokers = replicas.broker[rows][~without[rows]].tolist()
        targets.append(Target(snapshot.topics[partitions.topic[row]], int(partitions.number[row]), tuple(brokers)))
    return tuple(targets)
