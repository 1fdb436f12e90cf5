"""The example of judgement.md 9: a threshold by messages is wrong in both ways, and one by time is right."""

from collections.abc import Callable
from typing import Any

import pytest

from fleet.blog import BATCH, TIME_MAX
from fleet.judged import Written, generate
from fleet.presets import PRESETS
from fleet.settings import Settings
from kafka_warden.history.parquet.reader import read
from tests.fleet.conftest import silent

Rule = Callable[[dict[str, Any]], bool]


@pytest.fixture(scope="module")
def blog(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], Written]:
    """Followers of the example, and what is true of it."""
    out = tmp_path_factory.mktemp("blog")
    written = generate(Settings(**PRESETS["blog"]), out, silent)
    return [row for row in read(out / "history", "replicas").to_pylist() if row["following"]], written


def test_messages_take_every_batch_for_a_fault(blog: tuple[list[dict[str, Any]], Written]) -> None:
    """By messages every batch of four is an alarm for both followers, and the quiet topic never gets one."""
    found, truth = alarms(blog, lambda row: row["lag_messages"] >= BATCH)

    assert found - truth == {("foo", broker, poll) for broker in (2, 3) for poll in range(40, 1200, 100)}
    assert {topic for topic, _, _ in found} == {"foo"}


def test_time_finds_the_faults_and_nothing_else(blog: tuple[list[dict[str, Any]], Written]) -> None:
    """By time a pause of 100 ms, a lag of three and a batch are none; every batch that stays unfetched is one."""
    late = [row for row in blog[0] if row["late"]]
    found, truth = alarms(blog, lambda row: row["late"])

    assert found - truth == set()
    assert len(late) > 500
    assert {(row["topic"], row["broker"]) for row in late} == {("foo", 3), ("quiet", 2)}
    assert min(row["behind_seconds"] for row in late) > TIME_MAX
    assert all(row["late"] == (not row["in_isr"]) for row in blog[0] if row["behind_seconds"] > TIME_MAX + 0.2)


Alarm = tuple[str, int | None, int]
"""Topic, broker and poll."""


def alarms(blog: tuple[list[dict[str, Any]], Written], rule: Rule) -> tuple[set[Alarm], set[Alarm]]:
    """Tell where and when a rule fires, and where and when something is wrong."""
    rows, written = blog
    start = min(row["time"] for row in rows)

    def poll(moment: float) -> int:
        return round(10 * (moment - start))

    fires = {(row["topic"], row["broker"], poll(row["time"])) for row in rows if rule(row)}
    wrong = {
        (str(fault.topic), fault.broker, at)
        for fault in written.truths[0].faults
        for at in range(poll(fault.began), poll(fault.ended))
    }
    return fires, wrong
