"""The sidecar as a process with the configuration of the benchmark, watched through `/metrics`."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import yaml

from bench.cluster import Target
from sandbox import wait_for
from sandbox.ports import Ports

START_SECONDS = 180.0
STOP_SECONDS = 10.0
TIME_LIMIT = 60.0
LOOK = 0.05
"""Seconds between two reads of `/metrics`."""

DEADLINE_SHARE = 0.95
"""Share of the interval that a poll may take: on a busy machine it must be slow, not incomplete."""

_SNAPSHOT = re.compile(rb"^kafka_warden_snapshot_timestamp_seconds (\S+)$", re.MULTILINE)


class Sidecar:
    """A running `kafka-warden run`."""

    def __init__(self, process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
        self.pid = process.pid
        self.url = url
        self._process = process
        self._log = log

    def snapshot(self) -> float | None:
        """Return the start time of the shown poll; None before the first.

        Raises:
            RuntimeError: it has ended.
        """
        if self._process.poll() is not None:
            said = self._log.read_text(encoding="utf-8").strip().rpartition("\n")[2]
            raise RuntimeError(f"the sidecar ended with exit code {self._process.returncode}: {said}")
        with contextlib.suppress(OSError), urllib.request.urlopen(self.url, timeout=TIME_LIMIT) as reply:  # noqa: S310  # ours
            found = _SNAPSHOT.search(reply.read())
            return float(found[1]) if found else None
        return None

    def wait_polls(self, count: int) -> None:
        """Wait until `count` further polls are shown. Polls must be slower than reads of `/metrics`."""
        for _ in range(count):
            wait_for(partial(self._newer, self.snapshot()), TIME_LIMIT, "the next poll is shown", LOOK)

    def _newer(self, than: float | None) -> bool:
        return self.snapshot() not in {than, None}

    def pause(self) -> None:
        """SIGSTOP: no poll and no answer until `resume`."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """SIGTERM, and SIGKILL after a time limit."""
        self.resume()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextlib.contextmanager
def running_sidecar(target: Target, interval: float, *, jmx: bool, log_dirs: float = 60.0) -> Iterator[Sidecar]:
    """Start the program that users start, with `interval` seconds between polls; it ends with the block."""
    poll = {"interval": f"{interval:g}s", "deadline": f"{DEADLINE_SHARE * interval:g}s", "log_dirs": f"{log_dirs:g}s"}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-warden-bench-")))
        ports = stack.enter_context(contextlib.closing(Ports()))
        port, file, said = ports.reserve(), folder / "kafka-warden.yml", folder / "log"
        file.write_text(yaml.safe_dump(_configuration(target, port, poll, jmx=jmx)), encoding="utf-8")
        command = [sys.executable, "-m", "kafka_warden.cli", "run", "--config", str(file)]
        log = stack.enter_context(said.open("wb"))
        process = subprocess.Popen(command, stdout=log, stderr=log, env=_environment())
        sidecar = Sidecar(process, f"http://127.0.0.1:{port}/metrics", said)
        stack.callback(sidecar.end)
        wait_for(sidecar.snapshot, START_SECONDS, "the sidecar shows a poll")
        yield sidecar


def _configuration(target: Target, port: int, poll: dict[str, str], *, jmx: bool) -> dict[str, object]:
    addresses = {"brokers": dict(target.jmx), "controllers": dict(target.jmx_controllers)}
    return {
        "kafka": {"bootstrap.servers": target.bootstrap},
        "poll": poll,
        "web": {"listen": f"127.0.0.1:{port}"},
        **({"jmx": addresses} if jmx else {}),
    }


def _environment() -> dict[str, str]:
    """Return our environment without variables of the sidecar: only the file must count."""
    return {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_WARDEN_")}
