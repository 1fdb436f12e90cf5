"""The child as a process: started, written to, read from, ended. `session` interprets its answers."""

import fcntl
import json
import os
import resource
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

_ROOT: Final = Path(__file__).resolve().parents[3]
_PROGRAM: Final = ("-m", "kafka_warden.clients.jmx.child")
_PIPE: Final = 1 << 20
"""Bytes that fit into the child's stdin: some 4,000 requests, so a write never waits."""

LONGEST_LINE: Final = 16 << 20
"""Bytes of one answer; a longer one is no message. The child reads at most 1,000 beans for a pattern."""

_LONGEST_WARNING: Final = 4096
"""Bytes of stderr that are read at a time."""

_ENVIRONMENT: Final = ("HOME", "JAVA_HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ")
"""All that the child inherits: no secret of the sidecar, and no JAVA_TOOL_OPTIONS for another JVM."""


class ChildProcess:
    """One run of the child. `changed` is notified when it is ready, answers, or ends.

    A separate thread starts the child and reads its output until it ends. Linux ends a child when the *thread* that
    started it ends, so no thread of a pool may do that.

    Raises:
        RuntimeError: no thread can start.
    """

    def __init__(
        self, hello: bytes, changed: threading.Condition, on_reply: Callable[["ChildProcess", dict[str, Any]], None]
    ) -> None:
        self.java_version: str | None = None
        self.failed: str | None = None
        """Why it could not start its JVM. It has ended then, and a new one would fail too."""
        self.ended: str | None = None
        self.pid: int | None = None
        self._changed = changed
        self._on_reply = on_reply
        self._hello = hello
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: deque[str] = deque(maxlen=5)
        self._stop = False
        self._thread = threading.Thread(target=self._run, name="jmx child", daemon=True)
        self._thread.start()

    @property
    def ready(self) -> bool:
        """Its JVM runs, so it answers requests."""
        return self.java_version is not None and self.ended is None

    @property
    def over(self) -> bool:
        """It will not answer any more."""
        return self.ended is not None or self.failed is not None

    @property
    def resident_bytes(self) -> int:
        """Its memory (RSS); 0 where the system has no /proc."""
        try:
            return int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
        except (OSError, IndexError):
            return 0

    def send(self, line: bytes) -> None:
        """Write one request without waiting. A child that has stopped reading is ended; the next ask replaces it."""
        process = self._process
        if process is None or process.stdin is None or self.ended:
            return
        try:
            if os.write(process.stdin.fileno(), line) == len(line):
                return
        except (BlockingIOError, BrokenPipeError):
            pass
        process.kill()

    def kill(self) -> None:
        """End the child without waiting."""
        self._stop = True
        if self._process is not None:
            self._process.kill()

    def end(self) -> None:
        """End the child within a second: SIGTERM, which neither the JVM nor Python catches there, then SIGKILL."""
        with self._changed:
            self._stop = True
            process = self._process
        if process is not None:
            process.terminate()
        self._thread.join(0.5)
        if self._thread.is_alive():
            self.kill()
            self._thread.join(0.5)

    def _run(self) -> None:
        try:
            self._run_child()
        finally:
            if self.ended is None:
                self._finish("the thread that reads its answers failed")
            if self._process is not None:
                with self._process as process:  # closes the pipes: only now, when nothing writes to them
                    process.kill()

    def _run_child(self) -> None:
        try:
            self._spawn()
        except OSError as failed:
            self._finish(f"it could not be started: {failed}")
            return
        process = self._process
        if process is None or process.stdout is None:
            return
        drain = threading.Thread(target=self._drain, name="jmx child stderr", daemon=True)
        drain.start()
        garbled = self._listen(_lines(process.stdout, LONGEST_LINE))
        code = process.wait()
        drain.join()
        self._finish(garbled or f"it ended with code {code}" + "".join(f": {line}" for line in list(self._stderr)[-1:]))

    def _spawn(self) -> None:
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in (str(_ROOT), *sys.path) if path)
        # RMI's threads come and go, and each of glibc's arenas, one for each thread, grows for hours.
        environment["MALLOC_ARENA_MAX"] = "1"
        command = [sys.executable, "-P", *_PROGRAM, str(os.getpid())]
        with self._changed:
            if self._stop:
                raise InterruptedError("the exporter is ending")
            self._process = subprocess.Popen(  # noqa: S603  this interpreter, and no text of a user
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
            )
            self.pid = self._process.pid
        if self._process.stdin:
            _never_wait(self._process.stdin.fileno())
        self.send(self._hello)

    def _listen(self, answers: Iterable[bytes]) -> str | None:
        """Read answers until the child ends, or writes a line that is not a message; return what was wrong then."""
        for line in answers:
            try:
                self._take(json.loads(line))
            except (ValueError, TypeError, KeyError, AttributeError) as garbled:
                self.kill()
                return f"it wrote a line that is not a message: {garbled!r}"
        return None

    def _take(self, body: dict[str, Any]) -> None:
        with self._changed:
            if "ready" in body:
                self.java_version = body["ready"]
            elif "failed" in body:
                self.failed = body["failed"]
            else:
                self._on_reply(self, body)
            self._changed.notify_all()

    def _drain(self) -> None:
        if self._process and self._process.stderr:
            try:
                lines = _lines(self._process.stderr, _LONGEST_WARNING)
                self._stderr.extend(line.decode(errors="replace").strip()[:300] for line in lines)
            except BaseException:
                self.kill()  # without a reader it would block at the next warning; the next poll starts another
                raise

    def _finish(self, how: str) -> None:
        with self._changed:
            self.ended = how
            self._changed.notify_all()


def _lines(stream: IO[bytes], longest: int) -> Iterable[bytes]:
    """Read lines until the stream ends; a longer one comes in parts."""
    return iter(partial(stream.readline, longest), b"")


def _never_wait(pipe: int) -> None:
    """Make a write fail instead of wait, and the pipe large enough for any poll where the system allows it."""
    os.set_blocking(pipe, False)
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE)
