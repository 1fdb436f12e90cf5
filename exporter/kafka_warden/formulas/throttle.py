"""KIP-73's throttle: lists, in-sync traffic that counts against a limit (floor), headroom, bounds.

docs/spec/throttles.md; KIP-73 Q&A 1, 4 and 5 and its amendment. Bytes per second; a limit that is not set is
`+inf`. Arrays: R rows per replica, P rows per partition, B per broker.
"""

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_warden.arrays import UNKNOWN, Bools, Floats, Ints, Longs, Value
from kafka_warden.formulas.lag import Sums, sums

WILDCARD = "*"
_ENTRY: Final = re.compile(r"\s*(\d{1,10}):(\d{1,10})\s*", re.ASCII)

BINDING_SHARE: Final = 0.9
LEAST_SHARE: Final = 0.5
"""Most and least of its limit that a throttled rate needs for the throttle to bind."""


@dataclass(frozen=True, slots=True)
class ThrottledReplicas:
    """One topic's throttled list of one side. `everything` is `*`: every partition on every broker."""

    everything: bool = False
    pairs: AbstractSet[tuple[int, int]] = frozenset()
    """(partition, broker)."""

    def names(self, partition: int, broker: int) -> bool:
        """Whether the list names that replica."""
        return self.everything or (partition, broker) in self.pairs

    def __bool__(self) -> bool:
        return self.everything or bool(self.pairs)


def parse_throttled(value: str) -> ThrottledReplicas:
    """`{leader,follower}.replication.throttled.replicas`: `*`, or `partition:broker,...`.

    docs/spec/throttles.md#limits-and-lists. Kafka validates the value, except the number of digits. An entry of another
    form names no replica.
    """
    text = value.strip()
    if text == WILDCARD:
        return ThrottledReplicas(everything=True)
    entries = map(_ENTRY.fullmatch, text.split(","))
    return ThrottledReplicas(pairs=frozenset((int(entry[1]), int(entry[2])) for entry in entries if entry))


def listed_rows(lists: Mapping[int, ThrottledReplicas], topic: Ints, partition: Ints, broker: Ints) -> Bools:
    """Which of R replicas the lists name. `lists` by topic index; `topic`, `partition`, `broker` are (R,)."""
    listed: Bools = np.isin(topic, [index for index, names in lists.items() if names.everything])
    rows = np.flatnonzero(np.isin(topic, [index for index, names in lists.items() if not names.everything]))
    keys = zip(topic[rows].tolist(), partition[rows].tolist(), broker[rows].tolist(), strict=True)
    listed[rows] = [lists[index].names(number, host) for index, number, host in keys]
    return listed


@dataclass(frozen=True, slots=True)
class Replicas:
    """Replicas for floors and bounds. R rows; broker, leader and partition are indices, not ids."""

    partition: Ints
    """Index into the P partitions."""
    broker: Ints
    """Index into the B brokers."""
    is_leader: Bools
    in_isr: Bools
    leader_listed: Bools
    """Named by its topic's leader list."""
    follower_listed: Bools
    """Named by its topic's follower list."""


def leader_floor(replicas: Replicas, bytes_in: Floats, brokers: int) -> Sums:
    """In-sync traffic that counts against each broker's leader limit: (B,), withheld where a rate is unknown.

    Sum of in(p) x followers in the ISR over p listed and led there. It is counted and never held back.
    docs/spec/throttles.md#headroom.
    """
    following = replicas.in_isr & ~replicas.is_leader
    followers = np.bincount(replicas.partition[following], minlength=len(bytes_in))
    rows = np.flatnonzero(replicas.is_leader & replicas.leader_listed)
    rows = rows[followers[replicas.partition[rows]] > 0]
    led = replicas.partition[rows]
    return sums(replicas.broker[rows], bytes_in[led] * followers[led], brokers)


