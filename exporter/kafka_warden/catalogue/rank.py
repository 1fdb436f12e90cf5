"""The order in which families get their part of `limits.series`."""

from enum import IntEnum
from typing import Final


class Rank(IntEnum):
    """Ranks in the order in which series are placed: the last ones are left out first, but `FIXED` never."""

    VERDICTS = 0
    """States of replicas with a problem, causes of stuck moves."""
    PROBLEMS = 1
    """Problems of throttles and of tiered storage, by broker; the partitions that are longest under-replicated; the
    topics with most partitions that are offline or under min.insync.replicas."""
    BROKERS = 2
    """Series by broker, node or source, except those of brokers that Metadata never described."""
    ALERTS = 3
    """Other series that expressions of alerts read. Without a series of this rank or before, an alert cannot fire."""
    DETAILS = 4
    """Series by adding replica or follower, and states without a problem."""
    CLIENTS = 5
    """Series by user and client id."""
    UNKNOWN_BROKERS = 6
    """Series by broker of ids that host replicas and that Metadata never described."""
    TOPICS = 7
    """Series by topic, zeros included: thousands of topics must not displace what is before."""
    RATES = 8
    """Bytes in by partition."""
    FIXED = 9
    """Families whose number of series does not grow with the cluster. Placed last: one counts what is dropped."""


_BY_NAME: Final = {
    "controller_mutation_burst": Rank.ALERTS,
    "controller_mutation_quota_per_second": Rank.ALERTS,
    "controller_mutation_tokens": Rank.ALERTS,
    "controller_mutations_per_second": Rank.ALERTS,
    "leader_candidate": Rank.TOPICS,
    "log_dir_move_eta_seconds": Rank.ALERTS,
    "partition_bytes_in_per_second": Rank.RATES,
    "partition_under_replicated_seconds": Rank.PROBLEMS,
    "reassignment_stuck": Rank.VERDICTS,
    "replica_state": Rank.VERDICTS,
    "replication_throttle_problem_seconds": Rank.PROBLEMS,
    "tiered_storage_problem_seconds": Rank.PROBLEMS,
    "topic_offline_partitions": Rank.PROBLEMS,
    "topic_remote_copy_overdue_bytes": Rank.ALERTS,
    "topic_remote_copy_stalled_seconds": Rank.ALERTS,
    "topic_under_min_isr_partitions": Rank.PROBLEMS,
}
_BY_LABEL: Final = {
    "partition": Rank.DETAILS,
    "topic": Rank.TOPICS,
    "user": Rank.CLIENTS,
    "broker": Rank.BROKERS,
    "node": Rank.BROKERS,
}


def rank_of(name: str, labels: tuple[str, ...]) -> Rank:
    """Return the rank of a family, by its name without the prefix and its labels."""
    return _BY_NAME[name] if name in _BY_NAME else rank_of_labels(labels)


def rank_of_labels(labels: tuple[str, ...]) -> Rank:
    """Return the rank of families with these labels that have none by name."""
    return next((rank for label, rank in _BY_LABEL.items() if label in labels), Rank.FIXED)
