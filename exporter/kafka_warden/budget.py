"""Chooses the series of a page that `limits.series` has room for. The choice changes little from page to page."""

import math
from collections.abc import Iterable
from typing import Final

from kafka_warden.catalogue import Metric, Rank, Sample, SidecarMetric
from kafka_warden.catalogue.metric import Counted, Labels

BROKER_SERIES: Final = 2_000
"""Series by broker that do not count against `limits.series`: all those of some 30 brokers."""

FIXED_SERIES: Final = 500
"""At most so many series are of families that do not grow with the cluster. They do not count, either."""

SURE: Final = 0.75
"""Of a family that is cut, the series in this part of its room are always shown."""

KEPT: Final = 1.5
"""The rest of the room goes first to series that were shown before, up to this multiple of the room."""

GROWTH: Final = 1.1
"""The room of a family that is cut grows when there is this much of it: a room that changes in each poll is no use."""


class Budget:
    """Gives each part of a page its room, in the order of the ranks."""

    def __init__(self, series: int) -> None:
        self._series = series
        self._left = self._left_brokers = 0
        self._cut: dict[tuple[Rank, str], frozenset[Labels]] = {}
        """Of each part that the last page had to cut, the series that it showed."""

    def begin(self) -> None:
        """Start a page."""
        self._left, self._left_brokers = self._series, BROKER_SERIES

    def choose(
        self, rank: Rank, metric: Metric | SidecarMetric, samples: Iterable[Sample]
    ) -> tuple[dict[Labels, float], int]:
        """Return the samples of this part that are shown, and the number of the others.

        A label set that appears twice keeps its first value, since a page with both is refused.
        """
        if rank is Rank.FIXED:
            return _first(samples, math.inf, math.inf)[0], 0
        by_broker = "topic" not in metric.labels and "user" not in metric.labels
        room = self._left + (self._left_brokers if by_broker else 0)
        before = self._cut.pop((rank, metric.name), frozenset())
        used = min(room, len(before)) if room <= GROWTH * len(before) else room
        chosen, spare, left_out = _first(samples, SURE * used, KEPT * used)
        if len(chosen) + len(spare) + left_out > room:
            kept = sorted(spare, key=lambda labels: labels not in before)[: used - len(chosen)]
            left_out += len(spare) - len(kept)
            spare = {labels: spare[labels] for labels in kept}
        chosen |= spare
        if left_out:
            self._cut[rank, metric.name] = frozenset(chosen)
        free = min(len(chosen), self._left_brokers) if by_broker else 0
        self._left_brokers -= free
        self._left -= len(chosen) - free
        return chosen, left_out


def _first(samples: Iterable[Sample], sure: float, most: float) -> tuple[dict[Labels, float], dict[Labels, float], int]:
    """Return the first known samples up to `sure`, those after them up to `most`, and the number of the others."""
    chosen: dict[Labels, float] = {}
    spare: dict[Labels, float] = {}
    left_out = 0
    for number, (labels, value) in enumerate(samples):
        if math.isnan(value) or labels in chosen:
            continue
        if len(chosen) < sure:
            chosen[labels] = value
        elif labels not in spare:
            if len(chosen) + len(spare) < most:
                spare[labels] = value
            elif isinstance(samples, Counted):
                return chosen, spare, len(samples) - number
            else:
                left_out += 1
    return chosen, spare, left_out
