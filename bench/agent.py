"""For comparison: the CPU that one scrape of the jmx_exporter agent, all beans, adds to its broker."""

import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import cpu
from bench.cluster import READY_SECONDS, Target
from bench.report import median
from sandbox import Cluster, wait_for
from sandbox.jars import cache_directory
from sandbox.ports import LOOPBACK, Ports

VERSION = "1.0.1"
ARTIFACT = "jmx_prometheus_javaagent"
EVERYTHING = "rules:\n- pattern: '.*'\n"
WARM_UP = 3
SCRAPES = 3
MAVEN_SECONDS = 300.0
STOP_SECONDS = 300.0


def added_by_scrape(cluster: Cluster, target: Target, broker: int) -> tuple[float, str]:
    """Restart a broker with the agent and scrape it.

    Returns:
        Seconds of CPU per scrape above the idle broker, and the size of a scrape.
    """
    with _agent(cluster, broker) as url:
        pid = Target.of(cluster, target.partitions).pids[broker]
        pages = [_scrape(url) for _ in range(WARM_UP)]

        def work() -> int:
            pages.extend(_scrape(url) for _ in range(SCRAPES))
            return SCRAPES

        once, idle = cpu.added([pid], work)
    series, seconds = pages[-1][0], median(seconds for _, seconds in pages[WARM_UP:])
    return once, f"{series} series in {seconds:.1f} s; {cpu.ROUNDS} x {SCRAPES}; idle {1000 * idle:.0f} ms/s"


def _scrape(url: str) -> tuple[int, float]:
    """Return the number of series and the seconds that it took."""
    started = time.monotonic()
    with urllib.request.urlopen(url, timeout=120) as reply:  # noqa: S310  # the agent, on loopback
        page: bytes = reply.read()
    return sum(not line.startswith(b"#") for line in page.splitlines()), time.monotonic() - started


@contextmanager
def _agent(cluster: Cluster, broker: int) -> Iterator[str]:
    jar, ports, node = _jar(), Ports(), cluster.nodes[broker]
    port, plain = ports.reserve(), node.arguments
    with tempfile.TemporaryDirectory(prefix="kafka-warden-bench-") as folder:
        rules = Path(folder) / "rules.yml"
        rules.write_text(EVERYTHING, encoding="utf-8")
        try:
            node.arguments = (f"-javaagent:{jar}={LOOPBACK}:{port}:{rules}", *plain)
            _restart(cluster, broker)
            yield f"http://{LOOPBACK}:{port}/metrics"
        finally:
            node.arguments = plain
            ports.close()


def _restart(cluster: Cluster, broker: int) -> None:
    cluster.stop(broker, STOP_SECONDS)
    cluster.start(broker)
    cluster.wait_ready(broker, READY_SECONDS)
    wait_for(lambda: not cluster.admin.out_of_sync(), READY_SECONDS, "every replica is in sync again", interval=1.0)


def _jar() -> Path:
    """Return the agent's jar, which Maven fetches into the cache."""
    jar = cache_directory() / f"{ARTIFACT}-{VERSION}.jar"
    if not jar.exists():
        artifact = f"-Dartifact=io.prometheus.jmx:{ARTIFACT}:{VERSION}"
        command = ["mvn", "-q", "-B", "dependency:copy", artifact, f"-DoutputDirectory={jar.parent}"]
        subprocess.run(command, check=True, timeout=MAVEN_SECONDS, capture_output=True)
    return jar
