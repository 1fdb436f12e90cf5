"""The parent's handle on JMX: ask many processes at once, and never wait past the deadline.

The child (`process`, `child`) does the calls. The session adds limits: one call at a time for each target, no further
call to a target that hangs, and another child when all calls of this one hang.
"""

import itertools
import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafka_warden.clients.jmx.process import ChildProcess
from kafka_warden.clients.jmx.protocol import (
    BeanQueries,
    BeanRequest,
    Hello,
    JmxTls,
    Kind,
    RawBeans,
    decode_answer,
    encode,
)
from kafka_warden.clock import monotonic
from kafka_warden.errors import (
    AnswerTimeoutError,
    AuthenticationError,
    ProtocolError,
    SecretError,
    SourceError,
    TlsError,
    UnsupportedError,
)
from kafka_warden.formatting import in_bytes
from kafka_warden.settings.secrets import Secret, SecretSource

log = logging.getLogger(__name__)

AUTH_HOLD: Final = 60.0
"""Seconds for which a refused password is not tried again, unless it changes: some servers lock accounts."""

FORGET: Final = 300.0
"""Seconds after which the state of a target that is no longer asked is dropped."""

MOST_TARGETS: Final = 500
"""Targets within `FORGET` seconds. Each has state, over RMI also a thread and a socket in the child, and metadata may
name any number of brokers."""

OVERDUE: Final = 10.0
"""Seconds after which a call counts as hung: twice what the child allows itself for a reading."""

MEMORY_LIMIT: Final = 256 << 20
"""Bytes of memory (RSS) above which the child is replaced. It needs some 90 MiB; a slow leak must not last for days."""

START_LIMIT: Final = 60.0
"""Seconds within which a JVM must start, and after which a failed start is tried again."""


Answer = RawBeans | SourceError
Place = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class JmxTarget:
    """One process to ask. `key` names it in the answers. Host and port may change from poll to poll."""

    key: str
    host: str
    port: int
    user: str | None = None
    password: SecretSource | None = None
    kind: Kind = "broker"
    named: bool = True
    """Whether the configuration names the host, not only the metadata. Only then the password may go without TLS.

    No exception for loopback: any user of this machine can listen there.
    """

    @property
    def place(self) -> Place:
        """A target that moved counts as another one: a call that hangs at the old address must not delay it."""
        return (self.key, self.host, self.port)

    def secret(self, *, over_tls: bool) -> Secret | None:
        """Read the password, which does not go without TLS to a host that only the metadata names.

        Raises:
            AuthenticationError: it cannot be read.
            TlsError: it would go there.
        """
        if self.password is not None and not over_tls and not self.named:
            raise TlsError(
                f"JMX at {self.host}:{self.port} would get the password in clear, and only the metadata names"
                " this host: set jmx.tls.ca_file, or name the address in jmx.brokers"
            )
        try:
            return self.password.read() if self.password is not None else None
        except SecretError as unreadable:
            raise AuthenticationError(str(unreadable)) from None


def no_room(target: JmxTarget) -> SourceError:
    """Return the answer for a target beyond `MOST_TARGETS`."""
    return ProtocolError(f"JMX at {target.host}:{target.port} is not asked: {MOST_TARGETS} processes are asked at most")


@dataclass(slots=True)
class Slot:
    """One target at one address. Ids grow, so an answer to a later request than the awaited one is recognised."""

    place: Place
    used: float
    """Monotonic time of the latest poll that wanted it."""
    outstanding: int | None = None
    """Id of the request that is not answered yet; there is at most one."""
    since: float = 0.0
    answered: int = -1
    answer: Answer | None = None
    password: Secret | None = None
    """Password of the latest request."""
    refused_until: float = 0.0
    left_out_logged: bool = False

    def take(self, number: int, answer: Answer, now: float) -> None:
        """The answer to the request of this id has arrived."""
        self.outstanding, self.answered, self.answer = None, number, answer
        if isinstance(answer, AuthenticationError):
            self.refused_until = now + AUTH_HOLD
        elif isinstance(answer, RawBeans) and answer.left_out and not self.left_out_logged:
            self.left_out_logged = True
            message = "JMX of %s at %s:%d has too many beans of clients: %d are not read, see dropped_series"
            log.warning(message, *self.place, answer.left_out)

    def overdue(self, now: float) -> bool:
        """Whether its call hangs."""
        return self.outstanding is not None and now - self.since > OVERDUE

    def held_back(self, now: float, password: Secret | None) -> bool:
        """Whether this password was refused less than `AUTH_HOLD` ago."""
        return isinstance(self.answer, AuthenticationError) and now < self.refused_until and password == self.password


