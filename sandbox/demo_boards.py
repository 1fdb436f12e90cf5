"""A run of the demo as the dashboards ask for it: the answers of its Prometheus to the queries of all panels."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from sandbox.demo_archive import Archive
from sandbox.demo_folder import Run
from sandbox.demo_grafana import MARK_SCRAPES

_ALL: Final = ".*"
"""What the variables for brokers, topics and instances are when everything is chosen."""


def opened(page: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All headings and panels of a dashboard, placed as if every heading was open."""
    found, shift = list[dict[str, Any]](), 0
    for row in page["panels"]:
        inside = row.get("panels", ())
        places = (panel["gridPos"] | {"y": panel["gridPos"]["y"] + shift} for panel in (row, *inside))
        found += [panel | {"gridPos": place} for panel, place in zip((row, *inside), places, strict=True)]
        shift += sum({panel["gridPos"]["y"]: panel["gridPos"]["h"] for panel in inside}.values())
    return found


@dataclass(frozen=True)
class Data:
    """The data of a run until a moment, in Unix seconds."""

    archive: Archive
    run: Run
    moment: float

    def of(self, page: Mapping[str, Any], panels: list[dict[str, Any]]) -> dict[str, Any]:
        """What `sandbox.drawing` needs for these panels of a dashboard."""
        return {
            "range": [self.run.began, self.moment],
            "step": self.run.scrape_seconds,
            "panels": {
                panel["id"]: {target["refId"]: self._answer(target) for target in panel["targets"]}
                for panel in panels
                if panel["type"] != "row"
            },
            "annotations": [mark for one in page["annotations"]["list"] if one["enable"] for mark in self._marks(one)],
            "variables": {"cluster": self.run.cluster},
        }

    def _answer(self, target: Mapping[str, Any]) -> list[dict[str, Any]]:
        if target.get("instant"):
            return self._ask("query", target["expr"], time=self.moment)
        return self._over(target["expr"], self.run.scrape_seconds)

    def _marks(self, annotation: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Times at which the query of an annotation begins to be true."""
        step = MARK_SCRAPES * self.run.scrape_seconds
        for series in self._over(annotation["expr"], step):
            before = 0.0
            for at, _ in series["values"]:
                if at - before > step:
                    yield {"time": at * 1000, "color": annotation["iconColor"]}
                before = at

    def _over(self, expr: str, step: float) -> list[dict[str, Any]]:
        start = self.run.began // step * step
        return self._ask("query_range", expr, start=start, end=self.moment, step=step)

    def _ask(self, kind: str, expr: str, **span: float) -> list[dict[str, Any]]:
        scrapes = f"{4 * self.run.scrape_seconds:g}s"
        chosen = {"cluster": self.run.cluster, "broker": _ALL, "topic": _ALL, "instance": _ALL}
        chosen |= {"__rate_interval": scrapes, "__interval": f"{MARK_SCRAPES * self.run.scrape_seconds:g}s"}
        chosen |= {"__range": f"{self.moment - self.run.began:.0f}s"}
        filled = re.sub(r"\$(\w+)", lambda found: chosen[found[1]], expr)
        asked = urlencode({"query": filled} | {name: f"{value:.3f}" for name, value in span.items()})
        rows: list[dict[str, Any]] = self.archive.ask("GET", f"/api/v1/{kind}?{asked}")["data"]["result"]
        return rows


_EXAMPLES: Final = {
    "topic": "inventory.stock-levels",
    "partition": "127",
    "broker": "1004",
    "cause": "throttle_below_inbound",
    "cluster": "shop-eu-west-1",
    "alertname": "KafkaReassignmentWillMissItsTime",
}
"""Long values of labels, for tables that the demo leaves empty."""


def filled_up(data: dict[str, Any], panels: list[dict[str, Any]]) -> dict[str, Any]:
    """Data with a row for each table that has none, to see whether its columns fit: an example, for no picture."""
    for panel in panels:
        answers = data["panels"].get(panel["id"], {})
        if panel["type"] == "table" and not any(answers.values()):
            titles = panel["transformations"][-1]["options"]["renameByName"]
            labels = {name: _EXAMPLES.get(name, name) for name in titles if not name.startswith("Value")}
            for ref_id in answers:
                answers[ref_id] = [{"metric": labels, "value": [data["range"][1], "1234.5"]}]
    return data
