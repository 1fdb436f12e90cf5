"""`polls`: one row per poll with values of the whole cluster; `restored`: the state file that a process read."""

import json
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from kafka_warden.history.column import Column, Role, Table, annotation_at
from kafka_warden.history.column_types import BOOLEAN, INT, STRING, column_type_of
from kafka_warden.history.poll import Poll, Remembered
from kafka_warden.history.tables.brokers import broker_ids
from kafka_warden.history.tables.entities import Entities, column
from kafka_warden.history.tables.records import Bottleneck, ControllerBeans, Outcome
from kafka_warden.model import Parameters

PART: Final = 256 << 10
"""Characters of the state file in one row of `restored`: a message of a Kafka topic is 1 MB at most by default."""


def _outcomes(poll: Poll, _: object) -> list[Outcome]:
    brokers = {str(broker) for broker in broker_ids(poll)}
    return [Outcome.from_model(key, status) for key, status in poll.snapshot.status.items() if key[1] not in brokers]


def _controllers(poll: Poll, _: object) -> list[ControllerBeans]:
    return [ControllerBeans(node, beans.at, beans.values) for node, beans in poll.snapshot.controller_beans.items()]


def _column(name: str, text: str, source: str, unit: str = "") -> Column[Any]:
    """Make a column of one value of the poll."""
    read, type_ = attrgetter(source), column_type_of(annotation_at(source))
    return column(name, type_, text, (source,), lambda poll, _: read(poll), unit=unit)


POLLS: Final = Table(
    "polls",
    "One row per poll, with values of the whole cluster. Without an answer about the cluster a poll has no rows.",
    (),
    (
        column(
            "remembered",
            STRING,
            "state before this poll: `nothing`, `restored` (from the state file) or `kept` (from earlier polls)",
            (),
            lambda poll, _: poll.remembered,
        ),
        column("parameters", column_type_of(Parameters), "options of the user", (), lambda poll, _: poll.parameters),
        _column("controller", "node id of the active controller", "snapshot.controller"),
        _column("kafka_version", "release of the broker that answered for the metadata", "snapshot.kafka_version"),
        _column("reassignments_known", "the reassignments are known", "snapshot.reassignments_known"),
        column(
            "quotas_known", BOOLEAN, "the client quotas are known", (), lambda poll, _: poll.snapshot.quotas is not None
        ),
        _column("quorum", "answer to DescribeQuorum", "snapshot.quorum"),
        _column("controller_window", "quota window of the active controller", "snapshot.controller_window"),
        column(
            "controllers",
            column_type_of(tuple[ControllerBeans, ...]),
            "JMX values of the controllers; beans of clients are in `quotas`",
            ("snapshot.controller_beans[].at", "snapshot.controller_beans[].values"),
            _controllers,
        ),
        column(
            "outcomes",
            column_type_of(tuple[Outcome, ...]),
            "result of each request that is not sent to one particular broker",
            tuple(f"snapshot.status[].{name}" for name in ("up", "duration", "last_success", "errors")),
            _outcomes,
        ),
        _column("partitions", "partitions that count against the cluster's limit", "derived.cluster.partitions"),
        _column(
            "under_replicated_known",
            "it is known which partitions are under-replicated",
            "derived.cluster.under_replicated_known",
        ),
        _column("min_isr_known", "`min.insync.replicas` of every topic is known", "derived.cluster.min_isr_known"),
        _column("lists_known", "the throttled lists of all topics are known", "derived.throttles.lists_known"),
        _column("clamped", "negative differences set to 0 since the process started", "derived.clamped"),
        _column("clamped_now", "negative differences set to 0 in this poll", "derived.lag.clamped"),
        _column("reassigning_partitions", "partitions under reassignment", "derived.totals.reassigning_partitions"),
        _column("move_ratio", "MoveRatio of KIP-73", "derived.totals.ratio", "ratio"),
        _column(
            "remaining_bytes",
            "bytes that all adding replicas still have to copy",
            "derived.totals.remaining_bytes",
            "bytes",
        ),
        _column("eta", "time until all moves are done", "derived.totals.eta", "s"),
        _column("predicted", "MoveTime of KIP-73", "derived.totals.predicted", "s"),
        _column(
            "predicted_bottleneck",
            "time that the moves take at the bottleneck, by the throttle law",
            "derived.totals.predicted_bottleneck",
            "s",
        ),
        column(
            "bottleneck",
            column_type_of(Bottleneck),
            "broker and side that limit the moves",
            ("derived.totals.bottleneck",),
            lambda poll, _: Bottleneck(*key) if (key := poll.derived.totals.bottleneck) is not None else None,
        ),
        _column(
            "recommended_throttle",
            "lowest throttle that completes the moves in time",
            "derived.throttling.recommended",
            "bytes/s",
        ),
    ),
    lambda poll: Entities(poll, [None]),
)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the state file."""

    part: int
    parts: int
    text: str


def _parts(poll: Poll) -> Entities[Part]:
    if poll.remembered is not Remembered.RESTORED or poll.restored is None:
        return Entities(poll, [])
    text = json.dumps(poll.restored, allow_nan=False, separators=(",", ":"))
    starts = range(0, len(text), PART)
    return Entities(
        poll, [Part(number, len(starts), text[start : start + PART]) for number, start in enumerate(starts)]
    )


RESTORED: Final = Table(
    "restored",
    "The state file that a process started with, in pieces. Only for polls with `restored` in `polls.remembered`.",
    ("part",),
    (
        column("part", INT, "number of the piece", role=Role.KEY),
        column("parts", INT, "number of pieces"),
        column("text", STRING, "JSON"),
    ),
    _parts,
)
