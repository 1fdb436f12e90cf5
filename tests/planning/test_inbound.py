"""The mean inbound rate of several polls."""

import math

import numpy as np
import pytest

from kafka_warden.planning.inbound import step
from tests.building import Partition, snapshot


def test_the_mean_is_weighted_by_time() -> None:
    """10 s at 100 and 30 s at 20 have the mean 40; unknown rates do not count."""
    topics = {"t": [Partition(), Partition()]}
    state = step(None, snapshot(topics, clock=0), np.array([math.nan, math.nan]))
    assert np.isnan(state.rates).all()

    state = step(state, snapshot(topics, clock=10), np.array([100.0, math.nan]))
    state = step(state, snapshot(topics, clock=40), np.array([20.0, 7.0]))

    assert state.rates.tolist() == [40.0, 7.0]
    assert (state.polls, state.longest) == (3, 40.0)


def test_new_topics_move_the_rows() -> None:
    state = step(None, snapshot({"b": [Partition()]}, clock=0), np.array([math.nan]))
    state = step(state, snapshot({"b": [Partition()]}, clock=10), np.array([50.0]))
    state = step(state, snapshot({"a": [Partition()], "b": [Partition()]}, clock=20), np.array([math.nan, 70.0]))
    assert math.isnan(state.rates[0])
    assert state.rates[1] == pytest.approx(60.0)
