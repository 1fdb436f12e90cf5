"""Fixtures for every room: real clusters, scripted brokers, and the promise that no process outlives the tests."""

import logging
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
import structlog

from kafka_warden.log import LIBRARIES
from sandbox import Cluster, ClusterSettings, WaitTimeoutError, wait_for
from tests.support.processes import processes_with
from tests.support.scripted import ScriptedCluster, VirtualClock
from tests.support.suite import LEFT_BEHIND, SHARDS

RUN_VARIABLE = "SANDBOX_TEST_RUN"
LINGER_SECONDS = 20.0
OTHER_VERSIONS = ("3.9.1", "4.4.0")
"""Of Kafka, besides the default one."""


@pytest.fixture(scope="session", autouse=True)
def no_process_left() -> Iterator[None]:
    """Fail the run when a process that it started, directly or not, outlives it.

    Every child inherits an environment variable that no other run has; it identifies even orphans.
    """
    run = str(uuid.uuid4())
    os.environ[RUN_VARIABLE] = run
    yield
    try:
        wait_for(lambda: not processes_with(f"{RUN_VARIABLE}={run}"), LINGER_SECONDS)
    except WaitTimeoutError:
        pytest.fail(f"{LEFT_BEHIND}: {processes_with(f'{RUN_VARIABLE}={run}')}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests marked `versions` on the other versions of Kafka, too, as part of `make full-kafka`."""
    marks = {mark.name for mark in metafunc.definition.iter_markers()}
    if "versions" in marks and not marks & set(SHARDS) and "shared_cluster" in metafunc.fixturenames:
        # None is the version of all other tests: the same value, and so the same cluster.
        versions = [pytest.param(None, id=ClusterSettings().version)]
        versions += [pytest.param(version, marks=pytest.mark.full_kafka) for version in OTHER_VERSIONS]
        metafunc.parametrize("shared_cluster", versions, indirect=True, scope="session")


@pytest.fixture(scope="session")
def shared_cluster(no_process_left: None, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with Cluster(ClusterSettings(version=getattr(request, "param", None) or ClusterSettings().version)) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Iterator[Cluster]:
    """A plain cluster of three brokers and one controller, profile fast, shared by the tests and as new for each.

    After each test its nodes run again, and its moves, topics, quotas and dynamic configs are gone.
    """
    yield shared_cluster
    shared_cluster.reset()


@pytest.fixture(scope="module")
def own_cluster(request: pytest.FixtureRequest, no_process_left: None) -> Iterator[Cluster]:
    with Cluster(request.module.SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def own(own_cluster: Cluster) -> Iterator[Cluster]:
    """A cluster with the `SETTINGS` of the file, shared by its tests and as new for each."""
    yield own_cluster
    own_cluster.reset()


@pytest.fixture
def make_cluster(no_process_left: None) -> Iterator[Callable[..., Cluster]]:
    """Start clusters of one's own, with the arguments of ClusterSettings; they end with the test."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(Cluster(ClusterSettings(**settings)))


@pytest.fixture(scope="session")
def scripted_process(no_process_left: None) -> Iterator[ScriptedCluster]:
    with ScriptedCluster() as brokers:
        yield brokers


@pytest.fixture
def brokers(scripted_process: ScriptedCluster) -> Iterator[ScriptedCluster]:
    """Three scripted brokers without topics, as new for each test (tests/support/scripted)."""
    scripted_process.reset()
    yield scripted_process
    scripted_process.check()


@pytest.fixture
def clock(brokers: ScriptedCluster) -> VirtualClock:
    """A clock that the scripted brokers follow."""
    return VirtualClock(brokers)


@pytest.fixture
def logging_as_before() -> Iterator[None]:
    """What a test configures of logging ends with it."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """What is opened in it is closed with the test."""
    with ExitStack() as opened:
        yield opened
