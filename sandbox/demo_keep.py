"""Keeps the data of a run of the demo, however it ends."""

import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from sandbox import demo_grafana
from sandbox.demo_folder import (
    ALERTED,
    DATA,
    FOLDER_VARIABLE,
    GRAFANA,
    RULES,
    FolderError,
    Outcome,
    Run,
    require_replaceable,
    write,
)
from sandbox.demo_signals import InterruptedDemo
from sandbox.ports import LOOPBACK

PROMETHEUS_PORT = 10090
"""Where `make demo-look` serves the data, by default: not Prometheus' own port, which may be in use."""
COMMAND = "make demo-look"
OF_A_PROCESS = ("lock", "queries.active")
"""Files in Prometheus' data that belong to the process, not to the data."""


class Recorder:
    """Keeps a run when its block ends; enter it before Prometheus, so that Prometheus is stopped by then.

    The folder does not change if Prometheus has no data of the run.

    Args:
        folder: Where; an older run is replaced.
        prometheus: Directory of the running Prometheus, with `data` and `rules`.
        cluster: Value of the target label `cluster`.
        scrape_seconds: Scrape interval.
        log: Receives the place where the run is kept.
    """

    def __init__(
        self, folder: Path, prometheus: Path, cluster: str, scrape_seconds: float, log: Callable[[str], None]
    ) -> None:
        self._folder = folder
        self._prometheus = prometheus
        self._cluster = cluster
        self._scrape_seconds = scrape_seconds
        self._log = log
        self._began: float | None = None
        self._alerted: float | None = None
        self._shown: Mapping[str, bytes] = {}

    def begin(self) -> None:
        """Prometheus has data from now on."""
        self._began = time.time()

    def alert(self, shown: Mapping[str, bytes]) -> None:
        """The alert has reached Alertmanager. `shown`: path to content of what a person sees at that moment."""
        self._alerted, self._shown = time.time(), shown

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._began is None:
            return
        run = Run(self._began, time.time(), self._alerted, _outcome(error), self._cluster, self._scrape_seconds)
        keep(run, self._prometheus, self._folder, self._shown)
        self._log(f"Prometheus' data, its rules and the dashboards are in {self._folder}: {COMMAND} shows them")


def keep(run: Run, prometheus: Path, folder: Path, shown: Mapping[str, bytes]) -> None:
    """Copy a run into its folder, completely or not at all; an older run is removed.

    Args:
        run: Its description.
        prometheus: Directory with `data` and `rules` of a Prometheus that has ended.
        folder: Where.
        shown: Path to content of what a person saw at the alert.

    Raises:
        FolderError: Something else is there, or it could not be written.
    """
    require_replaceable(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as staging:
            fresh = Path(staging, "fresh")
            shutil.copytree(prometheus / "data", fresh / DATA, ignore=shutil.ignore_patterns(*OF_A_PROCESS))
            shutil.copytree(prometheus / "rules", fresh / RULES)
            address = f"http://{LOOPBACK}:{PROMETHEUS_PORT}"
            demo_grafana.write(fresh / GRAFANA, folder / GRAFANA, address, run)
            for path, content in shown.items():
                file = fresh / ALERTED / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            write(fresh, run)
            _replace(folder, fresh, Path(staging, "before"))
    except OSError as error:
        reason = f"{folder} could not be written ({error}), so this run is not kept"
        raise FolderError(f"{reason}: make room, or name another folder in {FOLDER_VARIABLE}") from error


def _replace(folder: Path, fresh: Path, before: Path) -> None:
    """Replace `folder` by `fresh`, and keep the old one as `before`; if interrupted, nothing changes."""
    try:
        if folder.exists():
            folder.rename(before)
        fresh.rename(folder)
    finally:
        if before.exists() and not folder.exists():
            before.rename(folder)


def _outcome(error: BaseException | None) -> Outcome:
    if error is None:
        return Outcome.COMPLETE
    if isinstance(error, InterruptedDemo):
        return Outcome.COMPLETE if error.code == 0 else Outcome.INTERRUPTED
    return Outcome.FAILED
