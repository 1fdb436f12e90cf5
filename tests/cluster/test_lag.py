"""Lag on a real cluster: zero when nothing happens, exact when a follower is gone, withheld when it cannot be known."""

from pathlib import Path

import pytest

from sandbox import Cluster
from tests.cluster.sidecar import Sidecar, configuration

pytestmark = pytest.mark.cluster

SERIES = ("replica_lag_messages", "replica_lag_bytes", "replica_out_of_sync_seconds")
POLLS_IN_A_ROW = 3


def test_a_quiesced_cluster_has_no_lag_and_no_lag_series(cluster: Cluster, tmp_path: Path) -> None:
    cluster.admin.create_topic("pairs", partitions=4, replication_factor=2)
    cluster.admin.create_topic("triples", partitions=3, replication_factor=3)
    for topic, partitions in (("pairs", range(4)), ("triples", range(3))):
        cluster.load.produce(topic, records=500, partitions=partitions)

    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        for _ in range(POLLS_IN_A_ROW):
            page = sidecar.whole_page()
            assert page.brokers("broker_sum_replica_lag_messages") == dict.fromkeys(cluster.broker_ids, 0)
            assert page.brokers("broker_sum_replica_lag_bytes") == dict.fromkeys(cluster.broker_ids, 0)
            assert page.brokers("broker_replica_lag_unknown_replicas") == dict.fromkeys(cluster.broker_ids, 0)
            assert [name for name in page.names() if name.startswith("replica_lag_")] == []
            assert page["under_replicated_partitions"] == 0


def test_the_lag_of_a_killed_follower_is_exactly_what_was_produced(cluster: Cluster, tmp_path: Path) -> None:
    leader, follower, n = 1, 2, 1234
    cluster.admin.create_topic("exact", assignment={0: [leader, follower]})
    cluster.load.produce("exact", records=100)
    replica = {"topic": "exact", "partition": 0, "broker": follower}
    seconds: list[tuple[float, float]] = []

    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        for _ in range(2):
            assert sidecar.whole_page().get("replica_lag_messages", **replica) is None
        cluster.kill(follower)
        cluster.load.produce("exact", records=n)
        for page in sidecar.pages():
            if not page.up()["offsets", str(leader)]:
                continue
            assert page.one("replica_lag_messages", **replica) == n
            assert page.one("broker_sum_replica_lag_messages", broker=follower) == n
            out_of_sync = page.get("replica_out_of_sync_seconds", **replica)
            if out_of_sync is not None:
                seconds.append((page.time, out_of_sync))
            if len(seconds) > POLLS_IN_A_ROW:
                break
        cluster.start(follower)
        sidecar.wait(lambda page: not any(page.all(name, topic="exact") for name in SERIES), what="the series are gone")

    assert cluster.admin.isr("exact")[0] == (leader, follower)
    began = {round(time - age, 2) for time, age in seconds}
    assert max(began) - min(began) < 0.05, f"the age grows with the time: {seconds}"
