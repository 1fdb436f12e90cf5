"""`replicas`: one row per replica."""

from operator import attrgetter
from typing import Any, Final

import numpy as np

from kafka_warden.formulas.replica_state import STATES
from kafka_warden.history.column import Coded, Column, Role, Table, judged, taken
from kafka_warden.history.poll import Poll
from kafka_warden.history.shapes import BOOLEAN, DOUBLE, INT, STRING
from kafka_warden.history.tables.partitions import PARTITION_KEY, Partitions
from kafka_warden.model import Side


def _rows(poll: Poll) -> Partitions:
    return Partitions(poll, poll.snapshot.replicas.partition)


def _position(rows: Partitions) -> np.ndarray:
    # Replicas are grouped by partition: each counts from the first row of its own.
    first = np.searchsorted(rows.row, rows.row)
    return (np.arange(len(rows)) - first).astype(np.int32)


def _sized_at(rows: Partitions) -> np.ndarray:
    at = rows.poll.snapshot.replicas.sized_at
    return np.where(at == 0, np.nan, at)


def _state(rows: Partitions) -> Coded:
    return Coded(rows.poll.derived.replicas.state, [str(state) for state in STATES])


def _listed(side: Side) -> Column[Any]:
    read = attrgetter("poll.derived.throttles.listed")
    return Column(
        f"{side}_listed",
        Role.JUDGED,
        "",
        f"`{side}.replication.throttled.replicas` names it",
        ("derived.throttles.listed",),
        BOOLEAN,
        lambda rows: read(rows)[side],
    )


REPLICAS: Final = Table(
    "replicas",
    "One row per replica, leaders included.",
    ("topic", "topic_id", "partition", "broker"),
    (
        *PARTITION_KEY,
        taken("broker", "", "broker id", "snapshot.replicas.broker", Role.KEY),
        Column("position", Role.RAW, "", "place in the assignment; 0 is preferred to lead", (), INT, _position),
        taken("in_isr", "", "is in the ISR", "snapshot.replicas.in_isr"),
        taken("offline", "", "its log directory or broker is offline", "snapshot.replicas.offline"),
        taken("adding", "", "a reassignment adds it", "snapshot.replicas.adding"),
        taken("removing", "", "a reassignment removes it", "snapshot.replicas.removing"),
        taken("end", "offset", "log end that its broker told in this poll", "snapshot.replicas.end"),
        taken("size", "bytes", "of its local log, as of `sized_at`", "snapshot.replicas.size"),
        Column(
            "sized_at",
            Role.RAW,
            "monotonic s",
            "when `size` was told",
            ("snapshot.replicas.sized_at",),
            DOUBLE,
            _sized_at,
        ),
        taken("start", "offset", "local log start, of leaders and adding replicas only", "snapshot.replicas.start"),
        judged("lag_messages", "messages", "what it lacks", "derived.lag.messages"),
        judged("lag_bytes", "bytes", "the same", "derived.lag.bytes"),
        judged("known_end", "offset", "last log end that is known", "derived.lag.end"),
        judged("following", "", "does not lead, and has somebody to follow", "derived.lag.following"),
        judged("lagging", "", "behind, out of sync or moving", "derived.lag.shown"),
        judged("shown", "", "has series of its own: `lagging`, or late", "derived.replicas.times.shown"),
        judged("anew", "", "adding; its bytes do not compare with those of the poll before", "derived.lag.anew"),
        judged("lag_seconds", "s", "age of the oldest record that is missing", "derived.replicas.times.lag_seconds"),
        judged("behind_seconds", "s", "since it was last caught up", "derived.replicas.times.behind_seconds"),
        judged("caught_up", "", "in this poll", "derived.replicas.times.caught_up"),
        judged("late", "", "behind for longer than its leader allows", "derived.replicas.times.late"),
        judged("caught_up_at", "monotonic s", "when it was last caught up", "derived.replicas.times.caught_up_at"),
        judged("passed_at", "monotonic s", "when its leader passed its end", "derived.replicas.times.passed_at"),
        Column("state", Role.JUDGED, "", "state that is shown", ("derived.replicas.state",), STRING, _state),
        judged("out_since", "monotonic s", "since when it is missing from the ISR", "derived.ages.out_since"),
        judged("out_seconds", "s", "for how long it is", "derived.ages.out_seconds"),
        _listed(Side.LEADER),
        _listed(Side.FOLLOWER),
    ),
    _rows,
)
