"""Reassignments that only remove replicas: Kafka completes them once all that stay are in sync, and not before."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox import Cluster, wait_for
from sandbox.damage import rotten
from tests.cluster.sidecar import Sidecar, configuration
from tests.cluster.watching import LONG_ENOUGH, Watch, causes
from tests.support.topics import fill

pytestmark = [pytest.mark.cluster, pytest.mark.full_versions, pytest.mark.realtime]

MEGABYTE = 1_000_000
PARTITION = ("topic", 0)


@pytest.mark.parametrize("version", ["3.9.1", "4.1.1", "4.4.0"])
def test_a_removal_waits_for_the_replica_that_stays(
    version: str, make_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = make_cluster(version=version, tiered=False)
    fill(cluster, "topic", [3, 1], MEGABYTE)
    cluster.kill(3)
    wait_for(lambda: cluster.admin.isr("topic") == {0: (1,)}, LONG_ENOUGH, "broker 3 is out of the ISR")
    cluster.load.produce("topic", bytes=5 * MEGABYTE, record_size=10_000, acks=1)
    damaged, started = rotten(cluster, "topic", 1, 3 * MEGABYTE), Sidecar(configuration(cluster), tmp_path)
    with damaged as repair, started as sidecar:
        watch = Watch(sidecar)
        cluster.admin.reassign({PARTITION: [3]})
        watch.causes["topic"] = {"target_down"}
        watch.until(lambda page: causes(page) == {("topic", 0, 3): "target_down"}, "its broker is down")
        watch.for_polls(10, "it hangs")
        assert cluster.admin.reassignments()[PARTITION].removing == (1,)
        assert (watch.page["reassigning_partitions"], watch.page["reassignment_total_bytes_remaining"]) == (1, 0)
        assert watch.page.one("reassignment_bytes_remaining", topic="topic", partition=0, broker=3) == 0
        assert "Broker 3, whose replica has to be in sync first" in _row(watch)["sentence"]

        watch.causes["topic"] |= {"copied_not_completed"}
        cluster.start(3)
        cluster.wait_ready(3)
        wanted = {("topic", 0, 3): "copied_not_completed"}
        watch.until(lambda page: causes(page) == wanted, "its broker is up, and it does not get on")
        assert cluster.admin.reassignments()[PARTITION].removing == (1,)
        assert _row(watch)["sentence"].endswith("ends when the replica on broker 3, which stays, is in sync.")

        repair()
        watch.until(lambda page: page["reassigning_partitions"] == 0, "the move has ended")
        assert cluster.admin.isr("topic") == {0: (3,)}
        assert not watch.page.all("reassignment_bytes_remaining")
        watch.causes.clear()
        watch.for_polls(2, "nothing is stuck")


def _row(watch: Watch) -> Any:
    status, body = watch.sidecar.get("/api/v1/moves")
    assert status == 200
    (row,) = json.loads(body)["data"]
    print(row)
    assert (row["broker"], row["adding"], row["remaining_bytes"]) == (3, False, 0)
    return row
