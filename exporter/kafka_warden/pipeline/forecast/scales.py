"""Scales on which growth may be straight, averaged by how well they explain the history.

Growth is a straight line as it is, by its root (topics and their rates both grow: the product of two lines), or by its
logarithm, almost (growth by a share a day). These are powers of Box and Cox (An Analysis of Transformations, Journal of
the Royal Statistical Society B 26, 1964). A few weeks rarely show which one it is, and that makes the difference of
weeks: each counts by its marginal likelihood (Hoeting, Madigan, Raftery and Volinsky, Bayesian Model Averaging,
Statistical Science 14, 1999). On the scale of a power, noise and cycles grow with the value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_warden.arrays import Floats
from kafka_warden.pipeline.forecast.trend import Kind, Trends

POWERS: Final = (0.5, 1.0, 0.02)
"""The first is in the middle: shocks are found on its scale. The last is nearly the logarithm, which is no power."""

WEIGHTS: Final = {Kind.COUNT: (1.0, 10.0, 1.0), Kind.STOCK: (2.0, 1.0, 5.0), Kind.FLOW: (6.0, 1.0, 8.0)}
"""Prior weights of `POWERS`: mostly topics are created at a steady rate, and the bytes of each of them grow, too. Few
histories show growth by a share a day before it matters, so it weighs more."""

HIGHEST: Final = 1e6
"""Largest multiple of the history's greatest value that a path reaches: floats end somewhere."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A power, in units of the values at their geometric mean: likelihoods of different powers are comparable then."""

    power: float
    mean: float
    """Geometric mean of the history."""
    highest: float
    """Greatest value that it returns."""

    def of(self, values: Floats) -> Floats:
        """Return values on this scale. `values`: above 0, unless the power is 1."""
        found: Floats = values**self.power * self._unit
        return found

    def back(self, scaled: Floats) -> Floats:
        """Return the values that are these on this scale; nothing is below 0."""
        highest = self.highest**self.power * self._unit
        found: Floats = (np.clip(scaled, 0.0, highest) / self._unit) ** (1 / self.power)
        return found

    def stretch(self, scaled: float) -> float:
        """Return the change of the value for a small change on this scale, here."""
        found: float = float(self.back(np.array(scaled)) / self.mean) ** (1 - self.power)
        return found

    @property
    def _unit(self) -> float:
        found: float = self.mean ** (1 - self.power) / self.power
        return found


def scales(values: Floats, resolution: float) -> list[Scale]:
    """Return the scales of a history; the only one of values that are not above `resolution` is the values' own."""
    if values.min() <= resolution:
        return [Scale(1.0, 1.0, np.inf)]
    mean, highest = float(np.exp(np.log(values).mean())), HIGHEST * float(values.max())
    return [Scale(power, mean, highest) for power in POWERS]


def shares(candidates: Sequence[Scale], fits: Sequence[Trends], kind: Kind) -> Floats:
    """Return how likely each scale is, 1 in all. `fits`: of the same history and shocks on each."""
    weights = dict(zip(POWERS, WEIGHTS[kind], strict=True))
    logs = np.array([np.log(weights[scale.power]) + fit.evidence for scale, fit in zip(candidates, fits, strict=True)])
    likely = np.exp(logs - logs.max())
    found: Floats = likely / likely.sum()
    return found
