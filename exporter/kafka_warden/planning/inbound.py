"""The inbound rate that a plan assumes: the mean of several polls, or a percentile of a history."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_warden.arrays import Axis, Keys, match_partitions
from kafka_warden.derive.columns import realign
from kafka_warden.derive.inbound import Sums, add
from kafka_warden.formatting import in_count, in_percent, in_rate, in_time
from kafka_warden.model import Floats, Snapshot

OLD: Final = 7 * 86400.0
"""Seconds. A percentile that ends earlier does not know last week's days."""


@dataclass(frozen=True, slots=True)
class InboundMean:
    """The mean since the first poll, as state of a fold. P partitions, in the rows of the last snapshot."""

    keys: Keys
    sums: Sums
    """Known bytes in since the first poll."""
    polls: int = 1

    @property
    def rates(self) -> Floats:
        """Mean bytes per second (P,), NaN if unknown in all polls."""
        mean = np.full(len(self.sums.bytes), np.nan)
        np.divide(self.sums.bytes, self.sums.seconds, out=mean, where=self.sums.seconds > 0)
        return mean

    @property
    def longest(self) -> float:
        """Seconds that the mean with the most measurements covers."""
        return float(self.sums.seconds.max(initial=0.0))

    @property
    def about(self) -> str:
        """The assumption in words."""
        return (
            f"The inbound rate stays at the mean of {in_count(self.polls, 'poll')} over {self.longest:.0f} s:"
            f" {in_rate(total(self.rates))} in total. If it is higher at another time of day, measure then, or longer"
            " (--measure)."
        )


@dataclass(frozen=True, slots=True)
class Percentile:
    """A percentile of a history. P partitions, in the rows of the snapshot of the plan."""

    share: float
    """Share of the polls with this rate or less, for each partition."""
    rates: Floats
    """Bytes per second (P,), NaN if unknown in all polls."""
    polls: int
    first: float
    """Unix s of the first poll."""
    last: float

    @property
    def longest(self) -> float:
        """Seconds from the first poll to the last."""
        return self.last - self.first

    @property
    def about(self) -> str:
        """The assumption in words."""
        return (
            f"The inbound rate of each partition is its {in_percent(self.share)} percentile over"
            f" {in_count(self.polls, 'poll')} in {in_time(self.longest)}: {in_rate(total(self.rates))} in total, as if"
            " all partitions were busy at once."
        )


InboundRates = InboundMean | Percentile


def total(rates: Floats) -> float:
    """Sum of the known rates."""
    return float(np.nansum(rates))


def outdated(inbound: InboundRates, now: float) -> tuple[str, ...]:
    """Return a warning if the rates end long before `now`, in Unix s."""
    if not isinstance(inbound, Percentile) or now - inbound.last <= OLD:
        return ()
    return (f"the inbound rates are {in_time(now - inbound.last)} old: write them again from a newer history",)


def step(state: InboundMean | None, snapshot: Snapshot, rates: Floats) -> InboundMean:
    """Add the rates (P,) since the previous poll; NaN is unknown and does not count."""
    keys = snapshot.keys
    if state is None:
        return InboundMean(keys, add(None, snapshot.clock, rates))
    before = state.sums
    if not keys.same(state.keys):
        before = realign(before, {Axis.PARTITION: match_partitions(state.keys, keys)})
    return InboundMean(keys, add(before, snapshot.clock, rates), state.polls + 1)
