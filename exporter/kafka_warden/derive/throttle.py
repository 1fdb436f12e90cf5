"""KIP-73's throttle: in-sync traffic that counts against a limit (floor), headroom, bounds.

docs/spec/throttles.md#headroom, docs/spec/throttles.md#bounds. Bytes per second; a limit that is not set is `+inf`.
Arrays: R rows per replica, P rows per partition, B per broker.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np

from kafka_warden.arrays import Axis, Longs, StateColumn, Value
from kafka_warden.derive.lag import sums
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle_lists import (
    ThrottledReplicas,
    held_rows,
    listed_replicas,
    lists_known_by_topic,
    lists_of_side,
)
from kafka_warden.model import SIDES, UNKNOWN, Bools, BrokerConfig, Floats, Ints, Limit, Side

BINDING_SHARE: Final = 0.9
LEAST_SHARE: Final = 0.5
"""Most and least of its limit that a throttled rate needs for the throttle to bind."""


def floors(indexed: IndexedSnapshot, listed: Mapping[Side, Bools], bytes_in: Floats) -> dict[Side, Floats]:
    """In-sync traffic that counts against each broker's limit of each side, (B,) each; it is never held back.

    Leader: sum of in(p) x followers in the ISR over p listed and led there. Follower: sum of in(p) over p listed there
    whose replica there follows in sync. NaN where a rate is unknown. docs/spec/throttles.md#headroom. `listed`: (R,)
    replicas that the list of that side names.
    """
    partition, brokers = indexed.snapshot.replicas.partition, len(indexed.brokers)
    following = indexed.snapshot.replicas.in_isr & ~indexed.is_leader
    followers = indexed.of_partitions(following)
    leading = np.flatnonzero(indexed.is_leader & listed[Side.LEADER])
    leading = leading[followers[partition[leading]] > 0]
    led = partition[leading]
    rows = np.flatnonzero(following & listed[Side.FOLLOWER])
    return {
        Side.LEADER: sums(indexed.host[leading], bytes_in[led] * followers[led], brokers).values,
        Side.FOLLOWER: sums(indexed.host[rows], bytes_in[partition[rows]], brokers).values,
    }


def headroom(limit: Value, floor: Value) -> Value:
    """What a limit leaves for catching up, c = limit - floor; negative where in-sync traffic exceeds it.

    docs/spec/throttles.md#headroom. `+inf` where no limit is set. The floor must be known: an unknown one leaves the
    headroom unknown.
    """
    return limit - floor


def lower_bound(indexed: IndexedSnapshot, bytes_in: Floats) -> Floats:
    """KIP-73's least throttle per broker, IN(b): in(p) summed over every replica it hosts, leaders included. (B,)."""
    return sums(indexed.host, bytes_in[indexed.snapshot.replicas.partition], len(indexed.brokers)).values


def upper_bound(indexed: IndexedSnapshot, bytes_in: Floats, network: float) -> Floats:
    """KIP-73's greatest throttle per broker, N - sum of in(p) / RF(p) over the replicas it hosts. (B,). KIP-73 Q&A 4.

    `network` is N in bytes per second. Never below 0: a network too small for its clients would make it negative.
    """
    partition = indexed.snapshot.replicas.partition
    factor = np.bincount(partition, minlength=len(bytes_in))
    led = bytes_in / np.maximum(factor, 1)
    return np.maximum(network - sums(indexed.host, led[partition], len(indexed.brokers)).values, 0.0)


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


THROTTLED_RATES = {Side.LEADER: "leader_replication_byte_rate", Side.FOLLOWER: "follower_replication_byte_rate"}
"""The throttled rates among the beans of a broker."""


@dataclass(frozen=True, slots=True)
class Throttles:
    """R replicas, B brokers; bytes per second, NaN is unknown, `+inf` unlimited."""

    limits: dict[tuple[int, Side], Limit]
    """By broker id; brokers whose configuration was never read are missing."""
    lists: dict[Side, dict[int, ThrottledReplicas]]
    """By topic index, without empty lists."""
    lists_known_by_topic: Bools
    """(T,) topics whose lists are known."""
    lists_known: Annotated[bool, "all throttled lists are known"]
    listed: dict[Side, Bools]
    """(R,) replicas that their topic's list of that side names."""
    held: dict[Side, Bools]
    """(R,) followers that a list of that side holds back: an entry of the leader counts for all its followers."""
    last_held: dict[Side, Bools]
    """(R,) the same, by the last known list where the list of a move is not known: what its flow is."""
    throttled: Annotated[dict[Side, Floats], "listed replicas"]
    """(B,) NaN while the lists of a topic are not known."""
    floor: Annotated[dict[Side, Floats], "floor: in-sync traffic under the limit", "bytes/s"]
    """(B,)"""
    headroom: Annotated[dict[Side, Floats], "limit minus floor", "bytes/s"]
    """(B,)"""
    lasting: dict[Side, Floats]
    """(B,) the headroom at the inbound rates that last."""
    lower_bound: Annotated[Floats, "KIP-73's lower bound", "bytes/s"]
    upper_bound: Annotated[Floats | None, "KIP-73's upper bound", "bytes/s"]
    """`None` where the network is not configured."""

    def limit(self, broker: int, side: Side) -> float | None:
        """Return the limit of a broker, `None` when it is not known."""
        found = self.limits.get((broker, side))
        return found.value if found is not None else None


