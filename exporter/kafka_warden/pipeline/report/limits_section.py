"""The section on limits: the day each is reached."""

from collections.abc import Mapping, Sequence
from typing import Final

from kafka_warden.pipeline.report import limits_plots
from kafka_warden.pipeline.report.limits import MOST, Forecast, Path, forecasts_of, paths_of
from kafka_warden.pipeline.report.limits_plots import name_of, writer_of
from kafka_warden.pipeline.report.numbers import DAY, UNKNOWN, count, day, figure, plural, share
from kafka_warden.pipeline.report.parts import Column, Gallery, Part, Plot, Said, Section, Shown, Table, numbers
from kafka_warden.pipeline.report.reading import Marts

_TITLE: Final = "Days to each limit"
_BEYOND: Final = "not within the horizon"

_NO_DAY: Final[Mapping[str, str]] = {
    "beyond": _BEYOND,
    "unlimited": "no limit is set",
    "limit_unknown": "the limit is unknown",
    "too_short": "too little history",
}
"""Outcome of a forecast without a day to its text."""

_DRAWN: Final = 25
"""Bars of the plot of days."""

_PATHS: Final = 6
"""Paths that are drawn."""

_OVER_TIME: Final = (
    "Measured and expected values for the limits that are reached first. Shaded: the interval. Dashed: the limit."
    " Dotted: the expected day, and the day of a straight line."
)


def section(marts: Marts) -> Section:
    """Read and draw when limits are reached."""
    forecasts = marts.find("forecasts")
    if forecasts is None:
        return Section("limits", _TITLE, "Not known: no mart of forecasts.", (marts.missing("forecasts", "forecast"),))
    read, in_all = forecasts_of(forecasts)
    if not read:
        nothing = "This history has nothing to forecast."
        return Section("limits", _TITLE, nothing, (Said(nothing),))
    return Section("limits", _TITLE, _finding(read, in_all), (_days(read), *_paths(marts, read), _listed(read, in_all)))


def _finding(forecasts: Sequence[Forecast], in_all: int) -> str:
    first, coming = forecasts[0], sum(forecast.day is not None for forecast in forecasts)
    reached = sum(forecast.outcome == "reached" for forecast in forecasts)
    if not coming:
        return f"None of {plural(in_all, 'thing')} that grow is expected to reach its limit within the horizon."
    said = f"{coming:,} of {plural(in_all, 'thing')} that grow reach their limit by the end of the horizon."
    if reached:
        return f"{said} {reached:,} of them reached already: the first of these is {name_of(first)}."
    return f"{said} The first: {name_of(first)}, {_left(first)}, on {day(first.day)} ({_between(first)})."


def _left(forecast: Forecast) -> str:
    """Return the time to the limit from the end of the history."""
    if forecast.day is None or forecast.outcome == "reached":
        return "reached" if forecast.outcome == "reached" else _NO_DAY.get(forecast.outcome, forecast.outcome)
    if forecast.last_day is None:
        return day(forecast.day)
    return f"in {plural(round((forecast.day - forecast.last_day) / DAY), 'day')}"


def _between(forecast: Forecast) -> str:
    early = day(forecast.day_low) if forecast.day_low is not None else _BEYOND
    return f"{early} to {'beyond the horizon' if forecast.day_high is None else day(forecast.day_high)}"


def _reached(seconds: float | None) -> str:
    return "none" if seconds is None else day(seconds)


def _days(forecasts: Sequence[Forecast]) -> Part:
    near = [forecast for forecast in forecasts if forecast.day is not None or forecast.day_low is not None][:_DRAWN]
    if not near:
        return Said("No limit is expected to be reached within the horizon.")
    columns = tuple(map(Column, ("Limit", "Reached", "Between", "Straight line")))
    rows = [(name_of(one), _left(one), _between(one), _reached(one.baseline_day)) for one in near]
    left = len(forecasts) - len(near)
    how = _how(near) + (f" Only in the table of all: {left:,} that come later or not at all." if left else "")
    plot = Plot("The day each limit is reached", how, limits_plots.intervals(near))
    return Shown(plot, Table("The soonest first", columns, rows), wide=True)


def _how(forecasts: Sequence[Forecast]) -> str:
    levels = sorted({forecast.level for forecast in forecasts if forecast.level is not None})
    of = " or ".join(map(share, levels)) or "the level that was asked for"
    return (
        f"The dot is the median day on which the limit is reached, the bar its interval of {of}. The tick is the day of"
        " a straight line through the history. A bar without an end goes beyond the horizon."
    )


def _paths(marts: Marts, forecasts: Sequence[Forecast]) -> list[Part]:
    paths = marts.find("forecast_paths")
    if paths is None:
        return [marts.missing("forecast_paths", "forecast")]
    wanted = list(forecasts[:_PATHS])
    plots = tuple(_fan(wanted[place], path, place) for place, path in sorted(paths_of(paths, wanted).items()))
    if not plots:
        return [Said("There is no path of any of these limits to draw.")]
    return [Gallery("Growth towards the limit", _OVER_TIME, plots)]


def _fan(forecast: Forecast, path: Path, place: int) -> Plot:
    write = writer_of(forecast.what)
    limit = "no limit" if forecast.limit is None else f"the limit of {write(forecast.limit)}"
    how = f"{write(forecast.now)} now, growing by {_growth(forecast)} a day; {limit}: {_left(forecast)}."
    return Plot(name_of(forecast), how, limits_plots.fan(forecast, path, f"path-{place}", how))


def _growth(forecast: Forecast) -> str:
    """Write the growth in a day; counts may grow by less than one."""
    write = writer_of(forecast.what)
    return (figure if write is count else write)(forecast.growth_per_day)


def _listed(forecasts: Sequence[Forecast], in_all: int) -> Table:
    titles = ("Reached", "Day", "Earliest", "Latest", "Straight line")
    amounts = numbers("Now", "Limit", "Growth a day", "Days of history")
    columns = (Column("Subject"), Column("What", choice=True), *map(Column, titles), *amounts, Column("Method"))
    left = in_all - len(forecasts)
    note = f"{left:,} that are reached later are left out: {MOST:,} are listed at most." if left > 0 else ""
    return Table("All limits, the soonest first", columns, [_row(forecast) for forecast in forecasts], note)


def _row(forecast: Forecast) -> tuple[str, ...]:
    write = writer_of(forecast.what)
    return (
        forecast.subject,
        forecast.what.replace("_", " "),
        _left(forecast),
        *map(_reached, (forecast.day, forecast.day_low)),
        _BEYOND if forecast.day is not None and forecast.day_high is None else _reached(forecast.day_high),
        _reached(forecast.baseline_day),
        write(forecast.now),
        write(forecast.limit),
        _growth(forecast),
        UNKNOWN if forecast.history_days is None else str(forecast.history_days),
        forecast.method or UNKNOWN,
    )
