"""Lag on a real cluster: zero when nothing happens, exact when a follower is gone, withheld when it cannot be known."""

from pathlib import Path

import pytest

from sandbox import Cluster
from tests.cluster.page import Page
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
    """Both ends equal in two polls, the follower killed, n records more: its lag is n in each poll until it returns."""
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


def test_the_sum_is_that_of_its_parts(cluster: Cluster, tmp_path: Path) -> None:
    """SumReplicaLag of a dead broker is the sum over what it follows, in messages and in bytes, and by leader, too."""
    cluster.admin.create_topic("parts", assignment={p: [1 + p % 2, 3] for p in range(6)})
    cluster.load.produce("parts", records=50, partitions=range(6))
    produced = {p: 100 * (p + 1) for p in range(6)}

    with Sidecar(configuration(cluster, poll={"log_dirs": "100ms"}), tmp_path) as sidecar:
        sidecar.whole_page()
        cluster.kill(3)
        for partition, records in produced.items():
            cluster.load.produce("parts", records=records, partitions=[partition], record_size=500)
        page = sidecar.wait(lambda page: len(page.all("replica_out_of_sync_seconds", topic="parts", broker=3)) == 6)

    parts = page.by("partition", "replica_lag_messages", topic="parts", broker=3)
    assert parts == {str(partition): records for partition, records in produced.items()}
    of_three = _by_hosting_broker(page, "replica_lag_messages")[3]
    assert page.one("broker_sum_replica_lag_messages", broker=3) == of_three == sum(produced.values())
    in_bytes = sum(page.all("replica_lag_bytes", broker=3).values())
    assert page.one("broker_sum_replica_lag_bytes", broker=3) == pytest.approx(in_bytes)
    led = page.brokers("broker_led_replica_lag_bytes")
    assert led[1] + led[2] == pytest.approx(in_bytes)
    assert page.brokers("broker_sum_replica_lag_messages") == {1: 0, 2: 0, 3: sum(produced.values())}


def _by_hosting_broker(page: Page, name: str) -> dict[int, float]:
    sums: dict[int, float] = {}
    for labels, value in page.rows(name):
        broker = int(labels["broker"])
        sums[broker] = sums.get(broker, 0) + value
    return sums
