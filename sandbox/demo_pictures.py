"""Makes `docs/pictures` (`make pictures`): status page, alert and two dashboards of the last demo.

The queries, titles, units, colours and the layout are those of `grafana/dashboards`; the data are those that Prometheus
stored in the last run of `make demo`. Grafana takes no part, so its look is only approximated. `sources.json` has a
hash of what each picture was made from, so that a test finds pictures that are older than what they show.
"""

import hashlib
import json
import math
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import yaml
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from kafka_warden.formatting import in_few, in_percent, in_rate, in_size, in_time, in_whole
from sandbox import demo_folder, figures
from sandbox.demo import ALERT
from sandbox.demo_archive import Archive
from sandbox.demo_folder import FolderError, Run, new_demo
from sandbox.demo_screens import photograph
from sandbox.errors import SandboxError
from sandbox.figures import at, canvas, durations, times, units, whole
from sandbox.monitoring import ALERTS
from sandbox.monitoring_tools import tools

ROOT: Final = Path(__file__).parents[1]
DASHBOARDS: Final = ROOT / "grafana" / "dashboards"
PICTURES: Final = ROOT / "docs" / "pictures"
STATUS: Final = ROOT / "exporter" / "kafka_warden" / "web" / "status"
SCREENS: Final = ROOT / "sandbox" / "demo_screens.py"
SOURCES: Final = PICTURES / "sources.json"
NAMES: Final = ("fleet", "moves")
COLUMNS: Final = 24
WIDTH: Final = 13.0
UNIT: Final = 0.34
"""Inches: of a picture, and of the height of Grafana's grid."""
CAPTION: Final = (
    "Drawn by `make pictures` from the queries of the dashboard {title}, over a run of `make demo`, when\n"
    "KafkaReassignmentStuck had reached Alertmanager, {seconds:.0f} s after the start. Grafana itself looks different."
)
SHORT: Final = 18
"""Characters of a text that fits into a narrow panel in large letters."""
PALETTE: Final = {colour.name: colour.light for colour in figures.ALL} | {"text": figures.INK.light}
WRITERS: Final[Mapping[str, Callable[[float], str]]] = {
    "decbytes": in_size,
    "Bps": in_rate,
    "s": in_time,
    "percentunit": in_percent,
    "short": in_whole,
}
"""Grafana's unit to the text of a number."""


