"""`replicas`: one row per replica."""

from typing import Any, Final

import numpy as np

from kafka_warden.formulas.replica_state import STATES
from kafka_warden.history.column import Column, DictionaryColumn, Role, Table, array_column
from kafka_warden.history.column_types import BOOLEAN, DOUBLE, INT, STRING
from kafka_warden.history.tables.partitions import PARTITION_KEY, Partitions
from kafka_warden.model import Side


def _position(rows: Partitions) -> np.ndarray:
    # Replicas are grouped by partition: each counts from the first row of its own.
    first = np.searchsorted(rows.row, rows.row)
    return (np.arange(len(rows)) - first).astype(np.int32)


def _listed(side: Side) -> Column[Any]:
    return Column(
        f"{side}_listed",
        Role.DERIVED,
        f"`{side}.replication.throttled.replicas` lists it",
        ("derived.throttles.listed",),
        BOOLEAN,
        lambda rows: rows.poll.derived.throttles.listed[side],
    )


REPLICAS: Final = Table(
    "replicas",
    "One row per replica, leaders included.",
    ("topic", "topic_id", "partition", "broker"),
    (
        *PARTITION_KEY,
        array_column("broker", "broker id", "snapshot.replicas.broker", role=Role.KEY),
        Column("position", Role.RAW, "position in the assignment; 0 is the preferred leader", (), INT, _position),
        array_column("in_isr", "it is in the ISR", "snapshot.replicas.in_isr"),
        array_column("offline", "its log directory or broker is offline", "snapshot.replicas.offline"),
        array_column("adding", "a reassignment adds it", "snapshot.replicas.adding"),
        array_column("removing", "a reassignment removes it", "snapshot.replicas.removing"),
        array_column("end", "log end that its broker reported in this poll", "snapshot.replicas.end", "offset"),
        array_column("size", "size of its local log at `sized_at`", "snapshot.replicas.size", "bytes"),
        Column(
            "sized_at",
            Role.RAW,
            "time at which `size` was reported",
            ("snapshot.replicas.sized_at",),
            DOUBLE,
            lambda rows: np.where((at := rows.poll.snapshot.replicas.sized_at) == 0, np.nan, at),
            "monotonic s",
        ),
        array_column("start", "local log start; leaders and adding replicas only", "snapshot.replicas.start", "offset"),
        array_column(
            "eligible",
            "of partitions without a leader: 1 in the ELR, 2 last known ELR, 3 both, 0 neither; null where not known",
            "snapshot.replicas.eligible",
        ),
        array_column("lag_messages", "messages that it is behind", "derived.lag.messages", "messages"),
        array_column("lag_bytes", "bytes that it is behind", "derived.lag.bytes", "bytes"),
        array_column("known_end", "last known log end", "derived.lag.end", "offset"),
        array_column(
            "following",
            "its partition has several replicas, and it does not lead; true without a leader, too",
            "derived.lag.following",
        ),
        array_column("lagging", "it is behind, out of sync or moving", "derived.lag.shown"),
        array_column(
            "shown", "it has its own series in `/metrics`: `lagging` or `late`", "derived.replicas.times.shown"
        ),
        array_column(
            "anew",
            "an adding replica whose bytes cannot be compared with the previous poll",
            "derived.lag.estimate_reset",
        ),
        array_column("lag_seconds", "age of the oldest missing record", "derived.replicas.times.lag_seconds", "s"),
        array_column(
            "behind_seconds", "time since it was last caught up", "derived.replicas.times.behind_seconds", "s"
        ),
        array_column("caught_up", "it is caught up in this poll", "derived.replicas.times.caught_up"),
        array_column(
            "late",
            "it is behind for longer than `replica.lag.time.max.ms` of its leader",
            "derived.replicas.times.late",
        ),
        array_column(
            "caught_up_at", "time at which it was last caught up", "derived.replicas.times.caught_up_at", "monotonic s"
        ),
        array_column(
            "passed_at",
            "time at which its leader passed its log end",
            "derived.replicas.times.passed_at",
            "monotonic s",
        ),
        Column(
            "state",
            Role.DERIVED,
            "state in `/metrics`",
            ("derived.replicas.state",),
            STRING,
            lambda rows: DictionaryColumn(rows.poll.derived.replicas.state, [str(state) for state in STATES]),
        ),
        array_column("out_since", "time at which it left the ISR", "derived.ages.out_since", "monotonic s"),
        array_column("out_seconds", "time for which it has been out of the ISR", "derived.ages.out_seconds", "s"),
        _listed(Side.LEADER),
        _listed(Side.FOLLOWER),
    ),
    lambda poll: Partitions(poll, poll.snapshot.replicas.partition),
)
