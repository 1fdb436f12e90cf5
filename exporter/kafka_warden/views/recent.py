"""The last hour of a few numbers: its samples, at most 4 MB, and the curves of which the page makes SVG, `top` text."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import numpy as np

from kafka_warden.arrays import listed
from kafka_warden.catalogue import View
from kafka_warden.derive.replica_state import OUT_OF_SYNC
from kafka_warden.derive.throttle import SideKey
from kafka_warden.formatting import in_bytes, in_rate
from kafka_warden.model import SIDES, Side
from kafka_warden.views.fields import FAMILIES, Broker, Of, SideName, fields_of

SECONDS: Final = 3600.0
FINEST: Final = 4.5
"""Least seconds between two samples. It keeps every poll of an uneven interval of 5 s."""
MOST_BYTES: Final = 4 << 20
WIDTH: Final = 2 * len(SIDES)
"""Numbers of a broker: a rate and a limit for each side."""
SHORTEST: Final = 600.0
"""Seconds that a curve spans at least; at most an hour, as much as there is."""

Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class SideHistory:
    """Rate and limit of one broker and side, at the times of the history."""

    broker: Broker
    side: SideName
    catch_up: Annotated[tuple[float | None, ...], Of("broker_catch_up_bytes_per_second")]
    limit: Annotated[tuple[float | None, ...], Of("replication_throttle_bytes_per_second")]


@dataclass(frozen=True, slots=True)
class History:
    """The last hour: single-precision numbers, at most one poll every five seconds."""

    times: Annotated[tuple[float, ...], "Unix times of the polls, ascending"]
    remaining_bytes: Annotated[tuple[float | None, ...], Of("reassignment_total_bytes_remaining")]
    reassigning_partitions: Annotated[tuple[float | None, ...], Of("reassigning_partitions")]
    under_replicated_partitions: Annotated[tuple[float | None, ...], Of("under_replicated_partitions")]
    offline_partitions: Annotated[tuple[float | None, ...], Of("offline_partitions")]
    out_of_sync: Annotated[tuple[float | None, ...], "Replicas out of sync"]
    sides: Annotated[tuple[SideHistory, ...], "By broker and side: those that had a limit or copied"]


OF_CLUSTER: Final[Mapping[str, Any]] = {
    name: FAMILIES[of.metric] for name, (_, of) in fields_of(History).items() if isinstance(of, Of)
}
"""Fields of `History` with one sample of a family per poll."""
TOTALS: Final = (*OF_CLUSTER, "out_of_sync")


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """The numbers of one poll."""

    time: float
    """Unix seconds."""
    brokers: tuple[int, ...]
    values: np.ndarray
    """(columns,) single precision, NaN is unknown: the totals, then those of each broker."""

    def of(self, brokers: tuple[int, ...]) -> np.ndarray:
        """Return the values for other brokers."""
        if brokers == self.brokers:
            return self.values
        places = {broker: place for place, broker in enumerate(self.brokers)}
        found = np.full((len(brokers), WIDTH), np.nan, np.float32)
        for row, broker in enumerate(brokers):
            if broker in places:
                found[row] = self.values[len(TOTALS) :].reshape(-1, WIDTH)[places[broker]]
        return np.concatenate((self.values[: len(TOTALS)], found.ravel()))


class Recent:
    """Adds a sample per poll on the thread of the polls; any thread may read."""

    def __init__(self) -> None:
        self._samples: tuple[_Sample, ...] = ()

    def add(self, view: View) -> None:
        """Add the numbers of a poll, unless the last sample is too new. Costs a fraction of a millisecond."""
        time, brokers = view.snapshot.time, tuple(view.derived.indexed.brokers.tolist())
        last = self._samples[-1] if self._samples else _Sample(-math.inf, (), np.zeros(0))
        values = np.array(_numbers(view, brokers), np.float32)
        most = max(min(int(SECONDS / FINEST), MOST_BYTES // values.nbytes), 2)
        # A clock that was set back leaves no gap of hours, and no time comes twice.
        if not 0 <= time - last.time < SECONDS / most:
            sample = _Sample(time, last.brokers if brokers == last.brokers else brokers, values)
            before = [each for each in self._samples if each.time < time]
            self._samples = (*before[1 - most :], sample)

    def read(self) -> "Samples":
        """Return the samples of the last hour, oldest first."""
        if not self._samples:
            return Samples((), np.zeros(0), np.zeros((0, len(TOTALS)), np.float32))
        last = self._samples[-1]
        kept = [each for each in self._samples if last.time - SECONDS < each.time]
        values = np.stack([each.of(last.brokers) for each in kept])
        return Samples(last.brokers, np.array([each.time for each in kept]), values)


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """The samples of one set of brokers. Rows become values only where they are asked for."""

    brokers: tuple[int, ...]
    times: np.ndarray
    """(N,) Unix seconds."""
    values: np.ndarray
    """(N, columns)"""

    def shown_sides(self) -> list[SideKey]:
        """Return the brokers and sides that had a limit or copied."""
        known = np.isfinite(self.values[:, len(TOTALS) :]).any(axis=0).reshape(-1, 2).any(axis=1)
        both = [(broker, side) for broker in self.brokers for side in SIDES]
        return [key for key, shown in zip(both, known.tolist(), strict=True) if shown]

    def side(self, broker: int, side: Side) -> SideHistory:
        """Return the samples of one broker and side."""
        at = len(TOTALS) + WIDTH * self.brokers.index(broker) + 2 * SIDES.index(side)
        return SideHistory(broker, str(side), *(tuple(listed(self.values[:, column])) for column in (at, at + 1)))

    def history(self, keys: Iterable[SideKey]) -> History:
        """Return the totals, and the samples of some brokers and sides."""
        totals = {name: tuple(listed(column)) for name, column in zip(TOTALS, self.values.T, strict=False)}
        return History(times=tuple(self.times.tolist()), **totals, sides=tuple(self.side(*key) for key in keys))


def _numbers(view: View, brokers: tuple[int, ...]) -> list[float]:
    derived, unknown = view.derived, math.nan
    values = [next((value for _, value in family.read(view)), unknown) for family in OF_CLUSTER.values()]
    values.append(int(derived.replicas.out_of_sync[:, OUT_OF_SYNC].sum()))
    for broker in brokers:
        for side in SIDES:
            limit = derived.throttles.limits.get((broker, side))
            values += (derived.totals.catch_up.get((broker, side), unknown), unknown if limit is None else limit.value)
    return values


@dataclass(frozen=True, slots=True)
class Curve:
    """A number over time, beside a limit if there is one, and what it says."""

    about: str
    times: Sequence[float]
    """Unix s, ascending."""
    values: Values
    limit: Values = ()

    @property
    def top(self) -> float:
        """The value at the upper end of a plot, above 0."""
        finite = [each for each in (*self.values, *self.limit) if each is not None and math.isfinite(each)]
        return max(finite, default=0.0) * 1.05 or 1.0

    def steps(self, values: Values, count: int) -> list[tuple[int, float | None]]:
        """Return the largest value of each step that has samples, of 0 to `count`, which has the last one."""
        found: dict[int, float | None] = {}
        span = max(self.times[-1] - self.times[0], SHORTEST) if self.times else SHORTEST
        for time, value in zip(self.times, values, strict=False):
            step = round((time - self.times[-1]) / span * count) + count
            shown = value if value is not None and math.isfinite(value) else None
            before = found.get(step)
            found[step] = shown if before is None else before if shown is None else max(before, shown)
        return sorted(found.items())


def of_side(history: History, side: SideHistory) -> Curve:
    """Return the rate of one broker and side against its limit."""
    rate, limit = _last(side.catch_up), _last(side.limit)
    about = f"Copied in the last hour: now {in_rate(rate) if rate is not None else 'nothing'}"
    if limit is not None and not math.isinf(limit):
        about += f", limit {in_rate(limit)}"
    return Curve(about, history.times, side.catch_up, side.limit)


def of_remaining(history: History) -> Curve:
    """Return the bytes that all moves lack."""
    left = _last(history.remaining_bytes)
    about = f"Bytes left in the last hour: now {in_bytes(left) if left is not None else 'not known'}"
    return Curve(about, history.times, history.remaining_bytes)


def of_out_of_sync(history: History) -> Curve:
    """Return the number of replicas out of sync."""
    now, what = _last(history.out_of_sync), "Replicas out of sync"
    about = f"{what} in the last hour: now {now:.0f}" if now is not None else what
    return Curve(about, history.times, history.out_of_sync)


def _last(values: Values) -> float | None:
    return values[-1] if values else None
