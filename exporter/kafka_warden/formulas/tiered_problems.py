"""What goes wrong with the quotas of tiered storage, one predicate each. docs/spec/tiered.md#problems.

Bytes per second, bytes and seconds; `+inf` is unlimited. `None` is unknown, as an argument and as a result: no
problem is raised on unknown values.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from kafka_warden.formulas.mutation import DEFAULT, Entity

FETCH_QUOTA_KEY: Final = "consumer_byte_rate"

BINDING: Final = 0.95
"""Part of a quota at which its rate is held back by it."""


class Problem(StrEnum):
    """Values of the label `problem` of `tiered_storage_problem_seconds`."""

    COPY_HELD_BACK = "copy_held_back"
    FETCH_HELD_BACK = "fetch_held_back"
    COPY_QUOTA_BELOW_SEGMENT = "copy_quota_below_segment"
    CLIENT_FETCH_QUOTA_ABOVE = "client_fetch_quota_above"


def both(left: bool | None, right: bool | None) -> bool | None:
    """Whether both hold: False if one does not, else unknown if one is."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def either(left: bool | None, right: bool | None) -> bool | None:
    """Whether one holds: True if one does, else unknown if one is."""
    if left or right:
        return True
    return None if left is None or right is None else False


def is_binding(rate: float | None, quota: float) -> bool | None:
    """Whether a rate is at 0.95 of its quota or above; an unlimited quota holds nothing back, whatever the rate."""
    if quota == float("inf"):
        return False
    return None if rate is None else rate >= BINDING * quota


def copy_held_back(rate: float | None, quota: float, overdue: bool | None) -> bool | None:
    """Whether the copy quota holds back what the broker leads: it binds, and something of that is overdue.

    Needs no throttle bean, which vanishes after an hour without throttling (docs/spec/tiered.md#problems).
    """
    return both(is_binding(rate, quota), overdue)


def fetch_held_back(rate: float | None, quota: float, throttle: float | None) -> bool | None:
    """Whether the fetch quota holds back consumers: it binds, or some were throttled of late (seconds)."""
    if quota == float("inf"):
        return False
    # Without the bean the rate decides alone.
    return either(is_binding(rate, quota), throttle > 0 if throttle is not None else False)


def copy_quota_below_segment(quota: float, segment_bytes: float, window: float) -> bool:
    """Whether the quota cannot be upheld, as the largest segment alone exceeds quota x window.

    `segment_bytes`: the largest `segment.bytes` of the topics with remote storage that the broker leads, 0 for none. A
    segment is copied whole: 1 GiB in 11 s needs 97.6 MB/s.
    """
    return quota * window < segment_bytes


def client_fetch_quota_above(quota: float, rates: Mapping[Entity, float] | None) -> bool | None:
    """Whether one client alone may exhaust the fetch quota: KIP-956's rogue client.

    Some client has no `consumer_byte_rate`, or one that is not below the fetch quota. `rates`: entity to
    `consumer_byte_rate`; empty when none is configured, None when that is not known.
    """
    if quota == float("inf"):
        return False
    if rates is None:
        return None
    defaults = {(DEFAULT, DEFAULT), (DEFAULT, None), (None, DEFAULT)}
    if not defaults & rates.keys():
        return True
    return any(rate >= quota for entity, rate in rates.items() if _applies(entity, rates))


def _applies(entity: Entity, rates: Mapping[Entity, float]) -> bool:
    """Whether any client has this quota: by Kafka's order another one may always come first."""
    user, client_id = entity
    if user is None:
        return not {(DEFAULT, DEFAULT), (DEFAULT, None)} & rates.keys()
    return client_id is not None or (user, DEFAULT) not in rates
