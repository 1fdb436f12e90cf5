"""What grows follows its curve, and reaches its limit on the day that the truth names."""

import numpy as np
import pytest

from fleet.growth import Drawn, draw
from fleet.settings import DAY, HOUR, Settings
from fleet.simulation import Simulation
from kafka_warden.model import Snapshot

SETTINGS = Settings(
    seed=11, brokers=4, partitions=20, days=60, interval=8 * HOUR, partition_growth=2, bytes_growth=0.02, horizon=90,
    faults=0, bursts=0, restarts=0, moves=0,
)  # fmt: skip
WEEK = 21
"""Polls."""

Grown = tuple[Simulation, list[Snapshot], Drawn]


@pytest.fixture(scope="module")
def grown() -> Grown:
    simulation = Simulation(SETTINGS, 0)
    return simulation, [each.snapshot for each in simulation.sights()], draw(SETTINGS, simulation.world.cluster)


def test_every_limit_has_its_day(grown: Grown) -> None:
    simulation, _, drawn = grown
    curves = drawn.curves
    reached = {(each.subject, each.what): each for each in simulation.world.truth.growth}
    cluster = reached["cluster", "partitions"]

    assert {what for _, what in reached} == {"partitions", "replicas", "bytes_in", "disk_bytes"}
    assert len(reached) == 1 + 3 * SETTINGS.brokers
    assert cluster.limit == simulation.world.plan.parameters.max_partitions
    assert cluster.limit > curves.partitions[0]
    for what in ("replicas", "bytes_in", "disk_bytes"):
        days = [each.day for each in reached.values() if each.what == what and each.day is not None]
        assert SETTINGS.days < min(days) < SETTINGS.days + SETTINGS.horizon
    assert cluster.reached == SETTINGS.start + (cluster.day or 0) * DAY
    assert curves.partitions[np.searchsorted(curves.days, cluster.day or 0)] >= cluster.limit
    assert curves.partitions[np.searchsorted(curves.days, (cluster.day or 0) - 1)] < cluster.limit


def test_partitions_are_made_as_the_curve_says(grown: Grown) -> None:
    simulation, seen, drawn = grown
    curves = drawn.curves
    left_out = sum(topic.compacted * topic.partitions for topic in simulation.world.topics)
    for snapshot in seen:
        at = int(np.searchsorted(curves.days, (snapshot.time - SETTINGS.start) / DAY))
        count = len(snapshot.partitions) - left_out

        assert abs(count - curves.partitions[at]) <= max(topic.partitions for topic in simulation.world.topics)
        assert len(snapshot.replicas) == 3 * (count + left_out)


def test_bytes_are_those_of_the_curve(grown: Grown) -> None:
    _, seen, drawn = grown
    curves, hours = drawn.curves, drawn.hours
    assert hours is not None
    first, last = seen[-WEEK - 1], seen[-1]
    seconds = last.time - first.time
    week, week_hours = (
        slice(*(int(np.searchsorted(days, (each.time - SETTINGS.start) / DAY)) for each in (first, last)))
        for days in (curves.days, hours.days)
    )
    for index in range(SETTINGS.brokers):
        count = [each.broker_beans[index + 1].values["bytes_in_total"] for each in (first, last)]
        held = np.mean([each.log_dirs[index].bytes for each in seen[-WEEK:]])

        assert (count[1] - count[0]) / seconds == pytest.approx(hours.usual[week_hours, index].mean(), rel=0.06)
        assert held == pytest.approx(curves.disk_bytes[week, index].mean(), rel=0.08)
        assert hours.usual[week_hours, index].mean() > 1.8 * hours.usual[: 7 * 24, index].mean()
