"""A worker that polls: the cycle of the sidecar up to the rendered page, without the timer and the web."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kafka_warden.app import tune_interpreter
from kafka_warden.clients.kafka.properties import translate
from kafka_warden.cycle import Cycle
from kafka_warden.log import configure
from kafka_warden.model import Parameters
from kafka_warden.parts import build
from kafka_warden.poller import Poller, PollerSettings

NEVER = 1e9
DEADLINE = 30.0
"""Seconds: on a busy machine a poll must be slow, not incomplete."""


@contextmanager
def make_cycle(argument: dict[str, Any]) -> Iterator[Cycle]:
    """Make a cycle for `argument["bootstrap"]`.

    Where `argument["everything"]` is true, each poll asks for log directories, configurations and quotas too, as one
    poll a minute does; else only the first one.
    """
    configure("warning", "logfmt")
    tune_interpreter()
    cadence = 0.0 if argument["everything"] else NEVER
    deadline = argument.get("deadline", DEADLINE)
    settings = PollerSettings(deadline=deadline, log_dirs=cadence, slow=cadence)
    poller = Poller(settings, translate({"bootstrap.servers": argument["bootstrap"]}, {}), None)
    try:
        yield Cycle(poller, Parameters(), build())
    finally:
        poller.close()


@contextmanager
def prepare(argument: dict[str, Any]) -> Iterator[tuple[None, Callable[[str], Any]]]:
    """Make a cycle; each step is one poll."""
    with make_cycle(argument) as cycle:
        yield None, lambda _: _poll(cycle)


def _poll(cycle: Cycle) -> dict[str, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    cycle.once()
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
