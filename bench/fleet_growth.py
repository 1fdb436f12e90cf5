"""Forecasts on generated fleets that grow, with the true days (docs/fleet.md, preset `growth`)."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from fleet import growth
from fleet.busy import HOURS
from fleet.growth import STEP, draw, plan_of
from fleet.presets import PRESETS
from fleet.settings import Settings
from fleet.topology import make_cluster
from fleet.truth import Reached
from kafka_warden.arrays import Floats
from kafka_warden.pipeline.forecast_model import Outcome, forecast
from kafka_warden.pipeline.forecast_trend import Kind
from tests.support.growth import HORIZON, LEVEL, Tried


@contextmanager
def near() -> Iterator[None]:
    """Draw one horizon and no more: what comes after it counts as its end."""
    far, growth.LOOKED_AT = growth.LOOKED_AT, 1.0  # type: ignore[misc]  # for as long as this lasts
    try:
        yield
    finally:
        growth.LOOKED_AT = far  # type: ignore[misc]


def fleets(seeds: Iterable[int], **other: float) -> Iterator[Tried]:
    """Try each fleet except those that have reached their limit. `other`: settings that differ from the preset."""
    for seed in seeds:
        settings = Settings(seed=seed, horizon=float(HORIZON), **{**PRESETS["growth"], **other})
        yield from (each for each in _of_fleet(settings) if each.said.outcome is not Outcome.REACHED)


def _of_fleet(settings: Settings) -> Iterator[Tried]:
    cluster = make_cluster(settings, 0)
    drawn = draw(settings, cluster)
    plan, hours, count = plan_of(settings, cluster, drawn), drawn.hours, round(settings.days)
    assert hours is not None
    reached = {(each.what, each.subject): each for each in plan.growth}
    if settings.partition_growth:
        made = drawn.curves.partitions.reshape(-1, round(1 / STEP)).max(axis=1)
        yield _said(reached["partitions", "cluster"], made[:count], Kind.COUNT)
    if settings.bytes_growth:
        busiest = hours.real.reshape(-1, HOURS, len(cluster.brokers)).max(axis=1)[:count]
        # By what is known on the last day, or it would be the one whose noise comes early.
        place = int(busiest[-7:].max(axis=0).argmax())
        yield _said(reached["bytes_in", str(place + 1)], busiest[:, place], Kind.FLOW)


def _said(true: Reached, values: Floats, kind: Kind) -> Tried:
    days = np.arange(len(values))
    last = len(values) - 1
    reached = None if true.day is None or true.day >= last + HORIZON + 1 else int(true.day)
    return Tried(kind, reached, last, forecast(days, values, true.limit, kind, horizon=HORIZON, level=LEVEL))
