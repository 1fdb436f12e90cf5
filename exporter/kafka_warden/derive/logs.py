"""Replicas without a log and logs without a replica (docs/spec/limits.md#missing-and-stray-logs; KIP-578).

Metadata and log directories are not read at one instant: a topic that was just created or deleted is in one and not yet
in the other. So only gaps in two answers in a row count, a minute apart (option poll.log_dirs).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from kafka_warden.model import LogGaps, Snapshot


@dataclass(frozen=True, slots=True)
class LogCounts:
    """Of one broker; `None` is unknown."""

    without_log: Annotated[int | None, "replicas without a log"]
    stray: Annotated[int | None, "logs that are not assigned to the broker"]


@dataclass(frozen=True, slots=True)
class Seen:
    """The latest answer of one broker, and the counts from it and the one before."""

    gaps: LogGaps
    counts: LogCounts


LogsMemory = Mapping[int, Seen]
"""State from poll to poll, by broker."""


def derive_logs(snapshot: Snapshot, memory: LogsMemory) -> tuple[LogsMemory, dict[int, LogCounts]]:
    """Compare each broker's answer with the one before; brokers that do not answer are missing."""
    seen = {broker: _see(memory.get(broker), gaps) for broker, gaps in snapshot.log_gaps.items()}
    return seen, {broker: answer.counts for broker, answer in seen.items()}


def _see(before: Seen | None, gaps: LogGaps) -> Seen:
    if before is not None and before.gaps.at == gaps.at:
        return before
    previous = before.gaps if before is not None else None
    missing = _confirmed(previous.missing if previous is not None else None, gaps.missing)
    return Seen(gaps, LogCounts(missing, _confirmed(previous.stray if previous is not None else None, gaps.stray)))


def _confirmed(before: frozenset[tuple[object, ...]] | None, now: frozenset[tuple[object, ...]] | None) -> int | None:
    """Count entries of both answers; after the first answer only 0 is known."""
    if now is None:
        return None
    if not now:
        return 0
    return len(before & now) if before is not None else None
