"""The sidecar itself, as a process: started with the benchmark's configuration, watched through its page."""

import contextlib
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import yaml

from bench.cluster import Target
from sandbox import wait_for
from sandbox.ports import Ports

START_SECONDS = 60.0
STOP_SECONDS = 10.0
PATIENT = 0.95
"""Share of the interval that a poll may take: a busy machine shall make it slow, not incomplete."""

_SNAPSHOT = re.compile(rb"^kafka_warden_snapshot_timestamp_seconds (\S+)$", re.MULTILINE)


class Sidecar:
    """A running `kafka-warden run`."""

    def __init__(self, process: "subprocess.Popen[bytes]", url: str) -> None:
        self.pid = process.pid
        self.url = url
        self._process = process

    def snapshot(self) -> float | None:
        """Return when the poll began whose numbers are shown; None before the first."""
        found = _SNAPSHOT.search(self.page())
        return float(found[1]) if found else None

    def pause(self) -> None:
        """Stop it as a debugger would: no poll, and no answer, until `resume`."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)

    def page(self) -> bytes:
        """Return the page, uncompressed."""
        with urllib.request.urlopen(self.url, timeout=10) as reply:  # noqa: S310  # our own, on loopback
            text: bytes = reply.read()
            return text

    def wait_polls(self, count: int, seconds: float) -> None:
        """Wait until `count` further polls have been shown. Polls must be slower than looks at the page: 50 ms."""
        for _ in range(count):
            before = self.snapshot()
            wait_for(lambda before=before: self._moved(before), seconds, "the next poll is shown", 0.05)  # type: ignore[misc]  # mypy: no lambda with a default

    def _moved(self, before: float | None) -> bool:
        if self._process.poll() is not None:
            raise RuntimeError(f"the sidecar ended with exit code {self._process.returncode}")
        return self.snapshot() not in {before, None}


@contextlib.contextmanager
def running_sidecar(target: Target, interval: float, *, jmx: bool, log_dirs: float = 60.0) -> Iterator[Sidecar]:
    """Start the program that users start, with `interval` seconds between polls; it ends with the block."""
    poll = {"interval": f"{interval:g}s", "deadline": f"{PATIENT * interval:g}s", "log_dirs": f"{log_dirs:g}s"}
    with tempfile.TemporaryDirectory(prefix="kafka-warden-bench-") as folder:
        ports = Ports()
        port = ports.reserve()
        file = Path(folder) / "kafka-warden.yml"
        file.write_text(yaml.safe_dump(_configuration(target, port, poll, jmx=jmx)), encoding="utf-8")
        with (Path(folder) / "log").open("wb") as log:
            command = [sys.executable, "-m", "exporter.cli", "run", "--config", str(file)]
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            sidecar = Sidecar(process, f"http://127.0.0.1:{port}/metrics")
            wait_for(lambda: _answers(sidecar, process), START_SECONDS, "the sidecar shows a poll")
            yield sidecar
        finally:
            _end(process)
            ports.close()


def _configuration(target: Target, port: int, poll: dict[str, str], *, jmx: bool) -> dict[str, object]:
    addresses = {"brokers": dict(target.jmx), "controllers": dict(target.jmx_controllers)}
    return {
        "kafka": {"bootstrap.servers": target.bootstrap},
        "poll": poll,
        "web": {"listen": f"127.0.0.1:{port}"},
        **({"jmx": addresses} if jmx else {}),
    }


def _answers(sidecar: Sidecar, process: "subprocess.Popen[bytes]") -> bool:
    if process.poll() is not None:
        raise RuntimeError(f"the sidecar ended with exit code {process.returncode}")
    with contextlib.suppress(OSError):
        return sidecar.snapshot() is not None
    return False


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGCONT)
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
