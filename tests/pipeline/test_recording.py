"""The recording `fleet/recorded` through Spark: moves and alarms as its truth has them."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_warden.pipeline import backtest, moves
from kafka_warden.pipeline.marts import MOVES, RULES
from kafka_warden.pipeline.trials import BY_MESSAGES, BY_TIME
from kafka_warden.pipeline.truth import Truth
from tests.fleet.test_recorded import HISTORY, truth
from tests.pipeline.stored import mart, request, stored

POLL_SECONDS = 2.0


@pytest.fixture(scope="module")
def place(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stored(spark, tmp_path_factory.mktemp("recording"), HISTORY)


def test_moves_are_those_of_the_truth(spark: SparkSession, place: Path) -> None:
    moves.JOB.run(request(spark, place))
    found = {(row.topic, row.partition): row for row in mart(spark, place, MOVES).collect()}
    assert len(found) == len(truth("moves"))
    for move in truth("moves"):
        life = found[move["topic"], move["partition"]]
        assert (life.outcome, life.broker, life.leader) == (move["outcome"], move["broker"], move["source"])
        assert abs(life.began.timestamp() - move["began"]) <= 2 * POLL_SECONDS
        assert abs(life.ended.timestamp() - move["ended"]) <= 2 * POLL_SECONDS
        assert set(life.causes) == ({move["cause"]} if move["cause"] else set())


def test_alarms_by_time_are_right_where_those_by_messages_are_not(spark: SparkSession, place: Path) -> None:
    # The faults become known after a run without them.
    backtest.JOB.run(request(spark, place, backtest.Options()))
    backtest.JOB.run(request(spark, place, backtest.Options(truth=Truth(str(HISTORY.parent / "truth")))))
    rules = {row.rule: row for row in mart(spark, place, RULES).collect()}
    time, messages = rules[BY_TIME], rules[BY_MESSAGES]
    assert (time.precision, time.recall, time.missed) == (1.0, 1.0, 0)
    assert (messages.precision, messages.recall, messages.missed) == (0.0, 0.0, 1)
    assert messages.false_alarms > 0
