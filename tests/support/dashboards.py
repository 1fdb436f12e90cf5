"""The dashboards as Grafana reads them, out of grafana/dashboards: panels, queries, variables filled in."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

DASHBOARDS: Final = Path(__file__).parents[2] / "grafana" / "dashboards"
FILES: Final = sorted(DASHBOARDS.glob("*.json"))
ANY: Final = {
    "cluster": "",
    "broker": ".*",
    "topic": ".*",
    "instance": ".*",
    "__rate_interval": "1m",
    "__interval": "1m",
    "__range": "1h",
}
"""Template variable to what Grafana puts in its place where nothing is chosen."""

Key = tuple[str, str, str]
"""Dashboard, panel and name of a query."""


@dataclass(frozen=True)
class Target:
    """One query.

    Attributes:
        board: Name of the dashboard, such as `moves`.
        panel: Title of the panel, or the name of the annotation.
        kind: Type of the panel, or `annotation`.
        name: Its legend, or its column in a table; empty for a single query of a panel.
        legend: Format of labels.
        expr: PromQL with variables.
        instant: Of the current time only.
    """

    board: str
    panel: str
    kind: str
    name: str
    legend: str
    expr: str
    instant: bool

    def __str__(self) -> str:
        return ": ".join(filter(None, self.key))

    @property
    def key(self) -> Key:
        return self.board, self.panel, self.name

    def filled(self, **values: str) -> str:
        """The query with its variables filled in, as Prometheus gets it."""
        return fill(self.expr, values)


def fill(expr: str, values: Mapping[str, str]) -> str:
    """Put values in the place of variables.

    Raises:
        KeyError: A variable has no value.
    """
    chosen = ANY | dict(values)
    return re.sub(r"\$(\w+)", lambda match: chosen[match[1]], expr)


def load(file: Path) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(file.read_text())
    return decoded


def panels(page: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Its panels, also those inside headings that are closed, without the headings."""
    found = [panel for each in page["panels"] for panel in (each, *each.get("panels", ()))]
    return [panel for panel in found if panel["type"] != "row"]


def targets() -> list[Target]:
    return [target for file in FILES for target in _targets(load(file))]


def titles() -> dict[str, str]:
    """Name to title of every dashboard, without what all titles begin with."""
    return {_board(page): page["title"].removeprefix("kafka-warden / ") for page in map(load, FILES)}


def _board(page: Mapping[str, Any]) -> str:
    return str(page["uid"]).removeprefix("kafka-warden-")


def _targets(page: Mapping[str, Any]) -> Iterator[Target]:
    board = _board(page)
    for panel in panels(page):
        for query in panel["targets"]:
            title, kind, legend = panel["title"], panel["type"], query.get("legendFormat", "")
            name = _name(panel, query)
            yield Target(board, title, kind, name, legend, query["expr"], bool(query.get("instant")))
    for annotation in page["annotations"]["list"]:
        yield Target(board, annotation["name"], "annotation", "", "", annotation["expr"], instant=False)


def _name(panel: Mapping[str, Any], query: Mapping[str, Any]) -> str:
    if len(panel["targets"]) == 1:
        return ""
    if panel["type"] != "table":
        return str(query["legendFormat"])
    column = f"Value #{query['refId']}"
    return str(panel["transformations"][-1]["options"]["renameByName"].get(column, column))
