"""Every (broker, side) of flows: remaining bytes, headroom and rates (docs/spec/moves.md#eta)."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kafka_warden.arrays import as_known, sum_known
from kafka_warden.derive import law
from kafka_warden.derive.copy_rates import CopyProgress, Trend, trend_over
from kafka_warden.derive.flows import Flow, FlowKey, may_lose
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle import Throttles
from kafka_warden.model import SIDES, UNLIMITED, Side

SideKey = tuple[int, Side]
"""Broker id and side."""


@dataclass(frozen=True, slots=True)
class Load:
    """Flows under the limit of one broker and side; all flows through it where its lists name none of them.

    Bytes and bytes per second; `None` is unknown, `+inf` unlimited.
    """

    remaining: Annotated[float | None, "bytes that the replicas that catch up still have to copy", "bytes"]
    bytes_in: Annotated[float | None, "mean inbound rate of their partitions", "bytes/s"]
    least_in: Annotated[float | None, "lower bound of `bytes_in`", "bytes/s"]
    burst: Annotated[float, "B of the throttle law", "bytes"]
    headroom: Annotated[float | None, "limit minus in-sync traffic; infinite if no limit applies", "bytes/s"]
    window: Annotated[law.Window, "the quota window"]
    flows: Annotated[int, "number of flows that share the limit"]
    measured: Annotated[Trend | None, "measured progress of these flows"]
    """Joint rate of all flows, `None` until that of every flow is usable."""
    ended: Annotated[tuple[Trend, ...], "progress of each flow that ended within that time"]
    """Rates of flows that ended within the measured span of the others, spread over that span."""

    @property
    def limited(self) -> bool | None:
        """Whether it is throttled at all; `None` while unknown."""
        return None if self.headroom is None else self.headroom < UNLIMITED

    @property
    def gross(self) -> float | None:
        """Joint gross rate by the law, `+inf` without a limit."""
        return None if self.headroom is None else law.gross(self.headroom, self.burst, self.window)

    @property
    def predicted(self) -> float | None:
        """Joint net rate by the law, `+inf` without a limit."""
        if self.headroom is not None and self.headroom <= 0:
            return law.net(0.0, self.bytes_in or 0.0)
        if self.gross is None or self.bytes_in is None:
            return None
        return law.net(self.gross, self.bytes_in)

    @property
    def verdict(self) -> law.Verdict:
        """Whether its flows converge."""
        slope, seconds = (self.measured.rate, self.measured.seconds) if self.measured is not None else (None, 0.0)
        return law.verdict(self.headroom, self.burst, self.least_in, slope, seconds, self.window)

    @property
    def may_lose(self) -> bool | None:
        """Whether its throttle can be why nothing is gained; `None` while unknown."""
        return may_lose(self.headroom, self.burst, (self.bytes_in, self.least_in), self.window)


def binding_sides(sides: Mapping[SideKey, Load], keys: Iterable[FlowKey]) -> dict[FlowKey, SideKey]:
    """Return the binding side of each flow: the one that leaves it less; flows that nothing holds back are missing.

    A measured rate belongs to the binding side only: at its other end a flow has the same rate. A flow that ended
    within the measured span had its share.
    """
    binding = {}
    for key in keys:
        ends = ((key.broker(side), side) for side in reversed(SIDES) if key.listed(side))
        shares = {
            end: (load.headroom or 0.0) / (load.flows + len(load.ended))
            for end in ends
            if (load := sides.get(end)) and load.limited
        }
        if shares:
            binding[key] = min(shares, key=lambda end: shares[end])
    return binding


@dataclass(frozen=True, slots=True)
class SideTotals:
    """All flows through one broker and side, throttled or not. Bytes, bytes per second; `None` is unknown."""

    remaining: float | None
    bytes_in: float | None


def derive_side_totals(
    flows: Mapping[FlowKey, Flow], remaining: Mapping[FlowKey, float | None]
) -> dict[SideKey, SideTotals]:
    """Add all flows up by their leaders and by their targets; `remaining` as of `derive_sides`."""
    return {
        end: SideTotals(
            sum_known([remaining.get(key) for key in keys]), sum_known([flows[key].bytes_in for key in keys])
        )
        for end, keys in _by_side(flows).items()
    }


def derive_sides(
    indexed: IndexedSnapshot,
    flows: Mapping[FlowKey, Flow],
    throttles: Throttles,
    remaining: Mapping[FlowKey, float | None],
    measured: Mapping[FlowKey, Trend],
    copy_progress: Mapping[FlowKey, CopyProgress],
) -> dict[SideKey, Load]:
    """Add flows up by their leaders and by their targets; flows past a limit do not count in the load under it.

    `remaining` is in bytes; `measured` are net rates, where usable; `copy_progress` includes flows that have ended.
    """
    headroom = {side: indexed.by_broker(throttles.lasting[side]) for side in SIDES}
    ended = _by_side(key for key, each in copy_progress.items() if each.ended)
    loads: dict[SideKey, Load] = {}
    for (broker, side), keys in _by_side(flows).items():
        limited = any(key.listed(side) for key in keys)
        under = {key: flows[key] for key in keys if key.listed(side) is limited}
        over = [copy_progress[key] for key in ended.get((broker, side), ()) if key.listed(side) is limited]
        window = flows[keys[0]].window
        together = _together([measured.get(key) for key in under])
        loads[broker, side] = Load(
            remaining=sum_known([remaining.get(key) for key in under]),
            bytes_in=sum_known([flow.bytes_in for flow in under.values()]),
            least_in=sum_known([flow.least_in for flow in under.values()]),
            burst=_burst(under),
            headroom=as_known(headroom[side][broker]) if limited else UNLIMITED,
            window=window,
            flows=len(under),
            measured=together,
            ended=() if together is None else _ended(over, together.seconds, window),
        )
    return loads


def _by_side(keys: Iterable[FlowKey]) -> dict[SideKey, list[FlowKey]]:
    through: dict[SideKey, list[FlowKey]] = {}
    for key in keys:
        for side in SIDES:
            through.setdefault((key.broker(side), side), []).append(key)
    return through


def _burst(flows: Mapping[FlowKey, Flow]) -> float:
    """B of several flows: flows between the same two brokers share their responses."""
    most = {(key.target, key.leader): flow.response for key, flow in flows.items()}
    bursts = dict.fromkeys(most, 0.0)
    for key, flow in flows.items():
        bursts[key.target, key.leader] += flow.burst
    return sum(min(burst, most[pair]) for pair, burst in bursts.items())


def _together(trends: list[Trend | None]) -> Trend | None:
    known = [trend for trend in trends if trend is not None]
    if len(known) < len(trends):
        return None
    return Trend(
        sum(trend.rate for trend in known), min(trend.seconds for trend in known), sum(trend.ahead for trend in known)
    )


def _ended(copy_progress: list[CopyProgress], seconds: float, window: law.Window) -> tuple[Trend, ...]:
    trends = [trend_over(each, seconds, window) for each in copy_progress]
    return tuple(
        Trend(trend.rate * trend.seconds / seconds, seconds, trend.ahead)
        for trend in trends
        if trend is not None and trend.rate
    )


def remaining_by_flow(flows: Mapping[FlowKey, Flow], left: Mapping[int, float]) -> dict[FlowKey, float | None]:
    """Bytes that the replicas of each flow lack, `None` while a part is not known (NaN in `left`, by row)."""
    return {
        key: as_known(float(np.sum([left.get(row, math.nan) for row in flow.rows.tolist()])))
        for key, flow in flows.items()
    }
