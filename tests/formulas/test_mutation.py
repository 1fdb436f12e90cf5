"""The controller mutation quota: KIP-599's examples, the bucket as a fold, and whose quota applies."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.formulas import mutation
from kafka_warden.formulas.mutation import Bucket, Entity, Mutations, Quota, admit, resolve, shown
from kafka_warden.formulas.ops import ARRAYS, NUMBERS

INF = math.inf


@pytest.mark.parametrize(
    ("why", "most", "requests", "admitted", "tokens", "delay"),
    [
        ("R 5, B 500: 7 topics x 80 at once", 500, [80] * 7, 7, -60, 12),
        ("an eighth of 80 is rejected and takes nothing", 500, [80] * 8, 7, -60, 12),
        ("R 5, B 55: one topic of 60", 55, [60], 1, -5, 1),
        ("one topic of 100", 55, [100], 1, -45, 9),
        ("100 topics of 1", 55, [1] * 100, 56, -1, 0.2),
        ("K = 0 admits", 55, [55, 1], 2, -1, 0.2),
        ("nothing asked", 55, [], 0, 55, 0),
    ],
)
def test_examples(why: str, most: float, requests: list[float], admitted: int, tokens: float, delay: float) -> None:
    """KIP-599's bucket at one instant, R = 5: a request is admitted iff K >= 0, whatever its size."""
    bucket, count = Bucket(most, at=0.0), 0
    for cost in requests:
        bucket, accepted = admit(bucket, 0.0, cost, rate=5, most=most)
        count += accepted

    assert (count, bucket.tokens) == (admitted, tokens), why
    assert mutation.admission_delay(NUMBERS, bucket.tokens, 5.0) == pytest.approx(delay), why


def test_admission_after_the_delay() -> None:
    """At -60 and 5 a second the next request is rejected a moment before 12 s and admitted at 12 s."""
    bucket = Bucket(-60, at=100.0)

    assert admit(bucket, 111.9, 1, rate=5, most=500)[1] is False
    assert admit(bucket, 112.0, 1, rate=5, most=500) == (Bucket(-1, 112.0), True)


def test_bucket_does_not_overflow() -> None:
    """An idle client has B tokens, not more, and a clock that goes back gives none."""
    assert admit(Bucket(0, at=0.0), 1e6, 0, rate=5, most=55)[0].tokens == 55
    assert admit(Bucket(-5, at=50.0), 20.0, 1, rate=5, most=55) == (Bucket(-5, 50.0), False)


@pytest.mark.parametrize(
    ("tokens", "rate", "expected"),
    [(-60, 5, 12), (0, 5, 0), (20, 5, 0), (-1, 0, INF), (5, 0, 0), (INF, INF, 0), (-10, 0.5, 20)],
)
def test_admission_delay(tokens: float, rate: float, expected: float) -> None:
    """Missing tokens over the rate at which they come."""
    assert mutation.admission_delay(NUMBERS, tokens, rate) == expected
    assert mutation.admission_delay(ARRAYS, np.array([tokens]), np.array([rate]))[0] == expected


def test_burst() -> None:
    """The default window of 11 samples x 1 s gives R 5 a burst of 55; 10 samples of 2 s give 100."""
    assert mutation.burst(5, 11, 1) == 55
    assert mutation.burst(5, 10, 2) == 100
    assert shown(0, 5, 11, None).burst is None


KAFKA_UNLIMITED = 1.0145709240540253e20


@pytest.mark.parametrize(
    ("why", "tokens", "rate", "samples", "expected"),
    [
        ("a quota", -45, 5, 11, Mutations(-45, 5, 55)),
        ("the controller's window is not known", -45, 5, None, Mutations(-45, 5, None)),
        ("no quota resolves", 12, INF, 11, Mutations(INF, INF, INF)),
        ("tokens of Long.MAX x 11, as Kafka shows them", KAFKA_UNLIMITED, 5, 11, Mutations(INF, INF, INF)),
        ("and unlimited needs no window", KAFKA_UNLIMITED, INF, None, Mutations(INF, INF, INF)),
    ],
)
def test_shown(why: str, tokens: float, rate: float, samples: float | None, expected: Mutations) -> None:
    """A client without a quota is unlimited in all three; a burst needs the controller's window."""
    assert shown(tokens, rate, samples, None if samples is None else 1.0) == expected, why


