"""The truth of a recording, in the format of a generated fleet's truth (docs/fleet.md)."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from fleet.truth import Happened, Moved, Truth
from sandbox.demo_scene import Transfer
from sandbox.errors import SandboxError


@dataclass(slots=True)
class _Life:
    """Of one adding replica; times are Unix seconds."""

    transfer: Transfer
    partition: int
    began: float
    size: float
    ended: float | None = None
    outcome: str = "running"
    raised_to: float | None = None
    raised_at: float | None = None
    cause: str | None = None


class Diary:
    """Records the events of the cluster with their times, by the clock of this machine."""

    def __init__(self, cluster_id: str) -> None:
        self._cluster_id = cluster_id
        self._faults: list[Happened] = []
        self._healthy: list[Happened] = []
        self._lives: dict[tuple[str, int], _Life] = {}

    @contextmanager
    def fault(
        self, kind: str, *, topic: str | None = None, partition: int | None = None, broker: int | None = None
    ) -> Iterator[None]:
        """Note a fault that lasts as long as the block."""
        began = time.time()
        yield
        self._faults.append(Happened(kind, began, time.time(), topic, partition, broker))

    @contextmanager
    def calm(self, kind: str, *, topic: str | None = None, partition: int | None = None) -> Iterator[None]:
        """Note an event that looks like a fault but is not, for as long as the block lasts."""
        began = time.time()
        yield
        self._healthy.append(Happened(kind, began, time.time(), topic, partition))

    def begin(self, transfer: Transfer, sizes: Mapping[int, int]) -> None:
        """Note that partitions begin to move; `sizes` has the bytes of their logs."""
        now = time.time()
        for partition in range(transfer.partitions):
            self._lives[transfer.topic, partition] = _Life(transfer, partition, now, float(sizes[partition]))

    def begin_stuck(self, transfer: Transfer, cause: str) -> None:
        """Note that a move that began cannot end."""
        for life in self._of(transfer):
            life.cause = cause

    def raised(self, transfer: Transfer, limit: float) -> None:
        """Note a new throttle in bytes per second, which ends the cause of a stuck move."""
        now = time.time()
        for life in self._of(transfer):
            life.raised_to, life.raised_at = float(limit), now
            if life.cause is not None:
                self._faults.append(
                    Happened(life.cause, life.began, now, transfer.topic, life.partition, transfer.target)
                )

    def over(self, transfer: Transfer, partition: int, outcome: str) -> None:
        """Note how one partition's move ended: `completed` or `cancelled`."""
        life = self._lives[transfer.topic, partition]
        life.ended, life.outcome = time.time(), outcome

    def truth(self, topic_ids: Mapping[str, str]) -> Truth:
        """Return the truth, in the order of time.

        Raises:
            SandboxError: `topic_ids` lacks a topic that moved.
        """
        missing = {topic for topic, _ in self._lives} - topic_ids.keys()
        if missing:
            raise SandboxError(f"history has no move of {', '.join(sorted(missing))}: was the sidecar up all the time?")
        moves = [_moved(life, topic_ids[life.transfer.topic]) for life in self._lives.values()]
        return Truth(
            self._cluster_id,
            sorted(self._faults, key=lambda fault: fault.began),
            sorted(self._healthy, key=lambda calm: calm.began),
            sorted(moves, key=lambda move: (move.began, move.topic, move.partition)),
        )

    def _of(self, transfer: Transfer) -> list[_Life]:
        return [life for (topic, _), life in self._lives.items() if topic == transfer.topic]


def _moved(life: _Life, topic_id: str) -> Moved:
    transfer = life.transfer
    return Moved(
        topic=transfer.topic,
        topic_id=topic_id,
        partition=life.partition,
        broker=transfer.target,
        source=transfer.source,
        began=life.began,
        ended=life.ended,
        outcome=life.outcome,
        bytes_at_start=life.size,
        limit=float(transfer.limit),
        raised_to=life.raised_to,
        raised_at=life.raised_at,
        cause=life.cause,
    )
