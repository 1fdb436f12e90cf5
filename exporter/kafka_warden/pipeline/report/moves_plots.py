"""Plots of moves: the first ETA against real time, rate against throttle, and both over time."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from matplotlib.axes import Axes

from kafka_warden.pipeline.report.canvas import SMALL, at, canvas, durations, legend, logarithmic, times, units
from kafka_warden.pipeline.report.colours import BLUE, FAINT, GREEN, GREY, ORANGE, PURPLE, RED, Colour
from kafka_warden.pipeline.report.html import Html
from kafka_warden.pipeline.report.moves import Move, Samples
from kafka_warden.pipeline.report.numbers import duration, rate
from kafka_warden.pipeline.report.svg import inline

OUTCOMES: Final[Mapping[str, Colour]] = {"completed": BLUE, "running": GREEN, "cancelled": ORANGE, "unknown": GREY}

"""Inches, of a move's own plot."""


def predicted(moves: Sequence[Move]) -> Html:
    """Draw the time that each completed move took from its first ETA. `moves`: with `rest` known."""
    points = [(move.eta_first or 0.0, move.rest or 0.0, move) for move in moves]
    about = f"{len(moves)} moves; on the line a move took as long as its first ETA, above it longer."
    return _against(points, "predicted", "first ETA", "took from then", duration, ("first ETA", about))


def throttled(moves: Sequence[Move]) -> Html:
    """Draw each move's mean rate against its mean throttle. `moves`: with both known, finite and above 0."""
    points = [(move.limit_mean or 0.0, move.rate_mean or 0.0, move) for move in moves]
    about = f"{len(moves)} moves; on the line a move alone used the whole throttle of its tighter side."
    return _against(points, "throttled", "throttle", "mean rate", rate, ("rate against throttle", about))


def _against(
    points: Sequence[tuple[float, float, Move]],
    name: str,
    across: str,
    up: str,
    write: Callable[[float], str],
    words: tuple[str, str],
) -> Html:
    tips: dict[str, list[str]] = {}
    with canvas(3.9) as (figure, [axes]):
        for outcome, colour in OUTCOMES.items():
            mine = [point for point in points if point[2].outcome == outcome]
            if not mine:
                continue
            group = f"dots-{outcome}"
            xs, ys = [x for x, _, _ in mine], [y for _, y, _ in mine]
            axes.scatter(xs, ys, 14, colour.light, alpha=0.65, lw=0, label=outcome, gid=group)
            tips[group] = [f"{move.name}: {up} {write(y)}, {across} {write(x)}" for x, y, move in mine]
        axes.set_xscale("log")
        axes.set_yscale("log")
        _diagonal(axes, points)
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        for axis in (axes.xaxis, axes.yaxis):
            if write is duration:
                durations(axis, *axes.get_xlim(), logarithmic=True)
            else:
                logarithmic(axis, *axes.get_xlim())
            units(axis, write)
        legend(figure, axes)
        return inline(figure, name, f"Moves: {words[0]}", words[1], tips)


def _diagonal(axes: Axes, points: Sequence[tuple[float, float, Move]]) -> None:
    values = [value for x, y, _ in points for value in (x, y)]
    low, high = min(values) / 1.6, max(values) * 1.6
    axes.plot([low, high], [low, high], color=FAINT.light, lw=1, ls="--", label="equal", zorder=1)
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)


def causes(seconds: Mapping[str, float]) -> Html:
    """Draw for how long moves were stuck, by cause."""
    names = list(seconds)[::-1]
    with canvas(0.8 + 0.28 * len(names)) as (figure, [axes]):
        axes.barh([name.replace("_", " ") for name in names], [seconds[name] for name in names], 0.65, color=RED.light)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        units(axes.xaxis, duration)
        durations(axes.xaxis, 0.0, max(seconds.values()), logarithmic=False)
        return inline(figure, "causes", "Time that moves were stuck, by cause", f"The longest: {names[-1]}.")


def over_time(move: Move, samples: Samples, name: str) -> Html:
    """Draw one move's rate and its throttle over time; where it was stuck is shaded."""
    when = [at(time) for time in samples.times]
    limited = [limit if math.isfinite(limit) else math.nan for limit in samples.limits]
    with canvas(SMALL[1], width=SMALL[0]) as (figure, [axes]):
        axes.fill_between(when, 0, samples.rates, step="post", color=BLUE.light, alpha=0.25, lw=0)
        axes.step(when, samples.rates, where="post", color=BLUE.light, label="rate", lw=1.2)
        if any(map(math.isfinite, limited)):
            axes.step(when, limited, where="post", color=ORANGE.light, ls="--", label="throttle")
        for place, (begin, end) in enumerate(_spans(when, samples.stuck)):
            axes.axvspan(begin, end, color=PURPLE.light, alpha=0.22, lw=0, label="_" if place else "stuck")
        axes.set_ylim(bottom=0)
        times(axes)
        units(axes.yaxis, rate)
        axes.locator_params(axis="y", nbins=4)
        axes.tick_params(labelsize=7.5)
        legend(figure, axes, 3)
        return inline(figure, name, f"Rate of {move.name}", f"{len(when)} points; it {move.outcome}.")


def _spans(when: Sequence[float], stuck: Sequence[bool]) -> list[tuple[float, float]]:
    """Return each time from a stuck sample to the next one that is not stuck, or to the last."""
    spans, begin = [], None
    for time, is_stuck in zip(when, stuck, strict=True):
        if is_stuck and begin is None:
            begin = time
        elif not is_stuck and begin is not None:
            spans.append((begin, time))
            begin = None
    if begin is not None:
        spans.append((begin, when[-1]))
    return spans
