"""The controller mutation quota of KIP-599: a bucket of K tokens that refills at R a second up to a burst B.

docs/spec/quotas.md. A token is one partition created, deleted or added. Unlimited is `+inf`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

QUOTA_KEY: Final = "controller_mutation_rate"

DEFAULT: Final = ""
"""In an entity: the default of that part. `None` means that the entity has no such part."""

UNLIMITED_TOKENS: Final = 1e15
"""Kafka shows Long.MAX x 11 tokens for a client without a quota; no real burst comes near."""

Entity = tuple[str | None, str | None]
"""(user, client id) of a configured quota."""


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
    order: tuple[Entity, ...] = (
        (user, client_id),
        (user, DEFAULT),
        (user, None),
        (DEFAULT, client_id),
        (DEFAULT, DEFAULT),
        (DEFAULT, None),
        (None, client_id),
        (None, DEFAULT),
    )
    for entity in order:
        if entity in quotas and _fits(entity, user, client_id):
            return Quota(quotas[entity], entity)
    return Quota()


def _fits(entity: Entity, user: str | None, client_id: str | None) -> bool:
    needs_user, needs_client = entity[0] is not None, entity[1] is not None
    return (not needs_user or user is not None) and (not needs_client or client_id is not None)
