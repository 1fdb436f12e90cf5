"""The sidecar as a process with the configuration of the benchmark, watched through `/metrics`."""

import contextlib
import re
import signal
import tempfile
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.cluster import Target
from sandbox import wait_for
from tests.cluster import sidecar as process

START_SECONDS = 180.0
TIME_LIMIT = 60.0
LOOK = 0.05
"""Seconds between two reads of `/metrics`."""

DEADLINE_SHARE = 0.95
"""Share of the interval that a poll may take: on a busy machine it must be slow, not incomplete."""

_SNAPSHOT = re.compile(r"^kafka_warden_snapshot_timestamp_seconds (\S+)$", re.MULTILINE)


def shown(page: str) -> float | None:
    """Return the start time of the poll that a page shows."""
    found = _SNAPSHOT.search(page)
    return float(found[1]) if found else None


class Sidecar(process.Sidecar):
    """A running `kafka-warden run`."""

    @property
    def pid(self) -> int:
        """Of the process."""
        return self.process.pid

    @property
    def url(self) -> str:
        """Of the metrics."""
        return f"http://127.0.0.1:{self._port}/metrics"

    def read(self) -> str:
        """Read the metrics."""
        with urllib.request.urlopen(self.url, timeout=TIME_LIMIT) as reply:  # noqa: S310  # ours
            return str(reply.read().decode())

    def snapshot(self) -> float | None:
        """Return the start time of the shown poll; None before the first.

        Raises:
            RuntimeError: it has ended.
        """
        if self.process.poll() is not None:
            raise RuntimeError(f"the sidecar ended with exit code {self.process.returncode}: {self.log[-1000:]}")
        with contextlib.suppress(OSError):
            return shown(self.read())
        return None

    def wait_polls(self, count: int) -> None:
        """Wait until `count` further polls are shown. Polls must be slower than reads of `/metrics`."""
        for _ in range(count):
            wait_for(partial(self._newer, self.snapshot()), TIME_LIMIT, "the next poll is shown", LOOK)

    def _newer(self, than: float | None) -> bool:
        return self.snapshot() not in {than, None}

    def pause(self) -> None:
        """SIGSTOP: no poll and no answer until `resume`."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self.process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def running_sidecar(target: Target, interval: float, *, jmx: bool, log_dirs: float = 60.0) -> Iterator[Sidecar]:
    """Start the program that users start, with `interval` seconds between polls; it ends with the block."""
    addresses = {"brokers": dict(target.jmx), "controllers": dict(target.jmx_controllers)}
    poll = {"interval": f"{interval:g}s", "deadline": f"{DEADLINE_SHARE * interval:g}s", "log_dirs": f"{log_dirs:g}s"}
    config = {
        "kafka": {"bootstrap.servers": target.bootstrap},
        "poll": poll,
        "web": {"listen": "127.0.0.1:0"},
        **({"jmx": addresses} if jmx else {}),
    }
    with (
        tempfile.TemporaryDirectory(prefix="kafka-warden-bench-") as folder,
        Sidecar(config, Path(folder), ready=False) as sidecar,
    ):
        wait_for(sidecar.snapshot, START_SECONDS, "the sidecar shows a poll")
        yield sidecar
        sidecar.stop()
