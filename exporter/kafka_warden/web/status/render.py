"""Values as HTML: each number with its exact value beside the one for people, unknown ones as a dash."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from kafka_warden.formatting import in_percent, in_rate, in_size, in_time, in_utc, in_whole, in_words, visible
from kafka_warden.model import Side
from kafka_warden.views import Views, recent
from kafka_warden.views.alerts import MARKS
from kafka_warden.views.problems import by_severity, severity_of
from kafka_warden.views.recent import Curve, History, Values
from kafka_warden.views.rows import Table
from kafka_warden.views.specs import TABLES
from kafka_warden.views.table_spec import NAMES, Column, TableSpec
from kafka_warden.web.responses import QueryError, Response, matching, number, parameters, plain
from kafka_warden.web.status import address

_UNKNOWN: Final = Markup('<span class="unknown" title="not known">&ndash;</span>')


def name(text: str | None) -> Markup:
    """Write a name from the cluster, apart from the direction of the text around it."""
    return _UNKNOWN if text is None else Markup("<bdi>{}</bdi>").format(visible(text))


def _number(write: Callable[[float], str]) -> Callable[[float | None], Markup]:
    def written(value: float | None) -> Markup:
        if value is None:
            return _UNKNOWN
        return Markup('<data value="{}">{}</data>').format(float(value), write(value))

    return written


def instant(seconds: float | None) -> Markup:
    """Write a Unix time in UTC."""
    at = None if seconds is None else in_utc(seconds)
    if at is None:
        return _UNKNOWN
    day, clock, _ = at.split()
    return Markup('<time datetime="{}T{}Z">{}</time>').format(day, clock, at)


def cell(column: Column, row: Any) -> Markup:
    """Write a value of a table."""
    value = column.value(row)
    if value is None:
        return _UNKNOWN
    if column.unit == "timestamp":
        return instant(value)
    if column.number:
        return _number(column.write)(value)
    text = column.text(row)
    if not str(value):
        return Markup('<span class="muted">{}</span>').format(text)
    return name(text) if column.field in NAMES else escape(text)


def kind(spec: TableSpec, column: Column) -> str:
    """Return the class of a column: how it is aligned, and how wide it is."""
    if column is spec.columns[0]:
        return "number key" if column.is_id else "key"
    if column.field == "sentence":
        return "text"
    return "wide" if column.share else "number" if column.number or column.is_id else ""


_STATES: Final = {"cause", "state", "problem", "up"}


def marked(spec: TableSpec) -> Column:
    """Return the column that says what is wrong with a row: its state, or what the row is about."""
    return next((column for column in spec.columns if column.field in _STATES), spec.columns[0])


def words(label: str | None) -> str:
    """Write a label value, such as `log_dir_full`, as words."""
    return "" if label is None else in_words(label)


def alert(path: str) -> str:
    """Return the name of the alert whose runbook this is."""
    return path.rpartition("/")[2].removesuffix(".md")


FILTERS: Final[dict[str, Callable[..., object]]] = {
    **{each.__name__: each for each in (alert, instant, name, visible, words)},
    "amount": _number(in_size),
    "rate": _number(in_rate),
    "duration": _number(in_time),
    "count": _number(in_whole),
    "percent": _number(in_percent),
}


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


def parameter(spec: TableSpec) -> str:
    """Return the name of a table in the templates and in addresses of the page."""
    return spec.name.replace("-", "_")


class TablePart:
    """The part of a table that the page shows."""

    def __init__(self, spec: TableSpec, table: Table[Any], values: dict[str, str]) -> None:
        self.spec, self.name = spec, parameter(spec)
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
        known = {*FILTERED, *map(parameter, TABLES)}
        values = {name: text for name, text in parameters(query).items() if name in known}
        tables = {parameter(spec): TablePart(spec, views.tables[spec.name], values) for spec in TABLES}
    except QueryError as problem:
        return plain(400, str(problem))
    history = views.history.history(())
    page = template("status.html").render(
        views=views,
        cluster=views.cluster,
        tables=tables,
        wanted={name: values.get(name, "") for name in FILTERED},
        version=version,
        severities=by_severity(views.tables["problems"].rows),
        worst=partial(severity_of, views.tables["problems"].rows),
        marks=MARKS,
        remaining=plot(recent.of_remaining(history)),
        out_of_sync=plot(recent.of_out_of_sync(history)),
        sides=_side_plots(views, history, tables["throttles"]),
        size=(WIDTH, HEIGHT),
    )
    # A name from the cluster that is no valid Unicode was made visible before.
    return Response(200, page.encode(), HEADERS)


def _side_plots(views: Views, history: History, shown: TablePart) -> dict[tuple[int, str], "Plot"]:
    known = {(broker, str(side)) for broker, side in views.history.shown_sides()}
    keys = [(row.broker, row.side) for row in shown.rows if (row.broker, row.side) in known]
    return {key: plot(recent.of_side(history, views.history.side(key[0], Side(key[1])))) for key in keys}


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
