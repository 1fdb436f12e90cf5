"""Which in-sync replicas count against which limit, and changes of that (docs/spec/throttles.md#headroom).

Rates are not compared: varying traffic is no change. Nor are moves that start and end.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np

from kafka_warden.arrays import Axis, Column
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle.limits import Throttles
from kafka_warden.model import SIDES, UNKNOWN, Bools, Ints, Side

UNSEEN: Final = -2
"""In place of a broker id: the replica did not exist in the poll before."""

BrokerSide = tuple[int, Side]
"""Broker id and side."""


@dataclass(frozen=True, slots=True)
class ThrottledTraffic:
    """As of one poll. P partitions, R replicas."""

    against: Annotated[Mapping[Side, Ints], Column(Axis.REPLICA, UNSEEN)]
    """(R,) id of the broker whose limit counts the traffic of the in-sync replica, `UNKNOWN` for none."""
    moving: Annotated[Bools, Column(Axis.PARTITION, 0)]
    """(P,) is being reassigned."""
    steady: Annotated[Bools, Column(Axis.PARTITION, 0)]
    """(P,) `moving` is the same as in the poll before."""


def follow_floors(
    indexed: IndexedSnapshot, throttles: Throttles, before: ThrottledTraffic | None
) -> tuple[ThrottledTraffic, frozenset[BrokerSide]]:
    """Return the brokers and sides where other replicas count than in the poll before, whose rows are realigned."""
    moving = indexed.snapshot.partitions.reassigning
    against = {side: _against(indexed, throttles, side) for side in SIDES}
    if before is None:
        return ThrottledTraffic(against, moving, np.zeros(len(moving), bool)), frozenset()
    steady = moving == before.moving
    # Changes by a move may be seen one poll late.
    comparable = (steady & before.steady)[indexed.snapshot.replicas.partition]
    changed = frozenset(
        (broker, side) for side in SIDES for broker in _differing(before.against[side], against[side], comparable)
    )
    return ThrottledTraffic(against, moving, steady), changed


def _against(indexed: IndexedSnapshot, throttles: Throttles, side: Side) -> Ints:
    replicas, partitions = indexed.snapshot.replicas, indexed.snapshot.partitions
    # Adding replicas join the ISR when they complete.
    following = replicas.in_isr & ~indexed.is_leader & ~replicas.adding
    if side is Side.FOLLOWER:
        return np.where(following & throttles.listed[side], replicas.broker, UNKNOWN).astype(np.int32)
    leader_row = partitions.leader_row[replicas.partition]
    counted = following & (leader_row != UNKNOWN) & throttles.listed[side][leader_row]
    return np.where(counted, partitions.leader[replicas.partition], UNKNOWN).astype(np.int32)


def _differing(before: Ints, now: Ints, comparable: Bools) -> list[int]:
    rows = np.flatnonzero((before != now) & (before != UNSEEN) & comparable)
    brokers: list[int] = np.unique(np.concatenate([before[rows], now[rows]])).tolist()
    return [broker for broker in brokers if broker != UNKNOWN]
