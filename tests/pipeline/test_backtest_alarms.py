"""When a condition becomes an alarm, when two are one, and when one is over: as Prometheus' rules do."""

from typing import Any

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

Story = str | list[tuple[int, str]]
Alarm = tuple[int, int | None, int | None, bool]
"""Minutes of beginning, firing and end, and whether it fired."""

CASES: dict[str, tuple[Story, list[Alarm]]] = {
    # One letter a minute: + it holds, - it does not, ? it is unknown; `for` and `keep_firing_for` are two minutes.
    "too short": ("-+-----", [(1, None, 2, False)]),
    "just long enough": ("-++----", [(1, 3, 3, True)]),
    "comes back soon": ("-++-+--", [(1, 3, 5, True)]),
    "comes back late": ("-++----+---", [(1, 3, 3, True), (7, None, 8, False)]),
    "short, then long": ("-+-++--", [(1, None, 2, False), (3, 5, 5, True)]),
    "unknown meanwhile": ("-++??+-", [(1, 3, 6, True)]),
    "unknown at its end": ("-++??---", [(1, 3, 5, True)]),
    "unknown before it fires": ("-+?+---", [(1, None, 2, False), (3, None, 4, False)]),
    "goes on": ("---+++", [(3, 5, None, True)]),
    "silence": ([(0, "++"), (HOUR, "+-")], [(0, 2, HOUR + 1, True)]),
    "a poll that speaks through a silence": ([(0, "+"), (HOUR, "+-")], [(0, 2, HOUR + 1, True)]),
    "a silence of days": ([(0, "++"), (2 * DAY, "+-")], [(0, 2, 2 * DAY + 1, True)]),
    "a silence of weeks": (
        [(0, "++"), (9 * DAY, "++-")],
        [(0, 2, 1 + 7 * DAY, True), (9 * DAY, 9 * DAY + 2, 9 * DAY + 2, True)],
    ),
}


def rows(trial: int, story: Story) -> list[tuple[Any, ...]]:
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


def test_alarms(spark: SparkSession) -> None:
    """Each story has the alarms that an Alertmanager would have seen."""
    signals = [row for trial, (story, _) in enumerate(CASES.values()) for row in rows(trial, story)]
    found: dict[str, list[tuple[Any, ...]]] = {name: [] for name in CASES}
    for row in alarms(spark.createDataFrame(signals, FORM)).orderBy("trial", "began").collect():
        times = (None if row[name] is None else row[name] / MINUTE for name in ("began", "fired", "ended"))
        assert row["seconds"] == (row["last_until"] if row["ended"] is None else row["ended"]) - row["began"]
        found[list(CASES)[row["trial"]]].append((*times, row["would_fire"]))
    assert found == {name: expected for name, (_, expected) in CASES.items()}