def derive_throttles(indexed: IndexedSnapshot, bytes_in: Floats, least: Floats, network: float | None) -> Throttles:
    """Resolve limits and lists, floors and headroom.

    `bytes_in` and `least` (P,), the rates that last, and `network`, N of KIP-73 if configured, are in bytes per second.
    """
    configs = indexed.snapshot.broker_configs
    limits = {(broker, side): limit for broker, config in configs.items() for side, limit in config.limits.items()}
    lists = {side: lists_of_side(indexed, side) for side in SIDES}
    listed = {side: listed_replicas(indexed, lists[side]) for side in SIDES}
    # A topic with unknown lists may name any replica: then neither a count nor a floor is known.
    by_topic = lists_known_by_topic(indexed)
    lists_known = bool(by_topic.all())
    known = np.float64(0 if lists_known else math.nan)
    held = held_rows(indexed, listed)
    floor = {side: column + known for side, column in floors(indexed, listed, bytes_in).items()}
    lasting = {side: column + known for side, column in floors(indexed, listed, least).items()}
    return Throttles(
        limits=limits,
        lists=lists,
        lists_known_by_topic=by_topic,
        lists_known=lists_known,
        listed=listed,
        held=held,
        last_held=held,
        throttled={side: indexed.hosted(listed[side]) + known for side in SIDES},
        floor=floor,
        headroom={side: _headroom(indexed, limits, side, floor[side]) for side in SIDES},
        lasting={side: _headroom(indexed, limits, side, lasting[side]) for side in SIDES},
        lower_bound=lower_bound(indexed, bytes_in),
        upper_bound=None if network is None else upper_bound(indexed, bytes_in, network),
    )


def limit_column(indexed: IndexedSnapshot, limits: Mapping[tuple[int, Side], Limit], side: Side) -> Floats:
    """Limits of one side as a column (B,): NaN where a broker's configuration was never read, `+inf` unlimited."""
    known = [limits.get((broker, side)) for broker in indexed.brokers.tolist()]
    return np.array([found.value if found is not None else math.nan for found in known], dtype=np.float64)


def binding_limits(indexed: IndexedSnapshot, limit: Floats, rate: Floats) -> Bools:
    """(B,) limits that hold something back at throttled rates (B,)."""
    configs = (indexed.snapshot.broker_configs.get(broker, BrokerConfig()) for broker in indexed.brokers.tolist())
    return binds(limit, rate, np.array([config.quota_window_num for config in configs]))


def throttled_rates(indexed: IndexedSnapshot, side: Side) -> Floats:
    """(B,) throttled rates of the beans, NaN where a broker's beans are unknown."""
    beans = (indexed.snapshot.broker_beans.get(broker) for broker in indexed.brokers.tolist())
    name = THROTTLED_RATES[side]
    return np.array([math.nan if found is None else found.values.get(name, math.nan) for found in beans], np.float64)


def _headroom(indexed: IndexedSnapshot, limits: dict[tuple[int, Side], Limit], side: Side, floor: Floats) -> Floats:
    limit = limit_column(indexed, limits, side)
    # Without a limit the headroom is unlimited, even when the floor is unknown.
    return np.where(np.isinf(limit), np.inf, headroom(limit, floor))


UNSEEN: Final = -2
"""In place of a broker id: the replica did not exist in the poll before."""

SideKey = tuple[int, Side]
"""Broker id and side."""


@dataclass(frozen=True, slots=True)
class ThrottledTraffic:
    """As of one poll. P partitions, R replicas."""

    against: Annotated[Mapping[Side, Ints], StateColumn(Axis.REPLICA, UNSEEN)]
    """(R,) id of the broker whose limit counts the traffic of the in-sync replica, `UNKNOWN` for none."""
    moving: Annotated[Bools, StateColumn(Axis.PARTITION, 0)]
    """(P,) is being reassigned."""
    steady: Annotated[Bools, StateColumn(Axis.PARTITION, 0)]
    """(P,) `moving` is the same as in the poll before."""


def follow_floors(
    indexed: IndexedSnapshot, throttles: Throttles, before: ThrottledTraffic | None
) -> tuple[ThrottledTraffic | None, frozenset[SideKey]]:
    """Return the brokers and sides where other replicas count than in the poll before, whose rows are realigned.

    The poll before is the last one in which all lists were known.
    """
    if not throttles.lists_known:
        return before, frozenset()
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
