"""Problems with the quotas of tiered storage: each raised, not raised, and not raised on what is not known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.derive import tiered as problems
from kafka_warden.model import Entity

INF = float("inf")
GIB = 1 << 30


@pytest.mark.parametrize(
    ("why", "rate", "quota", "overdue", "expected"),
    [
        ("the quota binds and something waits", 96.0, 100.0, True, True),
        ("exactly 0.95", 95.0, 100.0, True, True),
        ("above the quota, as a segment is counted whole", 300.0, 100.0, True, True),
        ("the quota does not bind", 94.0, 100.0, True, False),
        ("busy, but nothing waits", 99.0, 100.0, False, False),
        ("no quota", 1e12, INF, True, False),
        ("unknown rate", None, 100.0, True, None),
        ("unknown rate, but nothing waits", None, 100.0, False, False),
        ("unknown whether anything waits", 99.0, 100.0, None, None),
        ("nor that, but the quota does not bind", 9.0, 100.0, None, False),
        ("unknown rate, no quota", None, INF, True, False),
    ],
)
def test_copy_held_back(
    why: str, rate: float | None, quota: float, overdue: bool | None, expected: bool | None
) -> None:
    """Rate at 0.95 of the quota or above, and something overdue."""
    assert problems.copy_held_back(rate, quota, overdue) is expected, why


@pytest.mark.parametrize(
    ("why", "rate", "quota", "throttle", "expected"),
    [
        ("the quota binds", 95.0, 100.0, 0.0, True),
        ("consumers were throttled", 10.0, 100.0, 0.5, True),
        ("neither", 94.0, 100.0, 0.0, False),
        ("the throttle bean has vanished, and the rate is high", 95.0, 100.0, None, True),
        ("the throttle bean has vanished, and the rate is low", 10.0, 100.0, None, False),
        ("unknown rate", None, 100.0, 0.0, None),
        ("everything is unknown", None, 100.0, None, None),
        ("throttled, whatever the rate", None, 100.0, 0.5, True),
        ("no quota, and a throttle time of the minute before", 1e12, INF, 0.5, False),
    ],
)
def test_fetch_held_back(
    why: str, rate: float | None, quota: float, throttle: float | None, expected: bool | None
) -> None:
    """Rate at 0.95 of the quota or above, or a throttle time."""
    assert problems.fetch_held_back(rate, quota, throttle) is expected, why


@pytest.mark.parametrize(
    ("why", "quota", "segment", "window", "expected"),
    [
        ("1 GiB in 11 s needs 97.6 MB/s", 97.6e6, GIB, 11, True),
        ("and 97.7 MB/s do", 97.7e6, GIB, 11, False),
        ("equality is upheld", 10.0, 110, 11, False),
        ("a longer window", 10.0, 200, 20, False),
        ("no quota", INF, GIB, 11, False),
        ("a broker that leads none of these topics", 1.0, 0, 11, False),
    ],
)
def test_copy_quota_below_segment(why: str, quota: float, segment: float, window: float, expected: bool) -> None:
    assert problems.copy_quota_below_segment(quota, segment, window) is expected, why


@pytest.mark.parametrize(
    ("why", "rates", "expected"),
    [
        ("not known", None, None),
        ("no client has a quota", {}, True),
        ("only one client has", {(None, "app"): 1.0}, True),
        ("only one user has, with a default for his clients", {("alice", ""): 1.0}, True),
        ("a default client below", {(None, ""): 99.0}, False),
        ("a default user below", {("", None): 99.0}, False),
        ("a default pair below", {("", ""): 99.0}, False),
        ("a default client at the quota", {(None, ""): 100.0}, True),
        ("a default below, one client above", {(None, ""): 1.0, (None, "app"): 200.0}, True),
        ("a default below, one user above", {("", None): 1.0, ("alice", None): 200.0}, True),
        ("a default below, one pair above", {("", ""): 1.0, ("alice", "app"): 200.0}, True),
        ("a client's never applies where every user has one", {("", None): 1.0, (None, "app"): 200.0}, False),
        ("nor the default client's", {("", ""): 1.0, (None, ""): 200.0}, False),
        (
            "a user's never where all his clients have one",
            {(None, ""): 1, ("alice", ""): 2, ("alice", None): 200},
            False,
        ),
        ("the default user's never where the default pair is", {("", ""): 1.0, ("", None): 200.0}, False),
        ("a client's does beside another user's", {(None, ""): 1.0, ("alice", None): 1.0, (None, "app"): 200.0}, True),
    ],
)
def test_client_fetch_quota_above(why: str, rates: dict[Entity, float] | None, expected: bool | None) -> None:
    """Fetch quota 100: some client has no quota, or one that is not below it."""
    assert problems.client_fetch_quota_above(100.0, rates) is expected, why
    assert problems.client_fetch_quota_above(INF, rates) is False, why


numbers = st.floats(0, 1e12)
maybe = st.none() | numbers
truths = st.sampled_from([True, False, None])


@given(maybe, numbers | st.just(INF), truths, maybe)
def test_unknown_never_raises(rate: float | None, quota: float, overdue: bool | None, throttle: float | None) -> None:
    for guess in (0.0, 1e13):
        answer = problems.copy_held_back(rate, quota, overdue)
        guessed = problems.copy_held_back(
            guess if rate is None else rate, quota, guess > 0 if overdue is None else overdue
        )
        if answer is not None:
            assert answer is guessed
    if rate is None and not throttle:
        assert problems.fetch_held_back(rate, quota, throttle) is not True
