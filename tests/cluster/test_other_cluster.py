"""A bootstrap address that moves to another real cluster: named, and never used."""

import http
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox import Cluster, wait_for
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
