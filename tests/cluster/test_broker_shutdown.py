"""A broker that shuts down in order says so over JMX."""

import threading
from pathlib import Path

import pytest

from sandbox import Cluster
from tests.cluster.sidecar import Sidecar, configuration

pytestmark = pytest.mark.cluster


@pytest.mark.full_kafka
def test_a_controlled_shutdown_is_shown(cluster: Cluster, tmp_path: Path) -> None:
    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        sidecar.whole_page()
        cluster.pause(101)
        stopping = threading.Thread(target=cluster.stop, args=(2,))
        try:
            stopping.start()
            sidecar.wait(lambda page: page.get("broker_state", broker=2, state="shutting_down"))
        finally:
            cluster.resume(101)
            stopping.join()
        sidecar.wait(lambda page: page.get("broker_state", broker=2, state="fenced"))
        cluster.start(2)
        cluster.wait_ready(2)
        sidecar.wait(lambda page: page.get("broker_state", broker=2, state="active"))
