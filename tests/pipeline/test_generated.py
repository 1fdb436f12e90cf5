"""Moves and alarms of generated histories against what the generator knows: the same lives, no false alarm by time."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import SparkSession

from fleet.cli import main as generate
from kafka_warden.pipeline import backtest, moves
from kafka_warden.pipeline.marts import MOVES, RULES
from kafka_warden.pipeline.trials import BY_MESSAGES, BY_TIME, read_what_if
from kafka_warden.pipeline.truth import Truth
from tests.pipeline.stored import mart, request, stored

pytestmark = pytest.mark.full_pipeline

INTERVAL = 60.0


@dataclass(frozen=True)
class Made:
    """Marts of the day, and its truth."""

    moves: list[Any]
    rules: dict[tuple[str, float | None], Any]
    truth: dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A day of a small cluster with faults, bursts, rolling restarts and moves, and both jobs on it."""
    folder = tmp_path_factory.mktemp("day")
    assert generate(["--preset", "day", "--partitions", "20", "--seed", "3", "--out", str(folder)]) == 0
    place = stored(spark, folder / "store", folder / "history")
    moves.JOB.run(request(spark, place))
    tried = backtest.Options(read_what_if(f"{BY_MESSAGES}=100000"), Truth(str(folder / "truth")))
    backtest.JOB.run(request(spark, place, tried))
    truth = {
        name: [json.loads(line) for line in (folder / "truth" / f"{name}.json").read_text().splitlines()]
        for name in ("faults", "calm", "moves")
    }
    rules = {(row["rule"], row["threshold"]): row for row in mart(spark, place, RULES).collect()}
    return Made(mart(spark, place, MOVES).collect(), rules, truth)


def test_every_move_is_found_with_its_end(made: Made) -> None:
    """Began and ended within a poll of the truth, ended as it did, and every byte is there."""
    found = {
        (row["topic"], row["partition"], row["broker"], round(row["began"].timestamp(), -2)): row for row in made.moves
    }
    assert len(found) == len(made.moves) == len(made.truth["moves"])
    for known in made.truth["moves"]:
        near = [
            row
            for row in made.moves
            if all(row[name] == known[name] for name in ("topic", "topic_id", "partition", "broker"))
            and abs(row["began"].timestamp() - known["began"]) <= INTERVAL + 1
        ]
        assert len(near) == 1, known
        (row,) = near
        assert row["outcome"] == known["outcome"], known
        if known["ended"] is not None:
            assert abs(row["ended"].timestamp() - known["ended"]) <= INTERVAL + 1, known
        if known["cause"] is not None:
            assert known["cause"] in row["causes"], known
    print({row["outcome"] for row in made.moves}, len(made.moves))


def test_by_time_is_right_where_by_messages_is_not(made: Made) -> None:
    time, messages = made.rules[BY_TIME, None], made.rules[BY_MESSAGES, 4000.0]
    for row in (time, messages, made.rules[BY_MESSAGES, 100_000.0]):
        print({name: row[name] for name in ("rule", "threshold", "true_alarms", "false_alarms", "precision", "recall")})
    assert time["events"] == messages["events"] > 0
    assert (time["precision"], time["recall"]) == (1.0, 1.0)
    assert messages["false_alarms"] > 0
    out = made.rules["KafkaReplicasOutOfSync", 300.0]
    assert (out["false_alarms"], out["recall"]) == (0, 1.0), "the rolling restart is nothing to it"
