"""KIP-73's throttle on every broker and side: lists, floor, headroom, bounds (docs/spec/throttles.md)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.formulas import throttle as formulas
from kafka_warden.model import SIDES, UNKNOWN, Bools, BrokerConfig, Floats, Limit, Side

THROTTLED_RATES = {Side.LEADER: "leader_replication_byte_rate", Side.FOLLOWER: "follower_replication_byte_rate"}
"""The throttled rates among the beans of a broker."""


@dataclass(frozen=True, slots=True)
class Throttles:
    """R replicas, B brokers; bytes per second, NaN is unknown, `+inf` unlimited."""

    limits: dict[tuple[int, Side], Limit]
    """By broker id; brokers whose configuration was never read are missing."""
    lists: dict[Side, dict[int, formulas.ThrottledReplicas]]
    """By topic index, without empty lists."""
    lists_known: Annotated[bool, "the throttled lists of all topics are known"]
    listed: dict[Side, Bools]
    """(R,) replicas that their topic's list of that side names."""
    held: dict[Side, Bools]
    """(R,) followers that a list of that side holds back: an entry of the leader counts for all its followers."""
    throttled: Annotated[dict[Side, Floats], "replicas in the throttled lists"]
    """(B,) NaN while the lists of a topic are not known."""
    floor: Annotated[dict[Side, Floats], "in-sync traffic that counts against the limit", "bytes/s"]
    """(B,)"""
    headroom: Annotated[dict[Side, Floats], "limit minus floor", "bytes/s"]
    """(B,)"""
    lower_bound: Annotated[Floats, "lower bound of the throttle, KIP-73", "bytes/s"]
    upper_bound: Annotated[Floats | None, "upper bound of the throttle, KIP-73", "bytes/s"]
    """`None` where the network is not configured."""

    def limit(self, broker: int, side: Side) -> float | None:
        """Return the limit of a broker, `None` when it is not known."""
        found = self.limits.get((broker, side))
        return found.value if found is not None else None


def derive_throttles(indexed: IndexedSnapshot, bytes_in: Floats, network: float | None) -> Throttles:
    """Resolve limits and lists, floors and headroom.

    `bytes_in` (P,) and `network`, N of KIP-73 if configured, are in bytes per second.
    """
    configs = indexed.snapshot.broker_configs
    limits = {(broker, side): limit for broker, config in configs.items() for side, limit in config.limits.items()}
    lists = {side: _lists(indexed, side) for side in SIDES}
    listed = {side: _listed(indexed, lists[side]) for side in SIDES}
    # A topic with unknown lists may name any replica: then neither a count nor a floor is known.
    lists_known = indexed.snapshot.topic_configs.keys() >= set(indexed.snapshot.topics)
    known = np.float64(0 if lists_known else math.nan)
    rows = throttled_rows(indexed, listed)
    brokers = len(indexed.brokers)
    floor = {side: column + known for side, column in floors(indexed, listed, bytes_in).items()}
    return Throttles(
        limits=limits,
        lists=lists,
        lists_known=lists_known,
        listed=listed,
        held=_held(indexed, listed),
        throttled={side: formulas.count_listed(listed[side], indexed.host, brokers) + known for side in SIDES},
        floor=floor,
        headroom={side: _headroom(indexed, limits, side, floor[side]) for side in SIDES},
        lower_bound=formulas.lower_bound(rows, bytes_in, brokers).values,
        upper_bound=None if network is None else formulas.upper_bound(rows, bytes_in, brokers, network).values,
    )


def at_rates(indexed: IndexedSnapshot, throttles: Throttles, bytes_in: Floats) -> Throttles:
    """Compute floor and headroom from other rates (P,); all else stays the same."""
    known = np.float64(0 if throttles.lists_known else math.nan)
    floor = {side: column + known for side, column in floors(indexed, throttles.listed, bytes_in).items()}
    headroom = {side: _headroom(indexed, throttles.limits, side, floor[side]) for side in SIDES}
    return replace(throttles, floor=floor, headroom=headroom)


