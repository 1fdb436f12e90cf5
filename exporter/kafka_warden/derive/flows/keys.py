"""A flow: all partitions that one broker fetches from another under the same limits (throttle law, KIP-73).

A fetcher asks for listed and unlisted partitions in one request, and Kafka leaves out only the listed ones while a
limit is used up. So there are up to four flows between two brokers: listed on both sides, on either, on none.
"""

from typing import NamedTuple

import numpy as np

from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle.limits import Throttles
from kafka_warden.model import SIDES, UNKNOWN, Longs, Side


class FlowKey(NamedTuple):
    """The identity of a flow."""

    target: int
    """Broker id."""
    leader: int
    """Broker id, `UNKNOWN` where none leads, `NO_LISTENER` where the leader is not known."""
    leader_listed: bool
    """The leader's list names its partitions, so that the leader's limit holds it back."""
    follower_listed: bool
    """The same for the target's list."""

    def broker(self, side: Side) -> int:
        """Return the broker of a side."""
        return self.leader if side is Side.LEADER else self.target

    def listed(self, side: Side) -> bool:
        """Return whether the limit of a side holds it back."""
        return self.leader_listed if side is Side.LEADER else self.follower_listed


def group_by_flow(indexed: IndexedSnapshot, throttles: Throttles, rows: Longs) -> dict[FlowKey, list[int]]:
    """Group followers, given as rows of the replicas, by the flow that they catch up over."""
    replicas = indexed.snapshot.replicas
    led_by = indexed.led_by[replicas.partition[rows]]
    none = np.minimum(indexed.snapshot.partitions.leader[replicas.partition[rows]], UNKNOWN)
    leaders = np.where(led_by == UNKNOWN, none, indexed.brokers[led_by])
    columns = (replicas.broker[rows], leaders, *(throttles.held[side][rows] for side in SIDES))
    groups: dict[tuple[int, int, bool, bool], list[int]] = {}
    for row, *key in zip(rows.tolist(), *(column.tolist() for column in columns), strict=True):
        groups.setdefault(tuple(key), []).append(row)
    return {FlowKey(*key): group for key, group in groups.items()}
