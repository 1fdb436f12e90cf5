"""The job `report`: an index and a page per cluster, from the marts of the other jobs. It reads no history.

Its sections are in report.toml. Titles, units and descriptions of columns follow from the marts.
"""

import base64
import hashlib
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from operator import itemgetter
from pathlib import Path
from string import Formatter
from typing import Any, Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.fs as pafs
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.config import values
from kafka_warden.errors import StoreError
from kafka_warden.formatting import in_count, in_few, in_percent, in_size, in_time, in_utc, in_whole, in_words, visible
from kafka_warden.history.parquet.reader import file_system
from kafka_warden.pipeline.job import Flags, Request, of_flags
from kafka_warden.pipeline.marts import MARTS, Field
from kafka_warden.pipeline.report_plots import WRITERS, Drawn, Plot, draw
from kafka_warden.pipeline.session import persisted
from kafka_warden.pipeline.store import of_mart
from kafka_warden.pipeline.trials import BY_MESSAGES, BY_TIME
from kafka_warden.views.table_spec import NAMES, UNKNOWN, Column, TableSpec

INDEX: Final = "report.html"
MOST_DRAWN: Final = 60
"""Moves with a plot of their own; a page with more would be slow to open."""
_STEPS: Final = 120
"""Points of a plot over time."""
_LONG: Final = 12 * 3600
"""Seconds. A shorter history is drawn from the marts by minute, a longer one from those by hour."""
_GRAINS: Final = {"hour": 3600, "minute": 60}
_NAMING: Final = ("cluster_hour", "cluster_minute", "moves", "rules", "forecasts")
"""The marts whose clusters have a page."""
_LONGEST_NAME: Final = 150
"""Bytes of a cluster id in the name of its page."""

JOB_OF: Final = {mart.name: job for job, marts in MARTS.items() for mart in marts}
"""Name of a mart to the job that makes it."""
MART_OF: Final = {mart.name: mart for marts in MARTS.values() for mart in marts}
"""Name to mart."""

_OWN: Final = "of "
"""Begin of the unit of a column whose rows have units of their own, in the column `unit`."""
_NUMBERS: Final = ("double", "bigint", "int", "timestamp")
_PLAIN: Final = NAMES | {"move", "subject", "bottleneck", "why"}


Find = Callable[[str], DataFrame | None]
"""Name to mart; None if it does not exist."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user chose."""

    title: str = "Kafka fleet report"
    moves: int = 12
    """Moves with a plot of their own, per cluster."""
    made: str = ""
    """Time of creation to print; empty by default, so that the same marts give the same page."""


def marts_of(query: str) -> list[str]:
    """Return the marts and views of a query."""
    return [name for _, name, _, _ in Formatter().parse(query) if name]


def in_instant(seconds: float) -> str:
    """Format a Unix time, in UTC; only the day if it is midnight."""
    # A nearly flat line reaches its limit after all dates.
    return (in_utc(seconds) or "after the year 9999").removesuffix(" UTC").removesuffix(" 00:00:00")


@dataclass(frozen=True, slots=True)
class OwnUnit(Column):
    """A column of numbers whose unit is in the row."""

    def text(self, row: Any) -> str:
        """Return the text of the cell."""
        value = self.value(row)
        return UNKNOWN if value is None else _of_unit(row["unit"] or "")(value)


