"""ETAs of a replica, a flow, a broker and side, and of all moves (docs/spec/moves.md#eta).

Rates are net of the inbound rate. Measured ones are `Trend`s of the bytes gained.
"""

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Final, TypeVar

from kafka_warden.arrays import as_finite
from kafka_warden.derive import law
from kafka_warden.derive.copy_rates import Trend
from kafka_warden.derive.flows import Flow, FlowKey
from kafka_warden.derive.law import DEFAULT_WINDOW, Window
from kafka_warden.derive.side_loads import Load, SideKey, binding_sides

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
    measured: tuple[float, float] | None,
    copied: float,
    burst: float,
    window: Window = DEFAULT_WINDOW,
    drift: float = 0.0,
) -> float | None:
    """The net rate of an ETA: the law's at first, then its mean with the measured one, weighted by their errors.

    A slope counts once it spans 24 s and five bursts B. Its ends may each fall anywhere between two bursts; the law is
    off by a share of the gross rate. Where they differ by more than both errors, another bottleneck binds, and only
    the slope counts. Without a throttle (`law_net` is `+inf`) or a law, the measured rate is used.
    docs/spec/moves.md#eta.

    `measured`: (net bytes per second, positive when remaining shrinks; seconds). `copied`: bytes copied in that span.
    `drift`: `DRIFT` where flows share a limit.
    """
    if law_net is None or math.isinf(law_net):
        return None if measured is None else measured[0]
    if measured is None:
        return law_net
    rate, seconds = measured
    if seconds < BELIEVED_WINDOWS * window.settling or copied < BELIEVED_BURSTS * burst:
        return law_net
    of_slope, of_law = SLOPE_ERROR * burst / seconds, LAW_ERROR * copied / seconds
    if not _agree(law_net, rate, of_slope, of_law):
        return rate
    to_come = drift * copied / seconds
    # The square of the quotient, as the square of a small error may underflow to 0.
    weight = (of_law / math.hypot(of_law, of_slope, to_come)) ** 2 if of_law > 0 else 1.0
    return weight * rate + (1 - weight) * law_net


def is_bound(law_net: float, measured: tuple[float, float], copied: float, burst: float) -> bool:
    """Whether a measured net rate agrees with the law, within the errors of both: then the limit is the bottleneck.

    Arguments as of `believed_net`.
    """
    rate, seconds = measured
    return _agree(law_net, rate, SLOPE_ERROR * burst / seconds, LAW_ERROR * copied / seconds)


def _agree(law_net: float, rate: float, of_slope: float, of_law: float) -> bool:
    return abs(rate - law_net) <= EXPLAINED * math.hypot(of_slope, of_law)


def remaining_by_line(remaining: float, ahead: float, grain: float) -> float:
    """Remaining bytes by the line through the steps of bursts, not by the step of the last poll.

    `ahead` is a `Trend`'s, `grain` the bytes of one quota window, half of which a poll can be off the line. A
    correction never takes more than half of what remains, and adds nothing where nothing remains.
    """
    half = grain * 0.5
    off = min(max(ahead, -half), half)
    return max(remaining + off, remaining * 0.5) if remaining > 0 else remaining


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


def replica_eta(
    flow: Flow, remaining: float, measured: Trend | None, bytes_in: float | None, together: float | None
) -> float | None:
    """ETA of one replica of a flow whose ETA is `together`.

    A flow keeps its full rate until its last replica is complete, so no replica ends after its flow.
    """
    share = flow.gross / len(flow.rows) if flow.gross is not None else None
    by_law = None if share is None or bytes_in is None else law.net(share, bytes_in)
    net = believed(by_law, measured, bytes_in, flow.burst / len(flow.rows), flow.window)
    alone = None if net is None else eta(remaining, net)
    if alone is None or together is None:
        return together if alone is None else as_finite(alone)
    return min(alone, together)


def flow_eta(flow: Flow, remaining: float | None, measured: Trend | None) -> float | None:
    """ETA of a whole flow; None when unknown, for example before anything was gained."""
    net = believed(flow.net, measured, flow.bytes_in, flow.burst, flow.window)
    if net is None or remaining is None:
        return None
    return eta(_by_line(remaining, measured, flow.gross, flow.window), net)


def side_eta(load: Load) -> float | None:
    """ETA of all flows through a broker and side; None while unknown."""
    pace = side_pace(load)
    drift = DRIFT if load.flows + len(load.ended) > 1 else 0.0
    net = believed(load.predicted, pace, load.bytes_in, load.burst, load.window, drift)
    if net is None or load.remaining is None:
        return None
    return eta(_by_line(load.remaining, pace, load.gross, load.window), net)


def side_etas(sides: Mapping[SideKey, Load], flows: Iterable[FlowKey]) -> dict[FlowKey, float]:
    """ETA of the binding side of each flow, where that is known."""
    binding = binding_sides(sides, flows)
    etas = {end: side_eta(sides[end]) for end in set(binding.values())}
    return {flow: eta for flow, end in binding.items() if (eta := etas[end]) is not None}


def side_pace(load: Load) -> Trend | None:
    """Return the joint rate of the flows through a side, including flows that ended where the limit binds.

    The share of a flow that ends goes to the others. Where the limit does not bind, their rates stay the same.
    """
    if load.measured is None or load.predicted is None or not math.isfinite(load.predicted):
        return load.measured
    now = load.measured
    rate = now.rate + sum(trend.rate for trend in load.ended)
    copied = (rate + (load.bytes_in or 0.0)) * now.seconds
    if not load.ended or not is_bound(load.predicted, (rate, now.seconds), copied, load.burst):
        return now
    return Trend(rate, now.seconds, now.ahead + sum(trend.ahead for trend in load.ended))


def last_eta(
    replicas: Iterable[float], flows: Mapping[FlowKey, float | None], sides: Mapping[FlowKey, float]
) -> float | None:
    """ETA of everything: the last flow, and the last broker and side; never before a single replica.

    No flow ends after its binding side.
    """
    bounded = [min(eta, sides.get(flow, math.inf)) for flow, eta in flows.items() if eta is not None]
    # No replica has an ETA of +Inf here.
    return as_finite(max([*replicas, *sides.values(), *bounded]))


def believed(
    predicted: float | None,
    measured: Trend | None,
    bytes_in: float | None,
    burst: float,
    window: law.Window,
    drift: float = 0.0,
) -> float | None:
    """Net rate of an ETA: the law's at first, the measured one once it spans enough."""
    if predicted is not None and predicted <= 0 and measured is not None:
        # A certain loss never ends and needs no rate; about any other loss the law may be wrong.
        return measured.rate
    if (
        measured is not None
        and measured.rate <= 0
        and measured.seconds < law.FLAT_SLOPE_SECONDS
        and predicted is not None
    ):
        # One inbound burst makes a short slope fall.
        return measured.rate if math.isinf(predicted) else predicted
    copied = (measured.rate + (bytes_in or 0.0)) * measured.seconds if measured is not None else 0.0
    slope = None if measured is None else (measured.rate, measured.seconds)
    return believed_net(predicted, slope, copied, burst, window, drift)


def _by_line(remaining: float, measured: Trend | None, gross: float | None, window: law.Window) -> float:
    """Return the remaining bytes by the line through the bursts, once they span enough for a line."""
    if measured is None or measured.seconds < BELIEVED_WINDOWS * window.settling:
        return remaining
    if gross is None or math.isinf(gross):
        return remaining
    return remaining_by_line(remaining, measured.ahead, gross * window.period)