@dataclass(frozen=True)
class Series:
    """Labels, Unix times and values of one series of a result."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Data:
    """The data of a run, as a dashboard asks for them when the alert has come."""

    archive: Archive
    run: Run
    moment: float

    def now(self, expr: str) -> list[Series]:
        """The result of an instant query."""
        rows = self._ask("query", expr, time=self.moment)
        return [Series(row["metric"], ((float(row["value"][0]), float(row["value"][1])),)) for row in rows]

    def over(self, expr: str) -> list[Series]:
        """The result from the start of the run."""
        step = self.run.scrape_seconds
        rows = self._ask("query_range", expr, start=self.run.began, end=self.moment, step=step)
        return [Series(row["metric"], tuple((float(x), float(y)) for x, y in row["values"])) for row in rows]

    def _ask(self, kind: str, expr: str, **span: float) -> list[dict[str, Any]]:
        scrapes = f"{4 * self.run.scrape_seconds:g}s"
        chosen = {"cluster": self.run.cluster, "broker": ".*", "topic": ".*", "__rate_interval": scrapes}
        chosen |= {"__interval": scrapes, "__range": f"{self.moment - self.run.began:.0f}s"}
        filled = re.sub(r"\$(\w+)", lambda found: chosen[found[1]], expr)
        asked = urlencode({"query": filled} | {name: f"{value:.3f}" for name, value in span.items()})
        rows: list[dict[str, Any]] = self.archive.ask("GET", f"/api/v1/{kind}?{asked}")["data"]["result"]
        return rows


def shown(value: float, config: Mapping[str, Any]) -> tuple[str, str]:
    """Text and colour of a value by the mappings, unit and thresholds of a panel or column."""
    for mapping in config.get("mappings", ()):
        found = mapping["options"].get("Infinity" if math.isinf(value) else f"{value:g}")
        if found:
            return found["text"], PALETTE[found["color"]]
    steps = config.get("thresholds", {}).get("steps", [{"color": "text"}])
    reached = [step["color"] for step in steps if step.get("value") is None or value >= step["value"]]
    return WRITERS.get(config["unit"], in_few)(value), PALETTE[reached[-1]]


def legend(series: Series, target: Mapping[str, Any]) -> str:
    """The name of a line."""
    return re.sub(r"{{(\w+)}}", lambda found: series.labels.get(found[1], ""), target["legendFormat"])


def draw_number(axes: Axes, panel: Mapping[str, Any], data: Data) -> None:
    """A number, or the name of its series."""
    defaults, target = panel["fieldConfig"]["defaults"], panel["targets"][0]
    text, colour = defaults["noValue"], PALETTE["text"]
    for series in data.now(target["expr"]):
        text, colour = shown(series.points[0][1], defaults)
        if panel["options"]["textMode"] == "name":
            text = legend(series, target)
    axes.text(0.5, 0.42, text, ha="center", va="center", color=colour, fontsize=17 if len(text) <= SHORT else 11)


def draw_lines(figure: Figure, box: tuple[float, float, float, float], panel: Mapping[str, Any], data: Data) -> bool:
    """Lines over time inside a box of the figure; False without data."""
    left, bottom, width, height = box
    axes = figure.add_axes((left + 0.055, bottom + 0.28 * height, width - 0.068, 0.52 * height))
    defaults = panel["fieldConfig"]["defaults"]
    dashed = {override["matcher"]["options"] for override in panel["fieldConfig"]["overrides"]}
    drawn = [(target, series) for target in panel["targets"] for series in data.over(target["expr"])]
    for number, (target, series) in enumerate(drawn):
        colour = figures.IN_TURN[number % len(figures.IN_TURN)].light
        xs, ys = [at(x) for x, _ in series.points], [y for _, y in series.points]
        style = "--" if target["refId"] in dashed else "-"
        axes.plot(xs, ys, style, color=colour, label=legend(series, target))
    axes.set_xlim(at(data.run.began), at(data.moment))
    axes.set_ylim(bottom=0 if not defaults.get("min", 0) else None)
    if defaults["unit"] == "s":
        durations(axes.yaxis, axes.get_ylim()[1])
    elif defaults["unit"] == "short":
        whole(axes.yaxis)
    units(axes.yaxis, lambda value: shown(value, {"unit": defaults["unit"]})[0])
    times(axes)
    axes.tick_params(labelsize=7)
    if drawn:
        axes.legend(
            loc="upper left", bbox_to_anchor=(-0.08, -0.2), ncols=3, fontsize=7, handlelength=1.2, columnspacing=1
        )
    else:
        axes.remove()
    return bool(drawn)


def draw_rows(axes: Axes, panel: Mapping[str, Any], data: Data) -> None:
    """A table."""
    organized = panel["transformations"][-1]["options"]
    titles: dict[str, str] = organized["renameByName"]
    overrides = {
        one["matcher"]["options"]: {part["id"]: part["value"] for part in one["properties"]}
        for one in panel["fieldConfig"]["overrides"]
    }
    found: dict[tuple[str, ...], dict[str, tuple[str, str]]] = {}
    labels = [name for name in titles if not name.startswith("Value")]
    for target in panel["targets"]:
        name = f"Value #{target['refId']}" if len(panel["targets"]) > 1 else "Value"
        for series in data.now(target["expr"]):
            # A query with fewer labels has its value in every row that agrees.
            key = tuple(series.labels.get(label, "") for label in labels)
            row = found.setdefault(
                key, {label: (text, PALETTE["text"]) for label, text in zip(labels, key, strict=True)}
            )
            if name in titles:
                row[name] = shown(series.points[0][1], overrides[titles[name]])
    if not found:
        axes.text(0.5, 0.45, panel["fieldConfig"]["defaults"]["noValue"], ha="center", va="center")
        return
    rows = list(_merged(found, labels))
    widths = [
        max(len(text) for text in (title, *(row.get(name, ("", ""))[0] for row in rows))) + 2
        for name, title in titles.items()
    ]
    places = [0.02 + 0.98 * sum(widths[:number]) / sum(widths) for number in range(len(widths))]
    height = 1 / (panel["gridPos"]["h"] + 1)
    for place, (name, title) in zip(places, titles.items(), strict=True):
        axes.text(place, 1 - 2.4 * height, title, weight="bold", fontsize=8, va="center")
        for number, row in enumerate(rows[: panel["gridPos"]["h"] - 3]):
            absent = overrides.get(title, {}).get("noValue", "-")
            text, colour = row.get(name, (absent, PALETTE["text"]))
            text = text or absent
            axes.text(place, 1 - (3.5 + 1.05 * number) * height, text, color=colour, fontsize=8.5, va="center")


def _merged(
    rows: Mapping[tuple[str, ...], dict[str, tuple[str, str]]], labels: list[str]
) -> Iterator[dict[str, tuple[str, str]]]:
    """Rows as Grafana merges them: one without some of the labels completes those that agree, or stands alone."""
    for key, row in rows.items():
        if any(_agrees(key, other) for other in rows):
            continue
        whole = dict(row)
        for other, part in rows.items():
            if _agrees(other, key):
                whole |= {name: cell for name, cell in part.items() if name not in labels}
        yield whole


def _agrees(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Whether a row has fewer labels than another one, all with the same text."""
    return part != whole and all(not text or text == other for text, other in zip(part, whole, strict=True))


