"""What depends on the release of Kafka: `min.insync.replicas` (KAFKA-15583), and when a reassignment is complete.

`PartitionReassignmentReplicas.maybeCompleteReassignment`.
"""

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np
import numpy.typing as npt

from kafka_warden.arrays import Longs
from kafka_warden.model import TopicConfig


def is_since(kafka_version: str | None, since: tuple[int, int]) -> bool:
    """Return whether a release has what came with another one. An unknown release counts as new."""
    release = re.match(r"(\d{1,4})\.(\d{1,4})(?!\d)", kafka_version or "")
    return release is None or (int(release[1]), int(release[2])) >= since


CAPPED_SINCE: Final = (3, 7)
"""First release that needs no more in-sync replicas than the partition has. Older ones refuse `acks=all` for ever."""


def is_capped(kafka_version: str | None) -> bool:
    """Return whether a broker of this release, such as `4.1`, caps the setting. An unknown release counts as new."""
    return is_since(kafka_version, CAPPED_SINCE)


def effective(configured: npt.ArrayLike, replicas: npt.ArrayLike, capped: npt.ArrayLike) -> Longs:
    """Return how many replicas must be in sync before a leader accepts `acks=all`.

    `replicas`: all that are assigned to the partition. Kafka counts adding replicas from the start of a reassignment.
    `Partition.effectiveMinIsr`.
    """
    least: Longs = np.where(capped, np.minimum(configured, replicas), configured)
    return least


def min_insync_replicas(topics: Iterable[str], configs: Mapping[str, TopicConfig]) -> Longs:
    """Return what each topic is configured to need (T,); 1 where that is unknown."""
    found = map(configs.get, topics)
    return np.array([1 if config is None else config.min_insync_replicas for config in found], np.int64)


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
