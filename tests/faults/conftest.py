"""The stage of all faults: a secured cluster, watched by a sidecar that logs at debug level."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from sandbox import ClusterSettings, Security
from tests.alerts.stage import Stage, usual_cluster
from tests.faults.faults_brokers import make_topics
from tests.faults.witness import Used, Witness

SETTINGS = ClusterSettings(
    security=Security.SASL_SSL_SCRAM,
    jmx_password=True,
    tiered=False,
    broker_properties={"quota.window.num": 2},
)
SETTLES = 5
"""Polls until the sidecar has all its threads and connections."""


class Stages:
    """One stage for all faults, and another one after a fault that failed: the first may be in any state."""

    def __init__(self, make_folder: Callable[[], Path]) -> None:
        self._make_folder = make_folder
        self._stack = ExitStack()
        self._made: tuple[Stage, Used] | None = None

    @contextmanager
    def lend(self) -> Iterator[tuple[Stage, Used]]:
        """Lend a running stage, and what its sidecar uses while nothing happens to it."""
        lent, self._made = self._made or self._make(), None
        yield lent
        self._made = lent

    def close(self) -> None:
        self._stack.close()

    def _make(self) -> tuple[Stage, Used]:
        self.close()
        cluster = self._stack.enter_context(usual_cluster(SETTINGS))
        stage = self._stack.enter_context(Stage(self._make_folder(), cluster))
        make_topics(stage.cluster)
        stage.restart_sidecar(log={"level": "debug"})
        return stage, _baseline(stage)


@pytest.fixture(scope="session")
def stages(tmp_path_factory: pytest.TempPathFactory, no_process_left: None) -> Iterator[Stages]:
    made = Stages(lambda: tmp_path_factory.mktemp("stage"))
    yield made
    made.close()


def _baseline(stage: Stage) -> Used:
    seen = []
    with Witness(stage) as witness:
        for _ in range(2 * SETTLES):
            witness.until(lambda page: not page.down(), "every source answers")
            seen.append(witness.used())
    return {name: min(used[name] for used in seen[SETTLES:]) for name in seen[-1]}
