"""The section on alarms: a rule that counts messages compared with the rule by time."""

from collections.abc import Mapping, Sequence
from typing import Final

from matplotlib.axes import Axes

from kafka_warden.pipeline.backtest.rules import BY_MESSAGES, BY_TIME
from kafka_warden.pipeline.report.alarms import (
    MOST,
    Alarm,
    Rule,
    alarms_of,
    missed_by_time,
    pair_of,
    rules_of,
)
from kafka_warden.pipeline.report.canvas import at, canvas, durations, legend, times, units, whole
from kafka_warden.pipeline.report.colours import BLUE, FAINT, GREY, IN_TURN, ORANGE, RED, Colour
from kafka_warden.pipeline.report.html import Html
from kafka_warden.pipeline.report.numbers import DAY, count, duration, figure, plural, share
from kafka_warden.pipeline.report.parts import Column, Part, Plot, Said, Section, Shown, Table, numbers
from kafka_warden.pipeline.report.reading import Marts
from kafka_warden.pipeline.report.svg import inline
from kafka_warden.pipeline.spans import joined

_TITLE: Final = "False alarms"

_VERDICTS: Final[tuple[tuple[bool | None, str, Colour], ...]] = (
    (True, "true", BLUE),
    (False, "false", ORANGE),
    (None, "faults unknown", GREY),
)
_RULES: Final = (
    "How many alarms each rule would have raised over this history, compared with the known faults."
    " A missed fault is one that the rule did not detect."
)
_UNTRUE: Final = " The faults of this history are unknown, so false alarms are, too."
_TRIALS: Final = (
    "Each dot is a threshold and a duration of a rule that --what-if tried, or the rule as it is, over the raw rows."
    " The best are at the left and low: fast, with few false alarms. Faults that a trial missed have no delay; the"
    " table counts them."
)
_OVER_TIME: Final = "When each rule would have been firing, without the trials of --what-if."
_DRAWN: Final = 25
"""Rules in a plot."""

_SHORTEST: Final = 1 / 400
"""Share of the plot's width that a short alarm is drawn with, so that it is visible."""


def section(marts: Marts) -> Section:
    """Read and draw the alarms."""
    rules, alarms = marts.find("rules"), marts.find("alarms")
    if rules is None:
        return Section("alarms", _TITLE, "Not known: no mart of rules.", (marts.missing("rules", "backtest"),))
    read = rules_of(rules)
    if not read:
        nothing = "The mart of rules is empty: no rule was tried on this history."
        return Section("alarms", _TITLE, nothing, (Said(nothing),))
    parts: list[Part] = [_rules(read), *_noise(read), *_trials(read)]
    finding = _finding(read)
    if alarms is None:
        parts.append(marts.missing("alarms", "backtest"))
    else:
        finding = finding or _without_truth(*missed_by_time(alarms))
        parts.append(_when(*alarms_of(alarms)))
    return Section("alarms", _TITLE, finding or f"{plural(len(read), 'rule')} tried.", tuple(parts))


def _finding(rules: Sequence[Rule]) -> str:
    pair = pair_of(rules)
    if pair is None:
        return ""
    said = [
        f"{name} raised {plural(rule.alarms, 'alarm')}, {count(rule.false_alarms)} of them false,"
        f" and missed {count(rule.missed)}"
        for name, rule in zip(("The rule that counts messages", "the rule by time"), pair, strict=True)
    ]
    return f"{said[0]}; {said[1]}."


def _without_truth(by_messages: int, alone: int) -> str:
    if not by_messages:
        return "The rule that counts messages raised no alarm."
    return (
        f"The rule that counts messages raised {plural(by_messages, 'alarm')}; during {alone:,} of them the rule by"
        " time raised none for that replica."
    )


def _name(rule: Rule) -> str:
    threshold = "" if rule.threshold is None else f" {figure(rule.threshold)} {rule.unit or ''}".rstrip()
    lasting = f" for {duration(rule.for_seconds)}" if rule.for_seconds else ""
    supposed = "what if: " if rule.what_if else ""
    return f"{supposed}{rule.rule.replace('_', ' ')}{threshold}{lasting}"


