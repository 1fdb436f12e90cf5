"""`python -m bench.soak`: scrapers and faults for an hour. No scrape may fail, and nothing may grow."""

import argparse
import http.client
import itertools
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import fmean
from urllib.parse import urlsplit

from bench import procfs
from bench.cluster import Target, bench_cluster
from bench.report import Row, median, percentile, show
from bench.scrape import HEADERS
from bench.sidecar import running_sidecar
from sandbox import Cluster
from tests.support.threads import repeating

MINUTES = 60
PARTITIONS = 10_005
SCRAPERS = 50
SCRAPE_EVERY = 1.0
READ = ("/", "/api/v1/replicas", "/api/v1/sources")
"""Each is read by one more client."""
READ_EVERY = 3.0
"""Less than the web server's idle timeout, since these clients do not ask again when it closes a connection."""
LOOK_EVERY = 1.0
LOOKS = 10
"""So many looks are one value of memory, which is lower after a poll than before the next one: single looks every 5 s
drift through the polls in a quarter of an hour, which may look like growth.

Memory is the anonymous part of Pss. Pss itself also has the pages of files, so it falls by 13 MB when four other JVMs
run, by 3 MB when four other Python programs do, and rises by as much when they end."""
HANGS = 20.0
SEEN = 10.0
"""Until the sidecar has polled all brokers again."""
RESTS = 30.0
TIME_LIMIT = 10.0
"""Seconds of a scrape, as Prometheus has it by default."""
EARLIER, LATER = (15 / 60, 25 / 60), (50 / 60, 1.0)
"""Shares of the time that are compared: minutes 15 to 25 and 50 to 60 of an hour. Before them caches are filled."""
COUNTED = ("descriptors", "threads")
MOST_GROWTH = {"memory": 1.0, "sidecar": None, "children": None} | dict.fromkeys(COUNTED, 0.0)
"""What is compared. The memory is that of the sidecar and that of its children."""


@dataclass
class Soak:
    """What was seen."""

    seconds: float
    faults: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    whole: bool = True
    """Whether all brokers run and the sidecar has seen so."""
    samples: list[tuple[float, bool, dict[str, float]]] = field(default_factory=list)
    """Seconds since the beginning, `whole`, and memory in MB, descriptors and threads of sidecar and children."""

    def growth(self, name: str) -> float:
        """Return by how much the later median is above the earlier one, or of counts above the greatest earlier one.

        All are compared while all brokers run: one that is down has no connection, and 10,000 replicas that are out of
        sync take memory. RMI has one connection more or less now and then. What is never closed adds up.
        """
        earlier, later = (
            [sample[name] for at, whole, sample in self.samples if whole and first <= at / self.seconds <= last]
            for first, last in (EARLIER, LATER)
        )
        if name in COUNTED:
            return median(later) - max(earlier)
        return median(_means(later)) - median(_means(earlier))

    def rows(self) -> Iterator[Row]:
        """The verdict."""
        took = sorted(self.latencies)
        note = f"of {len(took)}, by {SCRAPERS} clients and {len(READ)} of the status page, during {self.faults} faults"
        note += f"; {dict(self.failures.most_common(5)) or 'none failed'}"
        yield Row("failed scrapes", self.failures.total(), "", 0.0, note)
        yield Row("scrape: p99", 1000 * percentile(took, 0.99), "ms", None, f"greatest {1000 * took[-1]:.0f} ms")
        for name, most in MOST_GROWTH.items():
            seen = [sample[name] for _, _, sample in self.samples]
            note = f"median {median(seen):.1f}, {min(seen):.1f} to {max(seen):.1f}"
            yield Row(f"growth of {name}", self.growth(name), "" if name in COUNTED else "MB", most, note)


