"""`polls`: one row per poll, with what is of the whole cluster; and `restored`, what a new process began with."""

import json
from dataclasses import dataclass
from typing import Any, Final

from kafka_warden.history.column import Column, Role, Table
from kafka_warden.history.poll import Poll, Remembered
from kafka_warden.history.shapes import BIGINT, BOOLEAN, INT, STRING, Shape, shape_of
from kafka_warden.history.tables.brokers import broker_ids
from kafka_warden.history.tables.entities import (
    MAYBE_NUMBER,
    MAYBE_REAL,
    MAYBE_TEXT,
    Entities,
    column,
    judged,
)
from kafka_warden.history.tables.records import Bottleneck, ControllerBeans, Outcome
from kafka_warden.model import ControllerWindow, Parameters, Quorum

PART: Final = 256 << 10
"""Characters of the state file in one row of `restored`: a message of a Kafka topic is 1 MB at most by default."""


def _outcomes(poll: Poll, _: object) -> list[Outcome]:
    brokers = {str(broker) for broker in broker_ids(poll)}
    return [Outcome.of(key, status) for key, status in poll.snapshot.status.items() if key[1] not in brokers]


def _controllers(poll: Poll, _: object) -> list[ControllerBeans]:
    return [ControllerBeans.of(node, beans) for node, beans in poll.snapshot.controller_beans.items()]


def _bottleneck(poll: Poll, _: object) -> Bottleneck | None:
    key = poll.derived.totals.bottleneck
    return None if key is None else Bottleneck(*key)


def _told(name: str, shape: Shape, text: str) -> Column[Any]:
    return column(name, shape, "", text, (f"snapshot.{name}",), lambda poll, _: getattr(poll.snapshot, name))


def _total(name: str, shape: Shape, unit: str, text: str, attribute: str) -> Column[Any]:
    sources = (f"derived.totals.{attribute}",)
    return judged(name, shape, unit, text, sources, lambda poll, _: getattr(poll.derived.totals, attribute))


POLLS: Final = Table(
    "polls",
    "One row per poll: what is of the whole cluster. A poll in which nobody told about the cluster has no rows at all.",
    (),
    (
        column(
            "remembered",
            STRING,
            "",
            "what it was judged with besides itself: `nothing`, `restored` (the state file) or `kept` (polls before)",
            (),
            lambda poll, _: poll.remembered,
        ),
        column("parameters", shape_of(Parameters), "", "what the user set", (), lambda poll, _: poll.parameters),
        _told("controller", MAYBE_NUMBER, "node id of the active controller"),
        _told("kafka_version", MAYBE_TEXT, "release of the cluster"),
        _told("reassignments_known", BOOLEAN, "somebody told what is being reassigned"),
        column(
            "quotas_known",
            BOOLEAN,
            "",
            "somebody told the client quotas",
            (),
            lambda poll, _: poll.snapshot.quotas is not None,
        ),
        column("quorum", shape_of(Quorum), "", "DescribeQuorum", ("snapshot.quorum",), lambda p, _: p.snapshot.quorum),
        column(
            "controller_window",
            shape_of(ControllerWindow),
            "",
            "quota window of the active controller",
            ("snapshot.controller_window",),
            lambda poll, _: poll.snapshot.controller_window,
        ),
        column(
            "controllers",
            shape_of(tuple[ControllerBeans, ...]),
            "",
            "what JMX of controllers told; the beans of clients are in `quotas`",
            ("snapshot.controller_beans[].at", "snapshot.controller_beans[].values"),
            _controllers,
        ),
        column(
            "outcomes",
            shape_of(tuple[Outcome, ...]),
            "",
            "how each question fares that is not of one broker",
            tuple(f"snapshot.status[].{name}" for name in ("up", "duration", "last_success", "errors")),
            _outcomes,
        ),
        judged(
            "partitions",
            BIGINT,
            "",
            "partitions that count against the cluster's limit",
            ("derived.cluster.partitions",),
            lambda poll, _: poll.derived.cluster.partitions,
        ),
        judged(
            "under_replicated_known",
            BOOLEAN,
            "",
            "whether partitions are under-replicated can be told",
            ("derived.cluster.under_replicated_known",),
            lambda poll, _: poll.derived.cluster.under_replicated_known,
        ),
        judged(
            "min_isr_known",
            BOOLEAN,
            "",
            "`min.insync.replicas` of every topic is known",
            ("derived.cluster.min_isr_known",),
            lambda poll, _: poll.derived.cluster.min_isr_known,
        ),
        judged(
            "lists_known",
            BOOLEAN,
            "",
            "the throttled lists of every topic are known",
            ("derived.throttles.lists_known",),
            lambda poll, _: poll.derived.throttles.lists_known,
        ),
        judged(
            "clamped",
            BIGINT,
            "",
            "negative differences set to 0 since the process started",
            ("derived.clamped",),
            lambda poll, _: poll.derived.clamped,
        ),
        judged(
            "clamped_now",
            BIGINT,
            "",
            "those of this poll",
            ("derived.lag.clamped",),
            lambda poll, _: poll.derived.lag.clamped,
        ),
        _total("reassigning_partitions", MAYBE_NUMBER, "", "partitions under reassignment", "reassigning_partitions"),
        _total("move_ratio", MAYBE_REAL, "ratio", "MoveRatio of KIP-73", "ratio"),
        _total("remaining_bytes", MAYBE_REAL, "bytes", "what all adding replicas lack", "remaining_bytes"),
        _total("eta", MAYBE_REAL, "s", "until all moves are done", "eta"),
        _total("predicted", MAYBE_REAL, "s", "MoveTime of KIP-73", "predicted"),
        _total("predicted_bottleneck", MAYBE_REAL, "s", "the same of what binds, by the law", "predicted_bottleneck"),
        judged("bottleneck", shape_of(Bottleneck), "", "what binds", ("derived.totals.bottleneck",), _bottleneck),
        judged(
            "recommended_throttle",
            MAYBE_REAL,
            "bytes/s",
            "the lowest throttle that ends the moves in time",
            ("derived.throttling.recommended",),
            lambda poll, _: poll.derived.throttling.recommended,
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
    "The state file that the first poll of a process was judged with, in pieces: only where `polls.remembered` is "
    "`restored`.",
    ("part",),
    (
        column("part", INT, "", "which piece", (), lambda _, item: item.part, Role.KEY),
        column("parts", INT, "", "of how many", (), lambda _, item: item.parts),
        column("text", STRING, "", "JSON", (), lambda _, item: item.text),
    ),
    _parts,
)
