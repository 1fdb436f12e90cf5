"""The parts of a forecast whose exact values are known."""

import numpy as np
import pytest

from kafka_warden.arrays import Longs
from kafka_warden.pipeline.forecast_model import Drawn, simulate
from kafka_warden.pipeline.forecast_trend import GRID, NONE, Shocks, has_cycle, studentized

DAYS = np.arange(14)
PATHS = 2000


@pytest.mark.parametrize(
    ("days", "expected"), [(np.arange(21), True), (np.arange(30, 50), False), (np.arange(22) // 7 * 7, False)]
)
def test_a_cycle_needs_three_weeks_and_each_day_of_the_week(days: Longs, expected: bool) -> None:
    """From the first day to the last; single days may be missing."""
    assert has_cycle(days) is expected


def test_distances_are_externally_studentized_residuals() -> None:
    values = 100.0 + 2 * DAYS + np.random.default_rng(1).normal(0, 1, 14)
    line = np.column_stack([np.ones(14), DAYS])
    hat = line @ np.linalg.pinv(line)
    off, leverage = values - hat @ values, np.diag(hat)

    found = studentized(DAYS, values, np.zeros((14, 0)), np.eye(14), 0, 0.0)

    assert found == pytest.approx(np.abs(off) * np.sqrt(11 / (off @ off * (1 - leverage) - off**2)))


def test_noise_fades_from_its_last_day_and_keeps_its_size() -> None:
    point = int(np.flatnonzero((GRID == (0.9, 0.0, 0.0)).all(axis=1))[0])
    drawn = Drawn(np.full(PATHS, point), np.tile([100.0, 0.0, 3.0], (PATHS, 1)), np.full(PATHS, 2.0))

    paths = simulate(DAYS, NONE, drawn, 60, np.random.default_rng(1))

    assert paths[:, 0].tolist() == [103.0] * PATHS
    assert paths[:, 1].mean() == pytest.approx(102.7, abs=0.1)
    assert (paths[:, -1].mean(), paths[:, -1].std()) == pytest.approx((100.0, 2.0), abs=0.15)


def test_steps_and_spikes_come_as_often_as_before() -> None:
    shocks = Shocks(np.array([5, 9]), np.array([True, False]))
    drawn = Drawn(np.zeros(PATHS, np.int64), np.tile([100.0, 0.0, 0.0, 1.0, 1000.0], (PATHS, 1)), np.zeros(PATHS))

    paths = simulate(DAYS, shocks, drawn, 60, np.random.default_rng(1))

    assert (paths > 1000).mean() == pytest.approx(1.5 / 14, rel=0.1)
    assert (paths % 1000)[:, -1].mean() == pytest.approx(100 + 60 * 1.5 / 14, rel=0.02)
