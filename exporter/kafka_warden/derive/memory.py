"""State of the folds from poll to poll, in the rows of the latest snapshot."""

from dataclasses import dataclass, field

import numpy as np

from kafka_warden.arrays import Keys, carry, match_partitions, match_replicas
from kafka_warden.derive.followers.remaining import RemainingEstimate
from kafka_warden.derive.followers.remaining import blank as no_estimate
from kafka_warden.derive.followers.remaining import realign as realign_estimate
from kafka_warden.derive.followers.verdict import ReplicasMemory, empty_memory
from kafka_warden.derive.followers.verdict import realign as realign_replicas
from kafka_warden.derive.logs import LogsMemory
from kafka_warden.derive.moves.moves import MovesMemory
from kafka_warden.derive.moves.moves import realign as realign_moves
from kafka_warden.derive.moves.throttle_use import ThrottlingMemory
from kafka_warden.derive.moves.throttle_use import realign as realign_throttling
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.tiered import TieredMemory
from kafka_warden.derive.tiered import realign as realign_tiered
from kafka_warden.derive.topics import TopicsMemory
from kafka_warden.derive.topics import blank as no_topics
from kafka_warden.derive.topics import realign as realign_topics
from kafka_warden.formulas import bytes_in, mean_rate
from kafka_warden.formulas.bytes_in import BytesIn
from kafka_warden.formulas.mean_rate import MeanRate
from kafka_warden.model import UNKNOWN, Floats, Longs


@dataclass(frozen=True, slots=True)
class Memory:
    """In the rows of the last snapshot. P partitions, R replicas; times are monotonic seconds."""

    keys: Keys
    bytes_in: BytesIn
    known_end: Longs
    """(R,) last known log ends."""
    estimate: RemainingEstimate
    """(R,) for adding replicas."""
    out_since: Floats
    """(R,) since when the replica has been missing from the ISR, NaN where it is not."""
    under_since: Floats
    """(P,) since when the partition has been under-replicated."""
    replicas: ReplicasMemory
    topics: TopicsMemory
    mean_in: MeanRate = field(default_factory=MeanRate)
    moves: MovesMemory = field(default_factory=MovesMemory)
    throttling: ThrottlingMemory = field(default_factory=ThrottlingMemory)
    tiered: TieredMemory = field(default_factory=TieredMemory)
    log_gaps: LogsMemory = field(default_factory=dict)
    clamped: int = 0
    """Negative lags set to 0 since the sidecar started."""


def take(memory: Memory, keys: Keys, partitions: Longs, replicas: Longs) -> Memory:
    """Bring a memory to other rows: row i of `keys` is the old row of that number, new where it is `UNKNOWN`."""
    return Memory(
        keys=keys,
        bytes_in=bytes_in.realign(memory.bytes_in, partitions),
        known_end=carry(memory.known_end, replicas, UNKNOWN),
        estimate=realign_estimate(memory.estimate, replicas),
        out_since=carry(memory.out_since, replicas, np.nan),
        under_since=carry(memory.under_since, partitions, np.nan),
        replicas=realign_replicas(memory.replicas, partitions, replicas),
        topics=realign_topics(memory.topics, memory.keys, keys, partitions, replicas),
        mean_in=mean_rate.realign(memory.mean_in, partitions),
        moves=realign_moves(memory.moves, partitions, replicas),
        throttling=realign_throttling(memory.throttling, replicas),
        tiered=realign_tiered(memory.tiered, partitions),
        log_gaps=memory.log_gaps,
        clamped=memory.clamped,
    )


def blank(seen: IndexedSnapshot) -> Memory:
    """Return an empty memory for the first snapshot."""
    partitions, replicas = len(seen.led_by), len(seen.host)
    return Memory(
        keys=seen.snapshot.keys,
        bytes_in=bytes_in.blank(partitions),
        known_end=np.full(replicas, UNKNOWN, np.int64),
        estimate=no_estimate(replicas),
        out_since=np.full(replicas, np.nan),
        under_since=np.full(partitions, np.nan),
        replicas=empty_memory(replicas),
        topics=no_topics(len(seen.snapshot.topics), replicas),
    )


def remembered(memory: Memory | None, seen: IndexedSnapshot) -> Memory:
    """Bring the memory to the rows of this snapshot, or start one."""
    if memory is None:
        return blank(seen)
    if memory.keys.same(seen.snapshot.keys):
        return memory
    partitions = match_partitions(memory.keys, seen.snapshot.keys)
    return take(memory, seen.snapshot.keys, partitions, match_replicas(memory.keys, seen.snapshot.keys, partitions))