ORDER: list[Entity] = [
    ("alice", "app"),
    ("alice", ""),
    ("alice", None),
    ("", "app"),
    ("", ""),
    ("", None),
    (None, "app"),
    (None, ""),
]
OTHERS: list[Entity] = [("bob", "app"), ("alice", "other"), ("bob", None), (None, "other"), ("bob", ""), ("", "other")]


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_resolution_order(first: int) -> None:
    """Of all entities that fit alice and app, the first in Kafka's order applies, others' never."""
    configured = {entity: float(rate) for rate, entity in enumerate([*OTHERS, *reversed(ORDER[first:])])}

    assert resolve(configured, "alice", "app") == Quota(configured[ORDER[first]], ORDER[first])


@pytest.mark.parametrize(
    ("why", "configured", "user", "client_id", "expected"),
    [
        ("nothing configured", {}, "alice", "app", Quota()),
        ("only others'", {("bob", None): 1.0}, "alice", "app", Quota()),
        ("a client-only bean takes no user's quota", {("", None): 1.0, ("", ""): 2.0}, None, "app", Quota()),
        ("a client-only bean", {(None, "app"): 1.0, (None, ""): 2.0}, None, "app", Quota(1.0, (None, "app"))),
        ("a client-only bean by default", {(None, ""): 2.0}, None, "app", Quota(2.0, (None, ""))),
        ("a user-only bean takes no client's quota", {(None, ""): 1.0, ("", ""): 2.0}, "alice", None, Quota()),
        ("a user-only bean", {("alice", None): 1.0, ("", None): 2.0}, "alice", None, Quota(1.0, ("alice", None))),
        ("a quota of 0 is a quota", {(None, ""): 0.0}, "alice", "app", Quota(0.0, (None, ""))),
    ],
)
def test_resolve(
    why: str, configured: dict[Entity, float], user: str | None, client_id: str | None, expected: Quota
) -> None:
    """Beans that lack a tag fit only entities that need no such part."""
    assert resolve(configured, user, client_id) == expected, why


requests = st.lists(st.tuples(st.floats(0, 60), st.floats(0, 1000)), max_size=30)


@given(requests, st.floats(0, 1000), st.floats(1, 100))
def test_bucket_never_holds_more_than_its_burst(asked: list[tuple[float, float]], rate: float, seconds: float) -> None:
    """K stays at most B, only an admitted request lowers it, and then from 0 or more."""
    most, clock = rate * seconds, 0.0
    bucket = Bucket(most, at=0.0)
    for pause, cost in asked:
        clock += pause
        before = mutation.refill(NUMBERS, bucket.tokens, rate, most, clock - bucket.at)
        bucket, accepted = admit(bucket, clock, cost, rate, most)
        assert bucket.tokens <= most
        assert accepted is (before >= 0)
        assert bucket.tokens == pytest.approx(before - cost if accepted else before)


@given(st.floats(-1e9, 1e15), st.floats(0, 1e9), st.floats(0, 1e9))
def test_more_quota_never_delays(tokens: float, rate: float, more: float) -> None:
    """The delay is never negative or NaN, and a higher rate never lengthens it."""
    delay = mutation.admission_delay(NUMBERS, tokens, rate)

    assert 0 <= mutation.admission_delay(NUMBERS, tokens, rate + more) <= delay


@given(st.floats(-1e6, 0), st.floats(0.1, 1e3))
def test_waiting_the_delay_brings_k_to_zero(tokens: float, rate: float) -> None:
    """Delay and refill are one law: after exactly the delay nothing is missing."""
    delay = mutation.admission_delay(NUMBERS, tokens, rate)

    assert mutation.refill(NUMBERS, tokens, rate, 1e9, delay) == pytest.approx(0, abs=1e-6)
