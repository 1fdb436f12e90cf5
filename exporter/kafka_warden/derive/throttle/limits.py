"""KIP-73's throttle on every broker and side: lists, floor, headroom, bounds (judgement.md 4)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kafka_warden.derive.snapshot_index import Frame
from kafka_warden.formulas import throttle as formulas
from kafka_warden.model import UNKNOWN, Bools, Floats, Limit, Side

SIDES = (Side.LEADER, Side.FOLLOWER)


@dataclass(frozen=True, slots=True)
class Throttles:
    """R replicas, B brokers; bytes per second, NaN is unknown, `+inf` unlimited."""

    limits: dict[tuple[int, Side], Limit]
    """By broker id; brokers whose configuration was never read are missing."""
    lists: dict[Side, dict[int, formulas.ThrottledReplicas]]
    """By topic index, lists that name anything."""
    lists_known: bool
    """False while the lists of a topic are not."""
    listed: dict[Side, Bools]
    """(R,) replicas that their topic's list of that side names."""
    held: dict[Side, Bools]
    """(R,) followers that a list of that side holds back: an entry of the leader counts for all its followers."""
    throttled: dict[Side, Floats]
    """(B,) how many of them each broker hosts, NaN while the lists of a topic are not known."""
    floor: dict[Side, Floats]
    """(B,)"""
    headroom: dict[Side, Floats]
    """(B,)"""
    lower_bound: Floats
    upper_bound: Floats | None
    """`None` where the network is not configured."""

    def limit(self, broker: int, side: Side) -> float | None:
        """Return the limit of a broker, `None` when it is not known."""
        found = self.limits.get((broker, side))
        return found.value if found is not None else None


def derive_throttles(frame: Frame, bytes_in: Floats, network: float | None) -> Throttles:
    """Resolve limits and lists, and what in-sync traffic leaves of them.

    Args:
        frame: the snapshot.
        bytes_in: (P,) bytes per second appended to each partition, NaN where unknown.
        network: N of KIP-73 in bytes per second, if configured.
    """
    configs = frame.snapshot.broker_configs
    limits = {(broker, side): limit for broker, config in configs.items() for side, limit in config.limits.items()}
    lists = {side: _lists(frame, side) for side in SIDES}
    listed = {side: _listed(frame, lists[side]) for side in SIDES}
    # A topic whose lists nobody told may name any replica: then neither a count nor a floor is known.
    lists_known = frame.snapshot.topic_configs.keys() >= set(frame.snapshot.topics)
    known = np.float64(0 if lists_known else math.nan)
    rows = throttled_rows(frame, listed)
    brokers = len(frame.brokers)
    floors = _floors(frame, listed, bytes_in, known=lists_known)
    return Throttles(
        limits=limits,
        lists=lists,
        lists_known=lists_known,
        listed=listed,
        held=_held(frame, listed),
        throttled={side: formulas.count_listed(listed[side], frame.host, brokers) + known for side in SIDES},
        floor=floors,
        headroom={side: _headroom(frame, limits, side, floors[side]) for side in SIDES},
        lower_bound=formulas.lower_bound(rows, bytes_in, brokers).values,
        upper_bound=_upper_bound(rows, bytes_in, brokers, network),
    )


def at_rates(frame: Frame, throttles: Throttles, bytes_in: Floats) -> Throttles:
    """Take other rates (P,) for floor and headroom; all else is as it was."""
    floors = _floors(frame, throttles.listed, bytes_in, known=throttles.lists_known)
    headroom = {side: _headroom(frame, throttles.limits, side, floors[side]) for side in SIDES}
    return replace(throttles, floor=floors, headroom=headroom)


def _floors(frame: Frame, listed: Mapping[Side, Bools], bytes_in: Floats, *, known: bool) -> dict[Side, Floats]:
    rows, brokers = throttled_rows(frame, listed), len(frame.brokers)
    unknown = np.float64(0 if known else math.nan)
    return {
        Side.LEADER: formulas.leader_floor(rows, bytes_in, brokers).values + unknown,
        Side.FOLLOWER: formulas.follower_floor(rows, bytes_in, brokers).values + unknown,
    }


def _lists(frame: Frame, side: Side) -> dict[int, formulas.ThrottledReplicas]:
    snapshot = frame.snapshot
    configs = ((index, snapshot.topic_configs.get(name)) for index, name in enumerate(snapshot.topics))
    values = (
        (index, config.leader_throttled if side is Side.LEADER else config.follower_throttled)
        for index, config in configs
        if config is not None
    )
    return formulas.lists_of((index, value) for index, value in values if value)


def _listed(frame: Frame, lists: dict[int, formulas.ThrottledReplicas]) -> Bools:
    if not lists:
        return np.zeros(len(frame.snapshot.replicas), bool)
    snapshot = frame.snapshot
    partition = snapshot.replicas.partition
    topic, number = snapshot.partitions.topic[partition], snapshot.partitions.number[partition]
    return formulas.listed_rows(lists, topic, number, snapshot.replicas.broker)


def _held(frame: Frame, listed: Mapping[Side, Bools]) -> dict[Side, Bools]:
    follower = ~frame.is_leader
    leader_row = frame.snapshot.partitions.leader_row[frame.snapshot.replicas.partition]
    led = leader_row != UNKNOWN
    by_leader = np.zeros(len(follower), bool)
    by_leader[led] = listed[Side.LEADER][leader_row[led]]
    return {Side.LEADER: by_leader & follower, Side.FOLLOWER: listed[Side.FOLLOWER] & follower}


def throttled_rows(frame: Frame, listed: Mapping[Side, Bools]) -> formulas.Replicas:
    """Gather what floors and bounds are made of, with lists (R,) by side."""
    replicas = frame.snapshot.replicas
    return formulas.Replicas(
        partition=replicas.partition,
        broker=frame.host,
        is_leader=frame.is_leader,
        in_isr=replicas.in_isr,
        leader_listed=listed[Side.LEADER],
        follower_listed=listed[Side.FOLLOWER],
    )


def limit_column(frame: Frame, limits: Mapping[tuple[int, Side], Limit], side: Side) -> Floats:
    """Limits of one side as a column (B,): NaN where a broker's configuration was never read, `+inf` unlimited."""
    known = [limits.get((broker, side)) for broker in frame.brokers.tolist()]
    return np.array([found.value if found is not None else math.nan for found in known], dtype=np.float64)


def _headroom(frame: Frame, limits: dict[tuple[int, Side], Limit], side: Side, floor: Floats) -> Floats:
    limit = limit_column(frame, limits, side)
    # Without a limit nothing is held back, whatever the traffic, even when it is not known.
    return np.where(np.isinf(limit), np.inf, formulas.headroom(limit, floor))


def _upper_bound(rows: formulas.Replicas, bytes_in: Floats, brokers: int, network: float | None) -> Floats | None:
    return None if network is None else formulas.upper_bound(rows, bytes_in, brokers, network).values
