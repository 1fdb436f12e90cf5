"""The folder that a run of the demo leaves behind, and what its description says.

`demo/` beside the Makefile, or what DEMO_FOLDER names:

    run.json           when the run was and how it ended
    prometheus/data    what Prometheus stored
    prometheus/rules   the rules that it evaluated
    grafana            dashboards and provisioning (sandbox/demo_grafana.py)
    alerted            the status page and the alert, when it had reached Alertmanager; missing before

Only another run replaces it. Looking at it changes nothing but paths in `grafana`, where the folder was moved.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from sandbox.errors import SandboxError

FOLDER_VARIABLE = "DEMO_FOLDER"
DESCRIPTION = "run.json"
DATA = Path("prometheus", "data")
RULES = Path("prometheus", "rules")
GRAFANA = Path("grafana")
ALERTED = Path("alerted")
MAKE_ONE = "run `make demo`, which makes one in a few minutes"


class FolderError(SandboxError):
    """There is no folder of a run, or it is damaged; the message says what to do."""


class Outcome(StrEnum):
    """How a run ended."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True)
class Run:
    """One run of the demo. Times are seconds since 1970.

    Attributes:
        began: First time that Prometheus had scraped the sidecar.
        ended: When Prometheus was stopped.
        alerted: When the alert had reached Alertmanager, if it did.
        outcome: How it ended.
        cluster: Value of the target label `cluster`.
        scrape_seconds: Between two scrapes.
    """

    began: float
    ended: float
    alerted: float | None
    outcome: Outcome
    cluster: str
    scrape_seconds: float

    @property
    def seconds(self) -> float:
        """Its duration."""
        return self.ended - self.began


def default_folder() -> Path:
    """Path of the folder of the last run; it may not exist."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named).absolute() if named else Path(__file__).resolve().parent.parent / "demo"


def require_replaceable(folder: Path) -> None:
    """Refuse a folder that has something else than a run.

    Raises:
        FolderError: It is no folder of a run, or it cannot be replaced.
    """
    if folder.exists() and not (folder / DESCRIPTION).is_file() and not _is_empty(folder):
        raise FolderError(f"{folder} has no {DESCRIPTION}, so it is no run of the demo: {_elsewhere()}")
    parent = next(parent for parent in folder.parents if parent.exists())
    if not os.access(parent, os.W_OK | os.X_OK):
        raise FolderError(f"{parent} cannot be written to, so a run cannot be kept there: {_elsewhere()}")


def write(folder: Path, run: Run) -> None:
    """Describe the run in its folder."""
    (folder / DESCRIPTION).write_text(json.dumps(asdict(run), indent=2) + "\n", encoding="utf-8")


def read(folder: Path) -> Run:
    """Read the description of the run in this folder.

    Raises:
        FolderError: The folder or a part of it is missing.
    """
    if not folder.is_dir():
        raise FolderError(f"there is no run of the demo in {folder}: {MAKE_ONE}")
    try:
        run = _parse(json.loads((folder / DESCRIPTION).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FolderError(f"{folder / DESCRIPTION} cannot be used ({error!r}): {new_demo(folder)}") from error
    for part in (DATA, RULES):
        if not (folder / part).is_dir() or _is_empty(folder / part):
            raise FolderError(f"{folder / part} is missing or empty: {new_demo(folder)}")
    return run


def new_demo(folder: Path) -> str:
    """What to do about a folder that cannot be used, for a message."""
    return f"remove {folder} and {MAKE_ONE}"


def _parse(values: Mapping[str, Any]) -> Run:
    alerted = values["alerted"]
    return Run(
        float(values["began"]),
        float(values["ended"]),
        None if alerted is None else float(alerted),
        Outcome(values["outcome"]),
        str(values["cluster"]),
        float(values["scrape_seconds"]),
    )


def _elsewhere() -> str:
    return f"move it away, or name another folder in {FOLDER_VARIABLE}"


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())
