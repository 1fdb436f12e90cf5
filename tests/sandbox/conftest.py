"""A sidecar's `/metrics` with a stuck move, a recorded run of the demo, and `make demo-look` over it; without Kafka."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.demo_folder import Run
from sandbox.demo_keep import keep
from tests.sandbox.demo_data import prometheus_of_a_run
from tests.sandbox.demo_looking import LAST_LINE, Looking
from tests.support.serving import Server


class Page(Server):
    """Serves `/metrics` of a sidecar, with a stuck move while `stuck` is true."""

    stuck = True

    def __init__(self) -> None:
        super().__init__(self._metrics)

    def _metrics(self, _: bytes) -> bytes:
        lines = [f"kafka_warden_snapshot_timestamp_seconds {time.time()}", 'kafka_warden_up{source="reassignments"} 1']
        if self.stuck:
            labels = 'topic="orders",partition="0",broker="2",cause="throttle_below_inbound"'
            lines.append(f"kafka_warden_reassignment_stuck{{{labels}}} 1")
        return ("\n".join(lines) + "\n").encode()


@pytest.fixture
def page() -> Iterator[Page]:
    with Page() as server:
        yield server


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """The folder of a run 40 days ago, and its description."""
    directory = tmp_path_factory.mktemp("kept")
    run = prometheus_of_a_run(directory / "prometheus")
    keep(run, directory / "prometheus", directory / "demo", {})
    return directory / "demo", run


@pytest.fixture(scope="module")
def looking(kept: tuple[Path, Run], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Looking]:
    """The command over that folder, on free ports and without a Grafana."""
    free = ("--port", "0", "--grafana-port", "0", "--no-grafana")
    with Looking(kept[0], tmp_path_factory.mktemp("scratch"), *free) as looking:
        looking.until(LAST_LINE)
        yield looking
