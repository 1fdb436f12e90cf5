"""A broker that shuts down in order says so over JMX."""

import threading
from pathlib import Path

import pytest

from sandbox import Cluster
from tests.cluster.sidecar import Sidecar, configuration

pytestmark = pytest.mark.cluster


def test_a_controlled_shutdown_is_shown(cluster: Cluster, tmp_path: Path) -> None:
    """The controller lets a broker go when all others know; with one of them stopped the shutdown takes a while."""
    with Sidecar(configuration(cluster), tmp_path) as sidecar:
        sidecar.wait(lambda page: page.one("broker_state", broker=2, state="active"))
        cluster.pause(3)
        stopping = threading.Thread(target=cluster.stop, args=(2,))
        try:
            stopping.start()
            sidecar.wait(lambda page: page.one("broker_state", broker=2, state="shutting_down"))
            stopping.join()
            sidecar.wait(lambda page: page.one("broker_state", broker=2, state="fenced"))
        finally:
            cluster.resume(3)
            stopping.join()
        cluster.start(2)
        cluster.wait_ready(2)
        sidecar.wait(lambda page: page.one("broker_state", broker=2, state="active"))
