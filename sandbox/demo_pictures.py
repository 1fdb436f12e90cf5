"""Makes `docs/pictures` (`make pictures`): status page, alert and dashboard of the last demo, when its alert had come.

The dashboard is drawn by Grafana's published components from the answers of the demo's Prometheus to the queries of
its panels. `--check` draws every dashboard, with all rows open, and reports what does not fit or reads badly; without
it that is done, too. `sources.json` has a hash of what each picture and the check were made from, so that a test
without node and browser finds those that are older than what they show.
"""

import argparse
import hashlib
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from sandbox import demo_folder
from sandbox.browser import opened as browser
from sandbox.demo_archive import Archive
from sandbox.demo_boards import Data, filled_up, opened
from sandbox.demo_folder import FolderError, Run, new_demo
from sandbox.demo_screens import photograph
from sandbox.demo_watch import ALERT
from sandbox.drawing import CODE, FOLDER, LOCK, Easel, easel
from sandbox.errors import SandboxError
from sandbox.monitoring import ALERTS
from sandbox.monitoring_tools import tools

ROOT: Final = Path(__file__).parents[1]
DASHBOARDS: Final = ROOT / "grafana" / "dashboards"
PICTURES: Final = ROOT / "docs" / "pictures"
STATUS: Final = ROOT / "exporter" / "kafka_warden" / "web" / "status"
SCREENS: Final = ROOT / "sandbox" / "demo_screens.py"
SOURCES: Final = PICTURES / "sources.json"
CHECKED: Final = ROOT / "build" / "dashboards"
"""Where `--check` leaves a picture of every dashboard, to be looked at."""
WIDTH: Final = 1400
"""CSS pixels of a dashboard: those of a notebook's screen beside Grafana's menu."""
SHOWN: Final = ("Will they end?", "Each replica")
"""Rows of the dashboard Moves in its picture."""
_SANDBOX: Final = "/kafka-warden-sandbox-"
"""In the names of the log directories of the demo, which are longer than those of other clusters."""
_BAD_TICK: Final = re.compile(r"\.\d+ (min|hour|day|week)")


def picture(page: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The dashboard with the chosen rows open and the others closed, and the panels that it then shows."""
    shown, last = list[dict[str, Any]](), ""
    for panel in opened(page):
        if panel["type"] == "row":
            last = panel["title"]
            shown.append(panel | {"collapsed": last not in SHOWN})
        elif last in SHOWN:
            shown.append(panel)
    # Closed rows are at the end, and lie below each other.
    ends = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in shown if not panel.get("collapsed"))
    closed = [panel for panel in shown if panel.get("collapsed")]
    for number, panel in enumerate(closed):
        panel["gridPos"] |= {"y": ends + number}
    return dict(page) | {"panels": shown}, shown


def check(board: Easel, data: Data) -> Iterator[str]:
    """Draw every dashboard, and yield what does not fit or reads badly."""
    CHECKED.mkdir(parents=True, exist_ok=True)
    for file in sorted(DASHBOARDS.glob("*.json")):
        page = json.loads(file.read_text(encoding="utf-8"))
        panels = opened(page)
        drawn = board.draw(page | {"panels": panels}, filled_up(data.of(page, panels), panels), WIDTH)
        clip = {"x": 0.0, "y": 0.0, "width": WIDTH, "height": drawn.height}
        board.page.picture(CHECKED / f"{file.stem}.png", clip)
        yield from (f"{page['uid']}: {what}" for what in drawn.cut if _SANDBOX not in what)
        for title, texts in drawn.axes.items():
            if any(_BAD_TICK.search(text) for text in texts if text):
                yield f"{page['uid']}: {title}: the axis has {', '.join(filter(None, texts))}"


def sources() -> dict[str, str]:
    """Return a hash of what each picture is made from, by its name; `dashboards` is the check of all of them."""
    rules = ALERTS.glob("*.rules.yml")
    groups = (group for file in rules for group in yaml.safe_load(file.read_text(encoding="utf-8"))["groups"])
    (rule,) = (rule for group in groups for rule in group["rules"] if rule.get("alert") == ALERT)
    status = sorted(file for file in STATUS.rglob("*") if file.suffix in {".html", ".css", ".svg"})
    code = [LOCK, *sorted(file for pattern in CODE for file in FOLDER.glob(pattern))]
    boards = sorted(DASHBOARDS.glob("*.json"))
    parts = {
        "alert": [json.dumps(rule, sort_keys=True).encode(), SCREENS.read_bytes()],
        "status": [file.read_bytes() for file in status],
        "moves": [file.read_bytes() for file in (DASHBOARDS / "kafka-warden-moves.json", *code)],
        "dashboards": [_looks(json.loads(file.read_text(encoding="utf-8"))) for file in boards],
    }
    return {name: hashlib.sha256(b"".join(contents)).hexdigest() for name, contents in sorted(parts.items())}


def _looks(page: Mapping[str, Any]) -> bytes:
    """What decides whether a dashboard fits: everything of its panels except queries, descriptions and links."""
    ignored = {"targets", "description", "links", "datasource", "id"}
    panels = [{name: part for name, part in panel.items() if name not in ignored} for panel in opened(page)]
    return json.dumps([{**panel, "panels": None} for panel in panels], sort_keys=True).encode()


def _run_with_alert(folder: Path) -> tuple[Run, float]:
    run = demo_folder.read(folder)
    if run.alerted is None:
        raise FolderError(f"the run in {folder} had no alert: {new_demo(folder)}")
    return run, run.alerted


def main(arguments: Sequence[str] | None = None) -> int:
    """Make all pictures; 1 if a dashboard has a fault, if there is no run with an alert, no browser or no node."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.demo_pictures")
    parser.add_argument("--check", action="store_true", help="only check the dashboards, and change no picture")
    only_check = parser.parse_args(arguments).check
    folder = demo_folder.default_folder()
    scratch = Path(tempfile.mkdtemp(prefix="kafka-warden-pictures-"))
    try:
        run, moment = _run_with_alert(folder)
        programs = tools()
        with (
            Archive(scratch / "prometheus", folder, 0, programs) as archive,
            browser(scratch / "profile", offline=False) as page,
            easel(page, scratch) as board,
        ):
            archive.require_run(run)
            data = Data(archive, run, moment)
            faults = list(check(board, data))
            if not only_check:
                moves = json.loads((DASHBOARDS / "kafka-warden-moves.json").read_text(encoding="utf-8"))
                shown, panels = picture(moves)
                drawn = board.draw(shown, data.of(moves, panels), WIDTH)
                clip = {"x": 0.0, "y": 0.0, "width": WIDTH, "height": drawn.height}
                page.picture(PICTURES / "moves.png", clip)
                photograph(folder, PICTURES, page, scratch, programs)
                SOURCES.write_text(json.dumps(sources(), indent=2) + "\n", encoding="utf-8")
        print(f"Every dashboard is drawn in {CHECKED}", *faults, sep="\n")
    except SandboxError as error:
        print(f"pictures: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
