"""ETAs of a replica, a flow, a broker and side, and of all moves (docs/spec/moves.md#eta).

Rates are net of the inbound rate. Measured ones are `Trend`s of the bytes gained.
"""

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, TypeVar

from kafka_warden.arrays import as_finite, as_known, sum_known
from kafka_warden.derive import law
from kafka_warden.derive.copy_rates import CopyProgress, trend_over
from kafka_warden.derive.law import (
    DEFAULT_WINDOW,
    FLAT_SLOPE_SECONDS,
    Flow,
    FlowKey,
    Traffic,
    Trend,
    Window,
)
from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.derive.throttle import SideKey, Throttles
from kafka_warden.model import SIDES, UNLIMITED, Side

Key = TypeVar("Key", bound=Hashable)


BELIEVED_WINDOWS: Final = 2
"""A slope replaces the law once it spans this many times 12 s ... (docs/spec/throttle-law.md#measured-rates)"""

BELIEVED_BURSTS: Final = 5
"""... and this many bursts, or their graininess is larger than the law's error."""

SLOPE_ERROR: Final = 1 / math.sqrt(6)
"""Standard error of a slope in bursts per span: each of its ends is off by at most a burst."""

LAW_ERROR: Final = 0.06
"""Standard error of the law in shares of the gross rate: 4.5 % in the mean over 33 runs."""

DRIFT: Final = 0.06
"""Standard error, in shares of the gross rate, of assuming that flows that share a limit keep the rate of two minutes.

Such flows take turns, with faster and slower minutes: 7 % in the mean over three moves (bench/README.md, ETA).
"""

EXPLAINED: Final = 3.0
"""Largest difference, in standard errors, at which law and slope agree."""


def eta(remaining: float, net: float) -> float:
    """Seconds until nothing remains at that net rate: 0 if nothing does, `+inf` if the rate is not above 0."""
    if remaining <= 0:
        return 0.0
    return remaining / net if net > 0 else math.inf


def believed_net(
    law_net: float | None,
    measured: Trend | None,
    bytes_in: float | None,
    burst: float,
    window: Window = DEFAULT_WINDOW,
    drift: float = 0.0,
) -> float | None:
    """The net rate of an ETA: the law's at first, then its mean with the measured one, weighted by their errors.

    A slope counts once it spans 24 s and five bursts B. Its ends may each fall anywhere between two bursts; the law is
    off by a share of the gross rate. Where they differ by more than both errors, another bottleneck binds, and only
    the slope counts. Without a throttle (`law_net` is `+inf`) or a law, the measured rate is used.
    docs/spec/moves.md#eta.

    `measured`: positive when remaining shrinks. `bytes_in`: 0 where it is unknown. `drift`: `DRIFT` where flows share a
    limit.
    """
    if measured is None:
        return None if law_net is None or math.isinf(law_net) else law_net
    rate, seconds = measured.rate, measured.seconds
    # A certain loss never ends and needs no rate; about any other loss the law may be wrong.
    if law_net is None or law_net <= 0 or math.isinf(law_net):
        return rate
    if rate <= 0 and seconds < FLAT_SLOPE_SECONDS:
        # One inbound burst makes a short slope fall.
        return law_net
    copied = _copied(measured, bytes_in)
    if seconds < BELIEVED_WINDOWS * window.settling or copied < BELIEVED_BURSTS * burst:
        return law_net
    if not is_bound(law_net, measured, bytes_in, burst):
        return rate
    of_slope, of_law = SLOPE_ERROR * burst / seconds, LAW_ERROR * copied / seconds
    to_come = drift * copied / seconds
    # The square of the quotient, as the square of a small error may underflow to 0.
    weight = (of_law / math.hypot(of_law, of_slope, to_come)) ** 2 if of_law > 0 else 1.0
    return weight * rate + (1 - weight) * law_net


def is_bound(law_net: float, measured: Trend, bytes_in: float | None, burst: float) -> bool:
    """Whether a measured net rate agrees with the law, within the errors of both: then the limit is the bottleneck.

    Arguments as of `believed_net`.
    """
    of_slope = SLOPE_ERROR * burst / measured.seconds
    of_law = LAW_ERROR * _copied(measured, bytes_in) / measured.seconds
    return abs(measured.rate - law_net) <= EXPLAINED * math.hypot(of_slope, of_law)


