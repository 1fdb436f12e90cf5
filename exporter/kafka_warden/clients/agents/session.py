"""The handle on the agents of many processes: each is asked now and then, and no poll waits for one that is slow.

A scrape of an agent costs its broker seconds of CPU where the broker has many partitions, so it is asked less often
than a poll comes. Between two readings the last one is the answer, with its time.
"""

import contextlib
import math
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Final

from kafka_warden.clients.agents.http import CONNECT_SECONDS, answer, lines
from kafka_warden.clients.agents.jolokia import read_beans
from kafka_warden.clients.agents.prometheus import read_page
from kafka_warden.clients.jmx.protocol import BeanQueries, Kind, RawBeans
from kafka_warden.clients.jmx.session import AUTH_HOLD, FORGET, MOST_TARGETS, Answer, JmxTarget, Place, no_room
from kafka_warden.clock import monotonic
from kafka_warden.daemon_threads import DaemonThreads
from kafka_warden.errors import (
    AnswerTimeoutError,
    AuthenticationError,
    ConnectTimeoutError,
    ProtocolError,
    RefusedError,
    SourceError,
    TlsError,
)
from kafka_warden.settings.secrets import Secret

EVERY: Final = 60.0
"""Seconds between two readings of an agent, at least."""
COST: Final = 50
"""Times the duration of a reading until the next one, at least: an agent takes 2 % of a core at most."""
LONGEST: Final = 30.0
"""Seconds of a request."""
LONGEST_PAUSE: Final = 300.0
"""Seconds after readings that failed; 60 after the first one. Where nothing was ever reached, 5 to 60."""
AT_ONCE: Final = 8
"""Readings at the same time."""
MOST_WAITS: Final = 3
"""Polls that wait for the first reading of an agent."""
MOST_PAGE: Final = 256 << 20
"""Bytes of a page, which is read line by line. With a rule for everything, 10,000 replicas are some 10 MB."""
MOST_JSON: Final = 6 << 20
"""Bytes of an answer of Jolokia. The names of 20,000 clients are some 2 MB, and what 1,000 of them answer 1 MB."""
JOLOKIA: Final = "/jolokia"
"""End of a path behind which Jolokia is."""
PROMETHEUS: Final = "prometheus"


@dataclass(slots=True)
class _Slot:
    """One agent at one address. Times are monotonic seconds."""

    target: JmxTarget
    """As it was last asked for: its password may change while the reading waits."""
    used: float
    answer: Answer | None = None
    due: float = -math.inf
    answered: bool = False
    """Whether any reading succeeded."""
    failures: int = 0
    """Readings in a row that failed."""
    waits: int = 0
    """Polls that came before the end of the first reading."""
    reading: Future[None] | None = None
    """The one that waits or is under way."""
    password: Secret | None = None
    """Of the last reading."""

    @property
    def rank(self) -> tuple[bool, float]:
        """Agents that have answered are read before all others, then those that are due first."""
        return not self.answered, self.due


