"""ETAs of a replica, a flow, a broker and side, and of all moves (docs/spec/moves.md#eta).

Rates are net of the inbound rate. Measured ones are `Trend`s of the bytes gained.
"""

import math
from collections.abc import Iterable, Mapping

from kafka_warden.arrays import as_finite
from kafka_warden.derive.flows.flow import Flow
from kafka_warden.derive.flows.keys import FlowKey
from kafka_warden.derive.flows.side_loads import Load, SideKey, binding_sides
from kafka_warden.formulas import law, moves
from kafka_warden.formulas.moves import Trend


def replica_eta(
    flow: Flow, remaining: float, measured: Trend | None, bytes_in: float | None, together: float | None
) -> float | None:
    """ETA of one replica of a flow whose ETA is `together`.

    A flow keeps its full rate until its last replica is complete, so no replica ends after its flow.
    """
    share = flow.gross / len(flow.rows) if flow.gross is not None else None
    by_law = None if share is None or bytes_in is None else law.net(share, bytes_in)
    net = believed(by_law, measured, bytes_in, flow.burst / len(flow.rows), flow.window)
    alone = None if net is None else moves.eta(remaining, net)
    if alone is None or together is None:
        return together if alone is None else as_finite(alone)
    return min(alone, together)


def flow_eta(flow: Flow, remaining: float | None, measured: Trend | None) -> float | None:
    """ETA of a whole flow; None when unknown, for example before anything was gained."""
    net = believed(flow.net, measured, flow.bytes_in, flow.burst, flow.window)
    if net is None or remaining is None:
        return None
    return moves.eta(_by_line(remaining, measured, flow.gross, flow.window), net)


def side_eta(load: Load) -> float | None:
    """ETA of all flows through a broker and side; None while unknown."""
    pace = side_pace(load)
    drift = moves.DRIFT if load.flows + len(load.ended) > 1 else 0.0
    net = believed(load.predicted, pace, load.bytes_in, load.burst, load.window, drift)
    if net is None or load.remaining is None:
        return None
    return moves.eta(_by_line(load.remaining, pace, load.gross, load.window), net)


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
    if not load.ended or not moves.is_bound(load.predicted, (rate, now.seconds), copied, load.burst):
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
    return moves.believed_net(predicted, slope, copied, burst, window, drift)


def _by_line(remaining: float, measured: Trend | None, gross: float | None, window: law.Window) -> float:
    """Return the remaining bytes by the line through the bursts, once they span enough for a line."""
    if measured is None or measured.seconds < moves.BELIEVED_WINDOWS * window.settling:
        return remaining
    if gross is None or math.isinf(gross):
        return remaining
    return moves.remaining_by_line(remaining, measured.ahead, gross * window.period)
