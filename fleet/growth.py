"""Growth: new topics, and bytes. The limits that are reached, and the true day of each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from fleet.busy import Hours, draw_hours
from fleet.made import Creation
from fleet.settings import DAY, WEEK, Settings, chance
from fleet.topology import KEPT_BYTES, Cluster, draw_topic, make_topics, place
from fleet.truth import Reached
from kafka_warden.derive.limits import INTERNAL
from kafka_warden.model import Floats, Parameters

TOPIC: Final = 4.0
"""Mean partitions of a topic that is created later."""

FULL: Final = 0.8
"""Share of the horizon by which the limits of a growing cluster are reached at the latest."""

ROOM: Final = 64 << 30
"""Bytes of a disk that nothing fills."""

STEP: Final = 0.05
"""Days between two checks of the limits."""

LOOKED_AT: Final = 4.0
"""Horizons after the end of history for which topics are drawn; a limit that is not reached by then has no day."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All topics that a cluster ever has, and its limits."""

    creations: tuple[Creation, ...]
    parameters: Parameters
    disk: int
    """Bytes of each broker's disk."""
    growth: tuple[Reached, ...]
    bytes_growth: float

    def factor(self, days: float) -> float:
        """Produce rate after some days, as a multiple of the first day."""
        return 1.0 + self.bytes_growth * max(days, 0.0)


def _busiest(hours: Hours, day: float) -> float:
    """Bytes per second of the busiest hour of the week before a day, of any broker, without noise."""
    week = (hours.days > day - WEEK / DAY) & (hours.days <= day)
    return float(round(hours.usual[week].max()))


@dataclass(frozen=True, slots=True)
class Curves:
    """Future sizes, except the inbound rate, which is in `fleet.busy`. T moments, B brokers."""

    days: Floats
    """(T,) after the first poll."""
    partitions: Floats
    """(T,) of the cluster, as KIP-578's limits count them."""
    replicas: Floats
    """(T, B) the same."""
    disk_bytes: Floats
    """(T, B)"""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The future topics of a cluster, and its future sizes."""

    creations: tuple[Creation, ...]
    curves: Curves
    hours: Hours | None
    """None where nothing grows."""


def draw(settings: Settings, cluster: Cluster) -> Drawn:
    """Draw all of it, for some time after the history."""
    creations = tuple(_creations(settings, cluster))
    curves = draw_curves(settings, creations, cluster)
    grows = settings.partition_growth > 0 or settings.bytes_growth > 0
    hours = draw_hours(settings, creations, cluster, round(curves.days[-1])) if grows else None
    return Drawn(creations, curves, hours)


def make_plan(settings: Settings, cluster: Cluster) -> Plan:
    """Draw the future topics of a cluster, and set limits that its growth reaches within the horizon."""
    return plan_of(settings, cluster, draw(settings, cluster))


def plan_of(settings: Settings, cluster: Cluster, drawn: Drawn) -> Plan:
    """Set limits for the drawn growth."""
    curves, hours = drawn.curves, drawn.hours
    luck = chance(settings, cluster.number, "limits")
    when = settings.days + float(luck.uniform(0.2, FULL)) * settings.horizon
    at = int(np.searchsorted(curves.days, when))
    makes = settings.partition_growth > 0
    parameters = Parameters(
        poll_interval=settings.interval,
        max_partitions=float(curves.partitions[at]) if makes else math.inf,
        max_broker_partitions=float(curves.replicas[at].max()) if makes else math.inf,
        network_bytes_per_second=None if hours is None else _busiest(hours, when),
    )
    disk = int(2 * curves.disk_bytes[0].max() + ROOM) if hours is None else int(curves.disk_bytes[at].max())
    limits = (parameters.max_partitions, parameters.max_broker_partitions, parameters.network_bytes_per_second, disk)
    reached = () if hours is None else _reached(settings, cluster, curves, hours, limits)
    return Plan(drawn.creations, parameters, disk, reached, settings.bytes_growth)


def draw_curves(settings: Settings, creations: Sequence[Creation], cluster: Cluster) -> Curves:
    """Add up all topics over the time until which they were drawn."""
    days = np.arange(0.0, settings.days + LOOKED_AT * settings.horizon, STEP)
    wide = (len(days), len(cluster.brokers))
    curves = Curves(days, np.zeros(len(days)), np.zeros(wide), np.zeros(wide))
    factor = 1.0 + settings.bytes_growth * days
    for each in creations:
        there, topic = slice(int(np.searchsorted(days, each.at)), None), each.topic
        hosted = np.bincount(each.replicas.ravel(), minlength=wide[1] + 1)[1:]
        if topic.name not in INTERNAL:
            curves.partitions[there] += topic.partitions
            curves.replicas[there] += hosted
        curves.disk_bytes[there] += np.outer(_held(each, days[there], factor[there]), hosted)
    return curves


def _held(creation: Creation, days: Floats, factor: Floats) -> Floats:
    """Bytes of one replica: the bytes in retention and half a segment, or all bytes since it was created."""
    topic = creation.topic
    if topic.compacted:
        return np.full(len(days), topic.bytes_in * DAY / 4)
    kept = np.maximum(topic.bytes_in * factor * topic.retention, KEPT_BYTES) + topic.segment / 2
    first = topic.bytes_in * topic.retention if creation.at <= 0 else 0.0
    return np.minimum(kept, first + topic.bytes_in * factor * (days - creation.at) * DAY)


def _creations(settings: Settings, cluster: Cluster) -> list[Creation]:
    found, placed = list[Creation](), 0
    for topic in make_topics(settings, cluster.number):
        found.append(Creation(0.0, topic, place(cluster, placed, topic.partitions)))
        placed += topic.partitions
    if settings.partition_growth <= 0:
        return found
    luck, day = chance(settings, cluster.number, "creations"), 0.0
    last = settings.days + LOOKED_AT * settings.horizon
    while (day := day + float(luck.exponential(TOPIC / settings.partition_growth))) < last:
        size = int(luck.geometric(1 / TOPIC))
        topic = draw_topic(settings, cluster.number, len(found), size, float(luck.lognormal(-1.5, 1.0)))
        found.append(Creation(day, topic, place(cluster, placed, size)))
        placed += size
    return found


def _reached(
    settings: Settings, cluster: Cluster, curves: Curves, hours: Hours, limits: tuple[float, float, float | None, float]
) -> tuple[Reached, ...]:
    """Return when each limit of the cluster and of each broker is reached; the inbound rate by the hour."""
    most, most_broker, network, disk = limits
    found = [_first(settings, "cluster", "partitions", most, curves.days, curves.partitions)]
    for index, broker in enumerate(cluster.brokers.tolist()):
        for what, limit, days, values in (
            ("replicas", most_broker, curves.days, curves.replicas),
            ("bytes_in", network, hours.days, hours.real),
            ("disk_bytes", disk, curves.days, curves.disk_bytes),
        ):
            found.append(_first(settings, str(broker), what, limit or math.inf, days, values[:, index]))
    return tuple(each for each in found if math.isfinite(each.limit))


def _first(settings: Settings, subject: str, what: str, limit: float, days: Floats, values: Floats) -> Reached:
    over = np.flatnonzero(values >= limit)
    day = float(days[over[0]]) if len(over) else None
    return Reached(subject, what, limit, day, None if day is None else settings.start + day * DAY)
