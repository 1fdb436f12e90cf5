"""Rules for every test: one shard at most, a time limit, and a retry only for `realtime`; and the tier `--quick`.

The rules are a pytest plugin, which `conftest.py` at the top of the repository loads.
"""

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

SHARDS: Final = (
    "full_kafka",
    "full_versions",
    "full_pipeline",
    "full_alerts",
    "full_faults",
    "full_logins",
    "full_deploy",
    "test_images",
)
"""Markers of what `make test` leaves out; `make full-kafka` runs `full_kafka`, and so on."""

SECONDS: Final = {"cluster": 900, "spark": 600}
"""Time limits of tests that have a marker and no limit of their own; all others have `timeout` in pyproject.toml."""

MOST_FLAKY: Final = 2
"""Retried tests that a run may have; `make test` is one run of several processes, which add to the file in `FLAKY`."""

LONGEST: Final = (
    "alerts/test_rules.py",
    "clients/test_hostile.py",
    "fleet/test_evaluated.py",
    "pipeline/forecast/test_forecast_coverage.py",
    "top/test_screen.py",
    "top/test_terminal.py",
    "web/test_status_browser.py",
)
"""Files of `make unit` that take longest: they start first, or one process would run one of them alone at the end."""

QUICK: Final = ("config", "derive", "planning", "rules", "sources", "views")
"""Folders of `make quick`: their tests start no process, except those with the marker `process`."""

STARTS: Final = {"os.fork", "os.posix_spawn", "socket.connect", "subprocess.Popen"}
"""Audit events of Python that a test of `make quick` may not cause."""

LEFT_BEHIND: Final = "left behind by this run"
"""In the message about processes that outlive the tests: a retry would hide them."""


@pytest.hookimpl(trylast=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Give a test its time limit and, if it depends on real time, its one retry."""
    shards = {mark.name for mark in item.iter_markers() if mark.name in SHARDS}
    if len(shards) > 1:
        raise pytest.UsageError(f"{item.nodeid} is in more than one shard: {', '.join(sorted(shards))}")
    if item.get_closest_marker("timeout") is None:
        limits = [seconds for name, seconds in SECONDS.items() if item.get_closest_marker(name)]
        if limits:
            item.add_marker(pytest.mark.timeout(max(limits)))
    if item.get_closest_marker("realtime"):
        item.add_marker(pytest.mark.flaky(reruns=1, rerun_except=LEFT_BEHIND))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="only tests of pure functions, which start no process")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what is not in `QUICK`, also its imports."""
    tests = config.rootpath / "tests"
    if not config.getoption("--quick") or tests not in collection_path.parents:
        return None
    return collection_path.relative_to(tests).parts[0] not in QUICK or None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--quick"):
        items[:] = [
            item for item in items if not {"process", *SECONDS, *SHARDS} & {m.name for m in item.iter_markers()}
        ]
    items.sort(key=lambda item: not item.path.as_posix().endswith(LONGEST))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.config.getoption("--quick"):
        _refuse_processes()


@cache
def _refuse_processes() -> None:
    def refuse(event: str, _: tuple[Any, ...]) -> None:
        if event in STARTS:
            raise RuntimeError(f"{event} in a test of `make quick`: mark it with `process`")

    sys.addaudithook(refuse)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Count retries where the reports come together."""
    config.pluginmanager.register(Retries(), "retries")


class Retries:
    """Print every test that was retried as FLAKY, and fail a run that has more than `MOST_FLAKY`."""

    def __init__(self) -> None:
        self.file = Path(os.environ.get("FLAKY") or os.devnull)
        self.tests: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if str(report.outcome) == "rerun":
            self.tests.append(report.nodeid)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        if not hasattr(session.config, "workerinput"):
            with self.file.open("a+") as file:
                file.writelines(f"{test}\n" for test in self.tests)
                file.seek(0)
                # Empty where the file is the null device.
                self.tests = file.read().splitlines() or self.tests
        if len(self.tests) > MOST_FLAKY and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return (yield)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for test in self.tests:
            terminalreporter.write_line(f"FLAKY {test}", yellow=True)
        if len(self.tests) > MOST_FLAKY:
            terminalreporter.write_line(f"{len(self.tests)} retries; at most {MOST_FLAKY} are allowed", red=True)
