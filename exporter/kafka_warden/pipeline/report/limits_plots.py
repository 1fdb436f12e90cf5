"""Plots of limits: the day each is reached, and the growth towards it."""

import math
from collections.abc import Callable, Sequence

from kafka_warden.pipeline.report.canvas import SMALL, at, canvas, legend, times, units
from kafka_warden.pipeline.report.colours import BLUE, GREY, INK, ORANGE, RED, Colour
from kafka_warden.pipeline.report.html import Html
from kafka_warden.pipeline.report.limits import Forecast, Path
from kafka_warden.pipeline.report.numbers import DAY, amount_of_bytes, count, day, rate, short
from kafka_warden.pipeline.report.svg import inline

"""Inches: of a path."""


def name_of(forecast: Forecast) -> str:
    """Name the forecast's subject."""
    whole, by_broker = forecast.subject == "cluster", forecast.subject.isdecimal()
    subject = "the cluster" if whole else ("broker " if by_broker else "") + short(forecast.subject, 30)
    return f"{forecast.what.replace('_', ' ')} of {subject}"


def writer_of(what: str) -> Callable[[float | None], str]:
    """Return the function that formats its amounts."""
    return amount_of_bytes if what.startswith("disk") else rate if what.startswith("bytes") else count


def intervals(forecasts: Sequence[Forecast]) -> Html:
    """Draw the day of each forecast with its interval. `forecasts`: with `day` or `day_low`."""
    shown = forecasts[::-1]
    known = [value for one in shown for value in (one.day, one.day_low, one.day_high) if value is not None]
    begin, end = min(known), max(known)
    room = 0.05 * max(end - begin, 10 * DAY)
    with canvas(1.1 + 0.3 * len(shown)) as (drawn, [axes]):
        lows = [at(one.day_low or one.day or begin) for one in shown]
        highs = [at(end + room if one.day_high is None else one.day_high) for one in shown]
        axes.hlines(range(len(shown)), lows, highs, color=BLUE.light, alpha=0.4, lw=7, label="interval")
        points: tuple[tuple[str, list[float | None], str, int, Colour], ...] = (
            ("expected", [one.day for one in shown], "o", 28, BLUE),
            ("straight line", [one.baseline_day for one in shown], "|", 90, ORANGE),
        )
        for label, values, marker, size, colour in points:
            there = [(at(value), place) for place, value in enumerate(values) if value is not None]
            across, up = [x for x, _ in there], [y for _, y in there]
            axes.scatter(across, up, s=size, c=colour.light, marker=marker, label=label, zorder=3)
        axes.set_yticks(range(len(shown)), [name_of(one) for one in shown])
        # A straight line's day may be years away; the table has it.
        axes.set_xlim(at(begin - room), at(end + room))
        axes.set_ylim(-0.6, len(shown) - 0.4)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        times(axes)
        legend(drawn, axes)
        first = f"The first is {name_of(forecasts[0])}, on {day(forecasts[0].day)}."
        return inline(drawn, "days", "The day each limit is reached, with its interval", first)


def fan(forecast: Forecast, path: Path, name: str, about: str) -> Html:
    """Draw the measured values, the forecast and the limit."""
    days = [at(value) for value in path.days]
    with canvas(SMALL[1], width=SMALL[0]) as (drawn, [axes]):
        axes.plot(days, path.seen, color=GREY.light, label="seen")
        axes.fill_between(days, path.low, path.high, color=BLUE.light, alpha=0.25, lw=0)
        axes.plot(days, path.median, color=BLUE.light, label="expected")
        if forecast.limit is not None and math.isfinite(forecast.limit):
            axes.axhline(forecast.limit, color=RED.light, ls="--", lw=1, label="limit")
        if forecast.day is not None:
            axes.axvline(at(forecast.day), color=INK.light, lw=0.7, ls=":")
        if forecast.baseline_day is not None and days[0] <= at(forecast.baseline_day) <= days[-1]:
            axes.axvline(at(forecast.baseline_day), color=ORANGE.light, lw=1, ls=":", label="straight line")
        axes.tick_params(labelsize=7.5)
        times(axes)
        units(axes.yaxis, writer_of(forecast.what))
        axes.locator_params(axis="y", nbins=4)
        legend(drawn, axes, 4)
        return inline(drawn, name, f"Growth of {name_of(forecast)}", about)
