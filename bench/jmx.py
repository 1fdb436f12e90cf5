"""JMX: CPU of the child per broker and poll."""

from collections.abc import Iterator

from bench.cluster import Target
from bench.report import Row, median
from bench.worker import Worker

POLLS = 100
WARM_UP = 20
TARGET = 25.0


def measure(target: Target) -> Iterator[Row]:
    """Ask all brokers repeatedly."""
    with Worker("bench.jmx_worker", {"jmx": target.jmx}) as worker:
        numbers = worker.ready
        samples = [worker.step() for _ in range(WARM_UP + POLLS)][WARM_UP - 1 :]
    brokers = len(target.jmx)
    child, own = (1000 * (samples[-1][name] - samples[0][name]) / POLLS / brokers for name in ("child", "own"))
    wall = median(sample["wall"] for sample in samples[1:])
    note = f"mean of {POLLS} polls of {brokers} brokers, {numbers} numbers each; all brokers: {1000 * wall:.0f} ms wall"
    yield Row("JMX, per broker and poll: CPU of the child", child, "ms", TARGET, note)
    yield Row("- of the sidecar itself", own, "ms")
