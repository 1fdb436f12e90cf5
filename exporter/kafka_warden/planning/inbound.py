"""What comes in while a plan watches, the mean of a rate over several polls; or what came in over a history."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kafka_warden.formulas.mean_rate import Sums, add, realign_sums
from kafka_warden.formulas.rows import Keys, match_partitions
from kafka_warden.model import Floats, Snapshot
from kafka_warden.planning.formatting import in_percent, in_rate, in_time


class Assumed(Protocol):
    """What a plan takes for granted about what is produced."""

    @property
    def rates(self) -> Floats:
        """Bytes a second (P,), NaN where unknown."""

    @property
    def polls(self) -> int:
        """Polls that they stand on."""

    @property
    def longest(self) -> float:
        """Seconds that these span."""

    @property
    def about(self) -> str:
        """Say so."""


@dataclass(frozen=True, slots=True)
class Inbound:
    """State of the fold. P partitions, in the rows of the last snapshot."""

    keys: Keys
    sums: Sums
    """Bytes in since the first poll, as far as known."""
    polls: int = 1

    @property
    def rates(self) -> Floats:
        """Bytes a second (P,) in the mean, NaN where no poll told any."""
        mean = np.full(len(self.sums.bytes), np.nan)
        np.divide(self.sums.bytes, self.sums.seconds, out=mean, where=self.sums.seconds > 0)
        return mean

    @property
    def longest(self) -> float:
        """Seconds of which the best known rate is the mean."""
        return float(self.sums.seconds.max(initial=0.0))

    @property
    def about(self) -> str:
        """Say what is assumed."""
        return (
            f"What is produced stays what it was in the mean of {self.polls} polls over {self.longest:.0f} s:"
            f" {in_rate(total(self.rates))} in all. At a busier hour the move needs more; measure then, or longer"
            " (--measure)."
        )


@dataclass(frozen=True, slots=True)
class Percentile:
    """What came in over a history. P partitions, in the rows of the snapshot that is planned on."""

    share: float
    """Of the polls, of each partition, that had no more."""
    rates: Floats
    """Bytes a second (P,), NaN where no poll told any."""
    polls: int
    longest: float
    """Seconds from the first poll to the last."""

    @property
    def about(self) -> str:
        """Say what is assumed."""
        return (
            f"What is produced to each partition is what it was at most in {in_percent(self.share)} of {self.polls}"
            f" polls over {in_time(self.longest)}: {in_rate(total(self.rates))} in all, as if every partition were that"
            " busy at once."
        )


def total(rates: Floats) -> float:
    """Add up what is known."""
    return float(np.nansum(rates))


def step(state: Inbound | None, snapshot: Snapshot, rates: Floats) -> Inbound:
    """Add the rates (P,) since the poll before, NaN where unknown: such a poll counts for nothing there."""
    keys = snapshot.keys
    if state is None:
        return Inbound(keys, add(None, snapshot.clock, rates))
    before = state.sums
    if not keys.same(state.keys):
        before = realign_sums(before, match_partitions(state.keys, keys))
    return Inbound(keys, add(before, snapshot.clock, rates), state.polls + 1)
