"""CPU that polling adds to the brokers over what they use at rest, beside what the jmx_exporter agent adds."""

from collections.abc import Iterator

from bench import agent, cpu
from bench.cluster import Target
from bench.report import Row, median
from bench.sidecar import running_sidecar
from sandbox import Cluster

INTERVAL = 10.0
POLLS = 12
PATIENCE = 60.0
TARGET = 1 / 20


def measure(target: Target, cluster: Cluster | None = None) -> Iterator[Row]:
    """Let the brokers rest, poll them as users do, let them rest again; then restart one of them with the agent."""
    added, note = added_per_poll(target)
    yield Row("CPU that one poll adds to one broker", 1000 * added, "ms", None, note)
    if cluster is None:
        return
    broker = max(target.pids)
    peer, what = agent.added_per_scrape(cluster, target, broker)
    yield Row(f"- one scrape of the jmx_exporter agent {agent.VERSION}, all beans", 1000 * peer, "ms", None, what)
    yield Row("work added to a broker: a poll over a scrape of the agent", added / peer, "", TARGET)


def added_per_poll(target: Target) -> tuple[float, str]:
    """Seconds of CPU per broker and poll, and how they were found."""
    before = cpu.rest(target)
    with running_sidecar(target, INTERVAL, jmx=True) as sidecar:
        sidecar.wait_polls(1, PATIENCE)
        during = cpu.rates(target, lambda: sidecar.wait_polls(POLLS, PATIENCE))
    after = cpu.rest(target)
    added = [during[broker] - (before[broker] + after[broker]) / 2 for broker in before]
    idle = ", ".join(f"{1000 * median(rates.values()):.0f}" for rates in (before, after))
    note = f"mean of {POLLS} polls and {len(added)} brokers, JMX included; at rest {idle} ms a second before and after"
    return INTERVAL * sum(added) / len(added), note
