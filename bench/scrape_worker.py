"""A worker that polls back to back on a thread and serves `/metrics`."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bench import poll_worker
from kafka_warden.lifecycle import Health
from kafka_warden.settings.strict import Address
from kafka_warden.web.server import WebServer, WebSettings


@contextmanager
def prepare(argument: dict[str, Any]) -> Iterator[tuple[int, Callable[[str], Any]]]:
    """Serve and return the port. Steps: `poll` starts to poll, `rest` stops; both return the number of polls.

    `argument["nice"]` is added to the niceness; less than 0 needs root.
    """
    os.nice(argument["nice"])
    with poll_worker.make_cycle(argument) as cycle:
        cycle.once()
        server = WebServer(WebSettings(listen=Address("127.0.0.1", 0)), cycle.holder, health=Health)
        polling = _BackToBack(cycle.once)
        port = server.start()
        try:
            yield port, polling.step
        finally:
            polling.step("rest")
            server.stop()


class _BackToBack:
    """Calls a function repeatedly on a thread, between `poll` and `rest`."""

    def __init__(self, once: Callable[[], None]) -> None:
        self._once = once
        self._count = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def step(self, name: str) -> int:
        if name == "poll":
            self._stop.clear()
            self._thread = threading.Thread(target=self._run)
            self._thread.start()
        elif self._thread is not None:
            self._stop.set()
            self._thread.join()
        return self._count

    def _run(self) -> None:
        while not self._stop.is_set():
            self._once()
            self._count += 1
