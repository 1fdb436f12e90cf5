"""What grows: topics that are made, and bytes. The limits that are reached, and the true day of each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from exporter.formulas.limits import LEFT_OUT
from exporter.model import Floats, Parameters
from fleet.settings import DAY, Settings, chance
from fleet.topology import Cluster, Topic, draw_topic, make_topics, place
from fleet.truth import Reached

TOPIC: Final = 4.0
"""Mean partitions of a topic that is made later."""

FULL: Final = 0.8
"""Share of the horizon by which the limits of a growing cluster are reached at the latest."""

LOOKED_AT: Final = 4.0
"""Horizons after the end of history that topics are drawn for; what is not reached by then has no day."""


@dataclass(frozen=True, slots=True)
class Creation:
    """A topic that is made, and where."""

    at: float
    """Days after the first poll."""
    topic: Topic
    replicas: np.ndarray
    """(partitions, RF) broker ids."""


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
        """What is produced after so many days, of what was on the first."""
        return 1.0 + self.bytes_growth * max(days, 0.0)


def make_plan(settings: Settings, cluster: Cluster) -> Plan:
    """Draw everything that will be made in a cluster, and set limits that its growth reaches within the horizon."""
    creations = _creations(settings, cluster)
    luck = chance(settings, cluster.number, "limits")
    last = settings.days + LOOKED_AT * settings.horizon
    when = settings.days + float(luck.uniform(0.2, FULL)) * settings.horizon
    grows = settings.partition_growth > 0
    counted = _count(creations, cluster, last)
    at = int(np.searchsorted(counted.days, when, side="right")) - 1
    most = float(counted.partitions[at]) if grows else math.inf
    most_broker = float(counted.replicas[at].max()) if grows else math.inf
    disk, traffic = _rates(settings, creations, cluster, when)
    parameters = Parameters(
        poll_interval=settings.interval,
        max_partitions=most,
        max_broker_partitions=most_broker,
        network_bytes_per_second=float(traffic.max()) if settings.bytes_growth > 0 else None,
    )
    reached = list[Reached]()
    if grows:
        reached.append(_reached(settings, "cluster", "partitions", most, counted.days, counted.partitions))
        reached += [
            _reached(settings, str(broker), "replicas", most_broker, counted.days, counted.replicas[:, index])
            for index, broker in enumerate(cluster.brokers.tolist())
        ]
    if settings.bytes_growth > 0 and not grows:
        reached += _traffic_days(settings, cluster, traffic, parameters.network_bytes_per_second or math.inf, when)
    return Plan(tuple(creations), parameters, int(disk), tuple(reached), settings.bytes_growth)


@dataclass(frozen=True, slots=True)
class _Counted:
    """Partitions that count against KIP-578's limits, after each creation."""

    days: Floats
    partitions: Floats
    replicas: Floats
    """(creations, B)"""


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


def _count(creations: Sequence[Creation], cluster: Cluster, last: float) -> _Counted:
    counts = [each for each in creations if each.topic.name not in LEFT_OUT]
    hosted = np.array(
        [np.bincount(each.replicas.ravel(), minlength=len(cluster.brokers) + 1)[1:] for each in counts], np.float64
    ).reshape(len(counts), len(cluster.brokers))
    sizes = np.array([float(each.topic.partitions) for each in counts])
    days = np.array([each.at for each in counts])
    return _Counted(np.append(days, last), _held(sizes), _held(hosted))


def _held(made: Floats) -> Floats:
    """Add up what is made, and hold it to the last day."""
    total: Floats = np.cumsum(made, axis=0)
    return np.concatenate((total, total[-1:]))


def _reached(settings: Settings, subject: str, what: str, limit: float, days: Floats, values: Floats) -> Reached:
    over = np.flatnonzero(values >= limit)
    day = float(days[over[0]]) if len(over) and math.isfinite(limit) else None
    return Reached(subject, what, limit, day, None if day is None else settings.start + day * DAY)


def _rates(settings: Settings, creations: Sequence[Creation], cluster: Cluster, when: float) -> tuple[float, Floats]:
    """Bytes of a disk with room for what is there at a time, and (B,) what each broker leads takes in then."""
    held, led = np.zeros(len(cluster.brokers) + 1), np.zeros(len(cluster.brokers) + 1)
    factor = 1.0 + settings.bytes_growth * when
    for each in creations:
        if each.at > when:
            break
        kept = each.topic.retention if math.isfinite(each.topic.retention) else DAY
        np.add.at(held, each.replicas, each.topic.bytes_in * kept * factor)
        np.add.at(led, each.replicas[:, 0], each.topic.bytes_in * factor)
    return float(2 * held.max() + (64 << 30)), led[1:]


def _traffic_days(settings: Settings, cluster: Cluster, traffic: Floats, limit: float, when: float) -> list[Reached]:
    """Tell when the daily mean of what each broker leads reaches the network's bytes: growth is a straight line."""
    rise = settings.bytes_growth
    first = traffic / (1.0 + rise * when)
    found = []
    for broker, base in zip(cluster.brokers.tolist(), first.tolist(), strict=True):
        day = (limit / base - 1.0) / rise if base > 0 else math.inf
        near = day <= settings.days + LOOKED_AT * settings.horizon
        found.append(
            Reached(str(broker), "bytes_in", limit, day if near else None, settings.start + day * DAY if near else None)
        )
    return found
