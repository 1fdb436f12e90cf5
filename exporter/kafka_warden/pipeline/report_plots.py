"""Plots of four kinds: lines over time, points, bars, and spans of time. A template writes them as SVG.

Colours are names of CSS variables, so one drawing suits light mode, dark mode and paper.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from kafka_warden.formatting import in_few, in_percent, in_rate, in_size, in_time, in_words, visible
from kafka_warden.pipeline.landing import joined

WRITERS: Final[Mapping[str, Callable[[float], str]]] = {
    "bytes": in_size,
    "bytes/s": in_rate,
    "s": in_time,
    "ratio": in_percent,
    "": in_few,
}
"""Unit of a mart's column to how its values are written."""
TIME: Final = "time"
"""Unit of an axis with Unix times."""
MOST_LABELS: Final = 25
"""Rows of bars in a plot."""

_IN_TURN: Final = ("blue", "orange", "green", "purple", "sky", "yellow", "brown", "red")
"""Colours of series without one of their own."""
_SIZE, _PANEL, _ROW = (640, 260), (340, 150), 22
"""Width of a plot and height of its data, of a panel too; height of a row of bars. Pixels; letters have 11."""
_ABOVE, _BELOW, _BESIDE, _LETTER = 20, 36, 60, 6.8
"""Pixels around the data, and width of a letter."""
_TICK: Final = 75
"""Pixels between two ticks, at least."""
_DAY: Final = 86400
_CLOCK: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, _DAY, 2 * _DAY)
"""Seconds: round durations between ticks."""
_EDGE: Final = math.inf
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Mark:
    """A point, or a bar from `x` to `until`, or a part of a band from `y` to `until`. Times are Unix s.

    `y` is a label in plots of bars and spans. A value that is None or infinite is a gap in a line.
    """

    series: str
    x: float
    y: float | str | None
    until: float | None = None
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """A line, an area (`fill` or `solid`), or a `dot` or `tick`, by values of both axes; infinite ones are at an edge.

    `look`: its CSS classes. `tip`: its tooltip.
    """

    places: Sequence[Place]
    look: str
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot of a section, as report.toml describes it.

    Attributes:
        title: For people.
        kind: A key of `KINDS`.
        marks: The fields of each mark of a row.
        about: How to read it.
        x: Label and unit of the horizontal axis: `TIME`, or a key of `WRITERS`.
        y: The same of the vertical axis. A row may have a unit of its own.
        query: Its rows; those of the table if empty.
        panel: Field with the title of a panel. Without it there is one plot.
        equal: Both axes are logarithmic, with a line where both values are equal.
    """

    title: str
    kind: str
    marks: Sequence[Mapping[str, str]]
    about: str = ""
    x: Sequence[str] = ("", TIME)
    y: Sequence[str] = ("", "")
    query: str = ""
    panel: str = ""
    equal: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """The marks of a series, and how it looks."""

    name: str
    marks: Sequence[Mark]
    colour: str
    form: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """A plot or panel that was drawn. Sizes and places are in pixels."""

    title: str
    about: str
    legend: Sequence[Series]
    paths: Sequence[tuple[Shape, str]]
    across: Sequence[tuple[float, str]]
    """Places and texts of the horizontal axis."""
    up: Sequence[tuple[float, str]]
    grid: bool
    """Whether rows have lines."""
    labels: tuple[str, str]
    """Of both axes."""
    size: Place
    box: tuple[float, float, float, float]
    """Left, top, right and bottom of the data."""


def draw(plot: Plot, rows: Iterable[Mapping[str, Any]], looks: Mapping[str, str]) -> list[Drawn]:
    """Draw the rows: a plot, or one for each panel; none without a known value.

    `looks`: series to its colour and form, in drawing order. Others are drawn after these.
    """
    panels: dict[tuple[str, str, str], list[Mark]] = {}
    for row in rows:
        title, about = (row[plot.panel], row["about"]) if plot.panel else (plot.title, plot.about)
        unit = row["unit"] if plot.panel and "unit" in row else plot.y[1]
        panels.setdefault((title, about, unit), []).extend(_marks(plot, row))
    # A line needs two points.
    fewest = 2 if plot.kind == "lines" else 1
    return [
        _draw(plot, marks, looks, *panel)
        for panel, marks in panels.items()
        if len({mark.x for mark in marks if isinstance(mark.y, str) or math.isfinite(_finite(mark.y))}) >= fewest
    ]


def _marks(plot: Plot, row: Mapping[str, Any]) -> Iterator[Mark]:
    x: Any
    y: Any
    for fields in plot.marks:
        x, y, until = (row.get(fields.get(name, "")) for name in ("x", "y", "until"))
        # A line may have gaps.
        known = x is not None and (plot.kind == "lines" or y is not None)
        if known and not (plot.equal and not (0 < x < _EDGE and 0 < y < _EDGE)):
            series = fields["series"] if "series" in fields else in_words(row[fields["by"]])
            yield Mark(series, x, y, until, str(row[fields["tip"]]) if "tip" in fields else "")


def _series(marks: Iterable[Mark], looks: Mapping[str, str]) -> list[Series]:
    groups: dict[str, list[Mark]] = {name: [] for name in looks}
    for mark in marks:
        groups.setdefault(mark.series, []).append(mark)
    others = zip((name for name in groups if name not in looks), itertools.cycle(_IN_TURN), strict=False)
    parts = {name: look.partition(" ") for name, look in {**looks, **dict(others)}.items()}
    return [Series(name, mine, parts[name][0], parts[name][2]) for name, mine in groups.items() if mine]


def _draw(plot: Plot, marks: Sequence[Mark], looks: Mapping[str, str], title: str, about: str, unit: str) -> Drawn:
    series = _series(marks, looks)
    labels = list(dict.fromkeys(str(mark.y) for mark in marks))[:MOST_LABELS] if plot.kind in ROWS else []
    shapes = list(KINDS[plot.kind](plot, series, {label: row for row, label in enumerate(labels)}))
    shown = [each for each in series if plot.kind != "bars" or any(mark.x for mark in each.marks)]
    names = [short(label) for label in labels]
    width, height = _PANEL if plot.panel else _SIZE
    left = max(map(len, names)) * _LETTER + 12 if labels else _BESIDE
    box = (left, _ABOVE, width - _BESIDE / 2, _ABOVE + (len(labels) * _ROW if labels else height))
    placed = [shape for shape in shapes if "tick" not in shape.look]
    xs = [x for shape in placed for x, _ in shape.places]
    ys = [y for shape in placed for _, y in shape.places]
    if plot.equal:
        xs = ys = [*xs, *ys]
    x = _scale(xs, box[0], box[2], plot.equal)
    y = Scale(len(labels) - 0.5, -0.5, box[3], box[1]) if labels else _scale(ys, box[3], box[1], plot.equal)
    begin = f"UTC, from {_time(min(xs) // _DAY * _DAY, _DAY)}" if plot.x[1] == TIME else ""
    return Drawn(
        title,
        about,
        shown if len(shown) > 1 or plot.panel else (),
        [(shape, _path(shape, x, y)) for shape in shapes],
        x.ticks(plot.x[1]),
        [(y(row), name) for row, name in enumerate(names)] or y.ticks(unit),
        not labels,
        (begin or plot.x[0], plot.y[0]),
        (width, box[3] + _BELOW),
        box,
    )


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from low to high as pixels."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of a value; one beyond an edge is at the edge."""
        low, high = min(self.low, self.high), max(self.low, self.high)
        value, low, high = max(min(value, high), low), self.low, self.high
        if self.logarithmic:
            value, low, high = math.log(value), math.log(low), math.log(high)
        return round(self.start + (value - low) / (high - low) * (self.end - self.start), 1)

    def ticks(self, unit: str) -> list[tuple[float, str]]:
        """Return places and texts of round values."""
        most = max(2, int(abs(self.end - self.start) // (_TICK if self.end > self.start else _TICK / 2)))
        if self.logarithmic:
            values = _decades(self.low, self.high, unit)
            values = values[:: -(-len(values) // most) or 1]
        else:
            step = _step((self.high - self.low) / most, clock=unit in {TIME, "s"})
            values = [step * number for number in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]
            if unit == TIME:
                return [(self(value), _time(value, step)) for value in values]
        return [(self(value), WRITERS[unit](value)) for value in values]


def _scale(values: Iterable[float], start: float, end: float, logarithmic: bool) -> Scale:
    """Return a scale that has room around the values; none below 0, if that is the lowest one."""
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(known), max(known)
    if logarithmic:
        return Scale(low / 1.6, high * 1.6, start, end, logarithmic=True)
    room = 0.03 * (high - low) or 0.05 * abs(high) or 0.5
    return Scale(low if low == 0 else low - room, high + room, start, end)


def _decades(low: float, high: float, unit: str) -> list[float]:
    """Return round values of a logarithmic axis."""
    powers = [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    wide = high / low > 50  # noqa: PLR2004  # so many ticks
    values = [part * power for power in powers for part in ((1,) if wide else (1, 2, 5))]
    if unit == "s":
        values = [*_CLOCK, *(days * _DAY for days in (7, 30, 90, 365))]
    return [value for value in values if low <= value <= high]


def _step(least: float, *, clock: bool) -> float:
    """Return the smallest round step that is large enough; a part of an hour or day by the clock."""
    if clock and least <= _CLOCK[-1]:
        return next(step for step in _CLOCK if step >= least)
    unit = _DAY if clock else 1
    power = 10.0 ** math.floor(math.log10(least / unit))
    return unit * next(part * power for part in (1, 2, 5, 10) if part * power * unit >= least)


def _time(seconds: float, step: float) -> str:
    """Write a time of an axis with such steps: a day, or the time of a day."""
    clock = "%H:%M" if step % 60 == 0 else "%H:%M:%S"
    form = "%Y-%m-%d" if step >= _DAY else "%m-%d" if seconds % _DAY == 0 else clock
    return f"{_EPOCH + timedelta(seconds=seconds):{form}}"


def _path(shape: Shape, x: Scale, y: Scale) -> str:
    places = [(x(across), y(up)) for across, up in shape.places]
    across, up = places[0]
    if "dot" in shape.look:
        return f"M{across - 3:g},{up:g}a3,3 0 1 0 6,0a3,3 0 1 0 -6,0z"
    if "tick" in shape.look:
        # One beyond the bars is left out.
        return f"M{across:g},{up - 8:g}v16" if x.low <= shape.places[0][0] <= x.high else ""
    close = "" if "line" in shape.look else "z"
    return "M" + " ".join(f"{across:g},{up:g}" for across, up in places) + close


def _box(left: float, right: float, low: float, high: float) -> list[Place]:
    return [(left, low), (right, low), (right, high), (left, high)]


def _finite(value: Any) -> float:
    return math.nan if value is None or math.isinf(value) else float(value)


def lines(_: Plot, series: Sequence[Series], _rows: Mapping[str, int]) -> Iterator[Shape]:
    """Draw values over time.

    Forms: none, `dashed`, `area` and `stack` (values of steps, to the end of the last one), `band`, and `shade` (times
    from x to until).
    """
    tops: dict[float, float] = {}
    for each in series:
        known = [mark for mark in each.marks if math.isfinite(_finite(mark.y))]
        if each.form == "shade":
            for begin, end in joined((mark.x, mark.until or mark.x) for mark in each.marks):
                yield Shape(_box(begin, end, -_EDGE, _EDGE), f"{each.colour} fill")
        elif each.form == "band":
            upper = [(mark.x, _finite(mark.until)) for mark in reversed(known)]
            yield Shape([*((mark.x, _finite(mark.y)) for mark in known), *upper], f"{each.colour} fill")
        elif each.form == "stack":
            for mark in known:
                low, tops[mark.x] = tops.get(mark.x, 0.0), tops.get(mark.x, 0.0) + _finite(mark.y)
                yield Shape(_box(mark.x, mark.until or mark.x, low, tops[mark.x]), f"{each.colour} solid")
        else:
            for run in _runs(each):
                if each.form == "area":
                    yield Shape([(run[0][0], 0.0), *run, (run[-1][0], 0.0)], f"{each.colour} fill")
                yield Shape(run, f"{each.colour} line {each.form}")


def _runs(series: Series) -> Iterator[list[Place]]:
    """Yield the parts of a line between its gaps; steps for an area or a dashed line."""
    for finite, marks in itertools.groupby(series.marks, lambda mark: math.isfinite(_finite(mark.y))):
        run = list(marks)
        places = [(mark.x, _finite(mark.y)) for mark in run]
        if finite and series.form:
            end = (run[-1].until or run[-1].x, places[-1][1])
            places = [place for one, other in itertools.pairwise([*places, end]) for place in (one, (other[0], one[1]))]
        if finite:
            yield places


def points(plot: Plot, series: Sequence[Series], _: Mapping[str, int]) -> Iterator[Shape]:
    """Draw a dot for each mark, with a tooltip. Those of a series are connected, unless the axes are equal."""
    # Equal values are on the diagonal. Other axes begin at 0.
    yield Shape([(-_EDGE, -_EDGE), (_EDGE, _EDGE)] if plot.equal else [(0.0, 0.0)], "faint line dashed")
    for each in series:
        found = sorted((mark.x, _finite(mark.y), mark.tip) for mark in each.marks)
        if not plot.equal:
            yield Shape([(x, y) for x, y, _tip in found], f"{each.colour} line thin")
        for x, y, tip in found:
            texts = f"{plot.y[0]} {WRITERS[plot.y[1]](y)}, {plot.x[0]} {WRITERS[plot.x[1]](x)}"
            yield Shape([(x, y)], f"{each.colour} solid dot", f"{tip}: {texts}")


def bars(plot: Plot, series: Sequence[Series], rows: Mapping[str, int]) -> Iterator[Shape]:
    """Draw a bar for each label, the series stacked from left to right; the first labels only."""
    ends = dict.fromkeys(rows, 0.0)
    for each in series:
        for mark in each.marks:
            if mark.x and (label := str(mark.y)) in rows:
                begin, ends[label] = ends[label], ends[label] + mark.x
                tip = f"{label}: {each.name} {WRITERS[plot.x[1]](mark.x)}"
                yield Shape(
                    _box(begin, ends[label], rows[label] - 0.33, rows[label] + 0.33), f"{each.colour} solid", tip
                )


def spans(_: Plot, series: Sequence[Series], rows: Mapping[str, int]) -> Iterator[Shape]:
    """Draw bars over time for each label, the first labels only. Forms: none, and `dot` and `tick` for points in time.

    A bar whose end is infinite goes to the edge.
    """
    for each in series:
        for label, row in rows.items():
            mine = [mark for mark in each.marks if mark.y == label]
            if each.form in {"dot", "tick"}:
                yield from (Shape([(mark.x, row)], f"{each.colour} solid {each.form}", mark.tip) for mark in mine)
            else:
                for begin, end in joined((mark.x, mark.until or mark.x) for mark in mine):
                    yield Shape(_box(begin, end, row - 0.33, row + 0.33), f"{each.colour} fill")


KINDS: Final[Mapping[str, Callable[[Plot, Sequence[Series], Mapping[str, int]], Iterator[Shape]]]] = {
    kind.__name__: kind for kind in (lines, points, bars, spans)
}
"""Name to a function that draws a plot: of the plot, its series, and the row of each label."""
ROWS: Final = ("bars", "spans")
"""The kinds with a row for each label."""


def short(name: str, longest: int = 40) -> str:
    """Shorten a name in its middle, where topic names differ least."""
    name = visible(name)
    if len(name) <= longest:
        return name
    tail = longest // 2
    return f"{name[: longest - tail - 1]}…{name[-tail:]}"