def _rules(rules: Sequence[Rule]) -> Shown:
    drawn = [rule for rule in rules if rule.alarms or rule.missed or rule.rule in {BY_MESSAGES, BY_TIME}][:_DRAWN]
    drawn = drawn or list(rules[:1])
    columns = (Column("Rule"), *numbers("Alarms", "True", "False", "Missed", "Delay", "Precision", "Recall"))
    rows = [
        (
            _name(rule),
            *(count(number) for number in (rule.alarms, rule.true_alarms, rule.false_alarms, rule.missed)),
            _delay(rule),
            share(rule.precision) if rule.alarms else "none",
            share(rule.recall) if rule.events != 0 else "none",
        )
        # Rules with alarms come first, where they are visible without a click.
        for rule in [*drawn, *(rule for rule in rules if rule not in drawn)]
    ]
    others = len(rules) - len(drawn)
    how = _RULES + (f" Only in the table: {plural(others, 'rule')} with fewer alarms or none." if others else "")
    how += "" if any(rule.false_alarms is not None for rule in rules) else _UNTRUE
    note = (
        "Each rule is listed with its threshold and how long it has to hold. Precision: share of its alarms that were"
        " true. Recall: share of the faults that it detected. Delay: median time from a fault's begin until it fired."
    )
    return Shown(Plot("Alarms by rule", how, _bars(drawn)), Table("Rules", columns, rows, note), wide=True)


def _bars(rules: Sequence[Rule]) -> Html:
    shown = rules[::-1]
    places = range(len(shown))
    series: tuple[tuple[str, Colour, list[int]], ...] = (
        ("true alarms", BLUE, [rule.true_alarms or 0 for rule in shown]),
        ("false alarms", ORANGE, [rule.false_alarms or 0 for rule in shown]),
        ("alarms, faults unknown", GREY, [rule.alarms if rule.false_alarms is None else 0 for rule in shown]),
        ("missed faults", RED, [rule.missed or 0 for rule in shown]),
    )
    with canvas(1.0 + 0.3 * len(shown)) as (drawn, [axes]):
        left = [0] * len(shown)
        for name, colour, numbers in series:
            if any(numbers):
                axes.barh(places, numbers, 0.66, left, color=colour.light, label=name, lw=0)
            left = [so_far + more for so_far, more in zip(left, numbers, strict=True)]
        axes.set_yticks(places, [_name(rule) for rule in shown])
        axes.set_xlim(0, max(*left, 1) * 1.05)
        whole(axes.xaxis)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        if any(left):
            legend(drawn, axes)
        return inline(drawn, "rules", "Alarms by rule, true and false", f"{plural(len(shown), 'rule')}.")


def _delay(rule: Rule) -> str:
    return "none" if rule.events is not None and rule.missed == rule.events else duration(rule.delay_seconds)


def _noise(rules: Sequence[Rule]) -> list[Part]:
    """List the rules by how often they fire, where false alarms are unknown."""
    if any(rule.false_alarms is not None for rule in rules):
        return []
    noisy = sorted((rule for rule in rules if rule.alarms or rule.short), key=lambda rule: (-rule.alarms, -rule.short))
    columns = (Column("Rule"), *numbers("Alarms", "Firing for", "Ended before it fired"))
    rows = [(_name(rule), count(rule.alarms), duration(rule.alarm_seconds), count(rule.short)) for rule in noisy]
    return [Table("The noisiest rules first", columns, rows)] if rows else []


def _trials(rules: Sequence[Rule]) -> list[Part]:
    """Compare the trials of each rule that has several: fewer false alarms mostly cost time."""
    # Also the rule as it is: `rules.trials`.
    known = [rule for rule in rules if rule.what_if and rule.false_alarms is not None]
    of_rule = {
        name: [rule for rule in known if rule.rule == name] for name in dict.fromkeys(rule.rule for rule in known)
    }
    several = {name: mine for name, mine in of_rule.items() if len(mine) > 1}
    if not any(rule.delay_seconds is not None for mine in several.values() for rule in mine):
        return []
    columns = (Column("Trial"), *numbers("False alarms", "Delay", "Missed", "Of"))
    rows = [
        (_name(rule), count(rule.false_alarms), _delay(rule), count(rule.missed), count(rule.events))
        for mine in several.values()
        for rule in mine
    ]
    plot = Plot("False alarms against delay", _TRIALS, _scattered(several))
    return [Shown(plot, Table("Trials", columns, rows))]


