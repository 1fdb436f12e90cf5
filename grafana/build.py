"""Writes grafana/dashboards/*.json: `make dashboards`."""

import argparse
import json
from pathlib import Path
from typing import Final

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from grafana.boards import BOARDS
from grafana.kit.links import DEFAULT_BASE, uid

DASHBOARDS: Final = Path(__file__).parent / "dashboards"


def render(base: str = DEFAULT_BASE) -> dict[str, str]:
    """File name to JSON of every dashboard; `base` is the address before `alerts/runbooks/`."""
    built = {f"{uid(board.name)}.json": board.build(base) for board in BOARDS}
    return {name: json.dumps(page, cls=JSONEncoder, indent=2) + "\n" for name, page in built.items()}


def main() -> None:
    """Write every dashboard, and remove old ones."""
    parser = argparse.ArgumentParser(prog="python -m grafana.build", description=__doc__)
    parser.add_argument(
        "--runbooks", metavar="ADDRESS", default=DEFAULT_BASE, help="what stands before alerts/runbooks/"
    )
    parser.add_argument("--into", metavar="DIRECTORY", type=Path, default=DASHBOARDS, help="where to write them")
    options = parser.parse_args()
    pages = render(options.runbooks)
    options.into.mkdir(parents=True, exist_ok=True)
    for stale in {file.name for file in options.into.glob(uid("*.json"))} - set(pages):
        (options.into / stale).unlink()
    for name, page in pages.items():
        (options.into / name).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
