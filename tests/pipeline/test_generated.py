"""Moves and alarms of generated histories: the lives that the generator knows, and the alarms of Prometheus."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

from fleet.cli import main as generate
from kafka_warden.history.poll import Poll
from kafka_warden.pipeline import backtest, moves
from kafka_warden.pipeline.marts import ALARMS, MOVES
from kafka_warden.pipeline.promql import Grid
from kafka_warden.pipeline.rule_runs import metrics, needed, read_rules
from kafka_warden.pipeline.trials import BY_MESSAGES, BY_TIME, rules, texts
from kafka_warden.pipeline.truth import Truth
from tests.pipeline.pages import pages
from tests.pipeline.prometheus import Samples, by_prometheus
from tests.pipeline.stored import mart, request, stored

pytestmark = pytest.mark.full_pipeline

INTERVAL = 60.0


@dataclass(frozen=True)
class Made:
    """Marts of the day, and its truth."""

    history: Path
    moves: list[Any]
    alarms: list[Any]
    true_moves: list[dict[str, Any]]


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A day of a small cluster with faults, bursts, rolling restarts and moves, and both jobs on it."""
    folder = tmp_path_factory.mktemp("day")
    assert generate(["--preset", "day", "--partitions", "20", "--seed", "3", "--out", str(folder)]) == 0
    place = stored(spark, folder / "store", folder / "history")
    moves.JOB.run(request(spark, place))
    backtest.JOB.run(request(spark, place, backtest.Options(truth=Truth(str(folder / "truth")))))
    true_moves = [json.loads(line) for line in (folder / "truth" / "moves.json").read_text().splitlines()]
    found = {each.name: mart(spark, place, each).collect() for each in (MOVES, ALARMS)}
    return Made(folder / "history", found["moves"], found["alarms"], true_moves)


def test_every_move_is_found_with_its_end(made: Made) -> None:
    """Began and ended within a poll of the truth, ended as it did, and every byte is there."""
    found = {
        (row["topic"], row["partition"], row["broker"], round(row["began"].timestamp(), -2)): row for row in made.moves
    }
    assert len(found) == len(made.moves) == len(made.true_moves)
    for known in made.true_moves:
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


def scraped(shown: Sequence[tuple[Poll, str]], grid: Grid) -> Samples:
    """What Prometheus has of these pages, one of which is shown at each evaluation."""
    wanted = metrics(needed(read_rules(*texts()), lambda rule: rule.is_alert))
    found: dict[tuple[str, frozenset[tuple[str, str]]], list[float | None]] = {}
    began: dict[str, float] = {}
    for poll, text in shown:
        seen = poll.snapshot
        place = round((seen.time - grid.start) / grid.step + 0.5)
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
        own = {"cluster": seen.cluster_id or "", "job": "kafka-warden", "instance": "a"}
        start = began.setdefault(poll.run, seen.time)
        values = {(each.name, frozenset({**own, **each.labels}.items())): each.value for each in samples}
        of_scrape = {("up", frozenset(own.items())): 1.0, ("process_start_time_seconds", frozenset(own.items())): start}
        for key, value in {**values, **of_scrape}.items():
            if key[0] in wanted:
                found.setdefault(key, [None] * grid.count)[place] = value
    shift = ("kafka_warden_snapshot_timestamp_seconds", "process_start_time_seconds")
    return [
        # promtool's time begins at 0.
        (name, dict(labels), [v if v is None or name not in shift else v - grid.start for v in values])
        for (name, labels), values in found.items()
    ]


def test_alarms_are_those_of_prometheus(made: Made, tmp_path: Path) -> None:
    """From the pages that the sidecar showed: each alert fires and ends at the same evaluations."""
    shown = list(pages(made.history))
    times = [poll.snapshot.time for poll, _ in shown]
    start = (np.ceil(min(times) / INTERVAL - 0.5) + 0.5) * INTERVAL
    grid = Grid(float(start), INTERVAL, round((max(times) - min(times)) / INTERVAL) + 1)
    names = {rule.name for rule in rules()}
    firing: dict[frozenset[tuple[str, str]], list[int]] = defaultdict(list)
    for place, labels in by_prometheus(scraped(shown, grid), Grid(0.0, INTERVAL, grid.count), tmp_path):
        each = dict(labels)
        if each["alertname"] in names and each["alertstate"] == "firing":
            firing[frozenset({name: each[name] for name in each if name not in HIDDEN}.items())].append(place)
    theirs = {(labels, place) for labels, places in firing.items() for place in places if place - 1 not in set(places)}
    ours = {
        (
            frozenset(
                (("alertname", row["rule"]), *(each for each in row["subject"].items() if each[0] not in HIDDEN))
            ),
            round((row["fired"].timestamp() - grid.start) / INTERVAL),
        )
        for row in made.alarms
        if row["would_fire"] and row["rule"] in names - {BY_MESSAGES, BY_TIME}
    }
    assert {dict(labels)["alertname"] for labels, _ in theirs} >= {"KafkaBrokerUnreachable", "KafkaReplicasOutOfSync"}
    assert ours == theirs


HIDDEN = ("alertstate", "cluster", "exporter", "severity")
"""Labels of alerts that a subject lacks, or that it has only where several rules have one name."""