@dataclass(frozen=True, kw_only=True)
class Section(TableSpec):
    """A section of a page: the table of a query's rows, and plots.

    Attributes:
        query: Spark SQL.
        sentence: The answer, a Jinja template.
        facts: A query with one row, for the sentence.
        computed: Columns of the query that no mart has.
        plots: Drawn above the table.
        most: Rows that are listed and drawn.
        brief: Whether the index repeats the sentence.
    """

    row: type = dict
    key: tuple[str, ...] = ()
    query: str
    sentence: str
    facts: str = ""
    computed: tuple[Field, ...]
    plots: tuple[Plot, ...]
    most: int = 200
    brief: bool = False

    def described(self, name: str) -> Field:
        """Return the description of a column."""
        marts = (MART_OF[mart] for mart in marts_of(self.query) if mart in MART_OF)
        fields = (*self.computed, *(field for mart in marts for field in mart.columns))
        return next(field for field in fields if field.name == name)

    @staticmethod
    def look(column: Column) -> str:
        """Return the CSS class of a column: a `name` may be long."""
        return "number" if column.number else "" if column.write is in_words else "name"

    def _column(self, title: str, name: str) -> Column:
        described = self.described(name)
        if described.unit.startswith(_OWN):
            return OwnUnit(title, name, itemgetter(name), in_few, number=True)
        is_id, number = described.type == "int", described.type in _NUMBERS
        return Column(title, name, itemgetter(name), _writer(described), number, is_id=is_id)


def _writer(described: Field) -> Callable[[Any], str]:
    if described.type == "string":
        return visible if described.name in _PLAIN else in_words
    if described.type == "timestamp":
        return in_instant
    if described.type == "int":
        return str
    write = _of_unit(described.unit)
    if described.type in _NUMBERS:
        return write
    of_map = visible if described.type == "map<string,string>" else write
    return lambda values: ", ".join(f"{in_words(key)} {of_map(values[key])}" for key in sorted(values)) or UNKNOWN


def _of_unit(unit: str) -> Callable[[float], str]:
    return WRITERS[unit] if unit in WRITERS else lambda value: f"{in_few(value)} {unit}"


def _section(*, columns: str, plot: Sequence[Any] = (), computed: Mapping[str, Any] = {}, **more: Any) -> Section:
    """Return a section of report.toml."""
    fields = tuple(Field(name, *field) for name, field in computed.items())
    return Section(titles=columns, computed=fields, plots=tuple(Plot(**each) for each in plot), **more)


_FILE: Final = tomllib.loads(Path(__file__).with_name("report.toml").read_text(encoding="utf-8"))
SERIES: Final[Mapping[str, str]] = _FILE["series"]
"""Series of plots to its colour and form, in drawing order."""
VIEWS: Final[Mapping[str, str]] = _FILE["views"]
"""Name to a query that others read like a mart. It is computed once for all of them."""
SECTIONS: Final = tuple(_section(**each) for each in _FILE["section"])
"""All sections, in their order."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A section of one cluster. `missing`: marts that it needs. Without rows it has only a sentence."""

    section: Section
    sentence: Markup
    rows: Sequence[Any] = ()
    left_out: int = 0
    plots: Sequence[tuple[Plot, Sequence[Drawn]]] = ()
    missing: Sequence[str] = ()


