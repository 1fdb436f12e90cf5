"""Topics of real clusters."""

from collections.abc import Sequence

from sandbox import Cluster, wait_for


def fill(cluster: Cluster, topic: str, replicas: Sequence[int], size: int) -> None:
    """Create a topic of one partition with these replicas, and produce so many bytes."""
    cluster.admin.create_topic(topic, assignment={0: replicas})
    cluster.load.produce(topic, bytes=size, record_size=10_000)


def lose_leaders(cluster: Cluster) -> None:
    """Leave `single-0`, on broker 3, and `pair-0`, on 2 and 3, without a leader: 3 is killed, and then 2 stopped."""
    cluster.admin.create_topic("single", assignment={0: [3]})
    cluster.admin.create_topic("pair", assignment={0: [2, 3]}, config={"min.insync.replicas": 2})
    cluster.load.produce("pair", records=10)
    cluster.kill(3)
    wait_for(lambda: cluster.admin.isr("pair") == {0: (2,)}, what="broker 3 is in no ISR")
    cluster.stop(2)
