"""Partitions that move or catch up, and brokers that take part: they need a throttle (docs/spec/throttles.md)."""

from dataclasses import dataclass

import numpy as np

from kafka_warden.arrays import Bools, Floats
from kafka_warden.derive.followers.lag import Lag
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle.limits import Throttles, limit_column
from kafka_warden.model import SIDES, Side


@dataclass(frozen=True, slots=True)
class Needs:
    """P partitions, R replicas, B brokers."""

    limits: dict[Side, Floats]
    """(B,) NaN is unknown, `+inf` unlimited."""
    behind: Bools
    """(R,) followers that are below the end of their leader one poll ago."""
    moving: Bools
    """(P,) a replica is being added."""
    active: Bools
    """(P,) under reassignment, or with a listed follower outside the ISR."""
    taking_part: Bools
    """(B,) host a replica of an active partition."""


def derive_needs(indexed: IndexedSnapshot, lag: Lag, throttles: Throttles) -> Needs:
    """Return what needs a throttle at present."""
    replicas, partitions = indexed.snapshot.replicas, indexed.snapshot.partitions
    follower = ~indexed.is_leader
    # An old replica of a move is named by the leader's list only: while it is out, the move is not over.
    listed = throttles.held[Side.LEADER] | throttles.held[Side.FOLLOWER] | throttles.listed[Side.LEADER]
    catching_up = listed & follower & ~replicas.in_isr
    active = partitions.reassigning.copy()
    active[replicas.partition[catching_up]] = True
    moving = np.zeros(len(partitions), bool)
    moving[replicas.partition[replicas.adding]] = True
    return Needs(
        limits={side: limit_column(indexed, throttles.limits, side) for side in (*SIDES, Side.LOG_DIRS)},
        behind=lag.shown & (lag.messages > 0),
        moving=moving,
        active=active,
        taking_part=np.bincount(indexed.host[active[replicas.partition]], minlength=len(indexed.brokers)) > 0,
    )
