"""What brokers and controllers say that they were asked, by their own beans."""

from collections.abc import Callable

from sandbox import Cluster
from tests.cluster.beans import read_beans

REQUESTS = "kafka.network:type=RequestMetrics,name=RequestsPerSec,request=*,version=*/Count"


def asked_while(cluster: Cluster, meanwhile: Callable[[], object]) -> set[str]:
    """Kinds of request that any process was sent meanwhile."""
    before = _counts(cluster)
    meanwhile()
    return {kind for (kind, process), count in _counts(cluster).items() if count > before.get((kind, process), 0)}


def _counts(cluster: Cluster) -> dict[tuple[str, int], float]:
    counts: dict[tuple[str, int], float] = {}
    for node, address in {**cluster.jmx_brokers, **cluster.jmx_controllers}.items():
        for bean, count in read_beans(address, REQUESTS).values.items():
            kind = bean.partition("request=")[2].partition(",")[0].partition("/")[0]
            counts[kind, node] = counts.get((kind, node), 0) + count
    return counts