def _copied(measured: Trend, bytes_in: float | None) -> float:
    return (measured.rate + (bytes_in or 0.0)) * measured.seconds


def remaining_by_line(remaining: float, measured: Trend | None, gross: float | None, window: Window) -> float:
    """Remaining bytes by the line through the steps of bursts, once they span enough for one.

    Not by the step of the last poll, which can be off the line by half the bytes of a quota window at the rate `gross`.
    A correction never takes more than half of what remains, and adds nothing where nothing remains.
    """
    if measured is None or measured.seconds < BELIEVED_WINDOWS * window.settling or remaining <= 0:
        return remaining
    if gross is None or math.isinf(gross):
        return remaining
    most = gross * window.period * 0.5
    return max(remaining + min(max(measured.ahead, -most), most), remaining * 0.5)


def bottleneck(remaining: Mapping[Key, float], net: Mapping[Key, float | None]) -> tuple[Key, float] | None:
    """Which of several (flows, or broker and side) ends last, and in how many seconds. docs/spec/moves.md#eta.

    None when nothing remains. Where a net rate is unknown the whole is unknown, unless another one never ends.
    """
    busy = {key: amount for key, amount in remaining.items() if amount > 0}
    rates = {key: net.get(key) for key in busy}
    seconds = {key: eta(busy[key], rate) for key, rate in rates.items() if rate is not None}
    if not seconds:
        return None
    worst = max(seconds, key=lambda key: seconds[key])
    if len(seconds) < len(busy) and math.isfinite(seconds[worst]):
        return None
    return worst, seconds[worst]


@dataclass(frozen=True, slots=True)
class Load(Traffic):
    """Flows under the limit of one broker and side; all flows through it where its lists name none of them.

    Bytes and bytes per second; `None` is unknown, `+inf` unlimited.
    """

    remaining: Annotated[float | None, "bytes to copy", "bytes"]
    bytes_in: Annotated[float | None, "mean inbound rate", "bytes/s"]
    least_in: Annotated[float | None, "lower bound of `bytes_in`", "bytes/s"]
    burst: Annotated[float, "B of the throttle law", "bytes"]
    headroom: Annotated[float | None, "headroom; infinite without a limit", "bytes/s"]
    window: Annotated[Window, "the quota window"]
    flows: Annotated[int, "flows that share the limit"]
    measured: Annotated[Trend | None, "progress of these flows"]
    """Joint rate of all flows, `None` until that of every flow is usable."""
    ended: Annotated[tuple[Trend, ...], "progress of each flow that ended"]
    """Rates of flows that ended within the measured span of the others, spread over that span."""

    @property
    def limited(self) -> bool | None:
        """Whether it is throttled at all; `None` while unknown."""
        return None if self.headroom is None else self.headroom < UNLIMITED


def side_etas(sides: Mapping[SideKey, Load], flows: Iterable[FlowKey]) -> dict[FlowKey, float]:
    """ETA of the binding side of each flow, where that is known: of the one that leaves it less.

    A measured rate belongs to the binding side only: at its other end a flow has the same rate. A flow that ended
    within the measured span had its share.
    """
    binding = {}
    for key in flows:
        ends = ((key.broker(side), side) for side in reversed(SIDES) if key.listed(side))
        shares = {
            end: (load.headroom or 0.0) / (load.flows + len(load.ended))
            for end in ends
            if (load := sides.get(end)) and load.limited
        }
        if shares:
            binding[key] = min(shares, key=lambda end: shares[end])
    etas = {end: side_eta(sides[end]) for end in set(binding.values())}
    return {flow: eta for flow, end in binding.items() if (eta := etas[end]) is not None}


