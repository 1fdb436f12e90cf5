"""The section on followers that were not in sync."""

from collections.abc import Mapping, Sequence
from typing import Final

from matplotlib.axes import Axes

from kafka_warden.derive.replica_state import ReplicaState
from kafka_warden.pipeline.report.canvas import at, canvas, durations, legend, legend_above, times, units, whole
from kafka_warden.pipeline.report.colours import BLUE
from kafka_warden.pipeline.report.html import Html
from kafka_warden.pipeline.report.numbers import day, duration, figure, plural, share, short
from kafka_warden.pipeline.report.parts import Column, Plot, Said, Section, Shown, Table, numbers
from kafka_warden.pipeline.report.reading import Marts
from kafka_warden.pipeline.report.replication import STATES, Health, Span, health_of
from kafka_warden.pipeline.report.svg import inline

_TITLE: Final = "Followers that were not in sync"

_BY_STATE: Final = (
    "Above: under-replicated partitions, the maximum of each step. Below: the mean number of followers in each state."
    " Intended moves and problems are different states."
)
_BY_TOPIC: Final = "Time of a topic's followers in each state, added up: two replicas for three hours are six hours."


def section(marts: Marts, span: Span | None) -> Section:
    """Read and draw why followers were not in sync."""
    grain = span.grain if span else "hour"
    cluster, replica = marts.find(f"cluster_{grain}"), marts.find(f"replica_{grain}")
    for mart, found in ((f"cluster_{grain}", cluster), (f"replica_{grain}", replica)):
        if found is None:
            return Section("replication", _TITLE, f"Not known: no mart {mart}.", (marts.missing(mart, "rollup"),))
    if span is None or cluster is None or replica is None:
        empty = "This history has no poll."
        return Section("replication", _TITLE, empty, (Said(empty),))
    health = health_of(cluster, replica, span)
    if not health.seconds:
        fine = "Every follower was in sync in every poll."
        return Section("replication", _TITLE, fine, (Said(fine),))
    return Section("replication", _TITLE, _finding(health), (_states(health, span), _topics(health)))


def _finding(health: Health) -> str:
    total = sum(health.seconds.values())
    meant = sum(health.seconds.get(state, 0.0) for state in (ReplicaState.MOVING, ReplicaState.BOOTSTRAPPING))
    worst = max(health.seconds, key=lambda state: health.seconds[state])
    return (
        f"Followers were out of sync for {duration(total)}, added up, in {plural(health.topics_in_all, 'topic')},"
        f" {share(meant / total)} of it moved or copied on purpose. The most common cause: {worst.replace('_', ' ')}."
    )


def _states(health: Health, span: Span) -> Shown:
    columns = (Column("State"), Column("Why"), *numbers("Added up", "Share", "At most"))
    total = sum(health.seconds.values())
    rows = [
        (
            state.replace("_", " "),
            STATES[state][1],
            duration(seconds),
            share(seconds / total),
            figure(max(health.states[state])),
        )
        for state, seconds in sorted(health.seconds.items(), key=lambda pair: -pair[1])
    ]
    note = f"“At most” is the mean in the worst step of {plural(span.step // 60, 'minute')}."
    return Shown(
        Plot("Under-replication by cause", _BY_STATE, _drawn(health, span)), Table("By state", columns, rows, note)
    )


def _drawn(health: Health, span: Span) -> Html:
    # A step is drawn to its end, so the last one needs a place where it ends.
    when = [at(time) for time in (*health.times, health.times[-1] + span.step)]
    with canvas(5.0, rows=2) as (figure_, [above, below]):
        _lines(above, when, health.under)
        stacked = [[*row, row[-1]] for row in health.states.values()]
        below.stackplot(
            when,
            stacked,
            labels=[state.replace("_", " ") for state in health.states],
            colors=[STATES[state][0].light for state in health.states],
            step="post",
            lw=0,
        )
        below.set_ylabel("followers, mean")
        below.set_ylim(bottom=0)
        legend_above(below, 5)
        times(below)
        title = "Under-replicated partitions, and followers by state, over time"
        return inline(figure_, "states", title, f"{plural(len(health.times), 'step')} from {day(health.times[0])}.")


def _lines(axes: Axes, when: Sequence[float], under: Mapping[str, Sequence[int | None]]) -> None:
    for known in under.values():
        values = [float("nan") if value is None else value for value in (*known, known[-1])]
        axes.step(when, values, where="post", color=BLUE.light)
    axes.set_ylabel("partitions, peak")
    axes.set_ylim(bottom=0)
    whole(axes.yaxis)


def _topics(health: Health) -> Shown:
    columns = (Column("Topic"), *numbers("Added up"), Column("Mostly", choice=True))
    rows = [
        (
            short(topic),
            duration(sum(states.values())),
            max(states, key=states.__getitem__).replace("_", " "),
        )
        for (_, topic), states in health.topics.items()
    ]
    left = health.topics_in_all - len(rows)
    table = Table("Topics", columns, rows, f"{plural(left, 'topic')} with less left out." if left else "")
    return Shown(Plot("Topics with the most of it", _BY_TOPIC, _bars(health)), table)


def _bars(health: Health) -> Html:
    topics = list(health.topics)[::-1]
    names = [short(topic, 30) for _, topic in topics]
    places = range(len(topics))
    with canvas(1.0 + 0.27 * len(topics)) as (figure_, [axes]):
        left = [0.0] * len(topics)
        for state in health.seconds:
            lasted = [health.topics[topic].get(state, 0.0) for topic in topics]
            if any(lasted):
                axes.barh(places, lasted, 0.66, left, color=STATES[state][0].light, label=state.replace("_", " "), lw=0)
            left = [so_far + more for so_far, more in zip(left, lasted, strict=True)]
        axes.set_yticks(places, names)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("time of all followers, added up")
        units(axes.xaxis, duration)
        durations(axes.xaxis, 0.0, max(left), logarithmic=False)
        legend(figure_, axes, 6)
        worst = f"The worst is {topics[-1][1]}."
        return inline(figure_, "topics", "Topics by the time that their followers were not in sync", worst)
