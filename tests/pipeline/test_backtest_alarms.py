"""When a condition becomes an alarm, when two are one, and when one is over: as Prometheus' rules do."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_warden.pipeline.backtest.alarms import alarms
from kafka_warden.pipeline.backtest.signals import SUBJECT

MINUTE = 60.0
FORM = (
    f"cluster_id string, trial int, {', '.join(f'{name} {kind}' for name, kind in SUBJECT.items())}, n bigint,"
    " at double, next_at double, held double, wanted double, keep_seconds double, on boolean, value double"
)
HOUR = 60
DAY = 24 * HOUR

CASES: dict[str, str | list[tuple[int, str]]] = {
    # One letter a minute: + it holds, - it does not, ? it is unknown; `for` and `keep_firing_for` are two minutes.
    "too short": "-+-----",
    "just long enough": "-++----",
    "comes back soon": "-++-+--",
    "comes back late": "-++----+---",
    "short, then long": "-+-++--",
    "unknown meanwhile": "-++??+-",
    "unknown at its end": "-++??---",
    "unknown before it fires": "-+?+---",
    "goes on": "---+++",
    "silence": [(0, "++"), (HOUR, "+-")],
    "a poll that speaks through a silence": [(0, "+"), (HOUR, "+-")],
    "a silence of days": [(0, "++"), (2 * DAY, "+-")],
    "a silence of weeks": [(0, "++"), (9 * DAY, "++-")],
}


def rows(trial: int, story: str | list[tuple[int, str]]) -> list[tuple[Any, ...]]:
    """Signals of one story; polls are a minute apart, and speak for three."""
    parts = [(0, story)] if isinstance(story, str) else story
    polls = [(start + minute, letter) for start, letters in parts for minute, letter in enumerate(letters)]
    found = []
    for n, (minute, letter) in enumerate(polls):
        following = polls[n + 1][0] * MINUTE if n + 1 < len(polls) else None
        held = 0.0 if following is None else min(following - minute * MINUTE, 3 * MINUTE)
        subject = ("cluster", trial, "orders", 0, *[None] * (len(SUBJECT) - 2))
        at = minute * MINUTE
        if letter != "-":
            on = True if letter == "+" else None
            found.append((*subject, n + 1, at, following, held, 2 * MINUTE, 2 * MINUTE, on, float(minute)))
    return found


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, list[tuple[Any, ...]]]:
    """Story to its alarms: minutes of beginning, firing and end, and whether it fired."""
    signals = [row for trial, story in enumerate(CASES.values()) for row in rows(trial, story)]
    names = list(CASES)
    stories: dict[str, list[tuple[Any, ...]]] = {name: [] for name in names}
    for row in alarms(spark.createDataFrame(signals, FORM)).orderBy("trial", "began").collect():
        times = (None if row[name] is None else row[name] / MINUTE for name in ("began", "fired", "ended"))
        assert row["seconds"] == (row["last_until"] if row["ended"] is None else row["ended"]) - row["began"]
        stories[names[row["trial"]]].append((*times, row["would_fire"]))
    return stories


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        ("too short", [(1, None, 2, False)]),
        ("just long enough", [(1, 3, 3, True)]),
        ("comes back soon", [(1, 3, 5, True)]),
        ("comes back late", [(1, 3, 3, True), (7, None, 8, False)]),
        ("short, then long", [(1, None, 2, False), (3, 5, 5, True)]),
        ("unknown meanwhile", [(1, 3, 6, True)]),
        ("unknown at its end", [(1, 3, 5, True)]),
        ("unknown before it fires", [(1, None, 2, False), (3, None, 4, False)]),
        ("goes on", [(3, 5, None, True)]),
        ("silence", [(0, 2, HOUR + 1, True)]),
        ("a poll that speaks through a silence", [(0, 2, HOUR + 1, True)]),
        ("a silence of days", [(0, 2, 2 * DAY + 1, True)]),
        ("a silence of weeks", [(0, 2, 1 + 7 * DAY, True), (9 * DAY, 9 * DAY + 2, 9 * DAY + 2, True)]),
    ],
)
def test_alarms(found: dict[str, list[tuple[Any, ...]]], story: str, expected: list[tuple[Any, ...]]) -> None:
    """Each story has the alarms that an Alertmanager would have seen."""
    assert found[story] == expected
