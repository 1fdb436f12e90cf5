"""Forecasts of any history whatever."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_warden.pipeline.forecast_model import Outcome, forecast
from kafka_warden.pipeline.forecast_trend import Kind

VALUES = st.one_of(st.sampled_from([0.0, 1.0, 1e15]), st.floats(0, 1e15), st.integers(0, 20).map(float))


@given(
    history=st.dictionaries(st.integers(0, 120), VALUES, max_size=70),
    limit=st.one_of(st.none(), st.just(math.inf), st.floats(1, 1e16)),
    kind=st.sampled_from(list(Kind)),
)
@settings(max_examples=100, deadline=None)
def test_any_history_has_an_answer(history: dict[int, float], limit: float | None, kind: Kind) -> None:
    days = np.array(sorted(history), np.int64)
    values = np.array([history[day] for day in days.tolist()])
    found = forecast(days, values, limit, kind, horizon=20)

    low, day, high = (math.inf if each is None else each for each in (found.day_low, found.day, found.day_high))
    assert low <= day <= high
    assert (found.day is not None) is (found.outcome in {Outcome.REACHED, Outcome.WITHIN})
    if found.band is not None:
        for column in (found.band.low, found.band.median, found.band.high):
            assert np.isfinite(column).all()
        assert found.growth_per_day is not None
        assert math.isfinite(found.growth_per_day)
