"""Max-min fair shares: how the flows of a cluster divide the headroom of both their sides.

docs/spec/throttle-law.md#the-law. All flows grow alike until a side is used up; its flows stop there, the others grow
further.
"""

from collections.abc import Mapping

import numpy as np

from kafka_warden.arrays import Bools, Floats, Ints


def fair_shares(
    leaders: Ints, targets: Ints, leader_headroom: Mapping[int, float], follower_headroom: Mapping[int, float]
) -> Floats:
    """The headroom c of F flows: the max-min fair share of their leader's and their target's, bytes per second. (F,).

    `leaders`, `targets`: broker ids of each flow. Headroom by broker id; a broker that is missing there has no limit,
    NaN is unknown. A side with nothing left gives all its flows its own (zero or negative) headroom; a flow neither of
    whose sides binds has `+inf`; a flow that an unknown side might bind is NaN.
    """
    sides, of_flow = _sides(leaders, targets)
    headroom = (leader_headroom, follower_headroom)
    left = np.array([headroom[is_follower].get(broker, np.inf) for is_follower, broker in sides], dtype=np.float64)
    unknown = np.isnan(left)[of_flow].any(axis=0) if len(leaders) else np.zeros(0, dtype=np.bool_)
    left[np.isnan(left)] = np.inf
    shares = _fill(of_flow, left)
    # Nothing left on the known side decides alone; any other share could be smaller than what the known sides allow.
    return np.where(unknown & (shares > 0), np.nan, shares)


def _sides(leaders: Ints, targets: Ints) -> tuple[list[tuple[bool, int]], Ints]:
    """The distinct (is follower side, broker) and, (2, F), which two of them each flow uses."""
    keys = [(False, int(broker)) for broker in leaders] + [(True, int(broker)) for broker in targets]
    sides = sorted(set(keys))
    index = {side: position for position, side in enumerate(sides)}
    return sides, np.array([index[key] for key in keys], dtype=np.int32).reshape(2, len(leaders))


def _fill(of_flow: Ints, left: Floats) -> Floats:
    """Progressive filling. `of_flow` (2, F) indexes the S sides, `left` (S,) is their headroom and is used up."""
    ahead, behind = of_flow
    shares = np.minimum(left[ahead], left[behind])
    growing: Bools = (shares > 0) & np.isfinite(shares)
    level = np.zeros(len(shares))
    while growing.any():
        users = np.bincount(of_flow[:, growing].ravel(), minlength=len(left))
        # Each round brings one side to exactly its headroom, so there are at most S rounds.
        room = np.full(len(left), np.inf)
        np.divide(left, users, out=room, where=users > 0)
        gain = float(room.min())
        level[growing] += gain
        full = room <= gain
        left = np.where(users > 0, np.maximum(left - gain * users, 0.0), left)
        growing &= ~(full[ahead] | full[behind])
    return np.where((shares > 0) & np.isfinite(shares), level, shares)
