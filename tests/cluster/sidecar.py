"""The sidecar as its users run it: a process with a configuration file, read over HTTP only."""

import http.client
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import yaml

from sandbox import Cluster, wait_for
from sandbox.sidecar import sidecar_config
from tests.cluster.page import Page

ROOT = Path(__file__).resolve().parents[2]
INTERVAL = 1.0
"""Seconds between polls."""
DEADLINE = 0.9 * INTERVAL
STOP_WITHIN = 5.0
SLOW_MACHINE = 150.0
"""Seconds to wait for anything that must happen. A controller that missed its first question is asked again after a
minute."""
SCRAPE_TIMEOUT = 10.0
"""Seconds: Prometheus' own."""
_LISTENING = re.compile(r"\blistening\b.*\bport=(\d+)")


def configuration(cluster: Cluster, user: str = "admin", **sections: Any) -> dict[str, Any]:
    """What a user would write for this cluster; a section given here is laid over the one made here."""
    made: dict[str, Any] = {
        **sidecar_config(cluster, user),
        "poll": {"interval": f"{1000 * INTERVAL:g}ms", "deadline": f"{1000 * DEADLINE:g}ms"},
        "web": {"listen": "127.0.0.1:0"},
    }
    return {**made, **{name: {**made.get(name, {}), **section} for name, section in sections.items()}}


def _neutral(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without variables that the sidecar would take for its own settings."""
    return {name: value for name, value in environment.items() if not name.startswith("KAFKA_WARDEN_")}


def _exchange(connection: http.client.HTTPConnection, path: str, headers: Mapping[str, str]) -> tuple[int, str]:
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    return response.status, response.read().decode()


class Sidecar:
    """`kafka-warden run` as a process of its own. On leaving the block it must end well after SIGTERM.

    Args:
        config: the configuration file's content.
        folder: for the configuration, the log, and as working directory.
        environment: more variables.
        ready: whether to wait for the first good poll.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        folder: Path,
        *,
        environment: Mapping[str, str] | None = None,
        ready: bool = True,
    ) -> None:
        self.folder = folder
        self.headers: dict[str, str] = {}
        """Of every request."""
        self._config = config
        self._environment = dict(environment or {})
        self._wait_ready = ready
        self._log_file = folder / "sidecar.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0
        self._own = threading.local()
        self._connections: list[http.client.HTTPConnection] = []

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / "kafka-warden.yml"
        file.write_text(yaml.safe_dump(dict(self._config), sort_keys=False), encoding="utf-8")
        with self._log_file.open("wb") as log:
            self._process = subprocess.Popen(
                self.command(file),
                cwd=self.folder,
                env={**_neutral(os.environ), "PYTHONPATH": str(ROOT / "exporter"), **self._environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            self._port = wait_for(self._listening, SLOW_MACHINE, "the sidecar listens", interval=0.02)
            if self._wait_ready:
                self.wait_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def command(self, config: Path) -> list[str]:
        return [sys.executable, "-m", "kafka_warden.cli", "run", "--config", str(config)]

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for connection in self._connections:
            connection.close()
        if kind is not None:
            print(f"--- the sidecar's log ---\n{self.log[-4000:]}")
            self.kill()
        elif self.process.poll() is None:
            code, seconds = self.stop()
            assert code == 0, self.log[-4000:]
            assert seconds < STOP_WITHIN

    @property
    def process(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None
        return self._process

    @property
    def log(self) -> str:
        return self._log_file.read_text(encoding="utf-8", errors="replace")

    def _listening(self) -> int:
        """The port, 0 while it is not known."""
        if self.process.poll() is not None:
            raise AssertionError(f"the sidecar ended with code {self.process.returncode}:\n{self.log}")
        found = _LISTENING.search(self.log)
        return int(found[1]) if found else 0

    @property
    def address(self) -> str:
        """Where it listens, `host:port`."""
        return f"127.0.0.1:{self._port}"

    def stop(self) -> tuple[int, float]:
        """SIGTERM; return the exit code and the seconds that it took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(SLOW_MACHINE)
        return code, time.monotonic() - began

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(SLOW_MACHINE)

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of one request, over a connection that is kept, as Prometheus does."""
        kept: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if kept is not None:
            try:
                return _exchange(kept, path, self.headers)
            except (http.client.RemoteDisconnected, ConnectionError):
                kept.close()
        self._own.connection = made = http.client.HTTPConnection("127.0.0.1", self._port, timeout=SCRAPE_TIMEOUT)
        self._connections.append(made)
        return _exchange(made, path, self.headers)

    def wait_ready(self, timeout: float = SLOW_MACHINE) -> None:
        wait_for(self.ready, timeout, f"the sidecar is ready; its log:\n{self.log[-2000:]}", interval=0.05)

    def ready(self) -> bool:
        return self.get("/-/ready")[0] == http.HTTPStatus.OK

    def scrape(self) -> Page:
        status, text = self.get("/metrics")
        assert status == http.HTTPStatus.OK, text
        return Page(text)

    def next_page(self, timeout: float = SLOW_MACHINE) -> Page:
        """The first page of a poll that begins after this call, so that it shows what happened before."""
        return self.wait(lambda _: True, timeout, "another poll came to its end")

    def whole_page(self, timeout: float = SLOW_MACHINE) -> Page:
        return self.wait(lambda page: not page.down(), timeout, "every source answers")

    def pages(self, timeout: float = SLOW_MACHINE) -> Iterator[Page]:
        """Every page, one per poll, beginning with polls that begin after this call.

        Raises:
            AssertionError: `timeout` seconds have passed, and a caller still wants more.
        """
        last, until = time.time(), time.monotonic() + timeout
        while time.monotonic() < until:
            page = self.scrape()
            if page.time > last:
                last = page.time
                yield page
            else:
                time.sleep(0.03)
        raise AssertionError(f"no further page within {timeout:g} s; the sidecar's log:\n{self.log[-3000:]}")

    def pages_until(self, predicate: Callable[[Page], object]) -> list[Page]:
        pages = []
        for page in self.pages(2 * SLOW_MACHINE):
            pages.append(page)
            if predicate(page):
                break
        return pages

    def wait(self, predicate: Callable[[Page], object], timeout: float = SLOW_MACHINE, what: str = "") -> Page:
        page = None
        until = time.monotonic() + timeout
        for page in self.pages(timeout + SLOW_MACHINE):
            if predicate(page):
                return page
            if time.monotonic() > until:
                break
        raise AssertionError(
            f"after {timeout:g} s still not: {what or predicate}; not up: {sorted(page.down()) if page else page};\n"
            f"the sidecar's log:\n{self.log[-3000:]}"
        )