def soak(cluster: Cluster, partitions: int, seconds: float, interval: float) -> Soak:
    """Watch a cluster for some seconds. One broker after the other hangs and comes back, dies and comes back."""
    seen, end = Soak(seconds), threading.Event()
    with (
        running_sidecar(Target.of(cluster, partitions), interval, jmx=True) as sidecar,
        ThreadPoolExecutor(1) as pool,
        ExitStack() as stack,
    ):
        stack.callback(end.set)
        clients = [("/metrics", SCRAPE_EVERY)] * SCRAPERS + [(path, READ_EVERY) for path in READ]
        for path, every in clients:
            # As Prometheus, each over one connection.
            connection = http.client.HTTPConnection(urlsplit(sidecar.url).netloc, timeout=TIME_LIMIT)
            stack.enter_context(closing(connection))
            stack.enter_context(repeating(partial(_get, connection, path, seen), every))
        faults = pool.submit(_cause, cluster, seen, end)
        began = time.monotonic()
        while (at := time.monotonic() - began) < seconds and not faults.done():
            with suppress(OSError):  # a child that was replaced meanwhile
                seen.samples.append((at, seen.whole, _look(sidecar.pid)))
            time.sleep(LOOK_EVERY)
        end.set()
        faults.result()
    return seen


def main() -> int:
    """Print the verdict; the exit code is 1 where it is bad."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"default: {MINUTES}")
    parser.add_argument("--partitions", type=int, default=PARTITIONS, help=f"default: {PARTITIONS}")
    parser.add_argument("--interval", type=float, default=10.0, help="seconds between polls; default: 10")
    parser.add_argument("--samples", type=Path, metavar="FILE", help="write every look at the processes as JSON lines")
    options = parser.parse_args()
    with bench_cluster(options.partitions) as cluster:
        seen = soak(cluster, options.partitions, 60 * options.minutes, options.interval)
    for at, _, sample in seen.samples[:: max(1, len(seen.samples) // MINUTES)]:
        print(f"{at / 60:5.1f} min  " + "  ".join(f"{name} {value:.1f}" for name, value in sample.items()))
    if options.samples:
        lines = (json.dumps({"seconds": at, "whole": whole, **sample}) for at, whole, sample in seen.samples)
        options.samples.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return show(seen.rows())


def _means(looks: Sequence[float]) -> list[float]:
    """Return the mean of each `LOOKS` looks."""
    return [fmean(looks[first : first + LOOKS]) for first in range(0, len(looks), LOOKS)]


def _get(connection: http.client.HTTPConnection, path: str, seen: Soak) -> None:
    began = time.monotonic()
    try:
        connection.request("GET", path, headers=HEADERS)
        response = connection.getresponse()
        response.read()
    except (OSError, http.client.HTTPException) as failure:
        seen.failures[f"{path}: {failure!r}"] += 1
        connection.close()
    else:
        if response.status != http.HTTPStatus.OK:
            seen.failures[f"{path}: {response.status}"] += 1
    seen.latencies.append(time.monotonic() - began)


def _cause(cluster: Cluster, seen: Soak, end: threading.Event) -> None:
    """Let one broker after the other hang and come back, and die and come back."""
    for broker in itertools.cycle(cluster.broker_ids):
        for happen, undo in ((cluster.pause, cluster.resume), (cluster.kill, cluster.start)):
            if end.wait(RESTS):
                return
            seen.faults, seen.whole = seen.faults + 1, False
            happen(broker)
            end.wait(HANGS)
            undo(broker)
            cluster.wait_ready(broker)
            cluster.wait_in_sync()
            end.wait(SEEN)
            seen.whole = True


def _look(pid: int) -> dict[str, float]:
    processes = procfs.tree(pid)
    sidecar, children = (procfs.anonymous_bytes(part) / 1e6 for part in (processes[:1], processes[1:]))
    return {
        "memory": sidecar + children,
        "sidecar": sidecar,
        "children": children,
        "descriptors": sum(map(procfs.descriptors, processes)),
        "threads": sum(map(procfs.threads, processes)),
    }


if __name__ == "__main__":
    sys.exit(main())
