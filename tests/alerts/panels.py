"""Which faults move each query of the dashboards: `recorded/panels.json`.

Before a round undoes its faults, each query of one of them must have had a value other than 0 since they began, and a
series of a panel of states two values. A query that is always 0 (`grafana/quiet.py`) must have data.
"""

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from tests.support.dashboards import Key, targets

FILE: Final = Path(__file__).parent / "recorded" / "panels.json"
Moved = dict[str, list[str]]
"""Dashboard, panel and query to its faults."""


def read() -> Moved:
    moved: Moved = json.loads(FILE.read_text(encoding="utf-8"))
    return moved


def write(moved: Moved) -> None:
    FILE.write_text(json.dumps(moved, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def recorded(moved: Moved, faults: Sequence[str], seen: Collection[Key]) -> Moved:
    """Return what is known after a round of these faults, in which these queries moved.

    A fault that did not move its query is removed, and a query that had none gets all faults of the round: delete those
    that do not belong to it.
    """
    known = {target: moved.get(str(target), []) for target in targets()}
    return {
        str(target): (before or list(faults)) if target.key in seen else [each for each in before if each not in faults]
        for target, before in known.items()
    }
