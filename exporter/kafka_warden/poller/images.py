"""Which brokers have an old image of the metadata, and must not be asked about the whole cluster.

A broker that lost its controllers stays up, and answers for the cluster from the image that it had. Two things show it:
DescribeQuorum has the time at which each broker last caught up with the active controller, and another broker's
metadata has higher leader epochs, or lacks this broker.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from kafka_warden.arrays import match_partitions
from kafka_warden.model import UNKNOWN, Broker, Quorum
from kafka_warden.sources.metadata import Layout

OLD: Final = 5.0
"""Seconds. The active controller writes a record every 0.5 s (`metadata.max.idle.interval.ms`), and fences a silent
broker after 9 s (`broker.session.timeout.ms`)."""


@dataclass(slots=True)
class Images:
    """What is known of the age of each broker's image. Times are monotonic seconds."""

    turn: int = 0
    """Grows with each comparison. Where it begins decides which broker is asked first."""
    _caught_up: dict[int, float] = field(default_factory=dict)
    """Broker to when it last caught up, by the last answer of DescribeQuorum."""
    _as_of: float = 0.0
    """When that answer came."""
    _behind: dict[int, float] = field(default_factory=dict)
    """Broker to when its metadata was first found to be behind that of another one."""

    def ages(self, clock: float) -> dict[int, float]:
        """Return for how many seconds the image of each broker has been old: 0 for a current one."""
        late = {broker: clock - at for broker, at in self._caught_up.items() if self._as_of - at >= OLD}
        return {
            broker: max(late.get(broker, 0.0), clock - self._behind.get(broker, clock))
            for broker in sorted(self._caught_up.keys() | self._behind.keys())
        }

    def old(self, broker: int) -> bool:
        """Return whether a broker is known to have an old image."""
        return broker in self._behind or self._as_of - self._caught_up.get(broker, self._as_of) >= OLD

    def rank(self, broker: int | None) -> tuple[bool, bool]:
        """Return a sort key: current images first, those that another broker's metadata contradicts last.

        DescribeQuorum counts less: a replaced controller that does not know it yet calls the images of the new one old.
        `None` is an unknown broker.
        """
        return (False, False) if broker is None else (broker in self._behind, self.old(broker))

    def misled_by(self, lead: int | None, brokers: Collection[int]) -> bool:
        """Return whether a lead has an old image, or is unknown and may, although another broker has a current one."""
        old = {broker for broker in brokers if self.old(broker)}
        return 0 < len(old) < len(brokers) and (lead is None or lead in old)

    def next(self, brokers: Sequence[int]) -> int:
        """Return the broker to compare with the lead: those that were behind in every poll, else each in its turn."""
        suspects = [broker for broker in brokers if broker in self._behind] or brokers
        self.turn += 1
        return suspects[self.turn % len(suspects)]

    def note_quorum(
        self, quorum: Quorum | None, brokers: Mapping[int, Broker], readers: Collection[int], clock: float
    ) -> None:
        """Take over when each broker last caught up. Without an answer with times the last one stays in force.

        `readers`: the brokers that are to follow the active controller.
        """
        times: dict[int, float] = {}
        for replica in quorum.replicas if quorum is not None else ():
            # A node whose directory was replaced is listed twice until the controller drops the old one.
            if (at := replica.last_caught_up_time) is not None:
                times[replica.node] = max(at, times.get(replica.node, at))
        if quorum is None or (now := times.get(quorum.leader)) is None:
            return
        before, self._caught_up, self._as_of = self._caught_up, {}, clock
        for broker in brokers:
            at = times.get(broker)
            if at is not None:
                # Both are of the active controller's clock.
                self._caught_up[broker] = clock - max(now - at, 0.0)
            elif broker in readers:
                # After 300 s without a fetch the controller no longer lists it. A new controller does not list it yet.
                self._caught_up[broker] = before.get(broker, clock)

    def note(self, broker: int, behind_at: float | None) -> None:
        """Note when the metadata of a broker was found to be behind; `None` where it is not."""
        if behind_at is None:
            self._behind.pop(broker, None)
        else:
            self._behind.setdefault(broker, behind_at)

    def keep(self, brokers: Collection[int]) -> None:
        """Forget what the metadata of all other brokers was: they are not asked."""
        self._behind = {broker: at for broker, at in self._behind.items() if broker in brokers}

    @property
    def suspected(self) -> bool:
        """Whether the metadata of any broker was behind when it was compared last."""
        return bool(self._behind)


def newer(first: Layout, second: Layout, brokers: tuple[int, int]) -> int:
    """Compare the metadata of two brokers: -1 where the first is newer, 1 where the second is, 0 where neither.

    Leader epochs only grow. Where they are alike, a broker that the other one does not list as active is behind.
    """
    rows = match_partitions(first.keys(), second.keys())
    both = rows != UNKNOWN
    ahead = int(np.sign(second.leader_epoch[both] - first.leader_epoch[rows[both]]).sum())
    if not ahead:
        ahead = (brokers[0] not in second.brokers) - (brokers[1] not in first.brokers)
    return (ahead > 0) - (ahead < 0)
