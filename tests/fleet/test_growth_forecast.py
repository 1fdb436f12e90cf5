"""The forecast on fleets that grow, against the true days: as often right as it says, and narrow enough."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pytest

from fleet import growth
from fleet.busy import HOURS
from fleet.growth import STEP, draw, plan_of
from fleet.presets import PRESETS
from fleet.settings import Settings
from fleet.topology import make_cluster
from fleet.truth import Reached
from kafka_warden.formulas.forecast import Outcome, forecast
from kafka_warden.formulas.forecast_trend import Kind
from kafka_warden.formulas.ops import Floats
from tests.support.growth import HORIZON, Figures, Tried

pytestmark = pytest.mark.full_pipeline

SEEDS: Final = 200
LEVEL: Final = 0.9
LEAST: Final = 0.85
WIDEST: Final = 40.0
"""Days."""


@pytest.fixture(scope="module", autouse=True)
def near() -> Iterator[None]:
    """Draw one horizon and no more: what comes after it counts as its end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, "LOOKED_AT", 1.0)
        yield


@pytest.fixture(scope="module", params=["partitions", "bytes_in"])
def tried(near: None, request: pytest.FixtureRequest) -> list[Tried]:
    """Of each fleet what grows alone: its partitions, or what comes into its busiest broker."""
    return list(_tried(bytes_growth=0.0) if request.param == "partitions" else _tried(partition_growth=0.0))


@pytest.fixture(scope="module")
def compound(near: None) -> list[Tried]:
    """What comes into the busiest broker where topics are made and each of them grows: more and more every day."""
    return [each for each in _tried() if each.kind is Kind.FLOW]


def _tried(seeds: range = range(SEEDS), **other: float) -> Iterator[Tried]:
    """Of each fleet except those that have reached their limit."""
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


def test_the_true_day_lies_in_the_interval(tried: list[Tried]) -> None:
    """In nearly nine of ten, with intervals that leave most of the horizon out; nearer than a straight line."""
    figures = Figures.of(tried)
    print(f"{len(tried)} fleets, {figures}")
    assert len(tried) >= 0.8 * SEEDS
    assert figures.covered >= LEAST
    assert figures.width <= WIDEST
    assert figures.off <= figures.line_off


def test_growth_that_accelerates_is_reached_earlier(compound: list[Tried]) -> None:
    """The forecast takes growth for linear: then the interval is late, and still nearer than a straight line."""
    figures = Figures.of(compound)
    print(f"{len(compound)} fleets, {figures}")
    assert figures.off < figures.line_off
