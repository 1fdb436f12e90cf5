"""The reassignments in progress, as a file for kafka-reassign-partitions."""

from collections.abc import Mapping

import numpy as np

from kafka_warden.errors import IncompleteError
from kafka_warden.model import NO_BROKER, Bools, Snapshot, Source
from kafka_warden.planning.moving import rows_of
from kafka_warden.planning.reassignment import Target


def check_known(snapshot: Snapshot, not_available: Mapping[tuple[Source, str], str]) -> None:
    """Check that the reassignments in progress are known. `not_available`: reason by source and broker.

    Raises:
        IncompleteError: they are not; the message has the reason.
    """
    if not snapshot.reassignments_known:
        status = snapshot.status.get((Source.REASSIGNMENTS, NO_BROKER))
        errors = dict(status.errors) if status is not None else {}
        refused = not_available.get((Source.REASSIGNMENTS, NO_BROKER), "unknown")
        reason = max(errors, key=lambda name: errors[name], default=refused)
        hint = "; docs/reference/acls.md lists the required ACLs" if reason == "authorization" else ""
        raise IncompleteError(f"the moves in progress are unknown: {reason}{hint}")


def current_moves(snapshot: Snapshot) -> tuple[Target, ...]:
    """Return each partition that is being reassigned, with the replicas at the end of its move."""
    return _moves(snapshot, snapshot.replicas.removing)


def before_moves(snapshot: Snapshot) -> tuple[Target, ...]:
    """Return each partition that is being reassigned, with the replicas from before its move.

    Their order may differ from then: Kafka keeps the new order while it moves.
    """
    return _moves(snapshot, snapshot.replicas.adding)


def _moves(snapshot: Snapshot, without: Bools) -> tuple[Target, ...]:
    partitions, replicas = snapshot.partitions, snapshot.replicas
    targets = []
    for row in np.flatnonzero(partitions.reassigning).tolist():
        rows = slice(*rows_of(replicas, row))
        brokers = replicas.broker[rows][~without[rows]].tolist()
        targets.append(Target(snapshot.topics[partitions.topic[row]], int(partitions.number[row]), tuple(brokers)))
    return tuple(targets)