def _scattered(of_rule: Mapping[str, Sequence[Rule]]) -> Html:
    tips: dict[str, list[str]] = {}
    with canvas(3.2) as (drawn, [axes]):
        for place, (name, mine) in enumerate(of_rule.items()):
            colour = IN_TURN[place % len(IN_TURN)].light
            points = sorted(
                (rule.delay_seconds, rule.false_alarms or 0, _name(rule))
                for rule in mine
                if rule.delay_seconds is not None
            )
            xs, ys = [x for x, _, _ in points], [y for _, y, _ in points]
            group = f"trials-{place}"
            axes.plot(xs, ys, color=colour, lw=0.8, alpha=0.6, label="_")
            axes.scatter(xs, ys, 18, colour, lw=0, label=name.replace("_", " "), gid=group)
            tips[group] = [
                f"{trial}: {plural(false, 'false alarm')}, after {duration(x)}" for x, false, trial in points
            ]
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("median delay")
        axes.set_ylabel("false alarms")
        durations(axes.xaxis, *axes.get_xlim(), logarithmic=False)
        units(axes.xaxis, duration)
        whole(axes.yaxis)
        legend(drawn, axes, 3)
        about = f"{plural(len(of_rule), 'rule')}."
        return inline(drawn, "trials", "False alarms of each trial against its delay", about, tips)


def _when(alarms: Sequence[Alarm], left_out: int) -> Part:
    if not alarms:
        return Said("No rule would have raised an alarm.")
    names = sorted({alarm.rule for alarm in alarms})
    columns = (Column("Rule"), *numbers("Alarms", "Median", "Longest"))
    rows = []
    for name in names:
        lasted = sorted(alarm.ended - alarm.began for alarm in alarms if alarm.rule == name)
        median = lasted[(len(lasted) - 1) // 2]
        rows.append((name.replace("_", " "), f"{len(lasted):,}", duration(median), duration(lasted[-1])))
    note = f"{left_out:,} shorter alarms left out: {MOST:,} are drawn at most." if left_out else ""
    return Shown(
        Plot("Alarms over time", _OVER_TIME, _timeline(alarms, names)),
        Table("How long they lasted", columns, rows, note),
    )


def _timeline(alarms: Sequence[Alarm], names: Sequence[str]) -> Html:
    begin, end = min(alarm.began for alarm in alarms), max(alarm.ended for alarm in alarms)
    least = max(end - begin, 60.0) * _SHORTEST
    with canvas(1.1 + 0.42 * len(names)) as (drawn, [axes]):
        for verdict, label, colour in _VERDICTS:
            mine = [alarm for alarm in alarms if alarm.true_alarm is verdict]
            if mine:
                _strips(axes, mine, names, least, colour)
                axes.plot([], [], color=colour.light, lw=6, label=label)
        axes.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlim(at(begin - least), at(end + least))
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0, labelcolor=FAINT.light)
        times(axes)
        legend(drawn, axes)
        return inline(drawn, "timeline", "When each rule was firing", f"{plural(len(alarms), 'alarm')}.")


def _strips(axes: Axes, alarms: Sequence[Alarm], names: Sequence[str], least: float, colour: Colour) -> None:
    for place, name in enumerate(names):
        mine = joined([(alarm.began, max(alarm.ended, alarm.began + least)) for alarm in alarms if alarm.rule == name])
        spans = [(at(began), (ended - began) / DAY) for began, ended in mine]
        if spans:
            axes.broken_barh(spans, (place - 0.33, 0.66), color=colour.light, alpha=0.6, lw=0)
