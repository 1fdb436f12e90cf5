"""What a reassignment file comes to on this cluster: which replicas are copied where, beside what moves already.

As the tool does it (`calculateProposedMoveMap`): a partition that moves keeps the sources that it has, and moves that
are under way share lists and throttle with the new ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_warden.errors import IncompleteError, ReassignmentError
from kafka_warden.formulas.limits import is_counted
from kafka_warden.formulas.ops import as_known
from kafka_warden.model import UNKNOWN, Floats, Snapshot
from kafka_warden.planning.reassignment import Target

MOST_NAMED: Final = 3
"""Problems or partitions that one message names."""


@dataclass(frozen=True, slots=True)
class Arriving:
    """One replica that is to be copied."""

    broker: int
    remaining: float
    """Bytes that it lacks."""
    log_dir: str | None
    """Path that the file names, `None` where the broker chooses."""
    under_way: bool
    """It is being added already."""


@dataclass(frozen=True, slots=True)
class Moving:
    """One partition of the file, or one that moves already."""

    topic: str
    number: int
    row: int
    """In the `PartitionTable`."""
    leader: int
    sources: tuple[int, ...]
    """Broker ids before the move, the replicas being added left out."""
    replicas: tuple[int, ...]
    """After it, the preferred leader first."""
    arriving: tuple[Arriving, ...]
    leaving: Mapping[int, float]
    """Brokers that give it up, with the bytes that this frees; `UNKNOWN` where they do not tell."""
    size: float
    """Bytes of the leader's log; `UNKNOWN` where nothing is copied and it does not tell."""
    bytes_in: float
    """Produced, bytes per second."""
    asked: bool
    """The file names it."""
    under_way: bool
    """It moves already."""
    names_dirs_of_staying: bool
    """The file names a log directory for a replica that stays where it is."""

    @property
    def name(self) -> str:
        """Topic and partition as Kafka writes them."""
        return f"{self.topic}-{self.number}"

    @property
    def counted(self) -> bool:
        """Whether KIP-578's limits count it."""
        return is_counted(self.topic)


def resolve(snapshot: Snapshot, targets: Sequence[Target], bytes_in: Floats) -> tuple[Moving, ...]:
    """Compare the file with the cluster.

    Args:
        snapshot: the cluster as it is.
        targets: what the file asks for.
        bytes_in: (P,) bytes per second appended to each partition, NaN where unknown.

    Raises:
        ReassignmentError: an entry names what the cluster does not have.
        IncompleteError: a leader, a size or a rate that the plan stands on is not known.
    """
    look = _Look(snapshot, bytes_in)
    moving = look.all_moving(targets)
    _refuse_unknown(moving)
    return moving


def copies_anything(snapshot: Snapshot, targets: Sequence[Target]) -> bool:
    """Tell whether any replica is to be copied, for the file, for what moves already, or back again.

    Nothing else need be known.

    Raises:
        ReassignmentError: an entry names what the cluster does not have.
    """
    look = _Look(snapshot, np.zeros(len(snapshot.partitions)))
    return any(partition.arriving or partition.leaving for partition in look.all_moving(targets))


def only_under_way(moving: Iterable[Moving]) -> list[Moving]:
    """Find the partitions that move already and are not in the file: somebody else's."""
    return [partition for partition in moving if not partition.asked]


def only_growing(moving: Iterable[Moving]) -> list[Moving]:
    """Find the partitions of the file that get replicas and give none up."""
    return [partition for partition in moving if partition.asked and partition.arriving and not partition.leaving]


def electing(moving: Iterable[Moving]) -> list[Moving]:
    """Find the partitions of the file that get another preferred leader."""
    return [partition for partition in moving if partition.asked and partition.replicas[0] != partition.sources[0]]


def names(moving: Iterable[Moving]) -> str:
    """Name some partitions, and say how many more there are."""
    found = [partition.name for partition in moving]
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return ", ".join(found[:MOST_NAMED]) + more


