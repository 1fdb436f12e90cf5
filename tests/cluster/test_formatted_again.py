"""A quorum that lost its disks and is formatted again with the same cluster id: its epochs begin again."""

from collections.abc import Callable
from contextlib import closing

import pytest

from kafka_warden.clients.kafka.properties import translate
from kafka_warden.errors import ReplacedControllerError
from kafka_warden.model import NO_BROKER, Source
from kafka_warden.poller import Poller, PollerSettings
from kafka_warden.poller.cluster import AGREED
from sandbox import Cluster
from tests.building import expect_snapshot, known

pytestmark = [pytest.mark.cluster, pytest.mark.full_kafka]

CONTROLLER = 101


def test_its_controller_is_believed_after_some_polls(make_cluster: Callable[..., Cluster]) -> None:
    cluster = make_cluster(brokers=2, tiered=False, jmx=False)
    for _ in range(3):
        cluster.restart(CONTROLLER)
    with closing(Poller(PollerSettings(), translate({"bootstrap.servers": cluster.bootstrap}, {}), None)) as poller:
        before = known(expect_snapshot(poller.poll()).quorum)
        nodes = (*cluster.broker_ids, *cluster.controller_ids)
        for node in nodes:
            cluster.kill(node)
        for node in nodes:
            cluster.wipe(node)
        for node in reversed(nodes):
            cluster.start(node)
        for node in reversed(nodes):
            cluster.wait_ready(node)
        for _ in range(AGREED):
            status = poller.poll().status[Source.QUORUM, NO_BROKER]
            assert not status.up
        assert status.errors == {ReplacedControllerError.reason: AGREED}
        snapshot = expect_snapshot(poller.poll())
        after = known(snapshot.quorum)
        print(f"epochs: {before.leader_epoch} before, {after.leader_epoch} after")
        assert after.leader_epoch < before.leader_epoch
        assert snapshot.status[Source.QUORUM, NO_BROKER].up
