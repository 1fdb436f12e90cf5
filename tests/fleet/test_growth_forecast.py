"""The forecast on fleets that grow, against the true days: as often right as it says, and narrow enough."""

from typing import Final

import pytest

from kafka_warden.pipeline.forecast.trend import Kind
from tests.support.fleet_growth import fleets, near
from tests.support.growth import Figures, Tried

pytestmark = pytest.mark.full_pipeline

SEEDS: Final = 200
LEAST: Final = 0.85
WIDEST: Final = 40.0
"""Days."""

GROWS: Final = {
    "partitions": {"bytes_growth": 0.0},
    "bytes_in": {"partition_growth": 0.0},
    "both": {},
}
"""What is not growing in each case."""


@pytest.fixture(scope="module", params=GROWS)
def tried(request: pytest.FixtureRequest) -> list[Tried]:
    """Of each fleet what grows: its partitions, or what comes into its busiest broker; of both, the latter."""
    with near():
        found = list(fleets(range(SEEDS), **GROWS[request.param]))
    return [each for each in found if request.param != "both" or each.kind is Kind.FLOW]


def test_the_true_day_lies_in_the_interval(tried: list[Tried]) -> None:
    figures = Figures.of(tried)
    print(f"{len(tried)} fleets, {figures}")
    assert len(tried) >= 0.8 * SEEDS
    assert figures.covered >= LEAST
    assert figures.width <= WIDEST
    assert figures.off <= figures.line_off
