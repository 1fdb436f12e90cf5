"""The committed pictures belong to the dashboards, and values are written and rows merged as Grafana does it."""

import json
import math
from html import unescape
from typing import Any

import pytest

from sandbox import demo_pictures
from sandbox.demo_pictures import DASHBOARDS, NAMES, PICTURES, opened, shown


def dashboard(name: str) -> dict[str, Any]:
    page: dict[str, Any] = json.loads((DASHBOARDS / f"kafka-warden-{name}.json").read_text())
    return page


@pytest.mark.parametrize("name", NAMES)
def test_picture_has_every_panel(name: str) -> None:
    text = unescape((PICTURES / f"{name}.svg").read_text())
    assert [panel["title"] for panel in opened(dashboard(name)) if f">{panel['title']}<" not in text] == []
    assert "Drawn by `make pictures` from the queries of the dashboard" in text


def test_no_picture_is_older_than_what_it_shows() -> None:
    assert json.loads(demo_pictures.SOURCES.read_text()) == demo_pictures.sources()


@pytest.mark.parametrize(
    ("value", "text", "colour"),
    [(math.inf, "never", "red"), (0.5, "50%", "green"), (1.0, "100%", "orange")],
)
def test_values_have_the_text_and_colour_of_the_panel(value: float, text: str, colour: str) -> None:
    (panel,) = (panel for panel in opened(dashboard("moves")) if panel["title"] == "Deadline used")
    assert shown(value, panel["fieldConfig"]["defaults"]) == (text, demo_pictures.PALETTE[colour])


def test_rows_are_merged() -> None:
    cell = ("1", "#000")
    rows: dict[tuple[str, ...], dict[str, tuple[str, str]]] = {
        ("a", "1", "throttle"): {"cause": ("throttle", ""), "Value #B": cell},
        ("a", "1", ""): {"cause": ("", ""), "Value #A": cell},
        ("b", "1", ""): {"cause": ("", ""), "Value #C": cell},
    }
    assert list(demo_pictures._merged(rows, ["topic", "partition", "cause"])) == [
        {"cause": ("throttle", ""), "Value #B": cell, "Value #A": cell},
        {"cause": ("", ""), "Value #C": cell},
    ]
