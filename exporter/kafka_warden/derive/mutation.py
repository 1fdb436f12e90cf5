"""The controller mutation quota of KIP-599: a bucket of K tokens that refills at R a second up to a burst B.

docs/spec/quotas.md#tokens. A token is one partition created, deleted or added. Unlimited is `+inf`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Final

from kafka_warden.model import DEFAULT, ClientBean, Entity, ProcessBeans, Snapshot
from kafka_warden.replies import ControllerWindow

QUOTA_KEY: Final = "controller_mutation_rate"

UNLIMITED_TOKENS: Final = 1e15
"""Kafka shows Long.MAX x 11 tokens for a client without a quota; no real burst comes near."""


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


def shown(
    tokens: float, rate: float | None, window: ControllerWindow | None
) -> tuple[float, float | None, float | None]:
    """K, R and B for `/metrics`; B is unknown without the controller's quota window.

    A client without a quota has the tokens of Long.MAX: all three are `+inf`. If it has others and no quota resolves
    (`rate` is None), quotas are unknown, or this one is newer than the last answer: R is unknown, not unlimited.
    """
    if tokens > UNLIMITED_TOKENS:
        return math.inf, math.inf, math.inf
    return tokens, rate, None if rate is None or window is None else burst(rate, window.samples, window.seconds)


def resolve(quotas: Mapping[Entity, float], user: str | None, client_id: str | None) -> float | None:
    """R of a (user, client id), by Kafka's order. `quotas`: configured entity to R, with `""` as a default.

    Exact pair, user + default client, user, default user + client, default user + default client, default user, client,
    default client. A part that is None (the bean has no such tag) takes no entity that needs it. None if
    none fits.
    """
    users, clients = ((None,) if part is None else (part, DEFAULT, None) for part in (user, client_id))
    for entity in product(users, clients):
        if entity in quotas and entity != (None, None):
            return quotas[entity]
    return None


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
    window = snapshot.controller_window
    return tuple(_client(bean, configured, window) for bean in beans.mutations if "tokens" in bean.values)


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


def _client(bean: ClientBean, configured: Mapping[Entity, float], window: ControllerWindow | None) -> ClientMutations:
    tokens, quota, size = shown(bean.values["tokens"], resolve(configured, bean.user, bean.client_id), window)
    return ClientMutations(
        user=bean.user or "",
        client_id=bean.client_id or "",
        tokens=tokens,
        rate=bean.values.get("mutation_rate"),
        throttle=bean.values.get("throttle_time"),
        quota=quota,
        burst=size,
        # Only missing tokens need a rate.
        delay=None if quota is None and tokens < 0 else admission_delay(tokens, quota or 0.0),
    )
