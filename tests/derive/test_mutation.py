"""Controller mutations: KIP-599's examples, whose quota applies, and whose beans are believed."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.advance import refill
from kafka_warden.derive import mutation
from kafka_warden.derive.mutation import ClientMutations, derive_mutations, resolve, shown
from kafka_warden.model import ClientBean, Entity, ProcessBeans, QuotaEntity, Snapshot
from kafka_warden.replies import ControllerWindow
from tests.building import Partition, judge, snapshot
from tests.derive.following import families

INF = math.inf
RATE = "controller_mutation_rate"
CLOCK = 100.0
LONG_MAX_BY_11 = 1.0145709240540253e20


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


@pytest.mark.parametrize(
    ("why", "tokens", "rate", "samples", "expected"),
    [
        ("a quota", -45, 5, 11, (-45, 5, 55)),
        ("the controller's window is not known", -45, 5, None, (-45, 5, None)),
        ("no quota resolves", 12, None, 11, (12, None, None)),
        ("tokens of Long.MAX x 11, as Kafka shows them", LONG_MAX_BY_11, 5, 11, (INF, INF, INF)),
        ("and unlimited needs no window", LONG_MAX_BY_11, None, None, (INF, INF, INF)),
    ],
)
def test_shown(
    why: str, tokens: float, rate: float | None, samples: int | None, expected: tuple[float, float | None, float | None]
) -> None:
    assert shown(tokens, rate, None if samples is None else ControllerWindow(samples, 1.0)) == expected, why


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
    assert resolve(configured, "alice", "app") == configured[ORDER[first]]


@pytest.mark.parametrize(
    ("why", "configured", "user", "client_id", "expected"),
    [
        ("nothing configured", {}, "alice", "app", None),
        ("only others'", {("bob", None): 1.0}, "alice", "app", None),
        ("a client-only bean takes no user's quota", {("", None): 1.0, ("", ""): 2.0}, None, "app", None),
        ("a client-only bean", {(None, "app"): 1.0, (None, ""): 2.0}, None, "app", 1.0),
        ("a client-only bean by default", {(None, ""): 2.0}, None, "app", 2.0),
        ("a user-only bean takes no client's quota", {(None, ""): 1.0, ("", ""): 2.0}, "alice", None, None),
        ("a user-only bean", {("alice", None): 1.0, ("", None): 2.0}, "alice", None, 1.0),
        ("a quota of 0 is a quota", {(None, ""): 0.0}, "alice", "app", 0.0),
    ],
)
def test_resolve(
    why: str, configured: dict[Entity, float], user: str | None, client_id: str | None, expected: float | None
) -> None:
    assert resolve(configured, user, client_id) == expected, why


@given(st.floats(-1e6, 0), st.floats(0.1, 1e3))
def test_waiting_the_delay_brings_k_to_zero(tokens: float, rate: float) -> None:
    delay = mutation.admission_delay(tokens, rate)

    assert refill(tokens, rate, 1e9, delay) == pytest.approx(0, abs=1e-6)


def quota(user: str | None, client_id: str | None, rate: float) -> QuotaEntity:
    return QuotaEntity(user, client_id, {RATE: rate, "producer_byte_rate": 1e6})


def controller(*clients: ClientBean, active: int | None = 1, at: float = CLOCK, **values: float) -> ProcessBeans:
    """Beans of a controller, which says whether it is active."""
    count = {} if active is None else {"active_controller_count": float(active)}
    return ProcessBeans(at, {**count, **values}, mutations=clients)


def client(tokens: float, user: str | None = None, client_id: str | None = "app", **values: float) -> ClientBean:
    return ClientBean(user, client_id, {"tokens": tokens, **values})


def poll(**fields: Any) -> Snapshot:
    """A cluster whose active controller is 101, with the usual window."""
    made: dict[str, Any] = {"controller": 101, "controller_window": ControllerWindow(11, 1.0), "quotas": ()}
    return snapshot({"t": [Partition()]}, clock=CLOCK, **{**made, **fields})


def one(bean: ClientBean, *quotas: QuotaEntity, **fields: Any) -> ClientMutations:
    (found,) = derive_mutations(poll(controller_beans={"101": controller(bean)}, quotas=quotas, **fields))
    return found


def test_a_quota_newer_than_the_last_answer_is_unknown() -> None:
    seen = one(client(-5))
    assert (seen.tokens, seen.quota, seen.burst, seen.delay) == (-5, None, None, None)
    assert one(client(5)).delay == 0


def test_tokens_need_no_quotas() -> None:
    """They could not be read: K and the rate are known all the same, R, B and a delay are not."""
    beans = controller(client(-5, mutation_rate=1.0), client(LONG_MAX_BY_11, client_id="free"))
    short, free = derive_mutations(poll(controller_beans={"101": beans}, quotas=None))
    assert (short.tokens, short.rate, short.quota, short.burst, short.delay) == (-5, 1.0, None, None, None)
    assert (free.tokens, free.quota, free.delay) == (math.inf, math.inf, 0)


def test_burst_needs_the_controllers_window() -> None:
    seen = one(client(-5), quota(None, "app", 5.0), controller_window=None)
    assert (seen.quota, seen.burst, seen.delay) == (5.0, None, 1.0)


def test_real_names_and_missing_tags() -> None:
    """Names as clients chose them; a bean without a tag has an empty label, and takes no quota that needs it."""
    odd = 'a "quoted" \\ client, type=*?:'
    seen = one(client(5, user="CN=größe", client_id=odd), quota("CN=größe", odd, 5.0))
    only_user = one(client(5, user="alice", client_id=None), quota("alice", None, 5.0), quota("alice", "", 9.0))
    only_client = one(client(5), quota("", None, 9.0), quota(None, "app", 5.0))

    assert (seen.user, seen.client_id, seen.quota) == ("CN=größe", odd, 5.0)
    assert (only_user.user, only_user.client_id, only_user.quota) == ("alice", "", 5.0)
    assert (only_client.user, only_client.client_id, only_client.quota) == ("", "app", 5.0)


def test_what_kraft_leaves_out_is_unknown() -> None:
    """The throttle time there stays NaN, and is absent; a bean without tokens is no bucket."""
    assert one(client(5)).throttle is None
    assert one(client(5, throttle_time=0.25)).throttle == 0.25
    beans = controller(ClientBean(None, "app", {"mutation_rate": 1.0}))
    assert derive_mutations(poll(controller_beans={"101": beans})) == ()


STALE, FRESH = client(-45), client(55)
BEFORE = controller(STALE, at=CLOCK - 10)
"""An answer of the old controller that is a poll old."""

UNELECTED = controller(FRESH, active=0, at=CLOCK - 5)
"""What the new controller answered before it was elected."""


@pytest.mark.parametrize(
    ("why", "active", "beans", "expected"),
    [
        ("the quorum names it", 101, {"101": controller(FRESH)}, 55),
        ("it did not say whether it is active", 101, {"101": controller(FRESH, active=None)}, 55),
        ("the old one keeps its bucket", 102, {"101": controller(STALE, active=0), "102": controller(FRESH)}, 55),
        ("and still calls itself active", 102, {"101": controller(STALE), "102": controller(FRESH)}, 55),
        ("the new one is not read yet, the old one died", 102, {"101": BEFORE}, None),
        ("the old one is still read", 102, {"101": controller(STALE)}, None),
        ("what the new one said before it was elected", 102, {"101": BEFORE, "102": UNELECTED}, None),
        ("the quorum is unknown, one says it is active", None, {"101": controller(FRESH)}, 55),
        ("or said so a poll ago", None, {"101": BEFORE}, None),
        ("two say so", None, {"101": controller(STALE), "102": controller(FRESH)}, None),
        ("none says so", None, {"101": controller(STALE, active=0)}, None),
        ("by address, no id configured", 101, {"10.0.0.1:9999": controller(FRESH)}, 55),
        ("by address, the old one died", 102, {"10.0.0.1:9999": BEFORE, "10.0.0.2:9999": controller(FRESH)}, 55),
        ("by address, the old one alone", 102, {"10.0.0.1:9999": BEFORE}, None),
        ("no beans", 101, {}, None),
    ],
)
def test_failover(why: str, active: int | None, beans: dict[str, ProcessBeans], expected: float | None) -> None:
    found = derive_mutations(poll(controller=active, controller_beans=beans, quotas=(quota(None, "app", 5.0),)))
    assert [each.tokens for each in found] == ([] if expected is None else [expected]), why


def test_event_queue_and_page() -> None:
    """The queue is that of the active controller only; without its bean the configured quotas are still there."""
    old, new = controller(STALE, active=0, event_queue_time_p99=9.0), controller(FRESH, event_queue_time_p99=0.5)
    page = families(
        judge(poll(controller=102, controller_beans={"101": old, "102": new}, quotas=(quota("", None, 5.0),)))
    )
    missing = families(judge(poll(controller=102, controller_beans={"101": old}, quotas=(quota("", None, 5.0),))))

    assert page["controller_event_queue_seconds"] == {("0.99",): 0.5}
    assert missing["controller_event_queue_seconds"] == {}
    assert missing["controller_mutation_tokens"] == {}
    assert missing["controller_mutation_quota_config_per_second"] == {("<default>", ""): 5.0}


def test_each_controller_has_its_own_count_of_unclean_elections() -> None:
    counts = {
        "101": controller(active=0, unclean_leader_elections_total=1.0),
        "102": controller(unclean_leader_elections_total=7.0),
    }
    name = "unclean_leader_elections_total"
    assert families(judge(poll(controller=102, controller_beans=counts)))[name] == {("102",): 7.0}
    by_address = {"10.0.0.1:9999": counts["101"], "10.0.0.2:9999": counts["102"]}
    assert families(judge(poll(controller=102, controller_beans=by_address)))[name] == {("10.0.0.2:9999",): 7.0}


def test_what_clients_feel_is_on_the_broker_that_they_talk_to() -> None:
    beans = ProcessBeans(CLOCK, {}, requests=(ClientBean("alice", "größe", {"throttle_time": 0.933}),))
    page = families(judge(poll(broker_beans={1: beans})))
    assert page["client_request_throttle_seconds"] == {("1", "alice", "größe"): 0.933}
    assert page["controller_mutation_throttle_seconds"] == {}
