"""Flows of throttled moves: all that lags of what a broker fetches of another under the same limits (throttle law)."""

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from kafka_warden.derive.flows.keys import FlowKey, group_by_flow
from kafka_warden.derive.followers.lag import Lag
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle.limits import SIDES, Throttles
from kafka_warden.formulas import law, mean_rate
from kafka_warden.formulas.ops import NUMBERS, as_known
from kafka_warden.formulas.shares import fair_shares
from kafka_warden.model import UNKNOWN, BrokerConfig, Floats, Longs, Side

NO_SIDE = -1
"""Stands for a side that does not throttle a flow: no broker has this id, so it has no limit."""


@dataclass(frozen=True, slots=True)
class Inbound:
    """Bytes per second appended to each of P partitions, NaN where unknown."""

    mean: Floats
    """(P,) over 36 s: what the law and an ETA stand on."""
    least: Floats
    """(P,) the mean, or what comes in at present where that is less: what "never" stands on."""
    seconds: Floats
    """(P,) of which the mean is, 36 or so but for what was first seen since then."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Bytes and bytes per second; `None` is unknown, `+inf` unlimited."""

    rows: Longs
    """Rows of the replicas that catch up over it."""
    headroom: float | None
    burst: float
    response: float
    """What all flows between its two brokers together let through at once, at most."""
    bytes_in: float | None
    """In the mean."""
    least_in: float | None
    """At least: a burst tells of no loss that lasts, nor does a load that is over."""
    settled: bool
    """What comes in has been watched for long enough to tell more than of one burst."""
    gross: float | None
    window: law.Window

    @property
    def net(self) -> float | None:
        """What the law says that the flow gains, `+inf` without a limit."""
        if self.gross is None or self.bytes_in is None:
            return None
        return law.net(self.gross, self.bytes_in)

    @property
    def may_lose(self) -> bool | None:
        """Whether its throttle can be why nothing is gained; `None` while that cannot be told."""
        return may_lose(self.headroom, self.burst, (self.bytes_in, self.least_in), self.window)


def derive_inbound(mean: Floats, bytes_in: Floats, seconds: Floats) -> Inbound:
    """Put the mean beside what comes in at present, both (P,); `seconds` (P,) is what the mean spans."""
    return Inbound(mean, mean_rate.at_least(mean, bytes_in), seconds)


def derive_flows(indexed: IndexedSnapshot, lag: Lag, throttles: Throttles, inbound: Inbound) -> dict[FlowKey, Flow]:
    """Group the replicas that catch up: adding ones, and those out of sync that a list holds back; both with a leader.

    The headroom in `throttles` is that at the least inbound.
    """
    replicas = indexed.snapshot.replicas
    held = throttles.held[Side.LEADER] | throttles.held[Side.FOLLOWER]
    led = indexed.led_by[replicas.partition] != UNKNOWN
    wanted = (replicas.adding | (held & ~replicas.in_isr)) & ~indexed.is_leader & led & (lag.messages != 0)
    groups = group_by_flow(indexed, throttles, np.flatnonzero(wanted))
    shares = _shares(indexed, throttles, groups)
    return {key: _flow(indexed, key.target, rows, shares[key], inbound) for key, rows in groups.items()}


def _shares(indexed: IndexedSnapshot, throttles: Throttles, keys: Collection[FlowKey]) -> dict[FlowKey, float]:
    """Divide what the limits leave, among the flows that they hold back."""
    leaders, targets = (
        np.array([key.broker(side) if key.listed(side) else NO_SIDE for key in keys], dtype=np.int32) for side in SIDES
    )
    headroom = {
        side: dict(zip(indexed.brokers.tolist(), throttles.headroom[side].tolist(), strict=True)) for side in SIDES
    }
    shares = fair_shares(leaders, targets, headroom[Side.LEADER], headroom[Side.FOLLOWER])
    return dict(zip(keys, shares.tolist(), strict=True))


def _flow(indexed: IndexedSnapshot, target: int, rows: list[int], share: float, inbound: Inbound) -> Flow:
    config = indexed.snapshot.broker_configs.get(target, BrokerConfig())
    window = law.Window(config.quota_window_num, config.quota_window_size)
    partition = indexed.snapshot.replicas.partition[rows]
    # Each fetcher thread has responses of its own, and the law is linear in B: all of them together are one flow.
    response = float(config.replica_fetchers * config.replica_fetch_response_max_bytes)
    burst = law.burst(NUMBERS, float(len(rows)), float(config.replica_fetch_max_bytes), response)
    headroom = None if math.isnan(share) else share
    return Flow(
        rows=np.array(rows, dtype=np.int64),
        headroom=headroom,
        burst=burst,
        response=response,
        bytes_in=as_known(float(inbound.mean[partition].sum())),
        least_in=as_known(float(inbound.least[partition].sum())),
        settled=bool((inbound.seconds[partition] >= window.settling).all()),
        gross=None if headroom is None else law.gross(NUMBERS, headroom, burst, window),
        window=window,
    )


def may_lose(
    headroom: float | None, burst: float, bytes_in: tuple[float | None, float | None], window: law.Window
) -> bool | None:
    """Tell whether a throttle can be why nothing is gained; `None` while that cannot be told.

    `bytes_in` is the mean, and the least: where only the mean is too much, what came in may be over, or come again.
    """
    mean, least = bytes_in
    if headroom is not None and headroom <= 0:
        return True
    if headroom is None or mean is None or least is None:
        return None
    if not law.may_lose(headroom, burst, mean, window):
        return False
    return law.may_lose(headroom, burst, least, window) or None
