"""The outcome of each source at each broker: the values of `up` and its family, and one log line per change.

A question that the exporter can do without is *not available* where it was refused before any broker ever answered it,
where the broker does not know it, and where the option `sources.disable` lists it. That is no failure. It stays so
until an answer comes. A question that is refused after it was answered is a failure. The controllers' own listener may
not be for clients: what is asked there is not available, either, where it could never be reached.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import structlog

from kafka_warden.errors import (
    REASONS,
    AuthenticationError,
    AuthorizationError,
    ConnectTimeoutError,
    RefusedError,
    SourceError,
    TlsError,
    UnsupportedError,
)
from kafka_warden.model import NO_BROKER, OptionalQuestion, Source, SourceStatus

log = structlog.get_logger(__name__)

ASK_AGAIN: Final = 300.0
"""Seconds between two questions that were refused from the start: each is a line in the brokers' log of refusals."""

DISABLED: Final = "disabled"
UNREACHABLE: Final = "unreachable"
"""Reasons beside those of errors."""

_NOT_FOR_CLIENTS: Final = (RefusedError, ConnectTimeoutError, AuthenticationError, TlsError)
"""What a listener answers that is for controllers only."""

SILENT: Final = {reason for reason, cls in REASONS.items() if cls.reached is False}
"""Reasons of processes that are not there, or hang."""

Key = tuple[Source, str]
"""Source and broker id as text; `NO_BROKER` where none is asked in particular."""

_OPTIONAL: Final = {optional.source: optional for optional in OptionalQuestion}


def _optional(source: Source, broker: str) -> OptionalQuestion | None:
    """Return the optional question that an outcome belongs to, if it is one."""
    if source is Source.CONFIGS:
        return OptionalQuestion.TOPIC_CONFIGS if broker == NO_BROKER else OptionalQuestion.BROKER_CONFIGS
    return _OPTIONAL.get(source)


@dataclass(slots=True)
class _Entry:
    up: bool | None = None
    duration: float = 0.0
    last_success: float | None = None
    errors: Counter[str] = field(default_factory=Counter)
    reason: str | None = None
    not_available: str | None = None
    """Why it is no failure that there is no answer."""
    refused_at: float = -math.inf
    """Monotonic time."""


