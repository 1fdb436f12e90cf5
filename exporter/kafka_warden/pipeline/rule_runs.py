"""Runs the rendered rules over the samples of a span, as Prometheus does: records, `for` and `keep_firing_for`.

Rules read what they recorded at the evaluation before, and which alerts fired then. So they are evaluated over the
whole span again and again, until nothing changes: each round makes at least one evaluation more correct, and most
rounds many, since values that are only carried on are followed to where they come from.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from kafka_warden.errors import PromqlError
from kafka_warden.pipeline.promql import (
    EPSILON,
    Evaluator,
    Grid,
    Labels,
    Vector,
    at_index,
    empty,
    last_index,
    matches,
    merged,
    parse,
    selectors,
    shifted,
)
from kafka_warden.rules.render import listed
from kafka_warden.rules.thresholds import seconds

ALERTS: Final = "ALERTS"
PENDING: Final = "pending"
FIRING: Final = "firing"
_TEMPLATE: Final = "{{"


@dataclass(frozen=True, eq=False)
class Rule:
    """A recording or alerting rule."""

    name: str
    is_alert: bool
    expression: Any
    """As the parser returns it."""
    labels: Labels
    """Without those whose values are templates."""
    hold: float
    """`for`, s."""
    keep: float
    """`keep_firing_for`, s."""

    @cached_property
    def selectors(self) -> Mapping[str, Sequence[Any]]:
        """Name of a metric to its selectors in the expression."""
        found: dict[str, list[Any]] = {}
        for each in selectors(self.expression):
            found.setdefault(each.name, []).append(each)
        return found

    def reads(self, other: "Rule") -> bool:
        """Return whether its expression selects what the other rule makes."""
        if not other.is_alert:
            return other.name in self.selectors
        states = [other.series({}, state) for state in (PENDING, FIRING)]
        return any(matches(each, state) for each in self.selectors.get(ALERTS, ()) for state in states)

    def series(self, labels: Labels, state: str) -> Labels:
        """Return the labels of a series of `ALERTS`."""
        return {**labels, **self.labels, "alertname": self.name, "alertstate": state}


class Alarm(NamedTuple):
    """A time in which the expression of an alert had a result. Numbers are indices of evaluations."""

    labels: Labels
    """Of the result, with those of the rule."""
    began: int
    fired: int | None
    """None: it ended before."""
    ended: int | None
    """The first evaluation without a result; None: it goes on."""
    over: int
    """The first evaluation at which the alert no longer fires, or is pending."""
    highest: float
    """Of the results."""


def read_rules(*texts: str) -> list[Rule]:
    """Read the rules of files, in the order of their evaluation."""
    found = [rule for text in texts for rule in listed(text)]
    return [
        Rule(
            rule.get("alert") or rule["record"],
            "alert" in rule,
            parse(rule["expr"]),
            {name: value for name, value in rule.get("labels", {}).items() if _TEMPLATE not in str(value)},
            seconds(rule.get("for", "0s")),
            seconds(rule.get("keep_firing_for", "0s")),
        )
        for rule in found
    ]


def needed(rules: Sequence[Rule], wanted: Callable[[Rule], bool]) -> list[Rule]:
    """Return the wanted rules, and those whose results they read, in the same order."""
    found = {id(rule) for rule in rules if wanted(rule)}
    before = 0
    while before < len(found):
        before = len(found)
        readers = [rule for rule in rules if id(rule) in found]
        found |= {id(rule) for rule in rules if any(reader.reads(rule) for reader in readers)}
    return [rule for rule in rules if id(rule) in found]


def metrics(rules: Sequence[Rule]) -> set[str]:
    """Return the names that the rules read and that none of them records."""
    names = {name for rule in rules for name in rule.selectors}
    return names - {rule.name for rule in rules} - {ALERTS}


class Run:
    """Evaluates rules over a grid."""

    def __init__(self, rules: Sequence[Rule], samples: Mapping[str, Vector], grid: Grid) -> None:
        """`rules`: in the order of evaluation, as of `needed`. `samples`: the series of each metric."""
        self.rules, self.grid = rules, grid
        self.alarms: dict[int, list[Alarm]] = {}
        """Of each alerting rule, by its place in `rules`."""
        self._samples = samples
        self.results = [empty(grid) for _ in rules]
        """Of each rule what it records, or its series of `ALERTS`."""
        self._producers: dict[str, list[int]] = {}
        for place, rule in enumerate(rules):
            self._producers.setdefault(ALERTS if rule.is_alert else rule.name, []).append(place)
        self._own = [rule.reads(rule) for rule in rules]
        self._settle()

    def _settle(self) -> None:
        readers = [[place for place, other in enumerate(self.rules) if other.reads(rule)] for rule in self.rules]
        waiting = set(range(len(self.rules)))
        for _ in range(self.grid.count + 2):
            if not waiting:
                return
            for place in range(len(self.rules)):
                if place in waiting:
                    waiting.discard(place)
                    result = self._result(place)
                    if not _same(result, self.results[place]):
                        self.results[place] = result
                        waiting |= set(readers[place]) - {place}
        raise PromqlError(f"no end for {[self.rules[place].name for place in waiting]}")

    def _evaluate(self, place: int, own: Vector) -> Vector:
        """Evaluate an expression with a guess of what the rule itself makes."""

        def read(name: str) -> Iterator[tuple[Vector, bool]]:
            if name in self._samples:
                yield self._samples[name], False
            for producer in self._producers.get(name, ()):
                yield own if producer == place else self.results[producer], producer >= place

        return Evaluator(self.grid, read).vector(self.rules[place].expression)

    def _result(self, place: int) -> Vector:
        if self.rules[place].is_alert:
            return self._alert(place)
        alone = self._with_labels(place, self._evaluate(place, empty(self.grid)))
        if not self._own[place]:
            return alone
        guess = Vector(alone.labels, at_index(alone.values, last_index(~np.isnan(alone.values))))
        for _ in range(self.grid.count + 2):
            result = self._with_labels(place, self._evaluate(place, guess))
            followed = _followed(result, guess, alone)
            if _same(result, guess):
                return result
            guess = followed
        raise PromqlError(f"no end for {self.rules[place].name}")

    def _with_labels(self, place: int, found: Vector) -> Vector:
        added = self.rules[place].labels
        return merged([{**each, **added} for each in found.labels], found.values) if added else found

    def _alert(self, place: int) -> Vector:
        rule = self.rules[place]
        held = alone = self._evaluate(place, empty(self.grid))
        if self._own[place]:
            # With the alert that fires all the time, which its rule may only ask about itself.
            always = [rule.series(each, FIRING) for each in alone.labels]
            held = self._evaluate(place, Vector(always, np.ones(alone.values.shape)))
        alarms = list(self._alarms(rule, alone, held))
        result = self._firing(rule, alarms)
        for _ in range(self.grid.count + 2):
            if not self._own[place]:
                break
            found = self._evaluate(place, result)
            alarms = list(self._alarms(rule, found, found))
            again = self._firing(rule, alarms)
            if _same(again, result):
                break
            result = again
        self.alarms[place] = alarms
        return result

    def _alarms(self, rule: Rule, alone: Vector, held: Vector) -> Iterator[Alarm]:
        kept = held.rows()
        for labels, values in zip(alone.labels, alone.values, strict=True):
            other = kept.get(frozenset(labels.items()), values)
            highest = np.fmax(values, other)
            for began, fired, ended, over in spans(
                ~np.isnan(values), ~np.isnan(other), self.grid.step, rule.hold, rule.keep
            ):
                most = float(np.nanmax(highest[began : ended or over]))
                yield Alarm({**labels, **rule.labels}, began, fired, ended, over, most)

    def _firing(self, rule: Rule, alarms: Iterable[Alarm]) -> Vector:
        rows: dict[frozenset[tuple[str, str]], np.ndarray] = {}
        for each in alarms:
            fired = each.over if each.fired is None else each.fired
            for state, first, after in ((PENDING, each.began, fired), (FIRING, fired, each.over)):
                if first < after:
                    key = frozenset(rule.series(each.labels, state).items())
                    rows.setdefault(key, np.full(self.grid.count, np.nan))[first:after] = 1.0
        return Vector([dict(key) for key in rows], np.array(list(rows.values())).reshape(len(rows), self.grid.count))


def spans(
    alone: np.ndarray, held: np.ndarray, step: float, hold: float, keep: float
) -> Iterator[tuple[int, int | None, int | None, int]]:
    """Yield `began`, `fired`, `ended` and `over` of each `Alarm` of one series.

    `alone`, `held`: (T,) whether the expression has a result before the alert fires, and while it does.
    """
    count = len(alone)
    next_alone, next_held, next_gap = (_next(alone), _next(held), _next(~held))
    next_end = _next(~alone)
    wait, longest = _evaluations(hold, step), _evaluations(keep, step)
    place = int(next_alone[0]) if count else 0
    while place < count:
        began, fired, end = place, place + wait, int(next_end[place])
        if fired >= end:
            yield began, None, end if end < count else None, end
        else:
            gap = end = int(next_gap[fired + 1])
            while gap < count and longest and (back := int(next_held[gap])) <= gap + longest and back < count:
                gap = int(next_gap[back])
            end = min(gap + longest, count)
            yield began, fired, gap if gap < count else None, end
        place = int(next_alone[min(end, count)]) if end < count else count


def _evaluations(seconds_: float, step: float) -> int:
    """Return the evaluations until so many seconds have passed."""
    return -int(-(seconds_ - EPSILON) // step) if seconds_ > 0 else 0


def _next(values: np.ndarray) -> np.ndarray:
    """Return (T + 2,) the index of the next true value from each place on, or T."""
    count = len(values)
    places = np.where(values, np.arange(count), count)
    return np.append(np.minimum.accumulate(places[::-1])[::-1], [count, count])


def _aligned(vector: Vector, labels: Sequence[Labels], count: int) -> np.ndarray:
    rows, missing = vector.rows(), np.full(count, np.nan)
    found = [rows.get(frozenset(each.items()), missing) for each in labels]
    return np.array(found).reshape(len(labels), count)


def _followed(result: Vector, guess: Vector, alone: Vector) -> Vector:
    """Replace the values that are those of the evaluation before in the guess by what they come from."""
    labels, count = result.labels, result.values.shape[1]
    before = shifted(_aligned(guess, labels, count), 1)
    carried = (result.values == before) & (result.values != _aligned(alone, labels, count))
    source = last_index(~carried)
    return Vector(labels, at_index(result.values, source))


def _same(one: Vector, other: Vector) -> bool:
    """Compare vectors; a series without samples is none."""
    left, right = (
        {labels: values for labels, values in each.rows().items() if not np.isnan(values).all()}
        for each in (one, other)
    )
    return left.keys() == right.keys() and all(
        np.array_equal(values, right[labels], equal_nan=True) for labels, values in left.items()
    )
