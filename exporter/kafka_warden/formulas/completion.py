"""When the controller completes a reassignment: `PartitionReassignmentReplicas.maybeCompleteReassignment`."""

from collections.abc import Set as AbstractSet
from typing import Final

from kafka_warden.formulas.release import is_since

ALL_SINCE: Final = (3, 8)
"""From this release on all replicas must be in sync. KAFKA-15665."""
ADDING_SINCE: Final = (4, 3)
"""From this release on only the new ones, if no more replicas are removed than added. KAFKA-19975."""


def completes(
    kafka_version: str | None,
    before: AbstractSet[int],
    after: AbstractSet[int],
    in_sync: AbstractSet[int],
    *,
    zookeeper: bool = False,
) -> bool:
    """Return whether a move ends without another replica in sync, when all its new replicas are.

    `before`, `after`: broker ids. `in_sync`: those of the ISR at the start. `zookeeper`: the controller is a broker,
    which always waits for all replicas.
    """
    adding, removing = after - before, before - after
    since_all, since_adding = is_since(kafka_version, ALL_SINCE), is_since(kafka_version, ADDING_SINCE)
    needs_all = len(adding) < len(removing) if since_adding else since_all or zookeeper
    remaining = (in_sync | adding) & after
    return remaining == after if needs_all else bool(remaining)
