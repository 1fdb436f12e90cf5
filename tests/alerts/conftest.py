"""The stage of the rounds of a file."""

from collections.abc import Iterator

import pytest

from tests.alerts.stage import FAST, Stage, usual_cluster


@pytest.fixture(scope="module")
def stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, no_process_left: None
) -> Iterator[Stage]:
    """Brokers of the file's `SETTINGS` that are watched at its `PACE`, shared by its rounds."""
    pace = getattr(request.module, "PACE", FAST)
    with (
        usual_cluster(request.module.SETTINGS) as cluster,
        Stage(tmp_path_factory.mktemp("stage"), cluster, pace) as running,
    ):
        yield running
