"""The outcome of each source at each broker: the values of `up` and its family, and one log line per change."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import structlog

from kafka_warden.errors import SourceError
from kafka_warden.model import Source, SourceStatus

log = structlog.get_logger(__name__)

Key = tuple[Source, str]
"""Source and broker id as text; `NO_BROKER` where none is asked in particular."""


@dataclass(slots=True)
class _Entry:
    up: bool | None = None
    duration: float = 0.0
    last_success: float | None = None
    errors: Counter[str] = field(default_factory=Counter)
    reason: str | None = None


class StatusBook:
    """Keeps one outcome per source, broker and poll since the sidecar started."""

    def __init__(self) -> None:
        self._entries: dict[Key, _Entry] = defaultdict(_Entry)

    def answered(self, source: Source, broker: str, duration: float, now: float) -> None:
        """Note an answer: the seconds that it took, and its Unix time."""
        entry = self._entries[source, broker]
        if entry.up is False:
            log.info("source answers again", source=str(source), broker=broker)
        entry.up, entry.duration, entry.last_success, entry.reason = True, duration, now, None

    def failed(self, source: Source, broker: str, duration: float, fault: SourceError) -> None:
        """Note that a source was not answered, and count why."""
        entry = self._entries[source, broker]
        if entry.reason != fault.reason:
            log.warning("source failed", source=str(source), broker=broker, reason=fault.reason, error=str(fault))
        entry.up, entry.duration, entry.reason = False, duration, fault.reason
        entry.errors[fault.reason] += 1

    def failing(self, source: Source, broker: str) -> bool:
        """Return whether the source was not answered in the last poll that asked."""
        entry = self._entries.get((source, broker))
        return entry is not None and entry.up is False

    def fail_others(self, fault: SourceError, spared: Collection[Source]) -> None:
        """Note the same failure for every source that was asked before, except the spared ones."""
        for source, broker in list(self._entries):
            if source not in spared:
                self.failed(source, broker, 0.0, fault)

    def forget(self, brokers: Iterable[str], only: Source | None = None) -> None:
        """Drop brokers that the cluster no longer knows, or one source of them."""
        dropped = set(brokers)
        for key in [key for key in self._entries if key[1] in dropped and only in (None, key[0])]:
            del self._entries[key]

    def publish(self) -> Mapping[Key, SourceStatus]:
        """Freeze the book for a snapshot. A source that was never asked has no entry."""
        return {
            key: SourceStatus(bool(entry.up), entry.duration, entry.last_success, dict(entry.errors))
            for key, entry in list(self._entries.items())
        }
