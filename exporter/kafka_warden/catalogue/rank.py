"""The order in which families get their part of `limits.series`."""

from enum import IntEnum
from typing import Final


class Rank(IntEnum):
    """Ranks in the order in which series are placed: the last ones are left out first."""

    VERDICTS = 0
    """States of replicas with a problem, causes of stuck moves."""
    PROBLEMS = 1
    """Problems of throttles and of tiered storage, by broker."""
    BROKERS = 2
    """Series by broker, node or source, except those of brokers that Metadata never described."""
    DETAILS = 3
    """Series by adding replica, follower or topic, and states without a problem."""
    CLIENTS = 4
    """Series by user and client id."""
    UNKNOWN_BROKERS = 5
    """Series by broker of ids that host replicas and that Metadata never described."""
    RATES = 6
    """Bytes in by partition."""
    FIXED = 7
    """Families whose number of series does not grow with the cluster: never left out."""


_BY_NAME: Final = {
    "partition_bytes_in_per_second": Rank.RATES,
    "reassignment_stuck": Rank.VERDICTS,
    "replica_state": Rank.VERDICTS,
    "replication_throttle_problem_seconds": Rank.PROBLEMS,
    "tiered_storage_problem_seconds": Rank.PROBLEMS,
}
_BY_LABEL: Final = {
    "topic": Rank.DETAILS,
    "user": Rank.CLIENTS,
    "broker": Rank.BROKERS,
    "node": Rank.BROKERS,
}


def rank_of(name: str, labels: tuple[str, ...]) -> Rank:
    """Return the rank of a family, by its name without the prefix and its labels."""
    by_label = (rank for label, rank in _BY_LABEL.items() if label in labels)
    return _BY_NAME[name] if name in _BY_NAME else next(by_label, Rank.FIXED)
