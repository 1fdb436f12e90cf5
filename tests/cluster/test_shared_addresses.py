"""Brokers of a real cluster that have the address of another one in the metadata."""

from contextlib import closing
from dataclasses import replace

import pytest

from kafka_warden.clients.kafka.properties import translate
from kafka_warden.clients.kafka.repeated import Undecoded
from kafka_warden.poller import Poller, PollerSettings
from kafka_warden.sources.metadata import Layout, MetadataQuestion
from sandbox import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.full_kafka]


def test_only_the_broker_itself_answers_for_its_configuration(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All brokers have the address of broker 1, as behind one forwarded port: what it answers counts once."""
    cluster.admin.create_topic("shared", partitions=3, replication_factor=3)
    cluster.load.produce("shared", records=100, record_size=100)
    parse = MetadataQuestion.parse

    def at_one_address(question: MetadataQuestion, reply: Undecoded) -> Layout:
        layout = parse(question, reply)
        first = layout.brokers[1]
        shared = {id_: replace(broker, host=first.host, port=first.port) for id_, broker in layout.brokers.items()}
        return replace(layout, brokers=shared)

    monkeypatch.setattr(MetadataQuestion, "parse", at_one_address)
    bootstrap = cluster.bootstrap.split(",")[0]
    with closing(Poller(PollerSettings(), translate({"bootstrap.servers": bootstrap}, {}), None)) as poller:
        snapshot = poller.poll()
    assert snapshot is not None
    assert set(snapshot.offsets_at) == set(snapshot.placed) == set(snapshot.broker_configs) == {1}
    known = snapshot.replicas.end >= 0
    assert set(snapshot.replicas.broker[known].tolist()) == {1}
    down = {(str(source), broker) for (source, broker), status in snapshot.status.items() if not status.up}
    assert down == {(source, broker) for source in ("offsets", "log_dirs", "configs") for broker in ("2", "3")}
