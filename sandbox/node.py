"""One Kafka process: a broker or a controller, in its own JVM under its own guard."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.waiting import wait_for

GUARD = Path(__file__).with_name("guard.py")
KILL_SECONDS = 20.0
LOG_TAIL_LINES = 15
PROGRAM = "java"


@dataclass
class Node:
    """A process with an id and a directory; tests start, pause and kill it.

    `arguments` is what follows `java`; `root` is the cluster's directory, which the guard removes should this Python
    process die without cleaning up.
    """

    node_id: int
    root: Path
    directory: Path
    arguments: Sequence[str]
    paused: bool = field(default=False, init=False)
    pid: int | None = field(default=None, init=False)
    _guard: subprocess.Popen[bytes] | None = field(default=None, init=False, repr=False)

    @property
    def log_file(self) -> Path:
        """Standard output, standard error and Kafka's log of every start of this node."""
        return self.directory / "node.log"

    @property
    def running(self) -> bool:
        """Whether the JVM exists; a paused one does."""
        return self._guard is not None and self._guard.poll() is None

    def start(self) -> None:
        """Start the JVM; returns before Kafka is ready.

        Raises:
            SandboxError: It runs already, or java cannot be started.
        """
        if self.running:
            raise SandboxError(f"node {self.node_id} runs already")
        command = [sys.executable, "-IS", os.fspath(GUARD), str(os.getpid()), os.fspath(self.root), PROGRAM]
        with self.log_file.open("ab") as log:
            self._guard = subprocess.Popen(
                [*command, *self.arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self.directory,
                start_new_session=True,
            )
        stdout = self._guard.stdout
        if stdout is None:
            raise SandboxError(f"node {self.node_id}: no pipe to its guard")
        with stdout:
            line = stdout.readline()
        if not line:
            raise SandboxError(f"node {self.node_id}: its guard ended with exit code {self._guard.wait()}")
        self.pid, self.paused = int(line), False

    def pause(self) -> None:
        """SIGSTOP, and wait until no thread runs: the kernel still accepts connections, the broker does not answer."""
        self.signal(signal.SIGSTOP)
        self.paused = True
        wait_for(lambda: self.thread_states() <= {"T"}, KILL_SECONDS, f"{self.pid} is stopped", interval=0.01)

    def resume(self) -> None:
        """SIGCONT."""
        self.signal(signal.SIGCONT)
        self.paused = False

    def kill(self) -> None:
        """SIGKILL, and wait until the process is gone. Does nothing if it does not run."""
        if self._guard is None or not self.running:
            return
        if self.pid is None:
            # Interrupted between the guard's start and its first line: ending the guard ends what it is about to start.
            self._guard.kill()
        else:
            self.signal(signal.SIGKILL)
        self._reap(KILL_SECONDS)

    def stop(self, timeout: float) -> None:
        """SIGTERM: a broker moves its leaders away, flushes and leaves. Killed after `timeout` seconds.

        Raises:
            SandboxError: It had to be killed.
        """
        if not self.running:
            return
        self.signal(signal.SIGTERM)
        self.resume()
        try:
            self._reap(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise SandboxError(f"node {self.node_id} did not stop within {timeout:g} s and was killed") from None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the JVM.

        Raises:
            SandboxError: It does not run.
        """
        if not self.running or self.pid is None:
            raise SandboxError(f"node {self.node_id} does not run")
        os.kill(self.pid, number)

    def thread_states(self) -> set[str]:
        """The kernel's states of the JVM's threads: R, S, D, T (stopped) ..."""
        states = set()
        for file in Path(f"/proc/{self.pid}/task").glob("*/stat"):
            with suppress(FileNotFoundError, ProcessLookupError):
                states.add(file.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0])
        return states

    def require_running(self) -> None:
        """Raise with the end of the log when the process has ended."""
        if not self.running:
            code = None if self._guard is None else self._guard.returncode
            raise SandboxError(f"node {self.node_id} ended with exit code {code}:\n{self.log_tail()}")

    def log_tail(self) -> str:
        """The last lines of the log."""
        if not self.log_file.exists():
            return ""
        lines = self.log_file.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-LOG_TAIL_LINES:])

    def _reap(self, timeout: float) -> None:
        if self._guard is not None:
            self._guard.wait(timeout)
            gone = Path(f"/proc/{self.pid}")
            wait_for(lambda: not gone.exists(), KILL_SECONDS, f"process {self.pid} is gone", interval=0.01)
        self.pid, self.paused = None, False
