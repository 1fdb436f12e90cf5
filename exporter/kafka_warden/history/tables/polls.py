"""`polls`: one row per poll with values of the whole cluster; `restored`: the state file that a process read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, Any, Final

from kafka_warden.errors import HistoryRowsError
from kafka_warden.history.column import Columns, HistoryColumn, HistoryTable, column, columns, row_columns
from kafka_warden.history.column_types import INT, column_type_of
from kafka_warden.history.poll import Poll, Remembered
from kafka_warden.history.tables.brokers import Outcome, broker_ids, outcomes_column, outcomes_of
from kafka_warden.model import ProcessBeans, Side

PART: Final = 256 << 10
"""Characters of the state file in one row of `restored`: a message of a Kafka topic is 1 MB at most by default."""


@dataclass(frozen=True, slots=True)
class ControllerBeans:
    """`ProcessBeans` of a controller, without the beans of clients, which are in `quotas`."""

    node: Annotated[str, "node id, or address until the id is known"]
    at: Annotated[float, "time of the answer from JMX", "monotonic s"]
    values: Annotated[Mapping[str, float], "value by short name", "base units"]


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """The broker and side that limit the moves."""

    broker: Annotated[int, "broker"]
    side: Annotated[Side, "side"]


CONTROLLERS: Final = column_type_of(tuple[ControllerBeans, ...])


def _controllers(poll: Poll, _: object) -> list[ControllerBeans]:
    return [ControllerBeans(node, beans.at, beans.values) for node, beans in poll.snapshot.controller_beans.items()]


def _bottleneck(poll: Poll, _: object) -> Bottleneck | None:
    key = poll.derived.totals.bottleneck
    return None if key is None else Bottleneck(*key)


def _outcomes(poll: Poll, _: object) -> list[Outcome]:
    brokers = {str(broker) for broker in broker_ids(poll)}
    return outcomes_of(poll, wanted=lambda broker: broker not in brokers)


def _value(name: str, path: str) -> HistoryColumn:
    """Make a column of one value of the poll."""
    read = attrgetter(path)
    return column(name, path, lambda poll, _: read(poll))


POLLS: Final = HistoryTable(
    "polls",
    "One row per poll. A poll without any answer has none.",
    (),
    (
        _value("remembered", "remembered"),
        _value("parameters", "parameters"),
        *columns(_value, "snapshot", "controller", "kafka_version", "reassignments_known"),
        column(
            "quotas_known",
            each=lambda poll, _: poll.snapshot.quotas is not None,
            type_=bool,
            text="the client quotas are known",
        ),
        *columns(_value, "snapshot", "quorum", "controller_window"),
        column("controllers", "snapshot.controller_beans[]", _controllers, type_=tuple[ControllerBeans, ...]),
        outcomes_column(_outcomes, "any broker"),
        *columns(_value, "derived.cluster", "partitions", "under_replicated_known", "min_isr_known"),
        _value("lists_known", "derived.throttles.lists_known"),
        _value("clamped", "derived.clamped"),
        _value("clamped_now", "derived.lag.clamped"),
        _value("reassigning_partitions", "derived.totals.reassigning_partitions"),
        _value("move_ratio", "derived.totals.ratio"),
        *columns(_value, "derived.totals", "remaining_bytes", "eta", "predicted", "predicted_bottleneck"),
        column("bottleneck", "derived.totals.bottleneck", _bottleneck, type_=Bottleneck),
        _value("recommended_throttle", "derived.throttling.recommended"),
    ),
    lambda _: [None],
)


def controllers_of(rows: Columns) -> dict[str, ProcessBeans]:
    """Restore the beans of the controllers by node, without those of clients."""
    return {each.node: ProcessBeans(each.at, each.values) for each in CONTROLLERS.read(rows["controllers"][0])}


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the state file."""

    part: Annotated[int, "number of the piece"]
    parts: Annotated[int, "number of pieces"]
    text: Annotated[str, "JSON"]


def _parts(poll: Poll) -> list[Part]:
    if poll.remembered is not Remembered.RESTORED or poll.restored is None:
        return []
    text = json.dumps(poll.restored, allow_nan=False, separators=(",", ":"))
    starts = range(0, len(text), PART)
    return [Part(number, len(starts), text[start : start + PART]) for number, start in enumerate(starts)]


RESTORED: Final = HistoryTable(
    "restored",
    "The state file that a process started with, in pieces.",
    ("part",),
    tuple(row_columns(Part, part=INT, parts=INT)),
    _parts,
)


def document_of(rows: Columns) -> Mapping[str, Any]:
    """Restore the state file that the first poll of a process was evaluated with.

    Raises:
        HistoryRowsError: pieces are missing.
    """
    parts = dict(zip(rows["part"], rows["text"], strict=True))
    if not parts or sorted(parts) != list(range(rows["parts"][0])):
        raise HistoryRowsError(f"restored: pieces are missing, there are {sorted(parts)}; read all rows of the poll")
    document: Mapping[str, Any] = json.loads("".join(parts[part] for part in sorted(parts)))
    return document
