"""Memory: proportional set size of the sidecar and its children after 100 polls."""

from collections.abc import Iterator

from bench import procfs
from bench.cluster import Target
from bench.report import Row
from bench.sidecar import running_sidecar

POLLS = 100
INTERVAL = 2.0
"""Seconds. The sidecar keeps the snapshots of a minute: 30 at this interval, 6 at the default of 10 s."""

TARGETS = {True: 220.0, False: 130.0}
MIB = 1 << 20


def measure(target: Target) -> Iterator[Row]:
    """Run the program as users do, with and without JMX."""
    for jmx, limit in TARGETS.items():
        with running_sidecar(target, INTERVAL, jmx=jmx) as sidecar:
            sidecar.wait_polls(1)
            first = procfs.pss_bytes(procfs.tree(sidecar.pid)) / MIB
            sidecar.wait_polls(POLLS)
            parts = [procfs.pss_bytes([pid]) / MIB for pid in procfs.tree(sidecar.pid)]
        note = f"{' + '.join(f'{part:.0f}' for part in parts)} by process; after the first polls {first:.0f}"
        yield Row(f"memory after {POLLS} polls, {'with' if jmx else 'without'} JMX", sum(parts), "MiB", limit, note)
