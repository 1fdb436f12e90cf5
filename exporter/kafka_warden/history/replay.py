"""Judge the polls of a run again from their rows, one after the other, and tell how far each can be believed.

It is the loop of the sidecar itself: the same snapshots, the same `derive`, the same memory from poll to poll. So what
comes out is what the sidecar said, bit by bit, as long as no poll since the start of the run is missing.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from kafka_warden.derive import Memory, derive
from kafka_warden.derive.saved import from_document
from kafka_warden.errors import HistoryRowsError, StateError
from kafka_warden.history.poll import Poll, Remembered
from kafka_warden.history.restore import Columns, document_of, parameters_of, snapshot_of
from kafka_warden.model import Snapshot

Tables = Mapping[str, Columns]
"""Table to its rows in one poll; every table is there, if with no rows."""


class Told(StrEnum):
    """How far a poll that was judged again can be believed."""

    EXACT = "exact"
    """Every poll since the process began is there: this is what the sidecar said."""
    GAP = "gap"
    """A poll before it is missing: judged with what was remembered before the gap. Ages and rates may differ."""
    UNFOUNDED = "unfounded"
    """The polls that it stands on are missing from the start: judged as the first ones of a process would be."""
    INCOMPLETE = "incomplete"
    """Rows of this poll itself are missing: it is not judged at all, and those after it stand behind a gap."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """One poll of a run."""

    cluster_id: str
    run: str
    sequence: int
    time: float
    """Unix seconds."""
    told: Told
    poll: Poll | None
    """The poll, judged; `None` where it is incomplete."""
    problem: str = ""
    """What is missing, where it is incomplete."""


@dataclass(frozen=True, slots=True)
class _Standing:
    """What one poll leaves to the next one of its run."""

    memory: Memory | None = None
    sequence: int | None = None
    told: Told = Told.UNFOUNDED


def replay(polls: Iterable[Tables]) -> Iterator[Replayed]:
    """Judge polls again. Those of a run have to follow each other in the order of `sequence`; runs may in any order.

    Only the memory of the present run is held, so a history of any length will do. A poll without any row is passed by.
    """
    of: tuple[str, str] | None = None
    standing = _Standing()
    for tables in polls:
        key = _key(tables)
        if key is None:
            continue
        if (key.cluster_id, key.run) != of:
            of, standing = (key.cluster_id, key.run), _Standing()
        standing, replayed = _step(standing, tables, key)
        yield replayed


def _key(tables: Tables) -> Replayed | None:
    """Tell which poll it is, from the first row of any table."""
    for columns in tables.values():
        if len(columns["run"]):
            cluster_id, run, sequence, time = (columns[name][0] for name in ("cluster_id", "run", "sequence", "time"))
            return Replayed(cluster_id, run, sequence, time, Told.INCOMPLETE, None)
    return None


def _step(standing: _Standing, tables: Tables, key: Replayed) -> tuple[_Standing, Replayed]:
    try:
        after, poll = _judge(standing, tables, key.sequence)
    except (HistoryRowsError, StateError) as problem:
        kept = tables["polls"]["remembered"][:1] in ([], [Remembered.KEPT])
        return standing if kept else _Standing(), replace(key, problem=str(problem))
    return after, replace(key, told=after.told, poll=poll)


def _judge(standing: _Standing, tables: Tables, sequence: int) -> tuple[_Standing, Poll]:
    seen, parameters = snapshot_of(tables), parameters_of(tables)
    remembered = Remembered(tables["polls"]["remembered"][0])
    document = document_of(tables["restored"]) if remembered is Remembered.RESTORED else None
    memory = _memory(standing, remembered, document, seen)
    memory, derived = derive(seen, memory, parameters)
    poll = Poll(seen, derived, parameters, tables["polls"]["run"][0], sequence, remembered, document)
    return _Standing(memory, sequence, _told(standing, remembered, sequence)), poll


def _told(standing: _Standing, remembered: Remembered, sequence: int) -> Told:
    if remembered is not Remembered.KEPT:
        return Told.EXACT
    if standing.told is Told.EXACT and sequence != (standing.sequence or 0) + 1:
        return Told.GAP
    return standing.told


def _memory(
    standing: _Standing, remembered: Remembered, document: Mapping[str, object] | None, seen: Snapshot
) -> Memory | None:
    if document is not None:
        return from_document(document, seen)
    return standing.memory if remembered is Remembered.KEPT else None
