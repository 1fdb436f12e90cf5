"""The controller mutation quota: KIP-599's examples, and whose quota applies."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.advance import refill
from kafka_warden.derive import mutation
from kafka_warden.derive.mutation import Mutations, Quota, resolve, shown
from kafka_warden.model import Entity

INF = math.inf


@pytest.mark.parametrize(
    ("tokens", "rate", "expected"),
    [
        (-60, 5, 12),
        (-45, 5, 9),
        (-5, 5, 1),
        (-1, 5, 0.2),
        (0, 5, 0),
        (20, 5, 0),
        (-1, 0, INF),
        (5, 0, 0),
        (INF, INF, 0),
        (-10, 0.5, 20),
    ],
)
def test_admission_delay(tokens: float, rate: float, expected: float) -> None:
    """Missing tokens over the rate at which they come; the first four rows are KIP-599's examples."""
    assert mutation.admission_delay(tokens, rate) == expected


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
    assert resolve(configured, user, client_id) == expected, why


@given(st.floats(-1e6, 0), st.floats(0.1, 1e3))
def test_waiting_the_delay_brings_k_to_zero(tokens: float, rate: float) -> None:
    delay = mutation.admission_delay(tokens, rate)

    assert refill(tokens, rate, 1e9, delay) == pytest.approx(0, abs=1e-6)


def test_refill_stops_at_the_burst() -> None:
    assert refill(0, 5, 55, 1e6) == 55
    assert refill(-5, 5, 55, -30.0) == -5