def opened(page: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All headings and panels of a dashboard, placed as if every heading was open."""
    found, shift = list[dict[str, Any]](), 0
    for row in page["panels"]:
        inside = row.get("panels", ())
        places = (panel["gridPos"] | {"y": panel["gridPos"]["y"] + shift} for panel in (row, *inside))
        found += [panel | {"gridPos": place} for panel, place in zip((row, *inside), places, strict=True)]
        shift += sum({panel["gridPos"]["y"]: panel["gridPos"]["h"] for panel in inside}.values())
    return found


def draw(page: Mapping[str, Any], data: Data) -> Figure:
    """A whole dashboard."""
    panels = opened(page)
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels) + 4
    with canvas(height * UNIT, width=WIDTH) as (figure, (empty,)):
        empty.remove()
        figure.set_layout_engine("none")
        figure.text(0.012, 1 - 0.9 / height, page["title"], fontsize=13, weight="bold", va="center")
        figure.text(0.99, 1 - 0.9 / height, f"cluster: {data.run.cluster}", ha="right", va="center")
        caption = CAPTION.format(title=page["title"].rpartition(" ")[2], seconds=data.moment - data.run.began)
        figure.text(0.012, 1.0 / height, caption, fontsize=8, va="center", color=figures.FAINT.light)
        for panel in panels:
            grid = panel["gridPos"]
            bottom = 1 - (grid["y"] + grid["h"] + 1.8) / height
            box = (grid["x"] / COLUMNS + 0.003, bottom, grid["w"] / COLUMNS - 0.006, (grid["h"] - 0.2) / height)
            axes = figure.add_axes(box)
            axes.set_axis_off()
            axes.set_xlim(0, 1)
            axes.set_ylim(0, 1)
            if panel["type"] == "row":
                axes.text(0.005, 0.4, panel["title"], fontsize=10, weight="bold", va="center")
                continue
            axes.add_patch(Rectangle((0, 0), 1, 1, fill=False, edgecolor=figures.GRID.light, clip_on=False))
            axes.text(0.02, 1 - 0.75 / grid["h"], panel["title"], fontsize=8.5, va="center")
            if panel["type"] == "table":
                draw_rows(axes, panel, data)
            elif panel["type"] == "stat":
                draw_number(axes, panel, data)
            elif not draw_lines(figure, box, panel, data):
                axes.text(0.5, 0.45, panel["fieldConfig"]["defaults"]["noValue"], ha="center", va="center")
        return figure


def sources() -> dict[str, str]:
    """Return a hash of what each picture is made from, by its name."""
    rules = ALERTS.glob("*.rules.yml")
    groups = (group for file in rules for group in yaml.safe_load(file.read_text(encoding="utf-8"))["groups"])
    (rule,) = (rule for group in groups for rule in group["rules"] if rule.get("alert") == ALERT)
    page = sorted(file for file in STATUS.rglob("*") if file.suffix in {".html", ".css", ".svg"})
    parts = {
        "alert": [json.dumps(rule, sort_keys=True).encode(), SCREENS.read_bytes()],
        "status": [file.read_bytes() for file in page],
        **{name: [_dashboard(name).read_bytes()] for name in NAMES},
    }
    return {name: hashlib.sha256(b"".join(contents)).hexdigest() for name, contents in sorted(parts.items())}


def _dashboard(name: str) -> Path:
    return DASHBOARDS / f"kafka-warden-{name}.json"


def main() -> int:
    """Make all pictures; 1 if there is no run with an alert, or no browser."""
    folder = demo_folder.default_folder()
    scratch = Path(tempfile.mkdtemp(prefix="kafka-warden-pictures-"))
    try:
        run = demo_folder.read(folder)
        if run.alerted is None:
            raise FolderError(f"the run in {folder} had no alert: {new_demo(folder)}")
        PICTURES.mkdir(exist_ok=True)
        photograph(folder, PICTURES)
        with Archive(scratch, folder, 0, tools()) as archive:
            archive.require_run(run)
            for name in NAMES:
                page = json.loads(_dashboard(name).read_text(encoding="utf-8"))
                with canvas(1):
                    draw(page, Data(archive, run, run.alerted)).savefig(
                        PICTURES / f"{name}.svg", metadata={"Date": None}
                    )
        SOURCES.write_text(json.dumps(sources(), indent=2) + "\n", encoding="utf-8")
    except SandboxError as error:
        print(f"pictures: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
