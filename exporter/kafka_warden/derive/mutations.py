"""The controller mutation quota of every client that has a bucket (KIP-599; docs/spec/quotas.md)."""

import math
from dataclasses import dataclass, replace
from typing import Annotated

from kafka_warden.formulas import mutation as formulas
from kafka_warden.model import ProcessBeans, Snapshot


@dataclass(frozen=True, slots=True)
class ClientMutations:
    """One client on the active controller. `None` is unknown."""

    user: str
    client_id: str
    tokens: Annotated[float, "tokens, K of KIP-599; infinite if the client has no quota"]
    rate: Annotated[float | None, "mutations of the client", "1/s"]
    throttle: Annotated[float | None, "throttle time that the bean reports", "s"]
    quota: Annotated[float | None, "quota that applies, R of KIP-599", "1/s"]
    burst: Annotated[float | None, "burst, B of KIP-599: R x the window"]
    delay: Annotated[float | None, "time until its next mutation is admitted", "s"]


def derive_mutations(snapshot: Snapshot) -> tuple[ClientMutations, ...]:
    """Join the beans of the active controller with the configured quotas; empty when the beans are not known.

    Tokens and rates need no quotas: without them R, B and the delay of a client that is short of tokens are unknown.
    """
    beans = active_controller(snapshot)
    if beans is None:
        return ()
    configured = {
        (entity.user, entity.client_id): entity.values[formulas.QUOTA_KEY]
        for entity in snapshot.quotas or ()
        if formulas.QUOTA_KEY in entity.values
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
    configured: dict[formulas.Entity, float],
    user: str | None,
    client_id: str | None,
    values: dict[str, float],
) -> ClientMutations:
    quota, tokens = formulas.resolve(configured, user, client_id), values["tokens"]
    window = snapshot.controller_window
    samples, seconds = (window.samples, window.seconds) if window is not None else (None, None)
    shown = formulas.shown(tokens, quota.rate, samples, seconds)
    client = ClientMutations(
        user=user or "",
        client_id=client_id or "",
        tokens=shown.tokens,
        rate=values.get("mutation_rate"),
        throttle=values.get("throttle_time"),
        quota=shown.rate,
        burst=shown.burst,
        delay=formulas.admission_delay(shown.tokens, shown.rate),
    )
    if math.isinf(quota.rate) and tokens <= formulas.UNLIMITED_TOKENS:
        # Quotas are unknown, or this one is newer than the last answer: its rate is unknown, not unlimited.
        return replace(client, tokens=tokens, quota=None, burst=None, delay=None if tokens < 0 else 0.0)
    return client
