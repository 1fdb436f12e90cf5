"""Scrapes: their duration while the sidecar polls, and their requests to Kafka, which must be none.

`python -m bench.scrape` asks for the status page and the API beside `/metrics`, of 3,000 moves on scripted brokers.
"""

import http.client
import json
import random
import re
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.cluster import Target
from bench.report import Row, percentile, show
from bench.requests import count_requests
from bench.worker import Worker
from tests.support.scripted import ScriptedCluster

SCRAPES = 1500
AT_REST = 1000
LONGEST_PAUSE = 0.03
TARGET = 10.0
PAGE_RATIO = 2.0
"""Of the status page to `/metrics`, in the same run."""
METRICS, PAGE, MOVES = "/metrics", "/", "/api/v1/moves"
TOPICS, MOVING_TOPICS, A_TOPIC = 467, 200, 15
"""10,005 partitions, of which 3,000 move."""
BROKERS = 6
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
        busy, size = _scrape(worker.ready, SCRAPES, LONGEST_PAUSE)[METRICS]
        polls = worker.step("rest") - first
        before = count_requests(target)
        rested, _ = _scrape(worker.ready, AT_REST, 0.0)[METRICS]
        asked = count_requests(target) - before
    note = f"{SCRAPES} scrapes during {polls} polls back to back; {size / 1000:.0f} kB compressed"
    yield Row(f"scrape while polling, niceness {niceness}: p99", 1000 * percentile(busy, 0.99), "ms", goal, note)
    yield Row("- p50", 1000 * percentile(busy, 0.5), "ms", None, f"greatest {1000 * busy[-1]:.1f} ms")
    yield Row("- idle: p99", 1000 * percentile(rested, 0.99), "ms", None, f"{AT_REST} scrapes")
    total = sum(asked.values())
    named = ", ".join(f"{name} {count}" for name, count in asked.items() if count)
    yield Row(f"requests to Kafka by {AT_REST} scrapes", total, "", 0, named or "by the brokers' own counts")


def measure_page() -> Iterator[Row]:
    """Ask for `/metrics`, the page and the API in turn, at random moments of polls back to back."""
    with ScriptedCluster(range(1, BROKERS + 1)) as brokers:
        _describe(brokers)
        argument = {"bootstrap": brokers.bootstrap, "everything": False, "nice": 0}
        with Worker("bench.scrape_worker", argument) as worker:
            _require_moves(worker.ready)
            first = worker.step("poll")
            alone, _ = _scrape(worker.ready, SCRAPES, LONGEST_PAUSE)[METRICS]
            asked = _scrape(worker.ready, SCRAPES, LONGEST_PAUSE, (METRICS, PAGE, MOVES))
            polls = worker.step("rest") - first
    slowest = {path: percentile(seconds, 0.99) for path, (seconds, _) in asked.items()}
    for path, (seconds, size) in asked.items():
        note = (
            f"p50 {1000 * percentile(seconds, 0.5):.1f} ms, greatest {1000 * seconds[-1]:.1f} ms; {size / 1000:.0f} kB"
        )
        yield Row(f"{path} while polling: p99", 1000 * slowest[path], "ms", None, note)
    yield Row("- /metrics alone: p99", 1000 * percentile(alone, 0.99), "ms", None, "no one asks for the page meanwhile")
    note = f"{SCRAPES} requests of each in turn; {polls} polls back to back"
    yield Row("the page over /metrics: p99", slowest[PAGE] / slowest[METRICS], "", PAGE_RATIO, note)
    yield Row("the API over /metrics: p99", slowest[MOVES] / slowest[METRICS], "", PAGE_RATIO, note)


def _require_moves(port: int) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{MOVES}?limit=1", timeout=60) as reply:
        shown = json.load(reply)["total"]
    if shown != MOVING_TOPICS * A_TOPIC:
        raise RuntimeError(f"{shown} moves are shown")


def _describe(brokers: ScriptedCluster) -> None:
    """Describe a cluster in which 3,000 partitions move from broker 3 to the brokers 4 to 6, under throttles."""
    limits = {f"{side}.replication.throttled.rate": "20000000" for side in ("leader", "follower")}
    brokers.brokers(*({"id": broker, "config": limits} for broker in range(1, BROKERS + 1)))
    brokers.do("spread", topics=TOPICS, partitions=A_TOPIC, replicas=3, rate=10.0, end=100_000)
    topics = []
    for number in range(MOVING_TOPICS):
        target = 4 + number % 3
        topics.append(
            {
                "name": f"moving-{number:03}",
                "replicas": [[1, 2, 3, target]] * A_TOPIC,
                "isr": [[1, 2, 3]] * A_TOPIC,
                "end": 100_000,
                "rate": 10.0,
                "lag": {target: 50_000},
                "moves": {partition: {"adding": [target], "removing": [3]} for partition in range(A_TOPIC)},
                "config": {f"{side}.replication.throttled.replicas": "*" for side in ("leader", "follower")},
            }
        )
    brokers.do("topics", topics=topics)


def _scrape(
    port: int, count: int, longest_pause: float, paths: Sequence[str] = (METRICS,)
) -> Mapping[str, tuple[list[float], int]]:
    """Return the seconds of the requests of each path, sorted, and the size of its last answer."""
    chance = random.Random(1)  # noqa: S311  # moments, not secrets
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    seconds: dict[str, list[float]] = {path: [] for path in paths}
    sizes = dict.fromkeys(paths, 0)
    for path in (path for _ in range(count) for path in paths):
        time.sleep(chance.uniform(0, longest_pause))
        started = time.perf_counter()
        connection.request("GET", path, headers=HEADERS)
        reply = connection.getresponse()
        sizes[path] = len(reply.read())
        seconds[path].append(time.perf_counter() - started)
        if reply.status != http.client.OK:
            raise RuntimeError(f"{path} answered {reply.status}")
    connection.close()
    return {path: (sorted(seconds[path]), sizes[path]) for path in paths}


if __name__ == "__main__":
    sys.exit(show(measure_page()))
