"""Reassignments: remaining bytes, rates, ETAs; MoveRatio and MoveTime of KIP-73.

docs/spec/moves.md. Bytes and seconds. `stuck.py` says whether a move is stuck and why.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, TypeVar

import numpy as np

from kafka_warden.arrays import UNKNOWN, Floats, Ints, Longs
from kafka_warden.formulas.law import DEFAULT_WINDOW, Window

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

LONGEST_SLOPE: Final = 3
"""Slopes span at most this many times 12 s: past 36 s they gain nothing, and B and inbound have changed."""

ROUNDING: Final = 1e-6
"""Seconds by which 12 s may be missed: clocks are floats."""

USE_OF_LIMIT: Final = 0.8
"""Share of a limit that a move uses, rounded down from the measured 0.84: waits cost 5 to 16 %."""


def progress(copied: float, remaining: float) -> float:
    """Share of a replica that is copied, copied / (copied + remaining); 1 where there is nothing to copy."""
    whole = copied + remaining
    return copied / whole if whole else 1.0


def eta(remaining: float, net: float) -> float:
    """Seconds until nothing remains at that net rate: 0 if nothing does, `+inf` if the rate is not above 0."""
    if remaining <= 0:
        return 0.0
    return remaining / net if net > 0 else math.inf


def slope(
    times: Sequence[float], values: Sequence[float], window: Window = DEFAULT_WINDOW, longest: int = LONGEST_SLOPE
) -> tuple[float, float] | None:
    """Change per second of a series and the seconds it spans: the longest multiple of 12 s that the series covers.

    None below 12 s, which is noise: bursts come every 11.5 s. The value at the start of the span is interpolated.
    `times` ascend; the caller leaves out samples from before a change.
    """
    span = _span(times, window, longest)
    if not span:
        return None
    return (values[-1] - float(np.interp(times[-1] - span, times, values))) / span, span


@dataclass(frozen=True, slots=True)
class Trend:
    """A line through a series."""

    rate: Annotated[float, "change per second", "bytes/s"]
    seconds: Annotated[float, "time span", "s"]
    ahead: Annotated[float, "last value minus the value of the fitted line", "bytes"] = 0.0
    """The last value less that of the line: positive just after a burst, negative just before one."""


def trend(
    times: Sequence[float], values: Sequence[float], window: Window = DEFAULT_WINDOW, longest: int = LONGEST_SLOPE
) -> Trend | None:
    """The line of least squares over the span that `slope` takes; None where that has none.

    Bursts make a series of steps, and the two polls of `slope` may lie anywhere on their steps. Many polls even this
    out, and the line shows where between two steps the last poll lies. Arguments as of `slope`.
    """
    span = _span(times, window, longest)
    if not span:
        return None
    start = times[-1] - span
    first = int(np.searchsorted(times, start, side="right"))
    seen = np.array([start, *times[first:]]) - times[-1]
    heights = np.array([float(np.interp(start, times, values)), *values[first:]])
    x, y = seen - seen.mean(), heights - heights.mean()
    rate = float((x * y).sum() / (x * x).sum())
    return Trend(rate, span, float(heights[-1] - heights.mean() + rate * seen.mean()))


def _span(times: Sequence[float], window: Window, longest: int) -> float:
    """Seconds of the longest multiple of 12 s that a series covers; 0 where it covers none."""
    covered = times[-1] - times[0] if len(times) else 0.0
    return window.settling * min(int((covered + ROUNDING) / window.settling), longest)


def first_kept(times: Sequence[float], oldest: float) -> int:
    """Index of the first sample to keep: the last one before `oldest`, so that any two polls make a slope.

    `times` ascend, seconds. 0 where nothing is older.
    """
    return max(int(np.searchsorted(times, oldest, side="right")) - 1, 0)


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


def move_ratio(to_move: int, partitions: int) -> float:
    """KIP-73's MoveRatio: partitions to be moved over all partitions; 0 for an empty cluster."""
    return to_move / partitions if partitions else 0.0


def move_time(ratio: float, log_size_per_broker: float, brokers: int, limit: float, max_bytes_in: float) -> float:
    """KIP-73's MoveTime in seconds: MoveRatio x TotalLogSizePerBroker x #Brokers / (limit - max(BytesInPerSec)).

    `+inf` when the limit is not above the busiest broker's inbound. It divides the cluster's bytes by one broker's
    limit, so `bottleneck` is shown with it. The limit must be a real one. docs/spec/moves.md#move-time.
    """
    return eta(ratio * log_size_per_broker * brokers, limit - max_bytes_in)


def move_time_of_cluster(
    ratio: float, limit: float, sizes: Longs, led_by: Ints | Longs, bytes_in: Floats, brokers: int
) -> float | None:
    """MoveTime from the sizes of R replicas and the inbound rates of L led partitions.

    `sizes` (R,), `UNKNOWN` where unknown; `led_by` (L,) leaders as small indices; `bytes_in` (L,) bytes per second, NaN
    where unknown. None while a part is unknown, and without a broker.
    """
    if not brokers or (sizes == UNKNOWN).any() or np.isnan(bytes_in).any():
        return None
    busiest = float(np.bincount(led_by, weights=bytes_in).max(initial=0.0))
    return move_time(ratio, float(sizes.sum()) / brokers, brokers, limit, busiest)


def needed_limit(floor: float, bytes_in: float, remaining: float, deadline: float) -> float:
    """Least limit of one (broker, side) that ends its moves in `deadline` seconds.

    docs/spec/throttles.md#recommended-throttle. Everything that counts against it, in-sync floor, inbound of the
    arriving replicas and what remains spread over the deadline, over 0.8.
    """
    return (floor + bytes_in + remaining * (1.0 / deadline)) * (1.0 / USE_OF_LIMIT)


def least_deadline(floor: float, bytes_in: float, remaining: float, limit: float) -> float:
    """Least deadline in seconds that one (broker, side) meets at a limit: `needed_limit` solved for its deadline.

    `+inf` where floor and inbound alone exceed the usable part of the limit; 0 where nothing remains.
    """
    return eta(remaining, limit * USE_OF_LIMIT - floor - bytes_in)


def recommended_limit(
    needed: Sequence[float], lower_bounds: Sequence[float], upper_bounds: Sequence[float]
) -> float | None:
    """Lowest throttle for all brokers that ends the moves in time, inside KIP-73's bounds; None when none fits.

    None too when nothing moves (`needed` is empty). Bounds are those of the brokers that take part.
    """
    if not needed:
        return None
    limit = max([*needed, *lower_bounds])
    return limit if limit <= min(upper_bounds, default=math.inf) else None
