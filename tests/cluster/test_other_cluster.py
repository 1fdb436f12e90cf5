"""A bootstrap address that moves to another real cluster: named, and never used."""

import http
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from kafka_warden.clients.kafka.properties import translate
from kafka_warden.clients.kafka.requests import Undecoded
from kafka_warden.errors import OtherClusterError
from kafka_warden.model import Source
from kafka_warden.poller import Poller, PollerSettings
from kafka_warden.sources.metadata import Layout, MetadataQuestion
from sandbox import Cluster, wait_for
from tests.building import known
from tests.cluster.forwarder import Forwarder
from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar, configuration

pytestmark = [pytest.mark.cluster, pytest.mark.full_kafka]

WITHIN = 60.0
POLLS = 3


def test_a_bootstrap_address_that_moves_to_another_cluster(
    make_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    """The whole cluster is down and its address reaches another one: unreachable, also after a restart."""
    own, other = make_cluster(brokers=1, tiered=False), make_cluster(brokers=1, tiered=False)
    own.admin.create_topic("own")
    other.admin.create_topic("other")
    address = Forwarder(own.bootstrap)
    config = configuration(own, kafka={"bootstrap.servers": address.address}, jmx={"brokers": {}, "controllers": []})
    with address:
        with Sidecar(config, tmp_path) as sidecar:
            before = sidecar.wait(lambda page: page.all("topic_offline_partitions"))
            assert "own" in before.text
            address.lead_to(other.bootstrap)
            for broker in own.broker_ids:
                own.stop(broker)
            _assert_refused(sidecar)
            assert _cluster(before) in sidecar.log
        with Sidecar(config, tmp_path, ready=False) as sidecar:
            _assert_refused(sidecar)
            for broker in own.broker_ids:
                own.start(broker)
                own.wait_ready(broker)
            address.lead_to(own.bootstrap)
            sidecar.wait_ready()
            assert _cluster(sidecar.scrape()) == _cluster(before)


def test_a_broker_whose_own_address_moves_to_another_cluster(
    make_cluster: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have a broker 2. The one of the other cluster is refused at once, and asked for nothing else."""
    own, other = make_cluster(brokers=2, tiered=False), make_cluster(brokers=2, tiered=False)
    own.admin.create_topic("own", partitions=2, replication_factor=2)
    (first, second), moved_to = own.bootstrap.split(","), other.bootstrap.split(",")[1]
    address = Forwarder(second)
    parse = MetadataQuestion.parse

    def forwarded(question: MetadataQuestion, reply: Undecoded, at: str = "") -> Layout:
        layout = parse(question, reply, at)
        host, port = address.address.rsplit(":", 1)
        moved = replace(layout.brokers[2], host=host, port=int(port))
        return replace(layout, brokers={**layout.brokers, 2: moved})

    monkeypatch.setattr(MetadataQuestion, "parse", forwarded)
    kafka = translate({"bootstrap.servers": first}, {})
    with address, closing(Poller(PollerSettings(), kafka, None)) as poller:
        assert set(known(poller.poll()).offsets_at) == {1, 2}
        address.lead_to(moved_to)
        with capture_logs() as logs:
            for _ in range(2):
                assert set(known(poller.poll()).offsets_at) == {1}
        assert poller.status[Source.OFFSETS, "2"].errors == {OtherClusterError.reason: 2}
        assert {entry["error"].split(",")[0] for entry in logs if entry.get("broker") == "2"} == {address.address}
        address.lead_to(second)
        assert set(known(poller.poll()).offsets_at) == {1, 2}


def _assert_refused(sidecar: Sidecar) -> None:
    def refused(page: Page) -> bool:
        return page.errors("metadata").get("other_cluster", 0) >= POLLS

    wait_for(lambda: refused(sidecar.scrape()), WITHIN, "the other cluster is refused")
    wait_for(lambda: not sidecar.scrape().all("cluster_info"), WITHIN, "old numbers are removed")
    page = sidecar.scrape()
    assert page["cluster_reachable"] == 0
    assert not page.all("topic_offline_partitions")
    status, text = sidecar.get("/-/ready")
    assert (status, "no fresh snapshot" in text) == (http.HTTPStatus.SERVICE_UNAVAILABLE, True)
    assert "Another cluster has answered instead" in sidecar.get("/api/v1/problems")[1]


def _cluster(page: Page) -> str:
    ((labels, _),) = page.rows("cluster_info")
    return labels["cluster_id"]
