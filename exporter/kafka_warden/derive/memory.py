"""State from poll to poll, in the rows of the latest snapshot."""

from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from kafka_warden.arrays import Axis, Column, Keys
from kafka_warden.derive.columns import Rows, blank, match, realign
from kafka_warden.derive.inbound import BytesIn, MeanRate
from kafka_warden.derive.lag import RemainingEstimate
from kafka_warden.derive.limits import LogsMemory
from kafka_warden.derive.moves import MovesMemory
from kafka_warden.derive.replica_state import ReplicasMemory
from kafka_warden.derive.throttle_use import ThrottlingMemory
from kafka_warden.derive.tiered import TieredMemory
from kafka_warden.derive.topics import TopicsMemory
from kafka_warden.model import UNKNOWN, Floats, Longs


@dataclass(frozen=True, slots=True)
class Memory:
    """In the rows of the last snapshot. P partitions, R replicas; times are monotonic seconds."""

    keys: Keys
    bytes_in: BytesIn
    known_end: Annotated[Longs, Column(Axis.REPLICA, UNKNOWN, "end")]
    """(R,) last known log ends."""
    estimate: RemainingEstimate
    """(R,) for adding replicas."""
    out_since: Annotated[Floats, Column(Axis.REPLICA, np.nan, "out_since", time=True)]
    """(R,) since when the replica has been missing from the ISR, NaN where it is not."""
    under_since: Annotated[Floats, Column(Axis.PARTITION, np.nan, "under_since", time=True)]
    """(P,) since when the partition has been under-replicated."""
    replicas: ReplicasMemory
    topics: TopicsMemory
    throttling: ThrottlingMemory
    tiered: TieredMemory
    mean_in: MeanRate = field(default_factory=MeanRate)
    moves: MovesMemory = field(default_factory=MovesMemory)
    log_gaps: LogsMemory = field(default_factory=dict)
    clamped: int = 0
    """Negative lags set to 0 since the sidecar started."""


def take(memory: Memory, keys: Keys, rows: Rows) -> Memory:
    """Bring a memory to the rows of `keys`."""
    moved: Memory = realign(replace(memory, keys=keys), rows)
    return moved


def remembered(memory: Memory | None, keys: Keys) -> Memory:
    """Bring the memory to the rows of a snapshot, or start one."""
    if memory is None:
        return blank(Memory, keys, keys=keys)
    return memory if memory.keys.same(keys) else take(memory, keys, match(memory.keys, keys))
