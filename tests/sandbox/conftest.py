"""A recorded run of the demo, and `make demo-look` over it; without Kafka."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.demo_folder import Run
from sandbox.demo_keep import keep
from tests.sandbox.demo_data import prometheus_of_a_run
from tests.sandbox.demo_looking import LAST_LINE, Looking


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