@dataclass(slots=True)
class Wanted:
    """What one poll waits for at one target. `answer` may belong to the request of an earlier poll."""

    target: JmxTarget
    slot: Slot
    awaited: int = -1
    late: bool = False
    """The awaited request is of an earlier poll. Its answer counts for this poll; after a failure, ask again."""
    answer: Answer | None = None


class JmxSession:
    """Thread safe. Holds no more than one child, and none before the first :meth:`ask`.

    Args:
        questions: what each kind of process is asked (`sources.jmx`).
        tls: PEM files, if the JMX ports use TLS.
        timeout: seconds for one step (connect, handshake, one call); a whole reading may take five.
    """

    def __init__(
        self, questions: Mapping[Kind, BeanQueries], *, tls: JmxTls | None = None, timeout: float = 1.0
    ) -> None:
        by_kind = {str(kind): question for kind, question in questions.items()}
        self._hello = encode(Hello(by_kind, tls, timeout))
        self._uses_tls = tls is not None
        self._changed = threading.Condition()
        self._ids = itertools.count()
        self._slots: dict[Place, Slot] = {}
        self._asked: dict[int, Slot] = {}
        self._child: ChildProcess | None = None
        self._child_since = 0.0
        self.starts = 0
        """Child processes that were started."""
        self._unavailable: SourceError | None = None
        self._unavailable_until = 0.0
        self._closed = False

    source: Final = "rmi"
    """What the numbers come from."""

    @property
    def pid(self) -> int | None:
        """The child's process id, while there is one."""
        child = self._child
        return child.pid if child and child.ended is None else None

    def ask(self, targets: Sequence[JmxTarget], deadline: float) -> dict[str, Answer]:
        """Ask all of them at once; each key has an answer or an error. Returns by the deadline (`clock.monotonic`)."""
        with self._changed:
            now = monotonic()
            self._slots = {place: slot for place, slot in self._slots.items() if now - slot.used < FORGET}
            asked = [Wanted(target, slot) for target in targets if (slot := self._slot(target.place, now)) is not None]
            child = self._ready_child(now, deadline)
            if isinstance(child, SourceError):
                return {target.key: child for target in targets}
            for wanted in asked:
                self._begin(wanted, child)
            while self._unsettled(asked, child) and child.ended is None and monotonic() < deadline:
                self._changed.wait(deadline - monotonic())
            answers = {wanted.target.key: wanted.answer or _nothing(wanted.target, child) for wanted in asked}
            return {target.key: answers.get(target.key) or no_room(target) for target in targets}

    def close(self) -> None:
        """End the child within a second. Calls of `ask` in other threads return errors at once."""
        with self._changed:
            self._closed = True
            child, self._child = self._child, None
        if child is not None:
            child.end()

    def _slot(self, place: Place, now: float) -> Slot | None:
        """The state of a target; `None` where there is no room for another one."""
        if place not in self._slots and len(self._slots) >= MOST_TARGETS:
            return None
        slot = self._slots.setdefault(place, Slot(place, now))
        slot.used = now
        return slot

    def _begin(self, wanted: Wanted, child: ChildProcess) -> None:
        """Answer without a request, wait for the request that is under way, or send one."""
        slot, now = wanted.slot, monotonic()
        try:
            password = wanted.target.secret(over_tls=self._uses_tls)
        except SourceError as fault:
            wanted.answer = fault
            return
        if slot.held_back(now, password):
            wanted.answer = slot.answer
        elif slot.overdue(now):
            where = f"{wanted.target.host}:{wanted.target.port}"
            wanted.answer = AnswerTimeoutError(
                f"a JMX call to {where} has hung for more than {OVERDUE:g} s: not asked again until it ends"
            )
        elif slot.outstanding is not None:
            wanted.awaited, wanted.late = slot.outstanding, True
        else:
            target, number = wanted.target, next(self._ids)
            wanted.awaited, wanted.late = number, False
            slot.outstanding, slot.since, slot.password = number, now, password
            self._asked[number] = slot
            shown = password.reveal() if password is not None else None
            child.send(
                encode(BeanRequest(number, target.key, target.kind, target.host, target.port, target.user, shown))
            )

    def _unsettled(self, asked: Sequence[Wanted], child: ChildProcess) -> bool:
        for wanted in asked:
            if wanted.answer is not None or wanted.slot.answered < wanted.awaited:
                continue
            if wanted.late and isinstance(wanted.slot.answer, SourceError):
                self._begin(wanted, child)
            else:
                wanted.answer = wanted.slot.answer
        return any(wanted.answer is None for wanted in asked)

    def _ready_child(self, now: float, deadline: float) -> ChildProcess | SourceError:
        """A child that takes requests, started if there is none, or why there is none."""
        if self._closed:
            return ProtocolError("JMX has been closed")
        if self._unavailable and now < self._unavailable_until:
            return self._unavailable
        child = self._child
        if child is not None and self._useless(child, now):
            child.kill()
            child = None
        if child is None:
            try:
                child = self._start(now)
            except RuntimeError:
                return AnswerTimeoutError("no thread could start for the JVM for JMX; the next poll tries again")
        while not child.ready and not child.over and monotonic() < deadline:
            self._changed.wait(deadline - monotonic())
        return child if child.ready else self._not_ready(child)

    def _useless(self, child: ChildProcess, now: float) -> bool:
        """Whether it has ended, does not start, uses too much memory, or every call in it hangs."""
        hanging = [slot.overdue(now) for slot in self._slots.values()]
        slow = not child.ready and now - self._child_since > START_LIMIT
        large = child.ready and child.resident_bytes > MEMORY_LIMIT
        if large:
            log.warning("the JMX child is replaced: it uses %s of memory", in_bytes(child.resident_bytes))
        return child.over or slow or large or (bool(hanging) and all(hanging))

    def _start(self, now: float) -> ChildProcess:
        self._asked.clear()
        for slot in self._slots.values():
            slot.outstanding = None
        self._child_since = now
        self._child = ChildProcess(self._hello, self._changed, self._reply)
        self.starts += 1
        return self._child

    def _not_ready(self, child: ChildProcess) -> SourceError:
        if not child.over:
            return AnswerTimeoutError("the JVM for JMX is still starting")
        if child.java_version or self._closed:
            return ProtocolError(f"the JMX child has ended: {child.ended}; the next poll starts another")
        self._unavailable = UnsupportedError(child.failed or f"the JMX child does not start: {child.ended}")
        self._unavailable_until = monotonic() + START_LIMIT
        return self._unavailable

    def _reply(self, child: ChildProcess, body: dict[str, Any]) -> None:
        """Called by the child's thread, under the lock. Answers of a replaced child are dropped."""
        number, now = body["id"], monotonic()
        answer, slot = decode_answer(body, now), self._asked.pop(number, None)
        if child is self._child and slot is not None:
            slot.take(number, answer, now)


def _nothing(target: JmxTarget, child: ChildProcess) -> SourceError:
    if child.ended is not None:
        return ProtocolError(f"the JMX child has ended: {child.ended}; the next poll starts another")
    return AnswerTimeoutError(f"JMX at {target.host}:{target.port} did not answer by the deadline of the poll")
