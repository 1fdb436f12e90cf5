"""CPU that polling adds to idle brokers, compared with the jmx_exporter agent."""

from collections.abc import Iterator

from bench import agent, cpu
from bench.cluster import Target
from bench.report import Row
from bench.sidecar import running_sidecar
from sandbox import Cluster

INTERVAL = 2.0
LOG_DIRS = 12.0
"""Seconds. Five times as often as by default, and log directories with every sixth poll, too, to see it better."""

POLLS = 12
TARGET = 1 / 20


def measure(target: Target, cluster: Cluster | None = None) -> Iterator[Row]:
    """Alternate polls and rest; then restart a broker with the agent, and alternate scrapes and rest."""
    poll, note = added_by_poll(target)
    yield Row("CPU that one poll adds to one broker", 1000 * poll, "ms", None, note)
    if cluster is None:
        return
    scrape, note = agent.added_by_scrape(cluster, target, max(target.pids))
    yield Row(f"- one scrape of the jmx_exporter agent {agent.VERSION}, all beans", 1000 * scrape, "ms", None, note)
    yield Row("work added to a broker: a poll over a scrape of the agent", poll / scrape, "", TARGET)


def added_by_poll(target: Target) -> tuple[float, str]:
    """Seconds of CPU per broker and poll, JMX included, and how they were found."""
    with running_sidecar(target, INTERVAL, jmx=True, log_dirs=LOG_DIRS) as sidecar:
        sidecar.wait_polls(POLLS)

        def work() -> int:
            sidecar.resume()
            sidecar.wait_polls(POLLS)
            return POLLS

        once, idle = cpu.added(target.pids.values(), work, sidecar.pause)
        sidecar.resume()
    every = f"log dirs with every {LOG_DIRS / INTERVAL:.0f}th"
    return once, f"{cpu.ROUNDS} x {POLLS} polls, {every}, JMX included; an idle broker uses {1000 * idle:.0f} ms/s"
