"""The forecast on fleets that grow, against the true days: as often right as it says, and narrow enough."""

from collections.abc import Iterator
from dataclasses import dataclass
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
from kafka_warden.formulas.forecast import Forecast, Outcome, forecast
from kafka_warden.formulas.forecast_trend import Kind
from kafka_warden.formulas.ops import Floats
from tests.formulas.growth import HORIZON

pytestmark = pytest.mark.full_pipeline

SEEDS: Final = 200
LEVEL: Final = 0.9
LEAST: Final = 0.85
WIDEST: Final = 40.0
"""Days."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What was said of what a truth names. Days after the first poll; none is after the horizon."""

    true: Reached
    said: Forecast
    last: int

    @property
    def day(self) -> float:
        """The true day, as days of the history count."""
        return np.inf if self.true.day is None else float(np.floor(self.true.day))

    @property
    def covered(self) -> bool:
        """Whether it is in the interval."""
        low, high = (np.inf if day is None else day for day in (self.said.day_low, self.said.day_high))
        end = self.last + HORIZON
        return bool(low <= (self.day if self.day <= end else np.inf) <= high)

    @property
    def width(self) -> float:
        """Days of the interval within the horizon."""
        return self._cut(self.said.day_high) - self._cut(self.said.day_low)

    def error(self, day: int | None) -> float:
        """Days that a day is off."""
        return abs(self._cut(day) - min(self.day, self.last + 1 + HORIZON))

    def _cut(self, day: int | None) -> float:
        end = float(self.last + 1 + HORIZON)
        return end if day is None else min(float(day), end)


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
    return [each for each in _tried() if each.true.what == "bytes_in"]


def _tried(seeds: range = range(SEEDS), **other: float) -> Iterator[Tried]:
    """Of each fleet but those that have reached their limit: nothing is ahead of them."""
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
    return Tried(true, forecast(days, values, true.limit, kind, horizon=HORIZON, level=LEVEL), len(values) - 1)


def _figures(of: list[Tried]) -> tuple[float, float, float, float]:
    """Share that is covered; days of the median width; days that median and straight line are off."""
    covered, width = float(np.mean([one.covered for one in of])), float(np.median([one.width for one in of]))
    ours = float(np.median([one.error(one.said.day) for one in of]))
    line = float(np.median([one.error(one.said.baseline_day) for one in of]))
    print(
        f"{of[0].true.what}: {len(of)} fleets, covered {covered:.3f}, width {width:.1f} days,"
        f" off {ours:.1f}, line off {line:.1f}"
    )
    return covered, width, ours, line


def test_the_true_day_lies_in_the_interval(tried: list[Tried]) -> None:
    """In nearly nine of ten, with intervals that leave most of the horizon out; nearer than a straight line."""
    covered, width, ours, line = _figures(tried)
    assert len(tried) >= 0.8 * SEEDS
    assert covered >= LEAST
    assert width <= WIDEST
    assert ours <= line


def test_what_grows_faster_and_faster_is_reached_earlier(compound: list[Tried]) -> None:
    """Growth is taken for linear: then the interval is late, and still nearer than a straight line."""
    _, _, ours, line = _figures(compound)
    assert ours < line
