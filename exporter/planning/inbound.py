"""What comes in while a plan watches: the mean of a rate over several polls, however long they go on."""

from dataclasses import dataclass

import numpy as np

from exporter.formulas.rows import Keys, carry, match_partitions
from exporter.model import Floats, Snapshot


@dataclass(frozen=True, slots=True)
class Inbound:
    """State of the fold. P partitions, in the rows of the last snapshot."""

    keys: Keys
    clock: float
    bytes: Floats
    """(P,) that came in since the first poll, as far as known."""
    seconds: Floats
    """(P,) of which that is known."""
    polls: int = 1

    @property
    def rates(self) -> Floats:
        """Bytes a second (P,) in the mean, NaN where no poll told any."""
        mean = np.full(len(self.bytes), np.nan)
        np.divide(self.bytes, self.seconds, out=mean, where=self.seconds > 0)
        return mean

    @property
    def longest(self) -> float:
        """Seconds of which the best known rate is the mean."""
        return float(self.seconds.max(initial=0.0))


def step(state: Inbound | None, snapshot: Snapshot, rates: Floats) -> Inbound:
    """Add the rates (P,) since the poll before, NaN where unknown: such a poll counts for nothing there."""
    keys = _keys(snapshot)
    if state is None:
        blank = np.zeros(len(rates))
        return Inbound(keys, snapshot.clock, blank, blank)
    before, seconds = state.bytes, state.seconds
    if not keys.same(state.keys):
        rows = match_partitions(state.keys, keys)
        before, seconds = carry(before, rows, 0.0), carry(seconds, rows, 0.0)
    elapsed = np.where(np.isnan(rates), 0.0, max(snapshot.clock - state.clock, 0.0))
    return Inbound(keys, snapshot.clock, before + np.nan_to_num(rates) * elapsed, seconds + elapsed, state.polls + 1)


def _keys(snapshot: Snapshot) -> Keys:
    partitions, replicas = snapshot.partitions, snapshot.replicas
    return Keys(
        snapshot.topics,
        snapshot.topic_ids,
        partitions.topic,
        partitions.number,
        replicas.partition,
        replicas.broker,
    )
