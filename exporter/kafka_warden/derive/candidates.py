"""Which replicas may lead the partitions without a leader, once their brokers run (KIP-966)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.model import IN_ELR, LAST_KNOWN_ELR, UNKNOWN, Longs


class Candidacy(StrEnum):
    """Why a replica may lead. Without ELR the ISR keeps its last members; with it, that is empty."""

    ISR = "isr"
    ELR = "elr"
    LAST_KNOWN_ELR = "last_known_elr"
    """It led last. Kafka elects it when the ELR is empty; it may lack committed records then."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Replicas of partitions without a leader. B brokers."""

    rows: Mapping[Candidacy, Longs]
    """Rows of the `ReplicaTable`."""
    partitions: Longs | None
    """(B,) partitions without a leader whose ISR or ELR has the broker. `None` while that of one is unknown."""


def derive_candidates(indexed: IndexedSnapshot) -> Candidates:
    """Look at one snapshot."""
    replicas = indexed.snapshot.replicas
    offline = indexed.snapshot.partitions.leader[replicas.partition] == UNKNOWN
    flags = np.where(offline & (replicas.eligible != UNKNOWN), replicas.eligible, 0)
    in_isr, in_elr = offline & replicas.in_isr, (flags & IN_ELR) > 0
    unknown = replicas.partition[offline & (replicas.eligible == UNKNOWN)]
    known = np.isin(unknown, replicas.partition[in_isr]).all()
    return Candidates(
        rows={
            Candidacy.ISR: np.flatnonzero(in_isr),
            Candidacy.ELR: np.flatnonzero(in_elr),
            Candidacy.LAST_KNOWN_ELR: np.flatnonzero(flags & LAST_KNOWN_ELR),
        },
        partitions=np.bincount(indexed.host[in_isr | in_elr], minlength=len(indexed.brokers)) if known else None,
    )
