"""Restores snapshots from their rows, evaluates the polls of a run again, and reports the confidence in each result.

Rows may have any order. The memory is not stored: a replay computes it from the polls of a run, starting with one whose
`remembered` is not `kept`. This is the loop of the exporter: the same snapshots, the same `derive`, the same memory.
The results are equal to those of the exporter, bit by bit, if no poll since the start of the run is missing.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from kafka_warden.derive import Memory, derive
from kafka_warden.derive.saved import from_document
from kafka_warden.errors import HistoryRowsError, StateError
from kafka_warden.history.column import Columns, records
from kafka_warden.history.poll import Poll, Remembered
from kafka_warden.history.schema import columns_of
from kafka_warden.history.tables import brokers, configs, moves, polls, quotas, replicas
from kafka_warden.model import Parameters, Snapshot

Tables = Mapping[str, Columns]
"""Rows of one poll by table; all tables are present, some without rows."""


class Confidence(StrEnum):
    """Confidence in the result of a replayed poll."""

    EXACT = "exact"
    """All polls since the process started are there: the result is that of the exporter."""
    GAP = "gap"
    """An earlier poll is missing: evaluated with the memory from before the gap. Ages and rates may differ."""
    UNFOUNDED = "unfounded"
    """The first polls of the process are missing: evaluated like the first polls of a process."""
    INCOMPLETE = "incomplete"
    """Rows of this poll are missing: it is not evaluated, and the polls after it have a gap."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """One poll of a run."""

    cluster_id: str
    run: str
    sequence: int
    time: float
    """Unix seconds."""
    confidence: Confidence
    poll: Poll | None
    """The evaluated poll; `None` if it is incomplete."""
    problem: str = ""
    """What is missing, if it is incomplete."""


@dataclass(frozen=True, slots=True)
class _RunState:
    """State from one poll to the next of its run."""

    memory: Memory | None = None
    sequence: int | None = None
    confidence: Confidence = Confidence.UNFOUNDED


def replay(polls: Iterable[Tables]) -> Iterator[Replayed]:
    """Evaluate polls again. Those of a run must be consecutive and in the order of `sequence`; runs may have any order.

    Memory use does not grow with the number of polls. A poll without any row is skipped.
    """
    of: tuple[str, str] | None = None
    state = _RunState()
    for tables in polls:
        key = _key(tables)
        if key is None:
            continue
        if (key.cluster_id, key.run) != of:
            of, state = (key.cluster_id, key.run), _RunState()
        state, replayed = _step(state, tables, key)
        yield replayed


def _key(tables: Tables) -> Replayed | None:
    """Identify the poll from the first row of any table."""
    for columns in tables.values():
        if len(columns["run"]):
            cluster_id, run, sequence, time = (columns[name][0] for name in ("cluster_id", "run", "sequence", "time"))
            return Replayed(cluster_id, run, sequence, time, Confidence.INCOMPLETE, None)
    return None


def _step(state: _RunState, tables: Tables, key: Replayed) -> tuple[_RunState, Replayed]:
    try:
        after, poll = _evaluate(state, tables, key.sequence)
    except (HistoryRowsError, StateError) as problem:
        kept = tables["polls"]["remembered"][:1] in ([], [Remembered.KEPT])
        return state if kept else _RunState(), replace(key, problem=str(problem))
    return after, replace(key, confidence=after.confidence, poll=poll)


def _evaluate(state: _RunState, tables: Tables, sequence: int) -> tuple[_RunState, Poll]:
    seen, parameters = snapshot_of(tables), parameters_of(tables)
    remembered = Remembered(tables["polls"]["remembered"][0])
    document = polls.document_of(tables["restored"]) if remembered is Remembered.RESTORED else None
    if document is not None:
        memory: Memory | None = from_document(document, seen)
    else:
        memory = state.memory if remembered is Remembered.KEPT else None
    memory, derived = derive(seen, memory, parameters)
    poll = Poll(seen, derived, parameters, tables["polls"]["run"][0], sequence, remembered, document)
    return _RunState(memory, sequence, _confidence(state, remembered, sequence)), poll


def _confidence(state: _RunState, remembered: Remembered, sequence: int) -> Confidence:
    if remembered is not Remembered.KEPT:
        return Confidence.EXACT
    if state.confidence is Confidence.EXACT and sequence != (state.sequence or 0) + 1:
        return Confidence.GAP
    return state.confidence


def snapshot_of(tables: Tables) -> Snapshot:
    """Restore the snapshot of one poll. `tables` needs all tables except `restored`, with the rows of this poll only.

    Raises:
        HistoryRowsError: `polls` has not exactly one row, or rows of another table are missing.
    """
    of_cluster = _only(tables["polls"], "snapshot.")
    _check_whole(tables)
    of_topics, of_brokers = configs.restore(tables["configs"]), brokers.restore(tables["brokers"])
    places = {topic: place for place, topic in enumerate(of_topics["topics"])}
    partitions, copies = replicas.restore(tables["partitions"], tables["replicas"], places)
    configured, clients = quotas.restore(tables["quotas"])
    beans, controllers = of_brokers.pop("broker_beans").items(), polls.controllers_of(tables["polls"]).items()
    outcomes = (*tables["polls"]["outcomes"], *tables["brokers"]["outcomes"])
    return Snapshot(
        **of_cluster,
        **of_topics,
        **of_brokers,
        partitions=partitions,
        replicas=copies,
        future_replicas=moves.restore(tables["moves"]),
        quotas=configured if tables["polls"]["quotas_known"][0] else None,
        broker_beans={id_: quotas.with_clients(each, clients, quotas.BROKER, str(id_)) for id_, each in beans},
        controller_beans={
            node: quotas.with_clients(each, clients, quotas.CONTROLLER, node) for node, each in controllers
        },
        status=brokers.status_of(outcomes),
    )


def parameters_of(tables: Tables) -> Parameters:
    """Restore the options that this poll was evaluated with."""
    parameters: Parameters = _only(tables["polls"], "")["parameters"]
    return parameters


def _only(rows: Columns, prefix: str) -> dict[str, Any]:
    found = records(columns_of(polls.POLLS), prefix, rows)
    if len(found) != 1:
        raise HistoryRowsError(f"polls: expected the one row of one poll, got {len(found)}; pick one run and sequence")
    return found[0]


def _check_whole(tables: Tables) -> None:
    poll = {name: values[0] for name, values in tables["polls"].items()}
    for name, counted in dict(poll["rows"]).items():
        found = len(tables[name]["time"]) if name in tables else counted
        if found != counted:
            raise HistoryRowsError(
                f"{name}: {found} rows where the poll of run {poll['run']}, sequence {poll['sequence']} has {counted}:"
                " history lost some, or not all rows of the poll were read"
            )
