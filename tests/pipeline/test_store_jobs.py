"""Jobs on a store: nightly runs give what one run over all gives; plans and the report are of its tables."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from docs.sql.open_store import open_store
from kafka_warden.history.poll import Poll
from kafka_warden.model import Parameters
from kafka_warden.pipeline import backtest, moves
from kafka_warden.pipeline.marts import ALARMS, MOVE_SAMPLES, MOVES, REASSIGNMENTS, RULES
from kafka_warden.pipeline.store import Store, of_mart
from tests.building import EPOCH
from tests.history.places import write
from tests.history.replay import polls
from tests.pipeline.stored import request, stored, take
from tests.pipeline.test_moves import FIRST, SECOND, seen

pytestmark = [pytest.mark.full_pipeline, pytest.mark.timeout(1800)]

SLOWER: Final = 2200.0
"""One poll in six hours: the move of `done` lasts over three midnights."""
NIGHTS: Final = (range(85), range(85, 230))
"""Clocks of the polls that each night finds."""


def of_night(night: range) -> list[list[Poll]]:
    found = []
    for run, clocks in (("one", FIRST), ("two", SECOND)):
        slow = [replace(seen(clock), clock=clock * SLOWER, time=EPOCH + clock * SLOWER) for clock in clocks]
        mine = polls(slow, Parameters(), run)
        found.append([poll for poll in mine if poll.snapshot.clock / SLOWER in night])
    return [each for each in found if each]


def computed(spark: SparkSession, place: Path) -> dict[str, list[Any]]:
    """Run both jobs; the rows of their marts."""
    moves.JOB.run(request(spark, place))
    backtest.JOB.run(request(spark, place, backtest.Options()))
    store = Store(spark, place)
    rows = {
        mart.name: store.read(of_mart(mart)).collect() for mart in (MOVES, MOVE_SAMPLES, REASSIGNMENTS, ALARMS, RULES)
    }
    return {name: sorted((row.asDict() for row in found), key=repr) for name, found in rows.items()}


def test_nights_equal_one_call(spark: SparkSession, tmp_path: Path) -> None:
    """A move over three midnights, one that goes on, and moves that ended; and a night without new rows."""
    for number, night in enumerate(NIGHTS):
        for part in of_night(night):
            for folder in (f"night-{number}", "all"):
                write(tmp_path / folder / f"{number}-{part[0].run}", part)
        take(spark, tmp_path / "nightly", tmp_path / f"night-{number}")
        nightly = computed(spark, tmp_path / "nightly")
    stored(spark, tmp_path / "once", tmp_path / "all")
    once = computed(spark, tmp_path / "once")
    (long,) = (row for row in once["moves"] if (row["topic"], row["kind"]) == ("done", "reassignment"))
    assert (long["ended"].date() - long["began"].date()).days >= 3
    assert nightly == once
    assert computed(spark, tmp_path / "nightly") == once
    with pytest.warns(UserWarning, match="the store does not have all that it needs"):
        found = open_store(str(tmp_path / "nightly"))
    ((replicas,),) = found.sql("SELECT SUM(replicas) FROM reassignments").fetchall()
    assert replicas == sum(row["kind"] == "reassignment" for row in once["moves"])
    ((alarms,),) = found.sql("SELECT COUNT(*) FROM alarm_subjects").fetchall()
    assert alarms == len(once["alarms"])