def derive_sides(
    indexed: IndexedSnapshot,
    flows: Mapping[FlowKey, Flow],
    throttles: Throttles,
    measured: Mapping[FlowKey, Trend],
    copy_progress: Mapping[FlowKey, CopyProgress],
) -> dict[SideKey, Load]:
    """Add flows up by their leaders and by their targets; flows past a limit do not count in the load under it.

    `measured` are net rates, where usable; `copy_progress` includes flows that have ended.
    """
    headroom = {side: indexed.by_broker(throttles.lasting[side]) for side in SIDES}
    ended = by_side(key for key, each in copy_progress.items() if each.ended)
    unknown = {
        (broker, Side.FOLLOWER) for broker in indexed.snapshot.replicas.broker[law.without_flow(indexed)].tolist()
    }
    loads: dict[SideKey, Load] = {}
    for (broker, side), keys in by_side(flows).items():
        limited = any(key.listed(side) for key in keys)
        under = {key: flows[key] for key in keys if key.listed(side) is limited}
        over = [copy_progress[key] for key in ended.get((broker, side), ()) if key.listed(side) is limited]
        window = flows[keys[0]].window
        together = _together([measured.get(key) for key in under])
        loads[broker, side] = Load(
            remaining=None if (broker, side) in unknown else sum_known([flow.remaining for flow in under.values()]),
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


def by_side(keys: Iterable[FlowKey]) -> dict[SideKey, list[FlowKey]]:
    """Group flows by their leaders and by their targets."""
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


def _ended(copy_progress: list[CopyProgress], seconds: float, window: Window) -> tuple[Trend, ...]:
    trends = [trend_over(each, seconds, window) for each in copy_progress]
    return tuple(
        Trend(trend.rate * trend.seconds / seconds, seconds, trend.ahead)
        for trend in trends
        if trend is not None and trend.rate
    )


def replica_eta(
    flow: Flow, remaining: float, measured: Trend | None, bytes_in: float | None, together: float | None
) -> float | None:
    """ETA of one replica of a flow whose ETA is `together`.

    A flow keeps its full rate until its last replica is complete, so no replica ends after its flow.
    """
    share = flow.gross / len(flow.rows) if flow.gross is not None else None
    by_law = None if share is None or bytes_in is None else law.net(share, bytes_in)
    net = believed_net(by_law, measured, bytes_in, flow.burst / len(flow.rows), flow.window)
    alone = None if net is None else eta(remaining, net)
    if alone is None or together is None:
        return together if alone is None else as_finite(alone)
    return min(alone, together)


def flow_eta(flow: Traffic, measured: Trend | None, drift: float = 0.0) -> float | None:
    """ETA of a whole flow; None when unknown, for example before anything was gained."""
    net = believed_net(flow.net, measured, flow.bytes_in, flow.burst, flow.window, drift)
    if net is None or flow.remaining is None:
        return None
    return eta(remaining_by_line(flow.remaining, measured, flow.gross, flow.window), net)


def side_eta(load: Load) -> float | None:
    """ETA of all flows through a broker and side; None while unknown."""
    return flow_eta(load, side_pace(load), DRIFT if load.flows + len(load.ended) > 1 else 0.0)


def side_pace(load: Load) -> Trend | None:
    """Return the joint rate of the flows through a side, including flows that ended where the limit binds.

    The share of a flow that ends goes to the others. Where the limit does not bind, their rates stay the same.
    """
    if load.measured is None or load.net is None or not math.isfinite(load.net):
        return load.measured
    seconds, trends = load.measured.seconds, (load.measured, *load.ended)
    pace = Trend(sum(trend.rate for trend in trends), seconds, sum(trend.ahead for trend in trends))
    return pace if is_bound(load.net, pace, load.bytes_in, load.burst) else load.measured


def last_eta(
    replicas: Iterable[float], flows: Mapping[FlowKey, float | None], sides: Mapping[FlowKey, float]
) -> float | None:
    """ETA of everything: the last flow, and the last broker and side; never before a single replica.

    No flow ends after its binding side.
    """
    bounded = [min(eta, sides.get(flow, math.inf)) for flow, eta in flows.items() if eta is not None]
    # No replica has an ETA of +Inf here.
    return as_finite(max([*replicas, *sides.values(), *bounded]))