class StatusBook:
    """Keeps one outcome per source, broker and poll since the exporter started."""

    def __init__(self) -> None:
        self.ever_answered: frozenset[OptionalQuestion] = frozenset()
        """Questions that were ever answered, also by an earlier process."""
        self._entries: dict[Key, _Entry] = defaultdict(_Entry)
        self._logged: set[tuple[OptionalQuestion, str]] = set()

    def due(self, optional: OptionalQuestion, broker: str, clock: float, *, disabled: bool) -> bool:
        """Return whether to ask a question that is optional at this monotonic time, unless it is `disabled`."""
        key = optional.source, broker
        if disabled:
            self._not_available(key, optional, DISABLED, "the option sources.disable lists it")
            return False
        entry = self._entries.get(key)
        if entry is not None and entry.not_available == DISABLED:
            del self._entries[key]
            return True
        refused = entry is not None and entry.not_available == AuthorizationError.reason
        if entry is None or not refused or optional in self.ever_answered:
            return True
        return clock - entry.refused_at >= ASK_AGAIN

    def ask_again(self) -> None:
        """Ask what was refused at once: the login may have other rights now."""
        for entry in self._entries.values():
            entry.refused_at = -math.inf

    def answered(self, source: Source, broker: str, duration: float, now: float) -> None:
        """Note an answer: the seconds that it took, and its Unix time."""
        entry = self._entries[source, broker]
        if entry.up is False or entry.not_available is not None:
            log.info("source answers again", source=str(source), broker=broker)
        entry.up, entry.duration, entry.last_success = True, duration, now
        entry.reason = entry.not_available = None
        optional = _optional(source, broker)
        if optional is not None and optional not in self.ever_answered:
            self.ever_answered |= {optional}

    def failed(self, source: Source, broker: str, duration: float, fault: SourceError, clock: float = 0.0) -> None:
        """Note that a source was not answered, and count why. `clock`: monotonic time, for what may be refused."""
        entry, optional = self._entries[source, broker], _optional(source, broker)
        if optional is not None and self._may_be_absent(entry, optional, fault):
            refused = isinstance(fault, AuthorizationError)
            if refused:
                entry.refused_at = clock
            if refused or entry.not_available is None:
                reason = UNREACHABLE if isinstance(fault, _NOT_FOR_CLIENTS) else fault.reason
                self._not_available((source, broker), optional, reason, str(fault))
            return
        self._failed((source, broker), duration, fault)

    def _failed(self, key: Key, duration: float, fault: SourceError) -> None:
        entry = self._entries[key]
        if entry.reason != fault.reason:
            log.warning("source failed", source=str(key[0]), broker=key[1], reason=fault.reason, error=str(fault))
        entry.up, entry.duration, entry.reason, entry.not_available = False, duration, fault.reason, None
        entry.errors[fault.reason] += 1

    def failing(self, source: Source, broker: str) -> bool:
        """Return whether the source was not answered in the last poll that asked."""
        entry = self._entries.get((source, broker))
        return entry is not None and entry.up is False

    def silent(self, source: Source, broker: str) -> bool:
        """Return whether nothing came from the broker in the last poll that asked, whatever it could have refused."""
        entry = self._entries.get((source, broker))
        return entry is not None and entry.up is False and entry.reason in SILENT

    def fail_others(self, fault: SourceError, spared: Collection[Source]) -> None:
        """Note the same failure for every source that was asked before, except the spared ones.

        What is not available stays so, for its own reason: it was not asked.
        """
        for key, entry in self._entries.items():
            if key[0] not in spared and entry.not_available is None:
                self._failed(key, 0.0, fault)

    def forget(self, brokers: Iterable[str], only: Source | None = None) -> None:
        """Drop brokers that the cluster no longer knows, or one source of them."""
        dropped = set(brokers)
        for key in [key for key in self._entries if key[1] in dropped and only in (None, key[0])]:
            del self._entries[key]

    def publish(self) -> Mapping[Key, SourceStatus]:
        """Freeze the book for a snapshot. A source that was never asked, or is not available, has no entry."""
        return {
            key: SourceStatus(bool(entry.up), entry.duration, entry.last_success, dict(entry.errors))
            for key, entry in list(self._entries.items())
            if entry.not_available is None
        }

    def not_available(self) -> Mapping[Key, str]:
        """Return the sources that are not available, and why: the reason of an error, or `DISABLED`."""
        entries = list(self._entries.items())
        return {key: entry.not_available for key, entry in entries if entry.not_available is not None}

    def _may_be_absent(self, entry: _Entry, optional: OptionalQuestion, fault: SourceError) -> bool:
        if isinstance(fault, UnsupportedError) or entry.not_available in (DISABLED, UnsupportedError.reason):
            return True
        # What was refused from the start is not up to a broker that is slow or down now.
        refused = isinstance(fault, AuthorizationError) or entry.not_available is not None
        if optional is OptionalQuestion.CONTROLLER_CONFIGS:
            refused |= isinstance(fault, _NOT_FOR_CLIENTS)
        return refused and optional not in self.ever_answered

    def _not_available(self, key: Key, optional: OptionalQuestion, reason: str, why: str) -> None:
        entry = self._entries[key]
        entry.not_available, entry.up, entry.reason = reason, None, None
        if (optional, reason) not in self._logged:
            self._logged.add((optional, reason))
            note = log.warning if reason == AuthorizationError.reason else log.info
            note("source is not available", source=str(key[0]), broker=key[1], reason=reason, error=why)
