"""How long replicas are out of sync and partitions under-replicated (docs/spec/replicas.md#out-of-sync)."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kafka_warden.derive.snapshot_index import IndexedSnapshot
from kafka_warden.formulas.folds import since_rows
from kafka_warden.model import Bools, Floats


@dataclass(frozen=True, slots=True)
class Ages:
    """Start of each condition in monotonic seconds, and its age; NaN where it does not hold."""

    out_since: Annotated[Floats, "time at which it left the ISR", "monotonic s"]
    """(R,)"""
    out_seconds: Annotated[Floats, "time for which it has been out of the ISR", "s"]
    under_since: Annotated[Floats, "start of the under-replication", "monotonic s"]
    """(P,)"""
    under_seconds: Annotated[Floats, "time for which it has been under-replicated", "s"]


def derive_ages(indexed: IndexedSnapshot, under_replicated: Bools, out_since: Floats, under_since: Floats) -> Ages:
    """Advance the clocks. The clock of an adding replica starts after its move.

    While reassignments are unknown no clock starts: a missing replica may be an adding one.
    """
    replicas, clock = indexed.snapshot.replicas, indexed.snapshot.clock
    missing = ~replicas.in_isr & ~replicas.adding
    if not indexed.snapshot.reassignments_known:
        missing, under_replicated = missing & ~np.isnan(out_since), under_replicated & ~np.isnan(under_since)
    out = since_rows(out_since, clock, missing)
    under = since_rows(under_since, clock, under_replicated)
    return Ages(*out, *under)