@dataclass(slots=True)
class AgentSession:
    """Thread safe. Has what is used of a `JmxSession`.

    Args:
        questions: what each kind of process is asked (`sources.jmx`).
        path: of the page, or of Jolokia where it ends with `/jolokia`.
        context: makes the TLS context of a reading; `None` for plain HTTP.
        clock: monotonic seconds.
    """

    questions: Mapping[Kind, BeanQueries]
    path: str
    context: Callable[[], ssl.SSLContext] | None = None
    clock: Callable[[], float] = monotonic
    starts: None = None
    """There is no child process."""
    _slots: dict[Place, _Slot] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _threads: DaemonThreads = field(default_factory=lambda: DaemonThreads(AT_ONCE, "agent"))

    @property
    def source(self) -> str:
        """What the numbers come from."""
        return "jolokia" if self.path.rstrip("/").endswith(JOLOKIA) else PROMETHEUS

    def ask(self, targets: Sequence[JmxTarget], deadline: float) -> dict[str, Answer]:
        """Return the latest answer of each; start the readings that are due.

        Only a first reading is waited for, by a few polls, until the deadline (`clock`).
        """
        with self._lock:
            now = self.clock()
            asked = {target.place for target in targets}
            for place, old in list(self._slots.items()):
                if place not in asked and now - old.used >= FORGET:
                    del self._slots[place]
                    if old.reading is not None:
                        old.reading.cancel()
            slots = {target.key: slot for target in targets if (slot := self._wanted(target, now)) is not None}
            due = [slot for slot in slots.values() if slot.reading is None and (now >= slot.due or _corrected(slot))]
            for slot in sorted(due, key=attrgetter("rank")):
                with contextlib.suppress(RuntimeError):  # no thread can start: the next poll tries again
                    slot.reading = self._threads.submit(partial(self._read, slot), slot.rank)
        for slot in slots.values():
            if slot.answer is None and slot.waits <= MOST_WAITS and (reading := slot.reading) is not None:
                wait([reading], max(0.0, deadline - self.clock()))
        answers = {
            key: slot.answer
            or AnswerTimeoutError(f"the agent at {slot.target.host}:{slot.target.port} has not answered yet")
            for key, slot in slots.items()
        }
        return {target.key: answers.get(target.key) or no_room(target) for target in targets}

    def close(self) -> None:
        """Nothing to end: readings are on daemon threads, and end with their time limit."""

    def _wanted(self, target: JmxTarget, now: float) -> _Slot | None:
        """Return the state of a target; `None` where there is no room for another one."""
        if target.place not in self._slots and len(self._slots) >= MOST_TARGETS:
            return None
        slot = self._slots.setdefault(target.place, _Slot(target, now))
        slot.target, slot.used = target, now
        slot.waits += slot.answer is None
        return slot

    def _read(self, slot: _Slot) -> None:
        target = slot.target
        began = self.clock()
        try:
            found: Answer = self._answer(target, slot)
        except SourceError as fault:
            found = type(fault)(str(fault))  # without the frames of its traceback, which have the whole answer
        except Exception as failure:  # noqa: BLE001  # whatever a library raises: a poll may wait for the result
            found = ProtocolError(f"{target.host}:{target.port} cannot be read: {type(failure).__name__}")
        ended = self.clock()
        with self._lock:
            slot.failures = slot.failures + 1 if isinstance(found, SourceError) else 0
            slot.answered |= isinstance(found, RawBeans)
            pause = _pause(found, slot)
            if isinstance(found, RawBeans):
                pause = max(EVERY, COST * (ended - began))
                found = replace(found, at=ended, took=ended - began, every=pause)
            slot.answer, slot.due, slot.reading = found, ended + pause, None

    def _answer(self, target: JmxTarget, slot: _Slot) -> RawBeans:
        """Read one agent.

        Raises:
            SourceError: it did not answer, or may not be sent the password.
        """
        slot.password = password = target.secret(over_tls=self.context is not None)
        try:
            context = self.context() if self.context is not None else None
        except (OSError, ValueError) as failure:
            raise TlsError(f"jmx.tls.ca_file, or the client's certificate and key, cannot be used: {failure}") from None
        question = self.questions[target.kind]
        if self.source == "jolokia":
            path = f"{self.path.rstrip('/')}/"

            def post(body: bytes) -> bytes:
                with answer(target, path, body, password, LONGEST, context, MOST_JSON) as parts:
                    return b"".join(parts)

            return read_beans(post, question)
        with answer(target, self.path, None, password, LONGEST, context, MOST_PAGE) as parts:
            return read_page(lines(parts), question)


def _corrected(slot: _Slot) -> bool:
    """Return whether the password that was refused is another one now."""
    if not isinstance(slot.answer, AuthenticationError):
        return False
    try:
        return slot.target.secret(over_tls=True) != slot.password
    except AuthenticationError:
        return False


def _pause(found: Answer, slot: _Slot) -> float:
    """Return the seconds until an agent that failed is asked again.

    Where nothing answers, that costs no broker. But metadata may name any number of such places, so one that never
    answered is asked less and less often.
    """
    unconnected = isinstance(found, RefusedError | ConnectTimeoutError | TlsError)
    if slot.answered and unconnected:
        return 0.0
    if slot.answered and isinstance(found, AuthenticationError):
        return AUTH_HOLD
    first, longest = (CONNECT_SECONDS, EVERY) if unconnected else (EVERY, LONGEST_PAUSE)
    return min(first * 2.0 ** min(slot.failures - 1, 10), longest)
