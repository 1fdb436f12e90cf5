"""Bytes in per partition, one partition a row, and their mean. Sizes in bytes, times in seconds; U is unknown."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.arrays import UNKNOWN, Axis, Floats, Keys, carry
from kafka_warden.derive import inbound
from kafka_warden.derive.columns import Rows, blank, realign
from kafka_warden.derive.inbound import GRAIN, SPAN, BytesIn, LeaderLogs, Sums, step, step_mean

U = UNKNOWN
NAN = float("nan")
PLAIN = np.array([False])
COMPACTED = np.array([True])


def log(
    end: int, ended_at: float, size: int = U, sized_at: float = 0.0, *, start: int = 0, epoch: int = 1, leader: int = 1
) -> LeaderLogs:
    """One partition's leader log; a second is added to all times, as no answer comes at the beginning of the clock."""
    return LeaderLogs(
        leader=np.array([leader], dtype=np.int32),
        epoch=np.array([epoch], dtype=np.int32),
        start=np.array([start]),
        end=np.array([end]),
        ended_at=np.array([ended_at + 1.0]),
        size=np.array([size]),
        sized_at=np.array([sized_at + 1.0 if size != U else 0.0]),
    )


def keys(partitions: int) -> Keys:
    none = np.zeros(0, np.int32)
    return Keys((), (), np.zeros(partitions, np.int32), np.arange(partitions, dtype=np.int32), none, none)


def moved(*rows: int) -> Rows:
    return {Axis.PARTITION: np.array(rows, np.int64)}


def run(polls: list[LeaderLogs], *, compacted: bool = False) -> tuple[BytesIn, float]:
    state = blank(BytesIn, keys(1))
    rates: Floats = np.array([NAN])
    for poll in polls:
        state, rates = step(state, poll, COMPACTED if compacted else PLAIN)
    return state, float(rates[0])


