"""A flow: all partitions that one broker fetches from another under the same limits (throttle law, KIP-73).

A fetcher asks for listed and unlisted partitions in one request, and Kafka leaves out only the listed ones while a
limit is used up. So there are up to four flows between two brokers: listed on both sides, on either, on none.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kafka_warden.arrays import as_known
from kafka_warden.derive import law
from kafka_warden.derive.lag import Lag
from kafka_warden.derive.law import fair_shares
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle import Throttles
from kafka_warden.model import SIDES, UNKNOWN, BrokerConfig, Floats, Longs, Side


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


NO_SIDE = -1
"""Broker id of a side that does not throttle a flow: no broker has it, so it has no limit."""


@dataclass(frozen=True, slots=True)
class Inbound:
    """Bytes per second appended to each of P partitions, NaN where unknown."""

    mean: Floats
    """(P,) over 36 s, for the law and ETAs."""
    least: Floats
    """(P,) the mean, or the present rate where that is lower, for "never"."""
    seconds: Floats
    """(P,) seconds that the mean spans: about 36, less for new partitions."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Bytes and bytes per second; `None` is unknown, `+inf` unlimited."""

    rows: Longs
    """Rows of its replicas."""
    headroom: float | None
    burst: float
    response: float
    """Largest burst of all flows between its two brokers together."""
    bytes_in: float | None
    """Mean inbound rate."""
    least_in: float | None
    """Least inbound rate: neither a burst nor a load that ended proves a lasting loss."""
    settled: bool
    """The inbound rate spans more than one burst."""
    gross: float | None
    window: law.Window

    @property
    def net(self) -> float | None:
        """Net rate by the law, `+inf` without a limit."""
        if self.gross is None or self.bytes_in is None:
            return None
        return law.net(self.gross, self.bytes_in)

    @property
    def may_lose(self) -> bool | None:
        """Whether its throttle can be why nothing is gained; `None` while unknown."""
        return may_lose(self.headroom, self.burst, (self.bytes_in, self.least_in), self.window)


def derive_flows(indexed: IndexedSnapshot, lag: Lag, throttles: Throttles, inbound: Inbound) -> dict[FlowKey, Flow]:
    """Group the replicas that catch up: adding ones, and listed ones out of sync; both with a leader."""
    replicas = indexed.snapshot.replicas
    held = throttles.held[Side.LEADER] | throttles.held[Side.FOLLOWER]
    led = indexed.led_by[replicas.partition] != UNKNOWN
    wanted = (replicas.adding | (held & ~replicas.in_isr)) & ~indexed.is_leader & led & (lag.messages != 0)
    groups = group_by_flow(indexed, throttles, np.flatnonzero(wanted))
    shares = _shares(indexed, throttles, groups)
    return {key: _flow(indexed, key.target, rows, shares[key], inbound) for key, rows in groups.items()}


def _shares(indexed: IndexedSnapshot, throttles: Throttles, keys: Collection[FlowKey]) -> dict[FlowKey, float]:
    """Divide the headroom of the limits among the flows that they hold back."""
    leaders, targets = (
        np.array([key.broker(side) if key.listed(side) else NO_SIDE for key in keys], dtype=np.int32) for side in SIDES
    )
    shares = fair_shares(leaders, targets, *(indexed.by_broker(throttles.lasting[side]) for side in SIDES))
    return dict(zip(keys, shares.tolist(), strict=True))


def _flow(indexed: IndexedSnapshot, target: int, rows: list[int], share: float, inbound: Inbound) -> Flow:
    config = indexed.snapshot.broker_configs.get(target, BrokerConfig())
    window = law.Window(config.quota_window_num, config.quota_window_size)
    partition = indexed.snapshot.replicas.partition[rows]
    # Each fetcher thread has responses of its own, and the law is linear in B: all of them together are one flow.
    response = float(config.replica_fetchers * config.replica_fetch_response_max_bytes)
    burst = law.burst(len(rows), config.replica_fetch_max_bytes, response)
    headroom = None if math.isnan(share) else share
    return Flow(
        rows=np.array(rows, dtype=np.int64),
        headroom=headroom,
        burst=burst,
        response=response,
        bytes_in=as_known(float(inbound.mean[partition].sum())),
        least_in=as_known(float(inbound.least[partition].sum())),
        settled=bool((inbound.seconds[partition] >= window.settling).all()),
        gross=None if headroom is None else law.gross(headroom, burst, window),
        window=window,
    )


def may_lose(
    headroom: float | None, burst: float, bytes_in: tuple[float | None, float | None], window: law.Window
) -> bool | None:
    """Return whether a throttle can be why nothing is gained; `None` while unknown.

    `bytes_in` is the mean and the least rate. Where only the mean is too high, the load may be over or come back.
    """
    mean, least = bytes_in
    if headroom is not None and headroom <= 0:
        return True
    if headroom is None or mean is None or least is None:
        return None
    if not law.may_lose(headroom, burst, mean, window):
        return False
    return law.may_lose(headroom, burst, least, window) or None
