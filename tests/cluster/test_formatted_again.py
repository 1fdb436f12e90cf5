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
from tests.building import known

pytestmark = [pytest.mark.cluster, pytest.mark.full_kafka]

CONTROLLER = 101


def test_its_controller_is_believed_after_some_polls(make_cluster: Callable[..., Cluster]) -> None:
    cluster = make_cluster(brokers=2, tiered=False, jmx=False)
    for _ in range(3):
        cluster.restart(CONTROLLER)
    with closing(Poller(PollerSettings(), translate({"bootstrap.servers": cluster.bootstrap}, {}), None)) as poller:
        before = known(known(poller.poll()).quorum)
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
            poller.poll()
            assert not poller.status[Source.QUORUM, NO_BROKER].up
        assert poller.status[Source.QUORUM, NO_BROKER].errors == {ReplacedControllerError.reason: AGREED}
        after = known(known(poller.poll()).quorum)
        print(f"epochs: {before.leader_epoch} before, {after.leader_epoch} after")
        assert after.leader_epoch < before.leader_epoch
        assert poller.status[Source.QUORUM, NO_BROKER].up
