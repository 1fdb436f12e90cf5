"""A program that runs beside the cluster (Prometheus, Alertmanager, the sidecar) and does not outlive this process."""

import http.client
import json
import os
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from sandbox.errors import SandboxError
from sandbox.node import GUARD
from sandbox.ports import LOOPBACK, Ports
from sandbox.waiting import wait_for

READY_SECONDS = 180.0
STOP_SECONDS = 10.0
ANSWER_SECONDS = 10.0
LOG_TAIL_LINES = 15


class Program(ABC):
    """A program with a port on loopback, a directory and a log; a context manager.

    It is ready when the block begins and gone when the block ends; the guard ends it should this process die otherwise.

    Attributes:
        name: For messages and for the log's name.
        directory: Everything that it writes, `<name>.log` among it. Removed only when this process dies unexpectedly.
        port: Its port, chosen free.
    """

    ready_path = "/-/ready"

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self.directory = directory
        self._ports = Ports()
        self.port = self._ports.reserve()
        self._guard: subprocess.Popen[bytes] | None = None
        self.pid: int | None = None

    @abstractmethod
    def command(self) -> Sequence[str]:
        """The command line; called when the program starts."""

    @property
    def address(self) -> str:
        """Host and port."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def url(self) -> str:
        """Its address for a browser."""
        return f"http://{self.address}"

    @property
    def log_file(self) -> Path:
        """Standard output and standard error."""
        return self.directory / f"{self.name}.log"

    @property
    def running(self) -> bool:
        """Whether the process exists."""
        return self._guard is not None and self._guard.poll() is None

    def __enter__(self) -> Self:
        try:
            self.start()
            wait_for(self.is_ready, READY_SECONDS, f"{self.name} is ready; its log is {self.log_file}")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the program; returns before it is ready.

        Raises:
            SandboxError: It could not be started.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        guard = [sys.executable, "-IS", os.fspath(GUARD), str(os.getpid()), os.fspath(self.directory)]
        with self.log_file.open("ab") as log:
            self._guard = subprocess.Popen(
                [*guard, *self.command()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self.directory,
                start_new_session=True,
            )
        if self._guard.stdout is None:
            raise SandboxError(f"{self.name}: no pipe to its guard")
        with self._guard.stdout as stdout:
            line = stdout.readline()
        if not line:
            raise SandboxError(f"{self.name}: its guard ended with exit code {self._guard.wait()}")
        self.pid = int(line)

    def is_ready(self) -> bool:
        """Whether it answers that it is ready.

        Raises:
            SandboxError: The process has ended; the message has the end of its log.
        """
        if not self.running:
            raise SandboxError(f"{self.name} ended by itself:\n{self.log_tail()}")
        with suppress(OSError, http.client.HTTPException):
            return self.request("GET", self.ready_path)[0] == http.HTTPStatus.OK
        return False

    def close(self) -> None:
        """SIGTERM, and SIGKILL after ten seconds. May be called again."""
        if self._guard is not None:
            for number in (signal.SIGTERM, signal.SIGKILL):
                if self.running:
                    # Interrupted before the guard reported its id, the program still dies with its guard.
                    os.kill(self.pid or self._guard.pid, number)
                    with suppress(subprocess.TimeoutExpired):
                        self._guard.wait(STOP_SECONDS)
        self.pid = None
        self._ports.close()

    def log_tail(self) -> str:
        """The last lines of the log."""
        lines = self.log_file.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-LOG_TAIL_LINES:])

    def request(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Send one HTTP request, with `body` as JSON, and return status and body of the answer.

        Raises:
            OSError: The program did not answer.
        """
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=ANSWER_SECONDS)
        try:
            encoded = None if body is None else json.dumps(body)
            headers: Mapping[str, str] = {} if body is None else {"Content-Type": "application/json"}
            connection.request(method, path, encoded, dict(headers))
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Send one HTTP request and return the answer, decoded from JSON.

        Raises:
            SandboxError: As `fetch` does.
        """
        answer = self.fetch(method, path, body)
        return json.loads(answer) if answer else None

    def fetch(self, method: str, path: str, body: object = None) -> bytes:
        """Send one HTTP request and return the answer.

        Raises:
            SandboxError: There was no answer, or a refusal; the message has the answer.
        """
        try:
            status, answer = self.request(method, path, body)
        except (OSError, http.client.HTTPException) as error:
            raise SandboxError(f"{self.name} did not answer to {path}: {error!r}") from error
        if status != http.HTTPStatus.OK:
            raise SandboxError(f"{self.name} answered {status} to {path}: {answer.decode(errors='replace')[:500]}")
        return answer
