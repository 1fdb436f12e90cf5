"""The stage of all faults: a secured cluster, watched by a sidecar that logs at debug level."""

from collections.abc import Iterator

import pytest

from sandbox import ClusterSettings, Security
from tests.alerts.stage import Stage
from tests.faults.faults_brokers import make_topics
from tests.faults.witness import Used, Witness

SETTINGS = ClusterSettings(security=Security.SASL_SSL_SCRAM, jmx_password=True, bad_certificates=True, tiered=False)
SETTLES = 5
"""Polls until the sidecar has all its threads and connections."""


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory, no_process_left: None) -> Iterator[Stage]:
    """Three brokers and one topic, shared by all faults."""
    with Stage(tmp_path_factory.mktemp("stage"), SETTINGS) as running:
        make_topics(running.cluster)
        running.restart_sidecar(log={"level": "debug"})
        yield running


@pytest.fixture(scope="session")
def baseline(stage: Stage) -> Used:
    """Descriptors and threads of a sidecar to which nothing happens, the least of a few polls."""
    seen = []
    with Witness(stage) as witness:
        for _ in range(2 * SETTLES):
            witness.until(lambda page: not page.down(), "every source answers")
            seen.append(witness.used())
    return {name: min(used[name] for used in seen[SETTLES:]) for name in seen[-1]}
