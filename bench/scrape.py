"""Scrapes: their duration while the sidecar polls, and their requests to Kafka, which must be none."""

import http.client
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path

from bench.cluster import Target
from bench.report import Row, percentile
from bench.requests import count_requests
from bench.worker import Worker

SCRAPES = 1500
AT_REST = 1000
LONGEST_PAUSE = 0.03
TARGET = 10.0
# As Prometheus asks since 2.43.
HEADERS = {
    "Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5",
    "Accept-Encoding": "gzip",
}


UNIT = Path(__file__).parents[1] / "deploy" / "kafka-warden.service"


def measure(target: Target) -> Iterator[Row]:
    """Scrape from this process, over one connection, at random moments of polls back to back."""
    niceness = int(re.findall(r"^Nice=(.+)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE)[0])
    yield from _beside_polls(target, 0, None)
    yield from _beside_polls(target, niceness, TARGET)


def _beside_polls(target: Target, niceness: int, goal: float | None) -> Iterator[Row]:
    """Yield the rows for a sidecar of this niceness."""
    argument = {"bootstrap": target.bootstrap, "everything": False, "nice": niceness}
    with Worker("bench.scrape_worker", argument) as worker:
        first = worker.step("poll")
        busy, size = _scrape(worker.ready, SCRAPES, LONGEST_PAUSE)
        polls = worker.step("rest") - first
        before = count_requests(target)
        rested, _ = _scrape(worker.ready, AT_REST, 0.0)
        asked = count_requests(target) - before
    note = f"{SCRAPES} scrapes during {polls} polls back to back; {size / 1000:.0f} kB compressed"
    yield Row(f"scrape while polling, niceness {niceness}: p99", 1000 * percentile(busy, 0.99), "ms", goal, note)
    yield Row("- p50", 1000 * percentile(busy, 0.5), "ms", None, f"greatest {1000 * busy[-1]:.1f} ms")
    yield Row("- idle: p99", 1000 * percentile(rested, 0.99), "ms", None, f"{AT_REST} scrapes")
    total = sum(asked.values())
    named = ", ".join(f"{name} {count}" for name, count in asked.items() if count)
    yield Row(f"requests to Kafka by {AT_REST} scrapes", total, "", 0, named or "by the brokers' own counts")


def _scrape(port: int, count: int, longest_pause: float) -> tuple[list[float], int]:
    """Return the seconds of each scrape, sorted, and the size of the last page."""
    chance = random.Random(1)  # noqa: S311  # moments, not secrets
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    seconds = []
    body = b""
    for _ in range(count):
        time.sleep(chance.uniform(0, longest_pause))
        started = time.perf_counter()
        connection.request("GET", "/metrics", headers=HEADERS)
        reply = connection.getresponse()
        body = reply.read()
        seconds.append(time.perf_counter() - started)
        if reply.status != http.client.OK:
            raise RuntimeError(f"/metrics answered {reply.status}")
    connection.close()
    return sorted(seconds), len(body)
