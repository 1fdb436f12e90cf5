"""The process: signals and systemd, how it is asked to stop or to reload, its health, and free memory."""

import ctypes
import gc
import os
import queue
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

STOP_WITHIN: Final = 4.0
"""Seconds until the process ends itself while it stops: less than the time limits of Kubernetes and systemd."""

DESCRIPTORS: Final = 65_536
"""File descriptors that a process with many brokers may need."""


def raise_descriptor_limit() -> None:
    """Raise the limit of file descriptors as far as the system lets it: shells and systemd give 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Signals:
    """SIGTERM, SIGINT and SIGHUP. Make it on the main thread.

    `inbox` has those that the main thread should handle. SIGTERM and SIGINT also wake a thread that saves the state and
    ends the process in time: the main thread may be in a call that blocks, such as a look-up of a name.
    """

    save: Callable[[], None] | None = None
    """Saves the state. Called as soon as the process is to end. `None`: nothing to save, and it ends at once."""

    def __init__(self) -> None:
        self.inbox: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._ends_at: float | None = None
        self._saver: threading.Thread | None = None
        self._woken, self._wake = socket.socketpair()
        self._wake.settimeout(0)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            # SimpleQueue.put may interrupt itself, Event.set may not.
            signal.signal(number, lambda received, _: self.inbox.put(received))
        threading.Thread(target=self._end_on_signal, name="signals", daemon=True).start()

    def end(self, code: int = 0) -> float:
        """Save the state, and end the process after `STOP_WITHIN` at the latest; return that time, monotonic.

        Does not wait, except that without a thread to spare it saves and ends at once. Further calls do nothing.
        """
        if (save := self.save) is None:
            os._exit(code)
        if self._ends_at is None:
            self._ends_at = time.monotonic() + STOP_WITHIN
            limit = threading.Timer(STOP_WITHIN, os._exit, (code,))
            limit.daemon = True
            try:
                limit.start()
                saver = threading.Thread(target=save, name="save", daemon=True)
                saver.start()
                self._saver = saver
            except RuntimeError:  # no thread can start
                signal.alarm(int(STOP_WITHIN))  # ends the process if the save hangs
                save()
                os._exit(code)
        return self._ends_at

    def join(self, timeout: float) -> None:
        """Wait until what `end` saves is on the disk, but no longer than so many seconds."""
        if self._saver is not None:
            self._saver.join(timeout)

    def _end_on_signal(self) -> None:
        while self._woken.recv(1)[0] == signal.SIGHUP:
            pass
        self.end()


def notify(*states: str) -> None:
    """Send states such as `READY=1` to systemd, if it started this process (sd_notify(3)). Never raises or waits."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.settimeout(0)
        sender.sendto("\n".join(states).encode(), address.replace("@", "\0", 1) if address[0] == "@" else address)


_libc: Final = ctypes.CDLL(None)

_M_ARENA_MAX: Final = -8
"""Parameter of mallopt. An arena for each thread takes a third more memory: 200 MB instead of 150 for 25,000
partitions. The threads wait for Python's lock anyway."""

_COLLECT_SECONDS: Final = 60.0
"""Between two collections. A connection that is closed leaves cycles of references, some 20 kB, and with the threshold
of `tune_interpreter` Python would not look for them for days. It takes 3 ms, without the objects that are there at the
start."""


def use_one_arena() -> None:
    """Let all threads share one arena, those of pyarrow too. Call it before pyarrow is imported."""
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(_M_ARENA_MAX, 1)
        os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"


class FreeMemory:
    """Returns free memory to the system after each poll: 340 MB instead of 680 for 200,000 partitions.

    It takes 1 to 2 ms for 10,005 partitions and 4 to 10 ms for 200,000. What is kept instead becomes more with each
    fault of a broker.
    """

    def __init__(self, now: float) -> None:
        self._collected = now

    def release(self, now: float) -> None:
        """Return it. Once a minute what only cycles of references keep becomes free before.

        `now`: monotonic seconds.
        """
        if now >= self._collected + _COLLECT_SECONDS:
            self._collected = now
            gc.collect()
        if hasattr(_libc, "malloc_trim"):
            _libc.malloc_trim(0)


AT_START: Final = ("signals", "APScheduler", "watchdog", "network", "web")
"""Names of the threads that run from the start on, besides those of history."""
LONG_LIVED: Final = ("MainThread", *AT_START, "polls", "history")
"""Starts of the names of all threads that run as long as the process."""


@dataclass(frozen=True, slots=True)
class Health:
    """`healthy` is false when a restart is needed. `reasons` are lines of text for people."""

    healthy: bool = True
    reasons: tuple[str, ...] = ()


class HealthCheck:
    """Checks that threads run and polls end. Safe in every thread, and never waits.

    Each `late` returns what is late, each of `notes` what people should know of a healthy process.
    """

    def __init__(self, *late: Callable[[], str | None], notes: Sequence[Callable[[], str | None]] = ()) -> None:
        self._late = late
        self._notes = notes
        self.started: Sequence[str] = ()
        """Names of threads that were started: one that is not there has ended, also before the first call."""
        self._threads: set[threading.Thread] = set()

    def __call__(self) -> Health:
        """Return the health of the process now."""
        alive = {thread for thread in threading.enumerate() if thread.name.startswith(LONG_LIVED)}
        # A new set: other threads iterate the one before.
        known = self._threads = self._threads | alive
        ended = {each.name for each in known if not each.is_alive()} | {*self.started} - {each.name for each in known}
        wrong = [f"the thread {name} has ended" for name in sorted(ended)]
        wrong += filter(None, [late() for late in self._late])
        return Health(not wrong, (*wrong, *filter(None, [note() for note in self._notes])))
