"""The rendered rules over samples: as Prometheus runs them, at every evaluation, for every alert."""

import itertools
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kafka_warden.catalogue import CATALOGUE
from kafka_warden.errors import PromqlError
from kafka_warden.pipeline.promql import Evaluator, Grid, Vector, parse
from kafka_warden.pipeline.rule_runs import Run, metrics, needed, read_rules, spans
from kafka_warden.pipeline.trials import texts
from tests.pipeline.prometheus import Samples, by_prometheus

RULES = read_rules(*texts())
INF = float("inf")
VALUES = {
    "broker": "123",
    "cause": ("target_down", "throttle_blocked", "no_progress"),
    "log_dir": ("/a",),
    "node": "12",
    "partition": "01",
    "problem": ("blocked", "below_inbound", "lopsided", "left_behind", "copy_held_back", "fetch_held_back"),
    "reason": ("timeout", "auth"),
    "side": ("leader", "follower"),
    "source": ("metadata", "offsets", "jmx", "configs", "reassignments", "log_dirs"),
    "state": ("stuck", "throttled", "recovering", "moving", "slow"),
    "topic": "ab",
}
OF_CLUSTER = ("metadata", "reassignments")
CHOICES: tuple[tuple[str, tuple[float, ...], float], ...] = (
    ("_info", (1.0,), 0.0),
    ("_up", (1.0,) * 12 + (0.0,), 0.02),
    ("_reachable", (1.0, 1.0, 1.0, 0.0), 0.01),
    ("total_bytes", (1000.0,), 0.0),
    ("usable_bytes", (20.0, 90.0, 200.0, 500.0, 900.0), 0.03),
    ("tokens", (-5.0, 3.0, INF), 0.05),
    ("eta", (100.0, 20_000.0, INF), 0.02),
    ("timestamp", (1e5, 2e6), 0.01),
    ("seconds", (0.0, 60.0, 700.0, 2000.0), 0.02),
    ("bytes", (0.0, 2e9, 8e9, 1e10), 0.02),
    ("", (0.0, 0.0, 0.0, 1.0, 3.0), 0.02),
)
"""Part of a name, the values of such series, and how probable a new one is at each evaluation."""


def samples(seed: int, sidecars: str, grid: Grid) -> Samples:
    """Random values of all metrics that the rules read, with missing series, failed scrapes and restarts."""
    chance, found = random.Random(seed), Samples()
    families = {metric.full_name: metric for metric in CATALOGUE}
    names = sorted(metrics(RULES) & families.keys())
    for instance in sidecars:
        own = {"cluster": "c", "job": "kafka-warden", "instance": instance}
        down = {
            k for start in chance.sample(range(grid.count), 3) for k in range(start, start + chance.choice([2, 9, 60]))
        }

        def put(name: str, labels: dict[str, str], values: list[float | None], gone: set[int] = down) -> None:
            found.append((name, labels, [None if k in gone else value for k, value in enumerate(values)]))

        starts = sorted(chance.sample(range(grid.count), 3))
        put("up", own, [float(k not in down) for k in range(grid.count)], set())
        put("process_start_time_seconds", own, [float(sum(k >= at for at in starts)) for k in range(grid.count)])
        for name in names:
            kept = [{**own, **{label: text for label, text in each.items() if text}} for each in labels(name, families)]
            for each in kept if len(kept) < 13 else chance.sample(kept, 12):
                put(name, each, walk(chance, name, grid))
    return found


def labels(name: str, families: dict[str, Any]) -> Iterator[dict[str, str]]:
    of = families[name].labels
    for values in itertools.product(*(VALUES.get(label, ("x",)) for label in of)):
        each = dict(zip(of, values, strict=True))
        if of == ("source", "broker") and each["source"] in OF_CLUSTER:
            if each["broker"] != "1":
                continue
            each["broker"] = ""
        yield each


def walk(chance: random.Random, name: str, grid: Grid) -> list[float | None]:
    if name == "kafka_warden_snapshot_timestamp_seconds":
        return [max(0.0, at - (5 if chance.random() < 0.97 else 400)) for at in grid.times.tolist()]
    _, values, often = next(each for each in CHOICES if each[0] in name)
    found: list[float | None] = []
    value, missing = chance.choice(values), False
    for _ in range(grid.count):
        if name.endswith("_total"):
            value = 0.0 if chance.random() < 0.003 else value + chance.choice([*[0] * 50, 1, 4])
        elif chance.random() < often:
            value = chance.choice(values)
        missing = chance.random() < (0.9 if missing else 0.003)
        found.append(None if missing else value)
    return found


