"""Topics, configs, quotas and load."""

import time

import pytest

from sandbox import AdminError, Cluster, NoBrokerAnswersError, SandboxError, wait_for
from sandbox.admin_quotas import DEFAULT
from sandbox.admin_topics import MOST_PARTITIONS_PER_REQUEST

pytestmark = pytest.mark.cluster


def test_a_topic_comes_and_goes(cluster: Cluster) -> None:
    """Creating and deleting return when every broker knows; doing either again is refused, or fine."""
    cluster.admin.create_topic("a", partitions=2, replication_factor=2, config={"retention.ms": 12345})
    assert [len(cluster.admin.describe("a", broker)) for broker in cluster.broker_ids] == [2, 2, 2]
    assert cluster.admin.topic_config("a", ["retention.ms"]) == {"retention.ms": "12345"}
    with pytest.raises(AdminError) as refused:
        cluster.admin.create_topic("a")
    assert refused.value.code == 36

    cluster.admin.delete_topic("a")
    cluster.admin.delete_topic("a")
    assert cluster.admin.topics() == ()


@pytest.mark.full_kafka
def test_more_partitions_than_one_request_may_make(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic of many partitions is made in several requests, and keeps its assignment."""
    assert MOST_PARTITIONS_PER_REQUEST < 10_000
    monkeypatch.setattr("sandbox.admin_topics.MOST_PARTITIONS_PER_REQUEST", 3)
    assignment = {partition: [1 + partition % 3, 1 + (partition + 1) % 3] for partition in range(8)}
    cluster.admin.create_topic("many", assignment=assignment)
    cluster.admin.create_topic("more", partitions=7)

    assert assignment == {p: list(state.replicas) for p, state in cluster.admin.describe("many").items()}
    assert len(cluster.admin.describe("more")) == 7


@pytest.mark.full_kafka
def test_configs_have_layers(cluster: Cluster) -> None:
    """A broker's own value wins over the default of all, and None takes it away."""
    key = "log.cleaner.backoff.ms"
    cluster.admin.alter_broker_config("", {key: 20_000})
    cluster.admin.alter_broker_config(1, {key: 30_000})
    wait_for(lambda: cluster.admin.broker_config(1, [key]) == {key: "30000"}, what="the broker's own")
    wait_for(lambda: cluster.admin.broker_config(2, [key]) == {key: "20000"}, what="the default of all")
    assert cluster.admin.default_broker_config()[key] == "20000"

    cluster.admin.alter_broker_config(1, {key: None})
    wait_for(lambda: cluster.admin.broker_config(1, [key]) == {key: "20000"}, what="the default of all")


@pytest.mark.full_kafka
def test_client_quotas_by_entity(cluster: Cluster) -> None:
    """Users, client ids, both and their defaults each have quotas of their own."""
    entities = [(None, "c"), (None, DEFAULT), ("u", None), (DEFAULT, None), ("u", "c"), (DEFAULT, DEFAULT)]
    for user, client_id in entities:
        cluster.admin.set_client_quota(user, client_id, {"controller_mutation_rate": 5, "producer_byte_rate": 1e6})
    wanted = {"controller_mutation_rate": 5.0, "producer_byte_rate": 1e6}
    wait_for(lambda: cluster.admin.client_quotas() == dict.fromkeys(entities, wanted), what="all quotas")

    cluster.admin.set_client_quota("u", "c", {"producer_byte_rate": None})
    wait_for(lambda: cluster.admin.client_quotas()["u", "c"] == {"controller_mutation_rate": 5.0}, what="one less")
    cluster.admin.clear_client_quotas()
    wait_for(lambda: not cluster.admin.client_quotas(), what="no quota")


@pytest.mark.full_kafka
def test_load_counts_what_was_acknowledged(cluster: Cluster) -> None:
    """Records or bytes per partition: just so many are in the log."""
    cluster.admin.create_topic("load", partitions=2, replication_factor=2)

    assert cluster.load.produce("load", records=10, partitions=[0, 1]) == {0: 10, 1: 10}
    assert cluster.load.produce("load", bytes=2500, record_size=1000, partitions=[1]) == {1: 3}
    assert cluster.admin.offsets("load") == {0: 10, 1: 13}
    assert cluster.load.consume("load", [0, 1]) == 23
    with pytest.raises(SandboxError, match="either"):
        cluster.load.produce("load")


@pytest.mark.full_kafka
def test_background_load_keeps_its_rate(cluster: Cluster) -> None:
    """The acknowledged bytes follow the rate, spread evenly over the partitions."""
    cluster.admin.create_topic("steady", partitions=4)
    started = time.monotonic()
    with cluster.load.background("steady", rate=500_000, record_size=500, partitions=range(4)) as producer:
        wait_for(lambda: producer.acked_bytes > 1_500_000, what="1.5 MB")
    taken = time.monotonic() - started

    assert producer.errors == []
    assert producer.acked == cluster.admin.offsets("steady")
    assert max(producer.acked.values()) - min(producer.acked.values()) <= 1
    assert producer.acked_bytes <= 500_000 * taken


@pytest.mark.full_kafka
def test_a_broker_that_does_not_run_answers_at_once(cluster: Cluster) -> None:
    """Asking a broker that was killed or paused in particular is an error, not a wait."""
    cluster.pause(3)
    with pytest.raises(NoBrokerAnswersError, match="broker 3"):
        cluster.admin.log_dirs(3)
    assert cluster.admin.topics() == ()
