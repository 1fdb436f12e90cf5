"""The last hour of a few numbers, in a ring of at most 4 MB, for the small plots of the status page."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_warden.catalogue import View
from kafka_warden.model import SIDES, Side
from kafka_warden.views.rows import History, SideHistory

SECONDS: Final = 3600.0
FINEST: Final = 5.0
"""Least seconds between two samples."""

SLACK: Final = 0.9

MOST_BYTES: Final = 4 << 20
ITEM: Final = 4
TOTALS: Final = (
    "remaining_bytes",
    "reassigning_partitions",
    "under_replicated_partitions",
    "offline_partitions",
    "out_of_sync",
)
"""Fields of `History`."""


Key = tuple[int, Side]


@dataclass(slots=True)
class _Ring:
    """Samples of a fixed set of brokers: a rate and a limit for each broker and side after the totals."""

    brokers: tuple[int, ...]
    times: np.ndarray
    """(N,) Unix seconds."""
    values: np.ndarray
    """(N, columns) single precision, NaN is unknown."""
    count: int = 0
    """Samples that were ever written: the next one goes to `count % N`, and is counted once it is whole."""

    @property
    def seconds(self) -> float:
        """Time between two samples with which the ring holds an hour."""
        return SECONDS / len(self.times)


class Recent:
    """Adds a sample per poll on the thread of the polls; any thread may read."""

    def __init__(self) -> None:
        self._ring = _new(())

    def add(self, view: View) -> None:
        """Add the numbers of a poll, unless the last sample is too new. Costs a fraction of a millisecond."""
        derived = view.derived
        brokers = tuple(derived.indexed.brokers.tolist())
        ring = self._ring if brokers == self._ring.brokers else _moved(self._ring, brokers)
        self._ring = ring
        time = derived.indexed.snapshot.time
        last = ring.times[(ring.count - 1) % len(ring.times)] if ring.count else -math.inf
        # The slack keeps every poll of an uneven interval. A clock that was set back leaves no gap of hours.
        if 0 <= time - last < ring.seconds * SLACK:
            return
        row = ring.count % len(ring.times)
        ring.times[row] = time
        ring.values[row] = _sample(view, brokers)
        ring.count += 1

    def read(self) -> "Samples":
        """Return the samples of the last hour, oldest first."""
        ring = self._ring
        count, size = ring.count, len(ring.times)
        # The slot of the next sample may be written meanwhile: in a full ring it is that of the oldest one.
        order = np.arange(max(count - size + 1, 0), count) % size
        times, values = ring.times[order], ring.values[order]
        if len(times):
            kept = (times > times[-1] - SECONDS) & (times <= times[-1])
            times, values = times[kept], values[kept]
        return Samples(ring.brokers, times, values)


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """A copy of what the ring holds. Rows become values only where they are asked for."""

    brokers: tuple[int, ...]
    times: np.ndarray
    values: np.ndarray

    def shown_sides(self) -> list[Key]:
        """Return the brokers and sides that had a limit or copied."""
        known = np.isfinite(self.values[:, len(TOTALS) :]).any(axis=0).reshape(-1, 2).any(axis=1)
        both = [(broker, side) for broker in self.brokers for side in SIDES]
        return [key for key, shown in zip(both, known.tolist(), strict=True) if shown]

    def side(self, broker: int, side: Side) -> SideHistory:
        """Return the samples of one broker and side."""
        at = len(TOTALS) + 2 * (len(SIDES) * self.brokers.index(broker) + SIDES.index(side))
        return SideHistory(broker, str(side), _known(self.values[:, at]), _known(self.values[:, at + 1]))

    def history(self, keys: Iterable[Key]) -> History:
        """Return the totals, and the samples of some brokers and sides."""
        totals = {name: _known(column) for name, column in zip(TOTALS, self.values.T, strict=False)}
        return History(times=tuple(self.times.tolist()), **totals, sides=tuple(self.side(*key) for key in keys))


def _new(brokers: tuple[int, ...]) -> _Ring:
    columns = len(TOTALS) + 2 * len(SIDES) * len(brokers)
    size = max(min(int(SECONDS / FINEST), MOST_BYTES // (ITEM * columns + 8)), 2)
    return _Ring(brokers, np.zeros(size), np.full((size, columns), np.nan, np.float32))


def _moved(old: _Ring, brokers: tuple[int, ...]) -> _Ring:
    """Bring the samples to another set of brokers; the ring of a larger set may hold fewer."""
    ring = _new(brokers)
    order = np.arange(max(old.count - len(old.times), 0), old.count) % len(old.times)
    order = order[-len(ring.times) :]
    ring.times[: len(order)] = old.times[order]
    ring.values[: len(order), : len(TOTALS)] = old.values[order, : len(TOTALS)]
    places = {broker: place for place, broker in enumerate(old.brokers)}
    width = 2 * len(SIDES)
    for place, broker in enumerate(brokers):
        if broker in places:
            to, of = len(TOTALS) + width * place, len(TOTALS) + width * places[broker]
            ring.values[: len(order), to : to + width] = old.values[order, of : of + width]
    ring.count = len(order)
    return ring


def _sample(view: View, brokers: tuple[int, ...]) -> list[float]:
    derived = view.derived
    totals, cluster, unknown = derived.totals, derived.cluster, math.nan
    values = [
        unknown if totals.remaining_bytes is None else totals.remaining_bytes,
        unknown if totals.reassigning_partitions is None else totals.reassigning_partitions,
        int(cluster.under_replicated.sum()) if cluster.under_replicated_known else unknown,
        view.count(cluster.offline)[0],
        int(derived.replicas.out_of_sync.sum()),
    ]
    limits, rates = derived.throttles.limits, totals.catch_up
    for broker in brokers:
        for side in SIDES:
            limit = limits.get((broker, side))
            values += (rates.get((broker, side), unknown), unknown if limit is None else limit.value)
    return values


def _known(column: np.ndarray) -> tuple[float | None, ...]:
    return tuple(None if math.isnan(value) else value for value in column.tolist())