def follower_floor(replicas: Replicas, bytes_in: Floats, brokers: int) -> Sums:
    """In-sync traffic that counts against each broker's follower limit: (B,), withheld where a rate is unknown.

    Sum of in(p) over p listed there whose replica there follows in sync. docs/spec/throttles.md#headroom.
    """
    rows = np.flatnonzero(replicas.follower_listed & replicas.in_isr & ~replicas.is_leader)
    return sums(replicas.broker[rows], bytes_in[replicas.partition[rows]], brokers)


def floors(replicas: Replicas, bytes_in: Floats, brokers: int) -> tuple[Floats, Floats]:
    """The floors of the leader's and of the follower's side, (B,) each, NaN where a rate is unknown."""
    return (leader_floor(replicas, bytes_in, brokers).values, follower_floor(replicas, bytes_in, brokers).values)


def headroom(limit: Value, floor: Value) -> Value:
    """What a limit leaves for catching up, c = limit - floor; negative where in-sync traffic exceeds it.

    docs/spec/throttles.md#headroom. `+inf` where no limit is set. The floor must be known: an unknown one leaves the
    headroom unknown.
    """
    return limit - floor


def lower_bound(replicas: Replicas, bytes_in: Floats, brokers: int) -> Sums:
    """KIP-73's least throttle per broker, IN(b): in(p) summed over every replica it hosts, leaders included. (B,)."""
    return sums(replicas.broker, bytes_in[replicas.partition], brokers)


def upper_bound(replicas: Replicas, bytes_in: Floats, brokers: int, network: float) -> Sums:
    """KIP-73's greatest throttle per broker, N - sum of in(p) / RF(p) over the replicas it hosts. (B,). KIP-73 Q&A 4.

    `network` is N in bytes per second. Never below 0: a network too small for its clients would make it negative.
    """
    factor = np.bincount(replicas.partition, minlength=len(bytes_in))
    led = bytes_in / np.maximum(factor, 1)
    share = sums(replicas.broker, led[replicas.partition], brokers)
    return Sums(np.maximum(network - share.values, 0.0), share.unknown)


def share_of_network(network: float, fraction: float) -> float:
    """The throttle that costs clients at most `fraction` of the network: KIP-73 Q&A 1."""
    return network * fraction


def largest_fetch(limit: Value, brokers: int, window: Value, network: float) -> Value:
    """Largest `replica.fetch.response.max.bytes` whose first responses pass within a window. KIP-73 Q&A 5.

    window x min(limit x brokers, N) / brokers; equality is allowed. N is `+inf` where it is not configured.
    """
    largest: Value = window * np.minimum(limit * brokers, network) / brokers
    return largest


def binds(limit: Floats, rate: Floats, samples: Longs) -> Bools:
    """Which of B limits hold something back, at throttled rates over so many samples. (B,).

    docs/spec/throttles.md#binding. That is a rate of nine tenths of the limit, of less with fewer samples than the 11
    of Kafka's default: it forgets a whole sample at once, so a rate that a limit holds back may fall by one of all but
    the present one. NaN does not bind. A limit of 0 binds at any rate, also an unknown one.
    """
    share = np.clip(1 - 1 / np.maximum(samples - 1, 1), LEAST_SHARE, BINDING_SHARE)
    binding: Bools = np.isfinite(limit) & (np.nan_to_num(rate, nan=0.0) >= share * limit)
    return binding


def count_listed(listed: Bools, broker: Ints, brokers: int) -> Ints:
    """`replication_throttled_replicas`: listed replicas per broker, (B,). `broker` are indices."""
    counts: Ints = np.bincount(broker[listed & (broker != UNKNOWN)], minlength=brokers).astype(np.int32)
    return counts


def lists_of(values: Iterable[tuple[int, str]]) -> dict[int, ThrottledReplicas]:
    """Parsed lists by topic index, without empty ones."""
    parsed = ((index, parse_throttled(value)) for index, value in values)
    return {index: replicas for index, replicas in parsed if replicas}
