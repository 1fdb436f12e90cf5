"""Damages files of a running broker, for tests and benchmarks that need a move without progress."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox.cluster import Cluster

DAMAGED_BYTES = 1000


def log_files(cluster: Cluster, broker: int, topic: str, kind: str, partition: int = 0) -> list[Path]:
    """Files of a replica by their ending, `log`, `index` or `timeindex`, from all log directories of its broker."""
    return [file for directory in cluster.log_dirs(broker) for file in directory.glob(f"{topic}-{partition}/*.{kind}")]


@contextmanager
def rotten(cluster: Cluster, topic: str, leader: int, position: int) -> Iterator[Callable[[], None]]:
    """Overwrite some bytes in one segment of a leader's log. Followers discard them after each fetch.

    Args:
        cluster: Where.
        topic: Its partition 0.
        leader: The broker that leads it.
        position: Of the first damaged byte.

    Yields:
        A function that restores them.
    """
    (segment,) = log_files(cluster, leader, topic, "log")
    with segment.open("r+b", buffering=0) as file:
        file.seek(position)
        kept = file.read(DAMAGED_BYTES)
        file.seek(position)
        file.write(bytes(len(kept)))

        def repair() -> None:
            file.seek(position)
            file.write(kept)

        yield repair
