"""Draws the pictures of docs/how-it-knows.md: `make docs`.

From the recording of a real cluster in `fleet/recorded`, the 33 measured runs of the law, and the formulas themselves.
"""

import math
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from docs.recording import Rows, rows, truth
from kafka_warden.arrays import UNKNOWN
from kafka_warden.derive import copy_rates, lag, law, replica_time, stuck
from kafka_warden.formatting import in_bytes, in_time, in_whole
from sandbox import figures
from sandbox.figures import canvas, inline, legend, units
from tests.derive.law_runs import RUNS

PICTURES: Final = Path(__file__).parent / "pictures"
WIDTH: Final = 5.4
"""Inches: the text can be read on a phone."""
MB: Final = 1e6
POLL: Final = 2.0
"""Seconds between two polls of the recording."""
LATE: Final = 6.0
"""`replica.lag.time.max.ms` of the recorded cluster, in seconds."""
COUNT_LIMIT: Final = 4000
"""`replica.lag.max.messages`, Kafka's default before 0.9."""

STYLE: Final = "<style>*{stroke-linejoin:round;stroke-linecap:butt}text{font-family:system-ui,sans-serif}</style>"


def pictures() -> dict[Path, str]:
    """File to picture, as SVG."""
    drawn = (("lag", draw_lag), ("behind", draw_behind), ("law", draw_law), ("stuck", draw_stuck), ("eta", draw_eta))
    return {PICTURES / f"how-{name}.svg": draw(name) for name, draw in drawn}


def picture(figure: Figure, name: str, title: str, about: str) -> str:
    """A figure as a file of its own."""
    text = str(inline(figure, name, title, about))
    start = text.index(">") + 1
    return f"{text[:start]}{STYLE}{text[start:]}\n"


def seconds_of(found: Rows, start: float) -> np.ndarray:
    """The times of rows, in seconds after a start."""
    return np.array([row["time"] for row in found]) - start


