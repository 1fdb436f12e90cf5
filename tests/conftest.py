"""Fixtures for every room: real clusters, and the promise that no process outlives the tests."""

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sandbox import Cluster, ClusterSettings, WaitTimeoutError, wait_for

RUN_VARIABLE = "SANDBOX_TEST_RUN"
LINGER_SECONDS = 20.0


@pytest.fixture(scope="session", autouse=True)
def no_process_left() -> Iterator[None]:
    """Fail the run when a process that it started, directly or not, outlives it.

    Every child inherits an environment variable that no other run has; it tells even orphans apart.
    """
    run = str(uuid.uuid4())
    os.environ[RUN_VARIABLE] = run
    yield
    try:
        wait_for(lambda: not processes_of(run), LINGER_SECONDS)
    except WaitTimeoutError:
        pytest.fail(f"left behind by this run: {processes_of(run)}")


def processes_of(run: str) -> dict[int, str]:
    """Command lines by id of the processes that a test run left behind."""
    marker = f"{RUN_VARIABLE}={run}".encode()
    found = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if int(directory.name) != os.getpid() and marker in (directory / "environ").read_bytes().split(b"\0"):
                found[int(directory.name)] = (directory / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


@pytest.fixture(scope="session")
def shared_cluster(no_process_left: None) -> Iterator[Cluster]:
    """The cluster behind `cluster`."""
    with Cluster(ClusterSettings()) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Iterator[Cluster]:
    """A plain cluster of three brokers and one controller, profile fast, shared by the tests and as new for each.

    After each test its nodes run again, and its moves, topics, quotas and dynamic configs are gone.
    """
    yield shared_cluster
    shared_cluster.reset()


@pytest.fixture
def make_cluster(no_process_left: None) -> Iterator[Callable[..., Cluster]]:
    """Start clusters of one's own, with the arguments of ClusterSettings; they end with the test."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(Cluster(ClusterSettings(**settings)))
