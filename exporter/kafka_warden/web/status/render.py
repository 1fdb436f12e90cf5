"""Renders the status page: (Views, query) -> HTML, with its plots, and the runbooks of `alerts/runbooks`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from kafka_warden.formatting import visible
from kafka_warden.model import Side
from kafka_warden.views import Views, curves
from kafka_warden.views.alerts import MARKS
from kafka_warden.views.curves import Curve, Values
from kafka_warden.views.problems import by_severity, severity_of
from kafka_warden.views.rows import History, Table
from kafka_warden.views.specs import TABLES
from kafka_warden.views.table_spec import TableSpec
from kafka_warden.web.responses import QueryError, Response, matching, number, parameters, plain
from kafka_warden.web.status.assets import address
from kafka_warden.web.status.text import FILTERS, cell, kind, marked

if TYPE_CHECKING:
    from markdown_it.token import Token

ROWS: Final = 20
"""Rows of one table on one page."""
FARTHEST: Final = 99_999
FILTERED: Final = ("topic", "broker")

HEADERS: Final = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
}


WIDTH: Final = 240
HEIGHT: Final = 40
MARGIN: Final = 2
POINTS: Final = 120
"""Of a plot: SVG with one or two lines over the last hour. Attributes only, as the policy refuses styles."""


class Shown:
    """The part of a table that the page shows."""

    def __init__(self, spec: TableSpec, table: Table[Any], values: dict[str, str]) -> None:
        self.spec, self.name = spec, spec.attribute
        self.filters: dict[str, str] = {key: values[key] for key in FILTERED if key in values and key in spec.filters}
        rows = matching(table.rows, self.filters)
        self.total = len(rows) if self.filters else table.total
        self.kept = len(rows)
        pages = max(-(-self.kept // ROWS), 1)
        self.page = min(max(number(values, self.name, 1, FARTHEST), 1), pages)
        self.pages = pages
        self.first = (self.page - 1) * ROWS + 1
        self.rows = rows[self.first - 1 :][:ROWS]
        self._values = values

    def key(self, row: Any) -> str:
        """Return what identifies a row, as text."""
        return "/".join(visible(str(part)) for part in self.spec.key_of(row))

    def to(self, page: int) -> str:
        """Return the address of another part, with all other parameters as they are."""
        return f"?{urlencode({**self._values, self.name: page})}#{self.name}-table"


@cache
def template(name: str) -> Template:
    """Return a template of this package."""
    loader = PackageLoader("kafka_warden.web.status")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(FILTERS)
    environment.globals |= {"address": address, "cell": cell, "kind": kind, "marked": marked}
    return environment.get_template(name)


def status(views: Views, query: bytes, version: str) -> Response:
    """Render the page; parameters that it does not know are left out."""
    try:
        known = {*FILTERED, *(spec.attribute for spec in TABLES)}
        values = {name: text for name, text in parameters(query).items() if name in known}
        tables = {spec.attribute: Shown(spec, _table(views, spec), values) for spec in TABLES}
    except QueryError as problem:
        return plain(400, str(problem))
    history = views.history.history(())
    page = template("status.html").render(
        views=views,
        cluster=views.cluster,
        tables=tables,
        wanted={name: values.get(name, "") for name in FILTERED},
        version=version,
        severities=by_severity(views.problems.rows),
        worst=partial(severity_of, views.problems.rows),
        marks=MARKS,
        remaining=plot(curves.of_remaining(history)),
        out_of_sync=plot(curves.of_out_of_sync(history)),
        sides=_side_plots(views, history, tables["throttles"]),
        size=(WIDTH, HEIGHT),
    )
    # A name from the cluster that is no valid Unicode was made visible before.
    return Response(200, page.encode(), HEADERS)


def _table(views: Views, spec: TableSpec) -> Table[Any]:
    """Return a table; of throttles those in use."""
    table: Table[Any] = getattr(views, spec.attribute)
    if spec.name != "throttles":
        return table
    rows = tuple(row for row in table.rows if row.in_use)
    return Table(rows, len(rows))


def _side_plots(views: Views, history: History, shown: Shown) -> dict[tuple[int, str], "Plot"]:
    known = {(broker, str(side)) for broker, side in views.history.shown_sides()}
    keys = [(row.broker, row.side) for row in shown.rows if (row.broker, row.side) in known]
    return {key: plot(curves.of_side(history, views.history.side(key[0], Side(key[1])))) for key in keys}


@dataclass(frozen=True, slots=True)
class Plot:
    """The paths of a plot, and what it says."""

    line: str
    area: str
    limit: str
    about: str


def plot(curve: Curve) -> Plot:
    """Draw a curve, the last value at the right."""
    top, base = curve.top, HEIGHT - MARGIN

    def runs(values: Values) -> list[list[tuple[float, float]]]:
        """Return the points of each line: one ends where a value is not known."""
        found: list[list[tuple[float, float]]] = [[]]
        for step, value in curve.steps(values, POINTS):
            if value is None:
                found.append([])
            else:
                found[-1].append((step / POINTS * WIDTH, base - value / top * (HEIGHT - 2 * MARGIN)))
        return [run for run in found if run]

    line = runs(curve.values)
    area = [[(run[0][0], base), *run, (run[-1][0], base)] for run in line if len(run) > 1]
    return Plot(_path(line), _path(area), _path(runs(curve.limit)), curve.about)


def _path(runs: list[list[tuple[float, float]]]) -> str:
    return " ".join("M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in run) for run in runs)


@lru_cache(64)
def runbook(name: str) -> Response | None:
    """Render the file of that name; `None` if there is none."""
    files = {file.name: file for file in resources.files(__package__).joinpath("runbooks").iterdir()}
    if name not in files:
        return None
    from markdown_it import MarkdownIt  # noqa: PLC0415  # only for those who look

    markdown = MarkdownIt("commonmark").enable("table")
    tokens = list(_without_links_elsewhere(markdown.parse(files[name].read_text("utf-8"))))
    text = Markup(markdown.renderer.render(tokens, markdown.options, {}))  # noqa: S704  # our own file
    return Response(200, template("runbook.html").render(name=name.removesuffix(".md"), text=text).encode(), HEADERS)


def _without_links_elsewhere(tokens: Iterable["Token"]) -> Iterator["Token"]:
    """Leave out links to other documents of the project, which are not served."""
    outside = False
    for token in tokens:
        if token.children:
            token.children = list(_without_links_elsewhere(token.children))
        if token.type == "link_open":
            outside = "/" in str(token.attrs["href"])
        if not (outside and token.type in {"link_open", "link_close"}):
            yield token
