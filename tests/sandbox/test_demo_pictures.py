"""The committed pictures and the check of the dashboards are not older than what they show; without node or browser."""

import json
import re
from typing import Any

from sandbox import demo_pictures
from sandbox.demo_boards import filled_up
from sandbox.demo_pictures import DASHBOARDS, PICTURES, SHOWN, picture
from sandbox.drawing import FOLDER, LOCK

MOVES: dict[str, Any] = json.loads((DASHBOARDS / "kafka-warden-moves.json").read_text())


def test_no_picture_is_older_than_what_it_shows() -> None:
    assert json.loads(demo_pictures.SOURCES.read_text()) == demo_pictures.sources(), "run make demo pictures"


def test_every_picture_is_there() -> None:
    names = {"alert", "moves", "status"}
    assert {file.stem for file in PICTURES.glob("*.png")} == names
    assert names | {"dashboards"} == demo_pictures.sources().keys()


def test_the_picture_of_a_dashboard_has_its_open_rows_without_a_gap() -> None:
    page, panels = picture(MOVES)
    rows = [panel for panel in panels if panel["type"] == "row"]
    assert [row["title"] for row in rows if not row["collapsed"]] == list(SHOWN)
    assert any(row["collapsed"] for row in rows)
    places = sorted({(panel["gridPos"]["y"], panel["gridPos"]["h"]) for panel in page["panels"]})
    ends = [0, *(y + h for y, h in places)]
    assert [y for y, _ in places] == ends[:-1]


def test_a_table_without_rows_gets_an_example() -> None:
    panels = [panel for panel in picture(MOVES)[1] if panel["type"] == "table"]
    empty = {panel["id"]: {target["refId"]: list[Any]() for target in panel["targets"]} for panel in panels}
    filled = filled_up({"panels": empty, "range": [0, 60]}, panels)["panels"]
    assert all(answers[0]["metric"].keys() for table in filled.values() for answers in table.values())


def test_the_lock_file_has_hashes_and_no_address() -> None:
    assert "://" not in LOCK.read_text()
    packages = json.loads(LOCK.read_text())["packages"]
    assert all("integrity" in each and "resolved" not in each for name, each in packages.items() if name)
    pinned = json.loads((FOLDER / "package.json").read_text())["dependencies"]
    assert all(re.fullmatch(r"[\d.]+", version) for version in pinned.values())
