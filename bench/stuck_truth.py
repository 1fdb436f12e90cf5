"""When an adding replica last advanced, by its own broker."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from sandbox import Cluster, SandboxError
from sandbox.admin_topics import DEBUGGING, LATEST
from tests.support.threads import repeating

LOOK = 0.1


@dataclass
class Rises:
    """The log end of one replica.

    Attributes:
        end: Offset; -1 before the first answer.
        last: Unix time at which it was first seen there.
    """

    end: int = -1
    last: float = 0.0


@contextmanager
def watched(cluster: Cluster, topic: str, broker: int) -> Iterator[Rises]:
    """Ask a broker repeatedly for the log end of its replica of partition 0 while the block runs."""
    seen = Rises()

    def watch() -> None:
        # Before the move starts the broker has no replica.
        with suppress(SandboxError):
            end = cluster.admin.offsets(topic, LATEST, broker, DEBUGGING)[0]
            if end > seen.end:
                seen.end, seen.last = end, time.time()

    with repeating(watch, LOOK):
        yield seen
