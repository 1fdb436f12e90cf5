"""A sidecar that is restarted goes on where it was."""

import time
from pathlib import Path

import pytest

from sandbox import Cluster
from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar, configuration

pytestmark = [pytest.mark.cluster, pytest.mark.realtime]

OUT = {"topic": "orphan", "partition": 1, "broker": 3}
TARGET_DOWN = {("3", "target_down", "0", "orphan"): 1}


def test_since_when_survives_a_restart(cluster: Cluster, tmp_path: Path) -> None:
    """The first page of the new process has the ages and the stuck move of the old one; without the file it has not."""
    cluster.admin.create_topic("orphan", assignment={0: [1, 2], 1: [1, 3]})
    cluster.load.produce("orphan", bytes=8_000_000, record_size=10_000, partitions=[0, 1])
    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        cluster.admin.reassign({("orphan", 0): [1, 3]}, throttle=100_000)
        sidecar.wait(lambda page: page.all("reassignment_bytes_remaining"))
        cluster.kill(3)
        sidecar.wait(lambda page: page.all("reassignment_stuck") and (_out(page) or 0) > 2, what="both are seen")
        before = sidecar.next_page()

    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        first = sidecar.scrape()
    later = first.time - before.time
    print(f"out of sync for {_out(before)} s, and {_out(first)} s on a first page {later:.1f} s later")
    assert _out(first) == pytest.approx((_out(before) or 0) + later, abs=0.1)
    assert first.all("reassignment_stuck") == TARGET_DOWN

    (tmp_path / "kafka-warden.state").write_text("{", encoding="utf-8")
    began = time.time()
    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        anew = sidecar.scrape()
        assert sidecar.log.count("the state file is not used") == 1
    assert 0 <= (_out(anew) or 0) <= time.time() - began


def _out(page: Page) -> float | None:
    return page.get("replica_out_of_sync_seconds", **OUT)
