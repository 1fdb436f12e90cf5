"""Every (broker, side) that replicas catch up through: what remains there, what it lets through (judgement.md 5)."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from exporter.derive.flows import Flow, Pair, may_lose
from exporter.derive.frame import Frame
from exporter.derive.gains import Gains, trend_over
from exporter.derive.throttles import Throttles
from exporter.formulas import law
from exporter.formulas.moves import Trend
from exporter.formulas.ops import NUMBERS, as_known
from exporter.model import UNLIMITED, Floats, Side

SideKey = tuple[int, Side]
"""Broker id and side."""


@dataclass(frozen=True, slots=True)
class Load:
    """Bytes and bytes per second of all flows through one broker and side; `None` is unknown, `+inf` unlimited."""

    remaining: float | None
    bytes_in: float | None
    """In the mean."""
    least_in: float | None
    """At least."""
    burst: float
    headroom: float | None
    """`+inf` where its lists name none of the flows' partitions."""
    window: law.Window
    flows: int
    """How many flows share it."""
    measured: Trend | None
    """What all of them gain, `None` until that of every flow is believed."""
    ended: tuple[Trend, ...]
    """What each flow gained that has ended within the time that the others are measured over, spread over all of it."""

    @property
    def limited(self) -> bool | None:
        """Whether it is throttled at all; `None` while that is not known."""
        return None if self.headroom is None else self.headroom < UNLIMITED

    @property
    def gross(self) -> float | None:
        """What the law says that all flows together copy there, `+inf` without a limit."""
        return None if self.headroom is None else law.gross(NUMBERS, self.headroom, self.burst, self.window)

    @property
    def predicted(self) -> float | None:
        """What the law says that all flows together gain there, `+inf` without a limit."""
        if self.headroom is not None and self.headroom <= 0:
            return law.net(0.0, self.bytes_in or 0.0)
        if self.gross is None or self.bytes_in is None:
            return None
        return law.net(self.gross, self.bytes_in)

    @property
    def verdict(self) -> law.Verdict:
        """Whether what catches up through it ever ends."""
        slope, seconds = (self.measured.rate, self.measured.seconds) if self.measured is not None else (None, 0.0)
        return law.verdict(self.headroom, self.burst, self.least_in, slope, seconds, self.window)

    @property
    def may_lose(self) -> bool | None:
        """Whether its throttle can be why nothing is gained; `None` while that cannot be told."""
        return may_lose(self.headroom, self.burst, (self.bytes_in, self.least_in), self.window)


def binding_sides(sides: Mapping[SideKey, Load], pairs: Iterable[Pair]) -> dict[Pair, SideKey]:
    """Tell which side holds each flow back: the one that leaves it less; flows that nothing holds back are missing.

    Only of that one does a measured rate tell what it lets through: at its other end a flow has the same rate. One that
    has ended within the time of that measure had its share.
    """
    binding = {}
    for target, leader in pairs:
        ends = ((target, Side.FOLLOWER), (leader, Side.LEADER))
        shares = {
            key: (load.headroom or 0.0) / (load.flows + len(load.ended))
            for key in ends
            if (load := sides.get(key)) and load.limited
        }
        if shares:
            binding[target, leader] = min(shares, key=lambda key: shares[key])
    return binding


def derive_sides(
    frame: Frame,
    flows: Mapping[Pair, Flow],
    throttles: Throttles,
    remaining: Mapping[Pair, float | None],
    measured: Mapping[Pair, Trend],
    gains: Mapping[Pair, Gains],
) -> dict[SideKey, Load]:
    """Add flows up by their leaders and by their targets.

    Args:
        frame: the snapshot.
        flows: by target and leader.
        throttles: of the snapshot.
        remaining: of each flow, in bytes.
        measured: what flows gain, of those of which it is believed.
        gains: of all pairs of brokers, also those whose flow has ended.
    """
    through = _by_side(flows)
    headroom = {side: _by_broker(frame, throttles.headroom[side]) for side in (Side.LEADER, Side.FOLLOWER)}
    ended = _by_side(pair for pair, each in gains.items() if each.ended)
    loads = {
        key: Load(
            remaining=_sum([remaining.get(pair) for pair in pairs]),
            bytes_in=_sum([flows[pair].bytes_in for pair in pairs]),
            least_in=_sum([flows[pair].least_in for pair in pairs]),
            burst=sum(flows[pair].burst for pair in pairs),
            headroom=as_known(headroom[key[1]][key[0]]) if _listed(flows, pairs, key[1]) else UNLIMITED,
            window=flows[pairs[0]].window,
            flows=len(pairs),
            measured=_together([measured.get(pair) for pair in pairs]),
            ended=(),
        )
        for key, pairs in through.items()
    }
    return {
        key: replace(load, ended=_ended([gains[pair] for pair in ended[key]], load)) if key in ended else load
        for key, load in loads.items()
    }


def _by_side(pairs: Iterable[Pair]) -> dict[SideKey, list[Pair]]:
    through: dict[SideKey, list[Pair]] = {}
    for target, leader in pairs:
        through.setdefault((leader, Side.LEADER), []).append((target, leader))
        through.setdefault((target, Side.FOLLOWER), []).append((target, leader))
    return through


def _by_broker(frame: Frame, column: Floats) -> dict[int, float]:
    return dict(zip(frame.brokers.tolist(), column.tolist(), strict=True))


def _listed(flows: Mapping[Pair, Flow], pairs: list[Pair], side: Side) -> bool:
    return any(flows[pair].leader_listed if side is Side.LEADER else flows[pair].follower_listed for pair in pairs)


def _sum(parts: list[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _together(trends: list[Trend | None]) -> Trend | None:
    known = [trend for trend in trends if trend is not None]
    if len(known) < len(trends):
        return None
    return Trend(
        sum(trend.rate for trend in known),
        min(trend.seconds for trend in known),
        sum(trend.ahead for trend in known),
    )


def _ended(gains: list[Gains], load: Load) -> tuple[Trend, ...]:
    if load.measured is None:
        return ()
    seconds = load.measured.seconds
    trends = [trend_over(each, seconds, load.window) for each in gains]
    return tuple(
        Trend(trend.rate * trend.seconds / seconds, seconds, trend.ahead)
        for trend in trends
        if trend is not None and trend.rate
    )


def remaining_by_flow(flows: Mapping[Pair, Flow], left: Mapping[int, float]) -> dict[Pair, float | None]:
    """Bytes that the replicas of each flow lack, `None` while a part is not known (NaN in `left`, by row)."""
    return {
        pair: as_known(float(np.sum([left.get(row, math.nan) for row in flow.rows.tolist()])))
        for pair, flow in flows.items()
    }
