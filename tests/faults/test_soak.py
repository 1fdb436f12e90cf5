"""Five minutes of 50 scrapers while brokers come and go; `make soak` is the same for an hour."""

from typing import Final

import pytest

from bench.soak import soak
from sandbox import Cluster

SECONDS: Final = 300.0


@pytest.mark.cluster
@pytest.mark.realtime
@pytest.mark.full_faults
@pytest.mark.timeout(3 * SECONDS)
def test_nothing_grows(cluster: Cluster) -> None:
    """Every scrape is answered, and there are as many descriptors and threads as before. Memory needs an hour."""
    cluster.admin.create_topic("soaked", partitions=30, replication_factor=3)
    seen = soak(cluster, 30, SECONDS, interval=2.0)
    for row in seen.rows():
        print(row.to_line())
    assert seen.faults > 1
    assert not seen.failures
    assert seen.growth("descriptors") <= 0
    assert seen.growth("threads") <= 0
