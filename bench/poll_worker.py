"""A worker that polls: the sidecar's own cycle, from the first request to the page, without the timer and the web."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from exporter.app import SWITCH_INTERVAL, build
from exporter.clients.kafka.properties import translate
from exporter.cycle import Cycle
from exporter.log import configure
from exporter.model import Parameters
from exporter.poller import Poller, PollerSettings

NEVER = 1e9
DEADLINE = 30.0
"""Seconds: a busy machine shall make a poll slow, not incomplete."""


@contextmanager
def prepare(argument: dict[str, Any]) -> Iterator[tuple[None, Callable[[str], Any]]]:
    """Make a poller for `argument["bootstrap"]`.

    Where `argument["everything"]` is true, each poll asks for log directories, configurations and quotas too, as one
    poll a minute does; else only the first one.
    """
    configure("warning", "logfmt")
    sys.setswitchinterval(SWITCH_INTERVAL)
    cadence = 0.0 if argument["everything"] else NEVER
    settings = PollerSettings(deadline=DEADLINE, log_dirs=cadence, slow=cadence)
    poller = Poller(settings, translate({"bootstrap.servers": argument["bootstrap"]}, {}), None)
    cycle = Cycle(poller, Parameters(), lambda _: True, build())
    try:
        yield None, lambda _: _poll(cycle)
    finally:
        poller.close()


def _poll(cycle: Cycle) -> dict[str, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    cycle.once()
    took = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    page = cycle.holder.page
    return {**took, "page": len(page.text) if page else 0, "threads": threading.active_count()}
