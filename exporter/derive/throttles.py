"""KIP-73's throttle on every broker and side: lists, floor, headroom, bounds (judgement.md 4)."""

import math
from dataclasses import dataclass

import numpy as np

from exporter.derive.frame import Frame
from exporter.formulas import throttle as formulas
from exporter.model import Bools, Floats, Limit, Side

SIDES = (Side.LEADER, Side.FOLLOWER)


@dataclass(frozen=True, slots=True)
class Throttles:
    """R replicas, B brokers; bytes per second, NaN is unknown, `+inf` unlimited."""

    limits: dict[tuple[int, Side], Limit]
    """By broker id; brokers whose configuration was never read are missing."""
    listed: dict[Side, Bools]
    """(R,) replicas that their topic's list of that side names."""
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
    listed = {side: _listed(frame, side) for side in SIDES}
    # A topic whose lists nobody told may name any replica: then neither a count nor a floor is known.
    known = np.float64(0 if frame.snapshot.topic_configs.keys() >= set(frame.snapshot.topics) else math.nan)
    rows = _rows(frame, listed)
    brokers = len(frame.brokers)
    floors = {
        Side.LEADER: formulas.leader_floor(rows, bytes_in, brokers).values + known,
        Side.FOLLOWER: formulas.follower_floor(rows, bytes_in, brokers).values + known,
    }
    return Throttles(
        limits=limits,
        listed=listed,
        throttled={side: formulas.count_listed(listed[side], frame.host, brokers) + known for side in SIDES},
        floor=floors,
        headroom={side: _headroom(frame, limits, side, floors[side]) for side in SIDES},
        lower_bound=formulas.lower_bound(rows, bytes_in, brokers).values,
        upper_bound=_upper_bound(rows, bytes_in, brokers, network),
    )


def _listed(frame: Frame, side: Side) -> Bools:
    snapshot = frame.snapshot
    configs = ((index, snapshot.topic_configs.get(name)) for index, name in enumerate(snapshot.topics))
    values = (
        (index, config.leader_throttled if side is Side.LEADER else config.follower_throttled)
        for index, config in configs
        if config is not None
    )
    lists = formulas.lists_of((index, value) for index, value in values if value)
    if not lists:
        return np.zeros(len(snapshot.replicas), bool)
    partition = snapshot.replicas.partition
    topic, number = snapshot.partitions.topic[partition], snapshot.partitions.number[partition]
    return formulas.listed_rows(lists, topic, number, snapshot.replicas.broker)


def _rows(frame: Frame, listed: dict[Side, Bools]) -> formulas.Replicas:
    replicas = frame.snapshot.replicas
    return formulas.Replicas(
        partition=replicas.partition,
        broker=frame.host,
        is_leader=frame.is_leader,
        in_isr=replicas.in_isr,
        leader_listed=listed[Side.LEADER],
        follower_listed=listed[Side.FOLLOWER],
    )


def _headroom(frame: Frame, limits: dict[tuple[int, Side], Limit], side: Side, floor: Floats) -> Floats:
    known = [limits.get((broker, side)) for broker in frame.brokers.tolist()]
    limit = np.array([found.value if found is not None else math.nan for found in known])
    # Without a limit nothing is held back, whatever the traffic, even when it is not known.
    return np.where(np.isinf(limit), np.inf, formulas.headroom(limit, floor))


def _upper_bound(rows: formulas.Replicas, bytes_in: Floats, brokers: int, network: float | None) -> Floats | None:
    return None if network is None else formulas.upper_bound(rows, bytes_in, brokers, network).values
