"""Topics of real clusters."""

from collections.abc import Sequence

from sandbox import Cluster


def fill(cluster: Cluster, topic: str, replicas: Sequence[int], size: int) -> None:
    """Create a topic of one partition with these replicas, and produce so many bytes."""
    cluster.admin.create_topic(topic, assignment={0: replicas})
    cluster.load.produce(topic, bytes=size, record_size=10_000)