MB = 1_000_000
RETAINED = log(700 * MB // 100, 60, 200 * MB, 60, start=500 * MB // 100)
"""After 60 s: 600 MB were written (100 bytes a record), 500 MB deleted."""

AGAIN = [log(2000, 10, 200_000, 10, epoch=2), log(2500, 20, 200_000, 10, epoch=2)]
"""Two answers of another epoch."""

RESIZED = [log(1200, 10, 100_000, 1, epoch=2), log(1300, 20, 900_000, 20, epoch=2)]

MESSAGES = [
    ("300 offsets in 10 s", log(1000, 0), log(1300, 10), 30),
    ("no offsets", log(1000, 0), log(1000, 10), 0),
    ("another epoch", log(1000, 0), log(1300, 10, epoch=2), NAN),
    ("another leader", log(1000, 0), log(1300, 10, leader=2), NAN),
    ("no answer now", log(1000, 0), log(U, 10), NAN),
    ("no answer before", log(U, 0), log(1300, 10), NAN),
    ("a log that was truncated", log(1000, 0), log(900, 10), NAN),
    ("twice the same answer", log(1000, 0), log(1000, 0), NAN),
]


@pytest.mark.parametrize(("why", "before", "now", "expected"), MESSAGES)
def test_messages_in_rate(why: str, before: LeaderLogs, now: LeaderLogs, expected: float) -> None:
    np.testing.assert_array_equal(inbound.messages_in_rate(before, now), [expected], why)


CASES = [
    ("absent on the first sample", [log(1000, 0, 100_000, 0.5)], NAN),
    ("growth of the log", [log(1000, 0, 100_000, 0), log(2000, 10, 200_000, 10)], 10_000),
    ("nothing written", [log(1000, 0, 100_000, 0), log(1000, 10, 100_000, 10)], 0),
    ("nothing written and never any size: a known 0", [log(1000, 0), log(1000, 10)], 0),
    ("offsets gained, but what one weighs is not known", [log(1000, 0), log(1100, 10)], NAN),
    ("between two answers of log dirs", [log(1000, 0.1, 100_000, 0.1), log(1500, 10.1, 100_000, 0.1)], 5_000),
    ("600 MB in while retention deletes 500 MB", [log(1 * MB, 0, 100 * MB, 0.1), RETAINED], 10 * MB),
    ("the first size is no growth", [log(1000, 0), log(1100, 10, 110_000, 10)], 1_000),
    ("empty log", [log(0, 0, 0, 0.1), log(0, 10, 0, 10)], 0),
    ("a log that retention emptied", [log(500, 0, 50_000, 0.1), log(500, 10, 0, 10, start=500)], 0),
    ("leader epoch changes", [log(1000, 0, 100_000, 0), log(2000, 10, 200_000, 10, epoch=2)], NAN),
    ("leader changes", [log(1000, 0, 100_000, 0), log(2000, 10, 200_000, 10, leader=2)], NAN),
    ("no leader", [log(1000, 0, 100_000, 0), log(U, 10, U, 10, leader=U)], NAN),
    ("the leader does not answer", [log(1000, 0, 100_000, 0), log(U, 10, 100_000, 0)], NAN),
    ("offsets going backwards", [log(1000, 0, 100_000, 0.1), log(900, 10, 100_000, 0.1)], NAN),
    ("the clock stands still", [log(1000, 5, 100_000, 0.1), log(1100, 5, 100_000, 0.1)], NAN),
    ("the clock goes back", [log(1000, 5, 100_000, 0.1), log(1100, 4, 100_000, 0.1)], NAN),
    ("known again one poll after an epoch change", [log(1000, 0, 100_000, 1), *AGAIN], 5_000),
    ("a size that shrank: offsets count", [log(1000, 0, 100_000, 0.1), log(2000, 10, 50_000, 10)], 1000 * 25 / 10),
    (
        "growth from answer to answer",
        [*[log(100 * n, n, 0, 0.2) for n in range(60)], log(5950, 60, 600_000, 60.2)],
        10_000,
    ),
    ("another epoch since the last size", [log(1000, 0, 100_000, 1), *RESIZED], 100 * (900_000 / 1300) / 10),
]


@pytest.mark.parametrize(("why", "polls", "expected"), CASES)
def test_rate(why: str, polls: list[LeaderLogs], expected: float) -> None:
    assert run(polls)[1] == pytest.approx(expected, nan_ok=True), why


def test_learned_bytes_per_offset_are_of_one_moment() -> None:
    """What an offset weighs is learned with an answer of log dirs only: an old size over a new end is too little."""
    state, _ = run([log(1000, 0.1, 100_000, 0.1), log(9000, 10, 100_000, 0.1)])
    assert state.per_offset.tolist() == [100.0]


@pytest.mark.parametrize(
    ("why", "last", "appended", "rate"),
    [
        ("growth per offset", log(1_002_000, 20, 1_100_000, 10), 100, 10_000),
        ("a cleaning makes one growth too small: a tenth is believed", log(1_002_000, 20, 1_150_000, 20), 95, 9500),
        ("and of a negative one nothing", log(1_002_000, 20, 500_000, 20), 100, 10_000),
        ("growth without offsets, which are not read at one instant", log(1_001_000, 20, 1_101_000, 20), 100, 0),
        ("nor do offsets alone teach anything", log(1_001_010, 20, 1_100_000, 20), 100, 100),
    ],
)
def test_bytes_per_appended_offset_of_a_compacted_log(why: str, last: LeaderLogs, appended: float, rate: float) -> None:
    """It was 100."""
    state, found = run([log(1_000_000, 0, 1_000_000, 1), log(1_001_000, 10, 1_100_000, 10), last], compacted=True)
    assert (state.appended[0], found) == pytest.approx((appended, rate)), why


def test_bytes_per_offset_are_of_the_whole_compacted_log() -> None:
    """Ten million offsets were cleaned down to 10 bytes each, what is appended weighs 1,000: a copy holds both."""
    polls = [log(10_000_000 + 1000 * n, 10 * n, 100_000_000 + 1_000_000 * n, 10 * n) for n in range(4)]
    state, rate = run(polls, compacted=True)
    assert state.per_offset.tolist() == [pytest.approx(103_000_000 / 10_003_000)]
    assert state.appended.tolist() == [1000.0]
    assert rate == pytest.approx(100_000)


def test_an_empty_log_teaches_nothing() -> None:
    """When retention empties a log, its last bytes per offset are still the best guess for the next ones."""
    polls = [log(500, 0, 50_000, 1), log(500, 10, 0, 10, start=500), log(600, 20, 0, 10, start=500)]
    state, rate = run(polls)
    assert state.per_offset.tolist() == [100.0]
    assert rate == pytest.approx(1_000)


offset = st.integers(U, 10**12)

polls_of_one = st.builds(
    log,
    offset,
    st.floats(0, 1e6),
    st.integers(U, 10**15),
    st.floats(0, 1e6),
    start=offset,
    epoch=st.integers(0, 2),
    leader=st.sampled_from([U, 1, 2]),
)


@given(st.lists(polls_of_one, min_size=1, max_size=6), st.booleans())
def test_rates_are_never_negative(polls: list[LeaderLogs], compacted: bool) -> None:
    state, rate = run(polls, compacted=compacted)
    assert math.isnan(rate) or 0 <= rate < math.inf
    for weight in (state.per_offset[0], state.appended[0]):
        assert np.isnan(weight) or weight >= 0


BETWEEN = log(10_000, 10.0, 550_000, 10.5, start=5_000)
"""Of 100 bytes an offset and 1,000 offsets a second: the size is read 0.5 s after the end, of 5 s of traffic."""


def test_what_came_between_end_and_size_is_no_weight_of_the_offsets_before() -> None:
    assert inbound.bytes_per_offset(BETWEEN, np.array([1000.0])).tolist() == [100.0]
    assert inbound.bytes_per_offset(BETWEEN, np.array([NAN])).tolist() == [110.0]


def test_the_first_weight_is_put_right_once_the_pace_is_known() -> None:
    later = [
        log(end, seconds, 550_000, 10.5, start=5_000)
        for end, seconds in ((20_000, 20.0), (31_000, 30.0), (42_000, 40.0))
    ]
    first, _ = run([BETWEEN])
    second, rate = run([BETWEEN, later[0]])
    third, _ = run([BETWEEN, *later[:2]])
    assert (first.per_offset.tolist(), first.unpaced.tolist()) == ([110.0], [True])
    assert (second.per_offset.tolist(), second.unpaced.tolist(), rate) == ([100.0], [False], 100_000.0)
    assert third.per_offset.tolist() == [100.0]


def test_a_partition_that_comes_later_is_put_right_too() -> None:
    """The first poll has no pace; without an answer of log dirs there are no bytes per offset."""
    state = realign(run([log(0, 0)])[0], moved(UNKNOWN))
    state, _ = step(state, BETWEEN, PLAIN)
    assert state.unpaced.tolist() == [True]
    state, _ = step(state, log(20_000, 20.0, 550_000, 10.5, start=5_000), PLAIN)
    assert (state.per_offset.tolist(), state.unpaced.tolist()) == ([100.0], [False])
    assert run([log(0, 0), log(10, 10)])[0].unpaced.tolist() == [False]


def fold(rates: Sequence[float], every: float = 10.0) -> list[float]:
    state, means = tuple[Sums, ...](), list[float]()
    for number, rate in enumerate(rates):
        state, mean = step_mean(state, every * number, np.array([rate]))
        means.append(float(mean[0]))
    return means


@pytest.mark.parametrize(
    ("why", "rates", "every", "expected"),
    [
        ("nothing is known of the first poll", [NAN], 10, NAN),
        ("what there is", [NAN, 4], 10, 4),
        ("what there is, of two", [NAN, 4, 2], 10, 3),
        ("steady", [NAN, 5, 5, 5, 5, 5, 5], 10, 5),
        ("a burst of 10 of 40 s", [NAN, 0, 0, 0, 2], 10, 0.5),
        ("the same, wherever it lies", [NAN, 0, 2, 0, 0], 10, 0.5),
        ("what is older is forgotten", [NAN, 90, 1, 1, 1, 1], 10, 1),
        ("unknown rates do not count", [NAN, 4, NAN, NAN, 2], 10, 3),
        ("the rate stays unknown", [NAN, 4, NAN, NAN, NAN, NAN], 10, NAN),
        ("polls farther apart than the span", [NAN, 4, 8], 60, 8),
        ("a poll a second", [NAN, *[9] * 20, *[3] * 40], 1, 3),
        ("a clock that stands still", [NAN, 4], 0, NAN),
    ],
)
def test_mean(why: str, rates: list[float], every: float, expected: float) -> None:
    assert fold(rates, every)[-1] == pytest.approx(expected, nan_ok=True), why


def test_polls_of_different_lengths_weigh_what_they_last() -> None:
    """30 s at 1 and 10 s at 5."""
    state, _ = step_mean((), 0.0, np.array([NAN]))
    state, _ = step_mean(state, 30.0, np.array([1.0]))
    state, mean = step_mean(state, 40.0, np.array([5.0]))
    assert mean.tolist() == [2.0]


@given(st.floats(0.2, 100), st.integers(1, 400))
def test_memory_is_bounded_however_often_is_polled(every: float, polls: int) -> None:
    state: tuple[Sums, ...] = ()
    for number in range(polls):
        state, _ = step_mean(state, every * number, np.zeros(1))
    reach = state[-1].clock - state[0].clock
    assert len(state) <= SPAN / GRAIN + 4
    assert reach >= min(SPAN, every * (polls - 1)) - 1e-6
    assert reach <= SPAN + max(every, GRAIN + every)


def test_rows_are_carried() -> None:
    assert carry(np.zeros(0), np.array([UNKNOWN, UNKNOWN]), 7.0).tolist() == [7.0, 7.0]
    assert carry(np.array([5.0]), np.array([UNKNOWN, 0]), 7.0).tolist() == [7.0, 5.0]