def build(find: Find, options: Options, store: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each file and its HTML, the index last. `store`: as the user wrote it."""
    find = cache(find)
    version = "unknown"
    with suppress(metadata.PackageNotFoundError):
        version = metadata.version("kafka-warden")
    shared = {"options": options, "store": store, "version": version}
    page = environment().get_template("report.html")
    frames = (find(name) for name in _NAMING)
    found = [frame.select("cluster_id").distinct().collect() for frame in frames if frame is not None]
    pages, answers = {}, list[Answer]()
    for cluster_id in sorted({row["cluster_id"] for rows in found for row in rows}) or [None]:
        with ExitStack() as stack:
            reader = Reader(find, cluster_id, options.moves, stack)
            answers = [reader.answer(section) for section in SECTIONS]
        if cluster_id is not None:
            cluster = reader.cluster
            pages[cluster_id] = cluster, answers
            yield file_of(cluster_id), page.render(shared, cluster_id=cluster_id, cluster=cluster, answers=answers)
    # Without a cluster the index has what is missing.
    yield INDEX, page.render(shared, cluster_id=None, pages=pages, answers=[] if pages else answers)


class Reader:
    """Answers sections for one cluster, or for none. `stack`: ends what Spark keeps for it."""

    def __init__(self, find: Find, cluster_id: str | None, moves: int, stack: ExitStack) -> None:
        self._find, self._cluster_id, self._stack = find, cluster_id, stack
        self._frames: dict[str, DataFrame] = {}
        clusters = {grain: cluster for grain in _GRAINS if (cluster := self._read_cluster(grain))}
        long = "hour" in clusters and clusters["hour"]["ends"] - clusters["hour"]["begins"] >= _LONG
        self._grain = "minute" if "minute" in clusters and not long else "hour"
        self.cluster = clusters.get(self._grain)
        """Name, begin and end (Unix s), polls, brokers and partitions; None if no mart has a poll."""
        grain, begins, ends = _GRAINS[self._grain], 0.0, 0.0
        if self.cluster:
            begins, ends = self.cluster["begins"], self.cluster["ends"]
        step = grain * max(1, -(-int(ends - begins) // (grain * _STEPS)))
        rules = {"by_messages": BY_MESSAGES, "by_time": BY_TIME}
        self._parameters = {"begins": begins, "step": step, "grain": grain, "drawn": moves, **rules}

    def answer(self, section: Section) -> Answer:
        """Run the queries of a section."""
        if missing := self._missing(section.query):
            return Answer(section, Markup("Not known: no mart {}.").format(missing[0]), missing=missing)
        frame = self._run(section.query)
        rows = _collect(frame.limit(section.most + 1))
        if not rows:
            unpolled = self.cluster is None and VIEWS.keys() & marts_of(section.query)
            return Answer(section, Markup.escape("This history has no poll." if unpolled else section.empty))
        in_all = len(rows) if len(rows) <= section.most else frame.count()
        [facts] = _collect(self._run(section.facts)) if section.facts else [{}]
        rows = rows[: section.most]
        text = environment().from_string(section.sentence).render(facts, rows=rows, in_all=in_all)
        sentence = Markup(" ".join(text.split()))  # noqa: S704  # the template escapes
        plots, lacking = [], []
        for plot in section.plots:
            missing = self._missing(plot.query)
            lacking += missing
            if not missing and (drawn := draw(plot, _collect(self._run(plot.query)) if plot.query else rows, SERIES)):
                plots.append((plot, drawn))
        return Answer(section, sentence, rows, in_all - len(rows), plots, lacking)

    def _missing(self, query: str) -> list[str]:
        names = [each for name in marts_of(query) for each in (marts_of(VIEWS[name]) if name in VIEWS else [name])]
        return [name for name in dict.fromkeys(map(self._of_grain, names)) if self._find(name) is None]

    def _of_grain(self, name: str) -> str:
        return f"{name.removesuffix('hour')}{self._grain}" if name.endswith("_hour") else name

    def _run(self, query: str) -> DataFrame:
        frames = {name: self._frame(name) for name in marts_of(query)}
        return next(iter(frames.values())).sparkSession.sql(query, args=self._parameters, **frames)

    def _frame(self, name: str) -> DataFrame:
        """Return a mart or a view, of the cluster."""
        if name not in self._frames:
            self._frames[name] = (
                self._stack.enter_context(persisted(self._run(VIEWS[name])))
                if name in VIEWS
                else self._of_cluster(self._of_grain(name))
            )
        return self._frames[name]

    def _of_cluster(self, name: str) -> DataFrame:
        found = self._find(name)
        assert found is not None, name  # noqa: S101  # nothing is missing
        return found.where(F.col("cluster_id") == F.lit(self._cluster_id))

    def _read_cluster(self, grain: str) -> dict[str, Any] | None:
        if self._find(f"cluster_{grain}") is None:
            return None
        most = (F.max(f"{name}_max").alias(name) for name in ("brokers", "partitions"))
        span = (F.min("start").alias("begins"), F.max("start").alias("ends"), F.sum("polls").alias("polls"))
        name = F.max_by("name_last", "start").alias("name")
        [cluster] = _collect(self._of_cluster(f"cluster_{grain}").agg(name, *span, *most))
        return None if cluster["begins"] is None else cluster | {"ends": cluster["ends"] + _GRAINS[grain]}


def _collect(frame: DataFrame) -> list[dict[str, Any]]:
    """Collect rows, times as Unix s: Spark would return datetimes in the local time zone."""
    times = {field.name for field in frame.schema.fields if field.dataType.simpleString() in {"timestamp", "date"}}
    columns = (
        (F.unix_micros(F.col(name).cast("timestamp")) / 1e6).alias(name) if name in times else F.col(name)
        for name in frame.columns
    )
    return [row.asDict() for row in frame.select(*columns).collect()]


_FILTERS: Final = (in_count, in_instant, in_percent, in_size, in_time, in_whole, in_words, shlex.quote, visible)


@cache
def environment() -> Environment:
    """Return the templates. All text is escaped, so no topic or user name becomes markup."""
    made = Environment(
        loader=PackageLoader("kafka_warden.pipeline"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {write.__name__: write for write in _FILTERS}
    script = made.get_template("report.js").render()
    # The browser enforces that the page runs no other script.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    made.globals |= {"digest": digest, "file_of": file_of, "index": INDEX, "job_of": JOB_OF}
    return made


def file_of(cluster_id: str) -> str:
    """Return the name of a cluster's page. File systems allow 255 bytes: a long id is cut, and its hash added."""
    name = quote(cluster_id, safe="")
    if len(name) > _LONGEST_NAME:
        # `quote` never writes a plus: no other id has this name.
        name = f"{name[:_LONGEST_NAME]}+{hashlib.sha256(cluster_id.encode()).hexdigest()[:32]}"
    return f"report-{name}.html"


def save(text: str, folder: Path | str, name: str) -> str:
    """Replace a page as a whole, create its folder if it is missing, and return its place.

    Raises:
        ConfigError: the address cannot be used.
        StoreError: the page cannot be written.
    """
    system, path, start = file_system(folder)
    place = f"{path}/{name}"
    # An object store shows nothing of an object before it is complete.
    written = f"{path}/.{name}.tmp" if isinstance(system, pafs.LocalFileSystem) else place
    try:
        system.create_dir(path)
        # A browser shows an object of this type, and saves one without a type. A disk ignores it.
        with system.open_output_stream(written, metadata={"Content-Type": "text/html; charset=utf-8"}) as stream:
            stream.write(text.encode())
        if written != place:
            system.move(written, place)
    except (OSError, pa.ArrowException) as failure:
        raise StoreError(f"{folder}/{name}: cannot be written: {failure}; check the folder's permissions") from failure
    return f"{start}/{name}".removeprefix("file://")


def run(request: Request[Options]) -> None:
    """Write the pages to the folder of the store.

    Raises:
        StoreError: the store cannot be used, or a page not be written.
    """
    store = request.store
    store.open()

    def find(name: str) -> DataFrame | None:
        return store.find(of_mart(MART_OF[name]))

    with request.progress.step("report"):
        for name, text in build(find, request.options, store.given):
            place = save(text, store.given, name)
            request.progress.say(f"{place}: {len(text.encode()) / 1e6:.1f} MB")


def _moves(text: object) -> int:
    number = 0 if text == "0" else values.whole_number(text)
    if number > MOST_DRAWN:
        raise ValueError(f"expected {MOST_DRAWN} or less, got {number}")
    return number


_FLAGS: Final[Flags] = {
    "title": (values.text, "TEXT", "of the report (default: Kafka fleet report)"),
    "moves": (_moves, "N", "moves of a cluster with their own plot (default: 12)"),
    "made": (values.text, "TIME", "time of creation, for the top of the pages (default: none)"),
}

JOB: Final = of_flags(
    "report", "an index and a page per cluster, with plots from the marts of the other jobs", Options, _FLAGS, run
)
