"""The life of a cluster and its nodes."""

from collections.abc import Callable

import pytest

from sandbox import Cluster, SandboxError

pytestmark = pytest.mark.cluster


def test_reset_brings_everything_back(cluster: Cluster) -> None:
    cluster.admin.create_topic("left", assignment={0: [1]}, config={"retention.ms": 1000000})
    cluster.load.produce("left", bytes=3_000_000)
    cluster.admin.reassign({("left", 0): [2]}, throttle=1000)
    cluster.admin.alter_broker_config("", {"log.cleaner.threads": 2})
    cluster.admin.set_client_quota(client_id="left", values={"controller_mutation_rate": 1})
    cluster.pause(3)
    cluster.kill(101)
    defaults = dict(cluster._defaults)
    cluster.reset()

    assert cluster.admin.topics() == ()
    assert cluster.admin.reassignments() == {}
    assert cluster.admin.client_quotas() == {}
    assert defaults == cluster.admin.default_broker_config()
    assert [cluster.admin.dynamic_broker_config(broker) for broker in cluster.broker_ids] == [{}, {}, {}]
    assert {1, 2, 3} == set(cluster.admin.brokers())


@pytest.mark.full_kafka
def test_a_broker_that_cannot_start_says_why(make_cluster: Callable[..., Cluster]) -> None:
    with pytest.raises(SandboxError, match=r"exit code 1(.|\n)*num.io.threads"):
        make_cluster(brokers=1, tiered=False, broker_properties={"num.io.threads": 0})