def vectors(found: Samples) -> dict[str, Vector]:
    by_name: dict[str, list[Any]] = {}
    for name, each, values in found:
        by_name.setdefault(name, []).append((each, [np.nan if value is None else value for value in values]))
    return {
        name: Vector([row[0] for row in rows], np.array([row[1] for row in rows])) for name, rows in by_name.items()
    }


@pytest.mark.parametrize(("seed", "sidecars", "step"), [(3, "a", 30.0), (4, "ab", 60.0)])
def test_every_alert_is_as_in_prometheus(seed: int, sidecars: str, step: float, tmp_path: Path) -> None:
    grid = Grid(0.0, step, 300)
    found = samples(seed, sidecars, grid)
    run = Run(RULES, vectors(found), grid)
    ours = {
        (evaluation, frozenset(each.items()))
        for result, rule in zip(run.results, RULES, strict=True)
        if rule.is_alert
        for each, values in zip(result.labels, result.values, strict=True)
        for evaluation in np.flatnonzero(~np.isnan(values)).tolist()
    }
    theirs = by_prometheus(found, grid, tmp_path)
    assert len({name for _, each in theirs for name in each if name[0] == "alertname"}) > 12, "most alerts fire"
    assert ours == theirs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sum without (a) (x)", "this aggregation is not supported: sum without (a)(x{})"),
        ("topk(3, x)", "this aggregation is not supported"),
        ("ceil(x)", "function ceil is not supported"),
        ("a and ignoring (x) b", "ignoring is not supported"),
        ("a * on (x) group_right () b", "this matching is not supported"),
        ("x @ 10", "modifier @"),
        ("a % b", "operator % is not supported"),
        ("a +", "a +"),
    ],
)
def test_what_is_not_supported_is_an_error(text: str, message: str) -> None:
    one = Vector([{"x": "y"}], np.ones((1, 4)))
    with pytest.raises(PromqlError) as failure:
        Evaluator(Grid(0.0, 30.0, 4), lambda _: [(one, False)]).vector(parse(text))
    assert message in str(failure.value)


def test_rules_that_an_alert_needs() -> None:
    alone = metrics(needed(RULES, lambda rule: rule.name == "KafkaLogDirOffline"))
    assert "kafka_warden_log_dir_online" in alone
    assert "kafka_warden_log_dir_usable_bytes" not in alone


STORIES: dict[str, tuple[str, list[tuple[int, int | None, int | None, int]]]] = {
    # + the expression has a result; `for` and `keep_firing_for` are two evaluations.
    "too short": ("-++----", [(1, None, 3, 3)]),
    "just long enough": ("-+++---", [(1, 3, 4, 6)]),
    "comes back soon": ("-+++-+--", [(1, 3, 6, 8)]),
    "comes back late": ("-+++---+---", [(1, 3, 4, 6), (7, None, 8, 8)]),
    "goes on": ("---+++", [(3, 5, None, 6)]),
}


@pytest.mark.parametrize("story", STORIES)
def test_when_a_condition_is_an_alarm(story: str) -> None:
    text, expected = STORIES[story]
    holds = np.array([letter == "+" for letter in text])
    assert list(spans(holds, holds, 60.0, 120.0, 120.0)) == expected


def test_the_longest_carried_value_takes_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that a record carries on for 2,000 evaluations, and one that it does not."""
    rounds = itertools.count()
    evaluate: Callable[..., Vector] = Evaluator.vector
    monkeypatch.setattr(Evaluator, "vector", lambda self, node: (next(rounds), evaluate(self, node))[1])
    text = "groups: [{name: x, rules: [{record: 'a:b:c', expr: fresh or a:b:c unless stop}]}]"
    values = np.full((1, 2000), np.nan)
    fresh, stop = values.copy(), values.copy()
    fresh[0, 3], fresh[0, 1500], stop[0, 900] = 7.0, 8.0, 1.0
    grid = Grid(0.0, 30.0, 2000)
    (result,) = Run(read_rules(text), {"fresh": Vector([{}], fresh), "stop": Vector([{}], stop)}, grid).results
    expected = np.full((1, 2000), np.nan)
    expected[0, 3:900], expected[0, 1500:] = 7.0, 8.0
    np.testing.assert_array_equal(result.values, expected)
    assert next(rounds) < 30
