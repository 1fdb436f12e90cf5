"""Flows of a throttled move: the fetchers of one leader -> target, over all its lagging partitions (throttle law)."""

import math
from dataclasses import dataclass

import numpy as np

from exporter.derive.frame import Frame
from exporter.derive.lag import Lag
from exporter.derive.throttles import Throttles
from exporter.formulas import law, mean_rate
from exporter.formulas.ops import NUMBERS, as_known
from exporter.formulas.shares import fair_shares
from exporter.model import UNKNOWN, BrokerConfig, Floats, Longs, Side

NO_SIDE = -1
"""Stands for a side that does not throttle a flow: no broker has this id, so it has no limit."""

Pair = tuple[int, int]
"""(target, leader) as broker ids."""


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
    leader_listed: bool
    follower_listed: bool
    headroom: float | None
    burst: float
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


def derive_flows(frame: Frame, lag: Lag, throttles: Throttles, inbound: Inbound) -> dict[Pair, Flow]:
    """Group the replicas that catch up: adding ones, and throttled ones that are out of sync; both with a leader.

    The headroom in `throttles` is that at the least inbound.
    """
    replicas = frame.snapshot.replicas
    listed = throttles.listed[Side.LEADER] | throttles.listed[Side.FOLLOWER]
    led = frame.led_by[replicas.partition] != UNKNOWN
    wanted = (replicas.adding | (listed & ~replicas.in_isr)) & ~frame.is_leader & led & (lag.messages != 0)
    groups: dict[Pair, list[int]] = {}
    for row in np.flatnonzero(wanted).tolist():
        leader = int(frame.brokers[frame.led_by[replicas.partition[row]]])
        groups.setdefault((int(replicas.broker[row]), leader), []).append(row)
    sides = {pair: _sides(frame, throttles, pair, rows) for pair, rows in groups.items()}
    shares = _shares(frame, throttles, sides)
    return {
        pair: _flow(frame, rows, sides[pair], shares[position], inbound)
        for position, (pair, rows) in enumerate(groups.items())
    }


def _sides(frame: Frame, throttles: Throttles, pair: Pair, rows: list[int]) -> tuple[int, int]:
    """Which brokers' limits hold the flow back: (leader, target), `NO_SIDE` where its partitions are not listed."""
    target, leader = pair
    partition = frame.snapshot.replicas.partition[rows]
    leader_rows = frame.snapshot.partitions.leader_row[partition]
    by_leader = bool(throttles.listed[Side.LEADER][leader_rows].any())
    by_follower = bool(throttles.listed[Side.FOLLOWER][rows].any())
    return (leader if by_leader else NO_SIDE, target if by_follower else NO_SIDE)


def _shares(frame: Frame, throttles: Throttles, sides: dict[Pair, tuple[int, int]]) -> list[float]:
    leaders = np.array([leader for leader, _ in sides.values()], dtype=np.int32)
    targets = np.array([target for _, target in sides.values()], dtype=np.int32)
    headroom = {
        side: dict(zip(frame.brokers.tolist(), throttles.headroom[side].tolist(), strict=True))
        for side in (Side.LEADER, Side.FOLLOWER)
    }
    shares: list[float] = fair_shares(leaders, targets, headroom[Side.LEADER], headroom[Side.FOLLOWER]).tolist()
    return shares


def _flow(frame: Frame, rows: list[int], sides: tuple[int, int], share: float, inbound: Inbound) -> Flow:
    target = int(frame.snapshot.replicas.broker[rows[0]])
    config = frame.snapshot.broker_configs.get(target, BrokerConfig())
    window = law.Window(config.quota_window_num, config.quota_window_size)
    partition = frame.snapshot.replicas.partition[rows]
    burst = law.burst(
        NUMBERS,
        float(len(rows)),
        float(config.replica_fetch_max_bytes),
        # Each fetcher thread has responses of its own, and the law is linear in B: all of them together are one flow.
        float(config.replica_fetchers * config.replica_fetch_response_max_bytes),
    )
    headroom = None if math.isnan(share) else share
    return Flow(
        rows=np.array(rows, dtype=np.int64),
        leader_listed=sides[0] != NO_SIDE,
        follower_listed=sides[1] != NO_SIDE,
        headroom=headroom,
        burst=burst,
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
