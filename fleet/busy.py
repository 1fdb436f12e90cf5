"""The busiest hours of a broker's network, with days, weeks and noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from fleet.cycles import cycle, drifted
from fleet.made import Creation
from fleet.settings import DAY, HOUR, MINUTE, Settings, chance
from fleet.topology import Cluster
from kafka_warden.model import Floats

HOURS: Final = 24

STEP: Final = 5 * MINUTE
"""Seconds between two samples of the noise, if polls are not further apart: the noise changes more slowly."""


@dataclass(frozen=True, slots=True)
class Hours:
    """Means of whole hours, bytes per second of the partitions that a broker leads. H hours, B brokers."""

    days: Floats
    """(H,) at which each begins, after the first poll."""
    usual: Floats
    """(H, B) without noise."""
    real: Floats
    """(H, B) with noise of the same distribution as in the history, but not the same noise."""


def draw_hours(settings: Settings, creations: Sequence[Creation], cluster: Cluster, days: int) -> Hours:
    """Add up the produce rates of all topics, hour by hour."""
    began = np.arange(days * HOURS) / HOURS
    usual = _usual(settings, creations, began)
    leads = np.stack([np.bincount(each.replicas[:, 0], minlength=len(cluster.brokers) + 1)[1:] for each in creations])
    noise = _noise(settings, cluster, days, len(creations))
    return Hours(began, usual @ leads, (usual * noise) @ leads)


def _usual(settings: Settings, creations: Sequence[Creation], days: Floats) -> Floats:
    """(H, T) of one partition of each topic."""
    at = np.array([[each.at for each in creations]])
    bytes_in = np.array([[each.topic.bytes_in for each in creations]])
    phase = np.array([[each.topic.phase for each in creations]])
    swing = np.array([[each.topic.swing for each in creations]])
    days = days[:, None]
    middle = settings.start + days * DAY + HOUR / 2
    made: Floats = (1.0 + settings.bytes_growth * days) * cycle(middle, phase, swing) * bytes_in
    return np.where(days >= at, made, 0.0)


def _noise(settings: Settings, cluster: Cluster, days: int, topics: int) -> Floats:
    """(H, T) factors. Each day starts with new noise."""
    luck = chance(settings, cluster.number, "busy hours")
    seconds = min(max(settings.interval, STEP), HOUR)
    steps = round(HOUR / seconds)
    means = np.zeros((days, HOURS, topics))
    noise = drifted(np.zeros((days, topics)), np.inf, luck.standard_normal((days, topics)))
    for hour in range(HOURS):
        for _ in range(steps):
            noise = drifted(noise, seconds, luck.standard_normal((days, topics)))
            means[:, hour] += np.exp(noise) / steps
    return means.reshape(days * HOURS, topics)
