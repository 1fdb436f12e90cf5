"""What `scripts.grafana_schemas` reports, with schemas of a few fields in place of Grafana's."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from scripts.grafana_schemas import problems

STRICT: Final = {"type": "object", "additionalProperties": False}
PANEL: Final[dict[str, Any]] = {
    "type": "stat",
    "title": "Number",
    "options": {"mode": "value"},
    "fieldConfig": {"defaults": {}},
    "targets": [{"refId": "A", "expr": "up"}],
}
ROW: Final = {"type": "row", "title": "Heading"}


def allowing(*names: str) -> dict[str, Any]:
    """A schema of an object with these fields only."""
    return STRICT | {"properties": {name: {} for name in names}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Schemas of a dashboard, of one kind of panel, and of queries."""
    files = {
        "dashboard": {
            "Dashboard": allowing("uid", "panels"),
            "RowPanel": allowing("type", "title"),
            "Panel": allowing(*PANEL),
        },
        "stat": {"Options": allowing("mode")},
        "prometheus": {"dataquery": allowing("refId", "expr")},
    }
    for name, definitions in files.items():
        (tmp_path / f"{name}.jsonschema.json").write_text(json.dumps({"definitions": definitions}))
    return tmp_path


def test_what_the_schemas_allow_is_no_problem(folder: Path) -> None:
    """A page with fields that all schemas have passes."""
    assert list(problems({"uid": "board", "panels": [ROW, PANEL]}, folder)) == []


@pytest.mark.parametrize(
    ("page", "named"),
    [
        ({"uid": "board", "panels": [], "extra": 1}, "board"),
        ({"uid": "board", "panels": [ROW | {"extra": 1}]}, "board: Heading"),
        ({"uid": "board", "panels": [PANEL | {"extra": 1}]}, "board: Number"),
        ({"uid": "board", "panels": [PANEL | {"options": {"extra": 1}}]}, "board: Number: Options"),
        ({"uid": "board", "panels": [PANEL | {"targets": [{"refId": "A", "extra": 1}]}]}, "board: Number: A"),
    ],
)
def test_an_unknown_field_is_named(page: dict[str, Any], named: str, folder: Path) -> None:
    """Of the page, a heading, a panel, its options and its queries, with the place."""
    (problem,) = problems(page, folder)
    assert problem.startswith(f"{named}: ")
    assert "extra" in problem
