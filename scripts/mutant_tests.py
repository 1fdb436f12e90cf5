"""Runs tests in processes of their own, for `mutants.py`: some of them, on a copy of the package, and with bounds."""

import os
import re
import resource
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import hypothesis  # noqa: F401  # slow to import, and the processes of the mutants inherit it
import numpy as np  # noqa: F401  # the same
import pytest
import structlog  # noqa: F401  # the same
from coverage import Coverage

import sandbox  # noqa: F401  # the same: it imports the Kafka clients

MAKEFILE: Final = Path(__file__).parents[1] / "Makefile"
MARKERS: Final = f"{re.findall('^CORE := (.+)$', MAKEFILE.read_text(), re.MULTILINE)[0]} and not cluster and not spark"
"""Of the tests of `make unit`."""
GIGABYTES: Final = 4
"""Of memory that a mutant may take: an endless loop can allocate without end."""

GRACE: Final = 10.0
"""Seconds that a test may take besides `SLOWER` times what all tests of its file took without a change."""
SLOWER: Final = 5.0

QUICK: Final = 0.5
"""Seconds of a test that runs before all slower ones; the fixtures of a file are made once more for those."""


class Recorder:
    """A pytest plugin that records the seconds of every test, and the lines that it executes."""

    def __init__(self, coverage: Coverage) -> None:
        self.seconds: dict[str, float] = {}
        self._coverage = coverage

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Give the lines of fixtures to all tests of the file, which may share them."""
        self._coverage.switch_context(file_of(item.nodeid))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Give the lines that follow to the test."""
        self._coverage.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up set-up, call and tear-down."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration


class Chosen:
    """A pytest plugin that runs the chosen tests only: quick ones first, then those of the quickest file."""

    def __init__(self, seconds: Mapping[str, float]) -> None:
        self._seconds = seconds

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Select and sort, and limit the time of each test: a mutant can wait for ever."""
        files: dict[str, float] = {}
        for test, seconds in self._seconds.items():
            files[file_of(test)] = files.get(file_of(test), 0.0) + seconds
        chosen = {item.nodeid: item for item in items if item.nodeid in self._seconds}
        place = {
            test: (seconds > QUICK, files[file_of(test)], file_of(test)) for test, seconds in self._seconds.items()
        }
        order = sorted(chosen, key=lambda test: (*place[test], self._seconds[test]))
        items[:] = [chosen[test] for test in order]
        for item in items:
            # A fixture of the file may be part of any of its tests.
            limit = GRACE + SLOWER * files[file_of(item.nodeid)]
            item.add_marker(pytest.mark.timeout(limit, method="thread"), append=False)


def file_of(test: str) -> str:
    """Return the file of a test."""
    return test.partition("::")[0]


def run_tests(arguments: Collection[str], copy: Path, plugin: object) -> int:
    """Run tests on a copy of the package; return pytest's exit status."""
    without = ("-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist")
    options = ("-q", "-x", "--assert=plain", *without, "-m", MARKERS)
    override = ("-o", "addopts=--import-mode=importlib", "-o", f"pythonpath={copy} .")
    os.environ["PYTHONPATH"] = str(copy)
    os.environ["HYPOTHESIS_PROFILE"] = "mutants"
    return int(pytest.main([*options, *override, *arguments], plugins=[plugin]))


def fork(log: Path) -> int:
    """Fork; the child leads a session of its own, writes to a log, and has bounds."""
    sys.stdout.flush()
    if process := os.fork():
        return process
    os.setsid()
    resource.setrlimit(resource.RLIMIT_DATA, (GIGABYTES << 30, GIGABYTES << 30))
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    return 0
