"""A generated week: alarms by time against alarms by messages, each labelled, in the mart and in the report.

Of the preset `week` with a third of its partitions: every poll is there, with as many faults, bursts and restarts, and
Spark, which compiles nothing in tests, takes minutes less.
"""

import html
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_warden.pipeline.backtest.rules import BY_MESSAGES, BY_NAME, BY_TIME
from kafka_warden.pipeline.backtest.truth import Truth
from kafka_warden.pipeline.jobs import backtest, report
from kafka_warden.pipeline.marts.backtest import ALARMS, RULES
from kafka_warden.pipeline.report.numbers import count, duration, share
from tests.pipeline.stored import mart, request, stored

pytestmark = pytest.mark.full_pipeline

ROOT = Path(__file__).parents[2]
PARTITIONS = "14"


@dataclass(frozen=True)
class Week:
    """Marts of the week, and its page."""

    rules: dict[str, Any]
    alarms: list[Any]
    page: str


@pytest.fixture(scope="module")
def week(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Week:
    """10,080 polls, evaluated by both jobs."""
    folder = tmp_path_factory.mktemp("week")
    # In a process of its own, as its workers want one.
    made = (sys.executable, "-m", "fleet", "--preset", "week", "--partitions", PARTITIONS, "--out", str(folder))
    subprocess.run(made, cwd=ROOT, check=True)
    place = stored(spark, folder / "store", folder / "history")
    backtest.JOB.run(request(spark, place, backtest.Options(truth=Truth(str(folder / "truth")))))
    report.JOB.run(request(spark, place, report.Options()))
    rules = {row["rule"]: row for row in mart(spark, place, RULES).collect()}
    [page] = place.glob("report-*.html")
    return Week(rules, mart(spark, place, ALARMS).collect(), page.read_text(encoding="utf-8"))


def test_alarms_by_time_are_more_often_right_and_miss_no_more(week: Week) -> None:
    """Bursts are no faults to them, and quiet topics no peace."""
    time, messages = week.rules[BY_TIME], week.rules[BY_MESSAGES]
    for row in (time, messages):
        print(
            {name: row[name] for name in ("rule", "alarms", "false_alarms", "events", "missed", "precision", "recall")}
        )
    assert time["events"] == messages["events"] > 20
    assert time["precision"] > messages["precision"]
    assert time["recall"] >= messages["recall"]
    assert (time["precision"], time["recall"]) == (1.0, 1.0)
    assert messages["false_alarms"] > 0


def test_every_alarm_is_labelled(week: Week) -> None:
    """True or false, where it fired and its rule is there for a kind of fault; they add up to what the rules say."""
    for name, rule in BY_NAME.items():
        fired = [row["true_alarm"] for row in week.alarms if row["rule"] == name and row["would_fire"]]
        expected = week.rules[name]
        assert len(fired) == expected["alarms"], name
        if rule.detects:
            assert None not in fired, name
            assert (fired.count(True), fired.count(False)) == (expected["true_alarms"], expected["false_alarms"]), name


def test_the_page_has_the_figures_of_the_mart(week: Week) -> None:
    """Of every rule: alarms, delay, precision and recall."""
    rows = {row[0]: row[1:] for row in _table(week.page)}
    assert len(rows) == len(week.rules)
    for name, expected in week.rules.items():
        shown = rows[next(title for title in rows if f"{title} ".startswith(f"{name.replace('_', ' ')} "))]
        numbers = [count(expected[part]) for part in ("alarms", "true_alarms", "false_alarms", "missed")]
        precision = share(expected["precision"]) if expected["alarms"] else "none"
        recall = share(expected["recall"]) if expected["events"] != 0 else "none"
        missed_all = expected["missed"] is not None and expected["missed"] == expected["events"]
        delay = "none" if missed_all else duration(expected["delay_seconds"])
        assert shown == [*numbers, delay, precision, recall], name
    raised = [row[0] != count(0) for row in rows.values()]
    assert raised == sorted(raised, reverse=True), "what raised nothing comes last"


def test_the_page_is_of_a_size_that_a_browser_shows_at_once(week: Week) -> None:
    """A week has no more to draw than a day."""
    assert len(week.page) < 2_000_000


def _table(page: str) -> list[list[str]]:
    """Cells of the table of rules, and of the one behind a click that goes on with it, without markup."""
    tables = re.findall("<table><caption>Rules.*?</table>", page, re.DOTALL)
    rows = [re.findall("<td.*?</td>", row, re.DOTALL) for row in re.findall("<tr>.*?</tr>", "".join(tables), re.DOTALL)]
    return [[html.unescape(re.sub("<[^>]*>", "", cell)) for cell in row] for row in rows if row]
