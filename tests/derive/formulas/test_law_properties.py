"""What must hold of the law of a throttled move for any headroom, burst, window and inbound rate."""

import math

from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.derive.law import Verdict, Window, ceiling, gross, verdict

rates = st.floats(0, 1e10)
headrooms = st.floats(-1e10, 1e10)
bursts = st.just(0.0) | st.floats(1, 1e9)
windows = st.builds(Window, st.integers(1, 100), st.floats(1, 60))


@given(headrooms, bursts, windows)
def test_gross_is_bounded(headroom: float, size: float, window: Window) -> None:
    """Gross is never negative, never NaN, never above c + B / window, and unlimited without a limit."""
    copied = gross(headroom, size, window)
    free = gross(math.inf, size, window)
    assert 0 <= copied <= max(ceiling(headroom, size, window), 0) * (1 + 1e-9)
    assert free == (math.inf if size else 0)


@given(headrooms, st.floats(0, 1e9), bursts, windows)
def test_more_limit_is_never_slower(headroom: float, more: float, size: float, window: Window) -> None:
    assert gross(headroom + more, size, window) >= gross(headroom, size, window)


@given(headrooms, bursts, rates, st.floats(0, 1e9))
def test_more_inbound_never_saves_a_flow(headroom: float, size: float, bytes_in: float, more: float) -> None:
    if verdict(headroom, size, bytes_in) is Verdict.NEVER:
        assert verdict(headroom, size, bytes_in + more) is Verdict.NEVER