def floors(indexed: IndexedSnapshot, listed: Mapping[Side, Bools], bytes_in: Floats) -> dict[Side, Floats]:
    """In-sync traffic (B,) that counts against each side's limit, with lists (R,) by side."""
    columns = formulas.floors(throttled_rows(indexed, listed), bytes_in, len(indexed.brokers))
    return dict(zip(SIDES, columns, strict=True))


def _lists(indexed: IndexedSnapshot, side: Side) -> dict[int, formulas.ThrottledReplicas]:
    snapshot = indexed.snapshot
    configs = ((index, snapshot.topic_configs.get(name)) for index, name in enumerate(snapshot.topics))
    values = (
        (index, config.leader_throttled if side is Side.LEADER else config.follower_throttled)
        for index, config in configs
        if config is not None
    )
    return formulas.lists_of((index, value) for index, value in values if value)


def _listed(indexed: IndexedSnapshot, lists: dict[int, formulas.ThrottledReplicas]) -> Bools:
    if not lists:
        return np.zeros(len(indexed.snapshot.replicas), bool)
    snapshot = indexed.snapshot
    partition = snapshot.replicas.partition
    topic, number = snapshot.partitions.topic[partition], snapshot.partitions.number[partition]
    return formulas.listed_rows(lists, topic, number, snapshot.replicas.broker)


def _held(indexed: IndexedSnapshot, listed: Mapping[Side, Bools]) -> dict[Side, Bools]:
    follower = ~indexed.is_leader
    leader_row = indexed.snapshot.partitions.leader_row[indexed.snapshot.replicas.partition]
    led = leader_row != UNKNOWN
    by_leader = np.zeros(len(follower), bool)
    by_leader[led] = listed[Side.LEADER][leader_row[led]]
    return {Side.LEADER: by_leader & follower, Side.FOLLOWER: listed[Side.FOLLOWER] & follower}


def throttled_rows(indexed: IndexedSnapshot, listed: Mapping[Side, Bools]) -> formulas.Replicas:
    """Return the replicas for floors and bounds, with lists (R,) by side."""
    replicas = indexed.snapshot.replicas
    return formulas.Replicas(
        partition=replicas.partition,
        broker=indexed.host,
        is_leader=indexed.is_leader,
        in_isr=replicas.in_isr,
        leader_listed=listed[Side.LEADER],
        follower_listed=listed[Side.FOLLOWER],
    )


def limit_column(indexed: IndexedSnapshot, limits: Mapping[tuple[int, Side], Limit], side: Side) -> Floats:
    """Limits of one side as a column (B,): NaN where a broker's configuration was never read, `+inf` unlimited."""
    known = [limits.get((broker, side)) for broker in indexed.brokers.tolist()]
    return np.array([found.value if found is not None else math.nan for found in known], dtype=np.float64)


def binding_limits(indexed: IndexedSnapshot, limit: Floats, rate: Floats) -> Bools:
    """(B,) limits that hold something back at throttled rates (B,)."""
    configs = (indexed.snapshot.broker_configs.get(broker, BrokerConfig()) for broker in indexed.brokers.tolist())
    return formulas.binds(limit, rate, np.array([config.quota_window_num for config in configs]))


def throttled_rates(indexed: IndexedSnapshot, side: Side) -> Floats:
    """(B,) throttled rates of the beans, NaN where a broker's beans are unknown."""
    beans = (indexed.snapshot.broker_beans.get(broker) for broker in indexed.brokers.tolist())
    name = THROTTLED_RATES[side]
    return np.array([math.nan if found is None else found.values.get(name, math.nan) for found in beans], np.float64)


def _headroom(indexed: IndexedSnapshot, limits: dict[tuple[int, Side], Limit], side: Side, floor: Floats) -> Floats:
    limit = limit_column(indexed, limits, side)
    # Without a limit the headroom is unlimited, even when the floor is unknown.
    return np.where(np.isinf(limit), np.inf, formulas.headroom(limit, floor))
