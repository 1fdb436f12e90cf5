"""Tiered storage: what is overdue, for how long it has stalled, and problems of its quotas, unknown where a part is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.arrays import UNKNOWN, Floats
from kafka_warden.derive import tiered
from kafka_warden.derive.tiered import Copying
from kafka_warden.model import NOTHING_TIERED, Entity

NAN, INF = float("nan"), float("inf")


def overdue_of(
    values: tuple[int, int, int, float, float], seconds: float = 0.0, size: float = 0.0, due: int = UNKNOWN
) -> Floats:
    """Overdue bytes of one partition: end, start, copied offset, bytes per offset and segment, and its allowed lag."""
    end, start, copied, per_offset, segment = (np.array([value]) for value in values)
    lag = np.array([seconds]), np.array([size]), np.array([due])
    return tiered.partition_overdue(end, start, copied, per_offset, segment, *lag)


@pytest.mark.parametrize(
    ("why", "polls", "expected"),
    [
        ("nothing overdue", [(0, 10, 0), (10, 10, 0)], 0),
        ("overdue and not moving", [(0, 10, 5), (10, 10, 5), (20, 10, 7)], 20),
        ("overdue and moving", [(0, 10, 5), (10, 20, 5), (20, 30, 5)], 0),
        ("overdue only since the second poll", [(0, 10, 0), (10, 10, 5), (20, 10, 5)], 10),
        ("no longer overdue", [(0, 10, 5), (10, 10, 5), (20, 10, 0)], 0),
        ("the clock goes back", [(50, 10, 5), (20, 10, 5)], 0),
        ("the clock stands still", [(50, 10, 5), (50, 10, 5)], 0),
        ("not known in between", [(0, 10, 5), (10, UNKNOWN, NAN), (20, 10, 5)], 20),
        ("not known in between, and moved meanwhile", [(0, 10, 5), (10, UNKNOWN, NAN), (20, 20, 5)], 0),
        ("not known now", [(0, 10, 5), (10, UNKNOWN, NAN)], NAN),
        ("not known at first", [(0, UNKNOWN, NAN), (10, NOTHING_TIERED, 5), (20, NOTHING_TIERED, 5)], 10),
        ("not known, and then nothing is overdue", [(0, 10, NAN), (10, 10, 0)], 0),
    ],
)
def test_stalled(why: str, polls: list[tuple[float, int, float]], expected: float) -> None:
    state, seconds = Copying(np.array([UNKNOWN]), np.array([NAN])), np.array([0.0])
    for clock, offset, overdue in polls:
        state, seconds = tiered.stalled(state, clock, np.array([offset]), np.array([overdue], float))
    assert seconds.tolist() == pytest.approx([expected], nan_ok=True), why


@pytest.mark.parametrize(
    ("why", "end", "start", "copied", "per_offset", "expected"),
    [
        ("two segments wait beside the active one", 4000, 0, 999, 1.0, 2000.0),
        ("nothing copied yet", 4000, 0, NOTHING_TIERED, 1.0, 3000.0),
        ("nor of what retention left", 4000, 100, NOTHING_TIERED, 1.0, 2900.0),
        ("only the first record", 4000, 0, 0, 1.0, 2999.0),
        ("retention passed what was copied", 9500, 5500, 5346, 1.0, 3000.0),
        ("the active segment never copies", 2000, 0, 1346, 1.0, 0.0),
        ("exactly one segment", 2000, 0, 999, 1.0, 0.0),
        ("offsets of 2 bytes", 2000, 0, 999, 2.0, 1000.0),
        ("the copied offset is unknown", 4000, 0, UNKNOWN, 1.0, NAN),
        ("the leader's end is unknown", UNKNOWN, 0, 999, 1.0, NAN),
        ("nor where its log starts", 4000, UNKNOWN, 999, 1.0, NAN),
        ("bytes per offset not learned yet", 4000, 0, 999, NAN, NAN),
        ("an empty log has no bytes per offset and nothing overdue", 7, 7, NOTHING_TIERED, NAN, 0.0),
        ("all copied needs none either", 4000, 0, 3999, NAN, 0.0),
        ("the end fell below what was copied", 500, 0, 999, 1.0, 0.0),
    ],
)
def test_partition_overdue(why: str, end: int, start: int, copied: int, per_offset: float, expected: float) -> None:
    overdue = overdue_of((end, start, copied, per_offset, 1000.0))
    assert overdue.tolist() == pytest.approx([expected], nan_ok=True), why


@pytest.mark.parametrize(
    ("why", "seconds", "size", "due", "expected"),
    [
        ("no lag is allowed", 0.0, 0.0, UNKNOWN, 9000.0),
        ("as much as is there", INF, 10_000.0, UNKNOWN, 0.0),
        ("half of it, and a segment that no longer has so much behind it", INF, 5000.0, UNKNOWN, 4000.0),
        ("more than is there", INF, 1e12, UNKNOWN, 0.0),
        ("never copied: neither age nor size counts", INF, INF, UNKNOWN, 0.0),
        ("no record is old enough", 3600.0, INF, 1000, 0.0),
        ("the old ones fill one segment, which may have a younger record", 3600.0, INF, 2000, 0.0),
        ("the old ones fill six", 3600.0, INF, 7000, 5000.0),
        ("all are old", 3600.0, INF, 11_000, 9000.0),
        ("what retention deleted does not count", 3600.0, INF, 0, 0.0),
        ("it is not known which are old", 3600.0, INF, UNKNOWN, NAN),
        ("the age is passed first", 3600.0, 9000.0, 7000, 5000.0),
        ("the size is passed first", 3600.0, 2000.0, 2000, 7000.0),
    ],
)
def test_overdue_with_an_allowed_lag(why: str, seconds: float, size: float, due: int, expected: float) -> None:
    """10,000 offsets of 1 byte are not copied, in segments of 1000; a segment is due as soon as it passes one limit."""
    overdue = overdue_of((11_000, 1000, 999, 1.0, 1000.0), seconds, size, due)
    assert overdue.tolist() == pytest.approx([expected], nan_ok=True), why


@pytest.mark.parametrize(
    ("why", "before", "reported", "end", "expected"),
    [
        ("copying goes on", 100, 200, 1000, 200),
        ("a broker that has just started reports nothing", 100, NOTHING_TIERED, 1000, 100),
        ("a new leader has not looked again yet", 100, 50, 1000, 100),
        ("the log was cut below what was copied", 100, NOTHING_TIERED, 80, NOTHING_TIERED),
        ("not reported now", 100, UNKNOWN, 1000, UNKNOWN),
        ("the first answer", UNKNOWN, NOTHING_TIERED, 1000, NOTHING_TIERED),
        ("the first copy", NOTHING_TIERED, 50, 1000, 50),
        ("nothing and nothing", NOTHING_TIERED, NOTHING_TIERED, 1000, NOTHING_TIERED),
        ("offset 0 is copied, too", 0, NOTHING_TIERED, 1000, 0),
    ],
)
def test_latest_tiered(why: str, before: int, reported: int, end: int, expected: int) -> None:
    latest = tiered.latest_tiered(np.array([before]), np.array([reported]), np.array([end]))
    assert latest.tolist() == [expected], why


offsets = st.integers(-2, 1 << 40)


@given(offsets, offsets, offsets, st.floats(0, 1e6) | st.just(NAN), st.floats(1, 1 << 40))
def test_overdue_is_unknown_or_not_negative(
    end: int, start: int, copied: int, per_offset: float, segment: float
) -> None:
    values = (end, start, copied, per_offset, segment)
    overdue = overdue_of(values)[0]
    if not np.isnan(overdue):
        assert overdue >= 0
        assert UNKNOWN not in (end, start, copied)


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
    assert tiered.copy_held_back(rate, quota, overdue) is expected, why


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
    assert tiered.fetch_held_back(rate, quota, throttle) is expected, why


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
    assert tiered.client_fetch_quota_above(100.0, rates) is expected, why
    assert tiered.client_fetch_quota_above(INF, rates) is False, why


numbers = st.floats(0, 1e12)
maybe = st.none() | numbers
truths = st.sampled_from([True, False, None])


@given(maybe, numbers | st.just(INF), truths, maybe)
def test_unknown_never_raises(rate: float | None, quota: float, overdue: bool | None, throttle: float | None) -> None:
    for guess in (0.0, 1e13):
        answer = tiered.copy_held_back(rate, quota, overdue)
        guessed = tiered.copy_held_back(
            guess if rate is None else rate, quota, guess > 0 if overdue is None else overdue
        )
        if answer is not None:
            assert answer is guessed
    if rate is None and not throttle:
        assert tiered.fetch_held_back(rate, quota, throttle) is not True
