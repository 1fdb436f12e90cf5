"""Writes grafana/dashboards/*.json: `make dashboards`."""

import json
from pathlib import Path
from typing import Final

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from alerts.addresses import addresses
from grafana.boards import BOARDS
from grafana.kit.links import DEFAULT_BASE, uid

DASHBOARDS: Final = Path(__file__).parent / "dashboards"


def render(runbooks: str | None = None) -> dict[str, str]:
    """File name to JSON of every dashboard.

    Args:
        runbooks: The address before `alerts/runbooks/`; that of `alerts/addresses.yml` by default.
    """
    base = (addresses().runbooks if runbooks is None else runbooks) or DEFAULT_BASE
    built = {f"{uid(board.name)}.json": board.build(base) for board in BOARDS}
    return {name: json.dumps(page, cls=JSONEncoder, indent=2) + "\n" for name, page in built.items()}


def main() -> None:
    """Write every dashboard, and remove old ones."""
    pages = render()
    for stale in {file.name for file in DASHBOARDS.glob(uid("*.json"))} - set(pages):
        (DASHBOARDS / stale).unlink()
    for name, page in pages.items():
        (DASHBOARDS / name).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
