"""`min.insync.replicas` as the leader of a partition applies it. KAFKA-15583."""

from typing import Final

import numpy as np
import numpy.typing as npt

from kafka_warden.arrays import Longs
from kafka_warden.formulas.release import is_since

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