class _Look:
    """Finds rows of one snapshot."""

    def __init__(self, snapshot: Snapshot, bytes_in: Floats) -> None:
        self._snapshot = snapshot
        self._bytes_in = bytes_in
        partitions = snapshot.partitions
        starts = np.searchsorted(partitions.topic, np.arange(len(snapshot.topics) + 1, dtype=partitions.topic.dtype))
        ends = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        self._rows = dict(zip(snapshot.topics, ends, strict=True))
        self._dirs = _log_dirs(snapshot)

    def all_moving(self, targets: Sequence[Target]) -> tuple[Moving, ...]:
        """Tell what happens to the partitions of the file, then to those that move already."""
        self.check(targets)
        asked = [self.moving(self.row(target) or 0, target) for target in targets]
        named = {moving.row for moving in asked}
        rows = np.flatnonzero(self._snapshot.partitions.reassigning).tolist()
        return (*asked, *(self.moving(row, None) for row in rows if row not in named))

    def row(self, target: Target) -> int | None:
        """Row of the partition, `None` where there is none."""
        first, last = self._rows.get(target.topic, (0, 0))
        number = self._snapshot.partitions.number
        row = first + int(np.searchsorted(number[first:last], np.array(target.partition, number.dtype)))
        return row if row < last and number[row] == target.partition else None

    def check(self, targets: Sequence[Target]) -> None:
        """Refuse what does not exist, or is down: nothing could be copied there."""
        found = [f"{target.place}: {problem}" for target in targets for problem in self._problems(target)]
        if found:
            more = f"; and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
            raise ReassignmentError("; ".join(found[:MOST_NAMED]) + more)

    def _problems(self, target: Target) -> Iterable[str]:
        if target.topic not in self._rows:
            yield "the cluster has no such topic, or hides it: Describe on it is needed"
        elif self.row(target) is None:
            first, last = self._rows[target.topic]
            yield f"the topic has no such partition, only 0 to {last - first - 1}"
        for broker in target.replicas:
            known = self._snapshot.brokers.get(broker)
            if known is None:
                yield f"the cluster has no broker {broker}"
            elif known.gone or known.fenced:
                yield f"broker {broker} is down: start it first, or name another"
            elif (path := target.log_dir(broker)) is not None:
                yield from self._log_dir_problems(broker, path)

    def _log_dir_problems(self, broker: int, path: str) -> Iterable[str]:
        directories = self._dirs.get(broker, {})
        if directories and path not in directories:
            yield f"broker {broker} has no log directory {path}; it has {', '.join(sorted(directories))}"
        elif directories and not directories[path]:
            yield f"the log directory {path} of broker {broker} is offline"

    def moving(self, row: int, target: Target | None) -> Moving:
        """Tell what happens to the partition of one row; of one that the file does not name, what it is about."""
        partitions, replicas = self._snapshot.partitions, self._snapshot.replicas
        first, last = np.searchsorted(replicas.partition, np.array([row, row + 1], replicas.partition.dtype)).tolist()
        here = range(first, last)
        at = {int(replicas.broker[index]): index for index in here}
        sources = tuple(broker for broker, index in at.items() if not replicas.adding[index])
        staying = tuple(broker for broker, index in at.items() if not replicas.removing[index])
        wanted = target.replicas if target is not None else staying
        leader_row = int(partitions.leader_row[row])
        size = float(replicas.size[leader_row]) if leader_row != UNKNOWN else float(UNKNOWN)
        rate = as_known(float(self._bytes_in[row]))
        return Moving(
            topic=self._snapshot.topics[int(partitions.topic[row])],
            number=int(partitions.number[row]),
            row=row,
            leader=int(partitions.leader[row]) if leader_row != UNKNOWN else UNKNOWN,
            sources=sources,
            replicas=wanted,
            arriving=tuple(
                Arriving(
                    broker=broker,
                    remaining=max(size - self._held(at.get(broker)), 0.0),
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

    def _held(self, index: int | None) -> float:
        """Bytes that a replica has already; of one that does not tell, none: the plan is never too short for it."""
        return 0.0 if index is None else max(float(self._snapshot.replicas.size[index]), 0.0)


def _refuse_unknown(moving: Iterable[Moving]) -> None:
    """Refuse to plan with a number that nobody told."""
    copied = [partition for partition in moving if partition.arriving]
    checks: Mapping[str, list[Moving]] = {
        "has no leader: nothing can be copied until it has one": [p for p in copied if p.leader == UNKNOWN],
        "has a leader that did not tell the size of its log: is that broker up?": [p for p in copied if p.size < 0],
        "was not measured: no two polls in a row told how much is produced to it; measure longer (--measure), or take"
        " more history": [p for p in copied if p.bytes_in < 0],
    }
    for problem, found in checks.items():
        if found:
            raise IncompleteError(f"{names(found)} {problem}")


def _log_dirs(snapshot: Snapshot) -> dict[int, dict[str, bool]]:
    found: dict[int, dict[str, bool]] = {}
    for directory in snapshot.log_dirs:
        found.setdefault(directory.broker, {})[directory.path] = directory.online
    return found