def ends(topic: str, partition: int, broker: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, the leader's end and the follower's last known end of every poll that has both brokers."""
    leader_of = {row["time"]: row["leader"] for row in rows("partitions", topic=topic, partition=partition)}
    both = [row for row in rows("replicas", topic=topic, partition=partition) if row["time"] in leader_of]
    leads = {row["time"]: row["end"] for row in both if row["broker"] == leader_of[row["time"]]}
    follows = [row for row in both if row["broker"] == broker and leads.get(row["time"]) is not None]
    known = UNKNOWN
    last = []
    for row in follows:
        known = row["end"] if row["end"] is not None else known
        last.append(known)
    times = np.array([row["time"] for row in follows])
    return times, np.array([leads[row["time"]] for row in follows], np.int64), np.array(last, np.int64)


def draw_lag(name: str) -> str:
    """Log ends of a leader and of a follower whose broker stands still: lag in records and in seconds."""
    began = truth("faults", kind="broker_down")["began"]
    times, leader, follower = ends("events", 1, 3)
    near = (times > began - 8) & (times < began + 13)
    times, leader, follower = times[near], leader[near], follower[near]
    at = len(times) - 1
    messages = int(lag.messages(follower, leader).values[at])
    window = [np.array([time]) for time in times], [np.array([end]) for end in leader]
    age = float(replica_time.lag_seconds(follower[at:], *window, times[at]).values[0])
    xs, base = times - began, follower[0]
    with canvas(3.4, WIDTH) as (figure, [axes]):
        axes.plot(xs, leader - base, "o-", ms=3, color=figures.BLUE, label="leader's end")
        axes.plot(xs, follower - base, "o-", ms=3, color=figures.ORANGE, label="follower's end, last known")
        axes.axvline(0, color=figures.FAINT, lw=1, ls="--")
        top, bottom = leader[at] - base, follower[at] - base
        _arrow(axes, (xs[at], bottom), (xs[at], top))
        axes.text(xs[at] - 0.3, (top + bottom) / 2, f"lag: {messages} records", ha="right")
        _arrow(axes, (xs[at] - age, bottom), (xs[at], bottom))
        axes.text(xs[at] - age / 2, bottom - 0.07 * (top - bottom), f"lag: {age:.1f} s", ha="center", va="top")
        axes.text(-0.3, top, "its broker stops", ha="right", va="top", color=figures.FAINT)
        _labels(axes, "seconds after the fault", "offset, from the first one shown")
        legend(figure, axes, 2)
        about = f"The leader's end grows by each poll, the follower's stays: {messages} records and {age:.1f} s behind."
        return picture(figure, name, "Log ends of a leader and of a follower that stands still", about)


def draw_behind(name: str) -> str:
    """Records and seconds behind over the whole recording: a burst of small records, then a broker that stops."""
    found = rows("replicas", topic="events", partition=0, broker=3)
    start = found[0]["time"]
    xs = seconds_of(found, start)
    burst, down = truth("calm", kind="burst"), truth("faults", kind="broker_down")
    messages = np.array([row["lag_messages"] for row in found])
    behind = np.array([row["behind_seconds"] for row in found])
    over, late = messages >= COUNT_LIMIT, lag.out_of_sync_by_time(behind, LATE)
    verdicts = [bool(rule[_within(found, event)].any()) for rule in (over, late) for event in (burst, down)]
    if verdicts != [True, False, False, True]:
        raise ValueError("the recording no longer shows what docs/how-it-knows.md says of it")
    with canvas(3.8, WIDTH, 2) as (figure, [upper, lower]):
        for axes, values, limit, unit in ((upper, messages, COUNT_LIMIT, "records"), (lower, behind, LATE, "s")):
            axes.plot(xs, values, color=figures.BLUE, label=f"behind, in {unit}")
            axes.axhline(limit, color=figures.ORANGE, ls="--", label=f"limit of {in_whole(limit)} {unit}")
            for began, ended in ((each["began"] - start, each["ended"] - start) for each in (burst, down)):
                axes.axvspan(began, ended, color=figures.PURPLE, alpha=0.2, lw=0)
            axes.legend(loc="upper center", ncols=1)
            axes.set_ylim(bottom=0)
        above = upper.get_xaxis_transform()
        for each, what in ((burst, "burst"), (down, "broker stopped")):
            middle = (each["began"] + each["ended"]) / 2 - start
            upper.text(middle, 1.02, what, ha="center", color=figures.FAINT, transform=above)
        units(upper.yaxis, in_whole)
        _labels(lower, "seconds of the recording", "")
        about = "In the burst only the limit in records is exceeded, with the stopped broker only the one in seconds."
        return picture(figure, name, "A follower in records and in seconds behind", about)


def draw_law(name: str) -> str:
    """The gross rate of the law, and the runs that were measured."""
    headroom = np.linspace(-0.45, 2.2, 1000)
    shown = ((6.3, figures.BLUE, "6 partitions"), (1.0, figures.ORANGE, "1 partition"))
    with canvas(3.6, WIDTH) as (figure, [axes]):
        most = headroom[-1]
        axes.plot([0, most], [0, most], color=figures.FAINT, ls="--", lw=1, label="limit minus in-sync traffic")
        drawn = 0
        for burst, colour, what in shown:
            law_of = [law.gross(each * MB, burst * MB) / MB for each in headroom.tolist()]
            axes.plot(headroom, law_of, color=colour, label=f"law, {what}")
            runs = [run for run in RUNS if run.flows == 1 and run.burst == burst and run.headroom <= most]
            drawn += len(runs)
            seen = [run.headroom for run in runs], [run.gross_seen for run in runs]
            axes.scatter(*seen, 18, colour, zorder=3, label=f"measured, {what}")
        _labels(axes, "limit minus in-sync traffic, MB/s", "copied, MB/s")
        legend(figure, axes, 2)
        about = f"The law is a staircase, since whole responses pass in each window. {drawn} measured runs are near it."
        return picture(figure, name, "How fast a throttled move copies", about)


def draw_stuck(name: str) -> str:
    """A move whose throttle is below the inbound rate: what remains, its minimum so far, and how long that is."""
    event = truth("moves", topic="payments")
    found = rows("moves", topic="payments")
    xs, left = seconds_of(found, event["began"]), [row["remaining_bytes"] for row in found]
    state: copy_rates.Minimum | None = None
    least, stalled = [], []
    for x, value in zip(xs.tolist(), left, strict=True):
        state, stall = copy_rates.stall(state, x, value)
        least.append(state.value if state else math.nan)
        stalled.append(stall.seconds if stall else math.nan)
    limit = stuck.stall_limit(POLL)
    causes = [row["stuck"] for row in found]
    first = next(x for x, cause in zip(xs, causes, strict=True) if cause)
    cause = next(cause for cause in causes if cause)
    raised = event["raised_at"] - event["began"]
    with canvas(4.4, WIDTH, 2) as (figure, [upper, lower]):
        upper.plot(xs, left, color=figures.BLUE, label="bytes to copy")
        upper.step(xs, least, where="post", color=figures.GREEN, ls="--", label="least so far")
        lower.plot(xs, stalled, color=figures.BLUE, label="time without a new minimum")
        lower.axhline(limit, color=figures.ORANGE, ls="--", label=f"stuck from {in_time(limit)} on")
        for axes in (upper, lower):
            axes.axvspan(first, raised, color=figures.PURPLE, alpha=0.2, lw=0)
            axes.set_ylim(bottom=0)
            axes.legend(loc="upper left")
        upper.text((first + raised) / 2, max(left) * 0.1, f"stuck: {cause}", ha="center")
        upper.text(raised + 1, max(left), "throttle\nraised", va="top", color=figures.FAINT)
        units(upper.yaxis, in_bytes)
        units(lower.yaxis, lambda value: f"{value:.0f} s")
        _labels(lower, "seconds after the start of the move", "")
        about = f"The rest grows. It is stuck after {first:.0f} s, until its throttle is raised after {raised:.0f} s."
        return picture(figure, name, "A move that is stuck", about)


def draw_eta(name: str) -> str:
    """The ETA of a throttled move at each poll, and the time that it really took from then."""
    event = truth("moves", topic="orders", partition=0)
    found = rows("moves", topic="orders", partition=0)
    xs = seconds_of(found, event["began"])
    shown = np.array([row["eta"] for row in found])
    took = event["ended"] - event["began"]
    with canvas(3.0, WIDTH) as (figure, [axes]):
        axes.plot([0, took], [took, 0], color=figures.FAINT, ls="--", label="time that was really left")
        axes.plot(xs, shown, "o-", ms=3, color=figures.BLUE, label="ETA")
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        units(axes.yaxis, lambda value: f"{value:.0f} s")
        _labels(axes, "seconds after the start of the move", "")
        legend(figure, axes, 2)
        worst = float(np.abs(shown - (took - xs)).max())
        about = f"The first ETA is known after {xs[0]:.1f} s. The largest error is {worst:.0f} s of {took:.0f} s."
        return picture(figure, name, "ETA of a throttled move", about)


def _within(found: Rows, event: dict[str, Any]) -> np.ndarray:
    times = seconds_of(found, event["began"])
    within: np.ndarray = (times >= 0) & (times <= event["ended"] - event["began"])
    return within


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "<->", "color": figures.PURPLE, "lw": 1.4})


def _labels(axes: Axes, across: str, up: str) -> None:
    axes.set_xlabel(across)
    axes.set_ylabel(up)
