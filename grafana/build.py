"""Writes grafana/dashboards/*.json: `make dashboards`."""

import json
import sys
from pathlib import Path
from typing import Final

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from grafana.boards import BOARDS
from grafana.kit.links import DEFAULT_BASE, uid

DASHBOARDS: Final = Path(__file__).parent / "dashboards"


def render(runbooks: str = DEFAULT_BASE) -> dict[str, str]:
    """File name to JSON of every dashboard.

    Args:
        runbooks: The address before `alerts/runbooks/`, or a path of Grafana.
    """
    built = {f"{uid(board.name)}.json": board.build(f"{runbooks.rstrip('/')}/") for board in BOARDS}
    return {name: json.dumps(page, cls=JSONEncoder, indent=2) + "\n" for name, page in built.items()}


def main(*runbooks: str) -> None:
    """Write every dashboard, and remove old ones."""
    pages = render(*runbooks)
    for stale in {file.name for file in DASHBOARDS.glob(uid("*.json"))} - set(pages):
        (DASHBOARDS / stale).unlink()
    for name, page in pages.items():
        (DASHBOARDS / name).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
