"""The controller mutation quota of KIP-599: a bucket of K tokens that refills at R a second up to a burst B.

docs/spec/quotas.md. A token is one partition created, deleted or added. Unlimited is `+inf`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated, Final

from kafka_warden.model import DEFAULT, Entity, ProcessBeans, Snapshot

QUOTA_KEY: Final = "controller_mutation_rate"

UNLIMITED_TOKENS: Final = 1e15
"""Kafka shows Long.MAX x 11 tokens for a client without a quota; no real burst comes near."""


@dataclass(frozen=True, slots=True)
class Quota:
    """The quota that applies to one client: R in mutations per second, `+inf` without one, and whose it is."""

    rate: float = math.inf
    entity: Entity | None = None


@dataclass(frozen=True, slots=True)
class Mutations:
    """K, R and B of one client as `/metrics` shows them."""

    tokens: float
    rate: float
    burst: float | None
    """None when the controller's quota window is not known."""


def burst(rate: float, samples: float, window: float) -> float:
    """B = R x samples x window seconds, the controller's own `controller.quota.window.*`. KIP-599."""
    return rate * samples * window


def admission_delay(tokens: float, rate: float) -> float:
    """Seconds until the next mutation is admitted: -K / R when K < 0, else 0. docs/spec/quotas.md#tokens.

    `+inf` when R is 0 and tokens are missing. The "-K * R" of the document is an error: its own example divides.
    """
    if tokens >= 0:
        return 0.0
    return -tokens / rate if rate else math.inf


def shown(tokens: float, rate: float, samples: float | None, window: float | None) -> Mutations:
    """K, R and B for `/metrics`: all three `+inf` for a client without a quota, B unknown without the window.

    A client has no quota if none resolves, or its tokens are those of Long.MAX.
    """
    if math.isinf(rate) or tokens > UNLIMITED_TOKENS:
        return Mutations(math.inf, math.inf, math.inf)
    return Mutations(tokens, rate, None if samples is None or window is None else burst(rate, samples, window))


def resolve(quotas: Mapping[Entity, float], user: str | None, client_id: str | None) -> Quota:
    """The quota of a (user, client id), by Kafka's order. `quotas`: configured entity to R, with `""` as a default.

    Exact pair, user + default client, user, default user + client, default user + default client, default user, client,
    default client. A part that is None (the bean has no such tag) takes no entity that needs it.
    """
    users, clients = ((None,) if part is None else (part, DEFAULT, None) for part in (user, client_id))
    for entity in product(users, clients):
        if entity in quotas and entity != (None, None):
            return Quota(quotas[entity], entity)
    return Quota()


@dataclass(frozen=True, slots=True)
class ClientMutations:
    """One client on the active controller. `None` is unknown."""

    user: str
    client_id: str
    tokens: Annotated[float, "K of KIP-599; infinite without a quota"]
    rate: Annotated[float | None, "mutations of the client", "1/s"]
    throttle: Annotated[float | None, "throttle time", "s"]
    quota: Annotated[float | None, "R of KIP-599", "1/s"]
    burst: Annotated[float | None, "B of KIP-599"]
    delay: Annotated[float | None, "time until its next mutation is admitted", "s"]


def derive_mutations(snapshot: Snapshot) -> tuple[ClientMutations, ...]:
    """Join the beans of the active controller with the configured quotas; empty when the beans are not known.

    Tokens and rates need no quotas: without them R, B and the delay of a client that is short of tokens are unknown.
    """
    beans = active_controller(snapshot)
    if beans is None:
        return ()
    configured = {
        (entity.user, entity.client_id): entity.values[QUOTA_KEY]
        for entity in snapshot.quotas or ()
        if QUOTA_KEY in entity.values
    }
    return tuple(
        _client(snapshot, configured, bean.user, bean.client_id, dict(bean.values))
        for bean in beans.mutations
        if "tokens" in bean.values
    )


def active_controller(snapshot: Snapshot) -> ProcessBeans | None:
    """Return the beans of the active controller: others keep stale buckets for an hour.

    The quorum names it. If its id is not configured, it is the only one that reports itself active in this poll:
    beans of a controller that lost its role, or died, are kept for three polls.
    """
    by_id = snapshot.controller_beans.get(str(snapshot.controller))
    if by_id is not None:
        return by_id if by_id.values.get("active_controller_count", 1) == 1 else None
    claiming = [
        beans
        for name, beans in snapshot.controller_beans.items()
        if beans.values.get("active_controller_count") == 1
        and beans.at >= snapshot.clock
        and (snapshot.controller is None or not name.isdecimal())
    ]
    return claiming[0] if len(claiming) == 1 else None


def _client(
    snapshot: Snapshot,
    configured: dict[Entity, float],
    user: str | None,
    client_id: str | None,
    values: dict[str, float],
) -> ClientMutations:
    quota, tokens = resolve(configured, user, client_id), values["tokens"]
    window = snapshot.controller_window
    samples, seconds = (window.samples, window.seconds) if window is not None else (None, None)
    known = shown(tokens, quota.rate, samples, seconds)
    client = ClientMutations(
        user=user or "",
        client_id=client_id or "",
        tokens=known.tokens,
        rate=values.get("mutation_rate"),
        throttle=values.get("throttle_time"),
        quota=known.rate,
        burst=known.burst,
        delay=admission_delay(known.tokens, known.rate),
    )
    if math.isinf(quota.rate) and tokens <= UNLIMITED_TOKENS:
        # Quotas are unknown, or this one is newer than the last answer: its rate is unknown, not unlimited.
        return replace(client, tokens=tokens, quota=None, burst=None, delay=None if tokens < 0 else 0.0)
    return client
