"""Lives of moves: where they begin and end, how they end, and what they come to."""

import math
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.history.poll import Poll
from kafka_warden.model import BrokerConfig, Limit, Origin, Parameters, Side, Snapshot, TopicConfig
from kafka_warden.pipeline.marts import MOVE_SAMPLES, MOVES, REASSIGNMENTS, shaped
from kafka_warden.pipeline.moves import JOB, reassignments
from kafka_warden.replies import FutureReplica, LogDir
from tests.building import EPOCH, Partition, Topics, snapshot
from tests.history.places import write
from tests.history.replay import polls
from tests.pipeline.stored import mart, request, stored

BYTES = 1_000_000
"""Of each partition; 100 a message."""

FIRST = range(0, 80, 10)
SECOND = range(130, 230, 10)
"""Polls of two processes; between them there is no poll for a minute."""


def topics(clock: int) -> Topics:
    """What the brokers' logs are: `done` gets there at 160, `undone` is taken back at 70, `gone` is deleted at 60."""
    lacks = max(10_000 - 60 * (clock - 30), 10)
    there, back = clock >= 160, clock >= 70
    found = {
        "done": [Partition(replicas=(1, 3), end=10_000) if there else _moves(clock, lacks)],
        "undone": [Partition(replicas=(1, 2), end=10_000) if back else _moves(clock, lacks)],
        "late": [_moves(clock - 150, 5000)],
        "gone": [_moves(clock, lacks)],
    }
    return {name: partitions for name, partitions in found.items() if name != "gone" or clock < 60}


def _moves(clock: int, lacks: int) -> Partition:
    if clock < 30:
        return Partition(replicas=(1, 2), end=10_000)
    return Partition(replicas=(1, 2, 3), adding=(3,), removing=(2,), end=10_000, lag={3: lacks})


def seen(clock: int) -> Snapshot:
    limits = {1: {Side.LEADER: 50_000.0, Side.FOLLOWER: 90_000.0}, 3: {Side.LEADER: 50_000.0, Side.FOLLOWER: 80_000.0}}
    copying = (FutureReplica("late", 0, 2, "/b", 10 * (clock - 20) * 100, 4),) if 30 <= clock < 60 else ()
    return snapshot(
        topics(clock),
        clock=float(clock),
        broker_configs={
            broker: BrokerConfig(limits={side: Limit(value, Origin.BROKER) for side, value in of.items()})
            for broker, of in limits.items()
        },
        topic_configs={
            name: TopicConfig(leader_throttled="0:1", follower_throttled="0:3") if name == "done" else TopicConfig()
            for name in topics(clock)
        },
        log_dirs=tuple(LogDir(2, path, online=True, bytes=0, usable_bytes=10, total_bytes=20) for path in ("/a", "/b")),
        placed={2: {("late", 0): "/a" if clock < 60 else "/b"}},
        future_replicas=copying,
    )


def judged(clocks: Iterable[int], run: str) -> list[Poll]:
    return polls([seen(clock) for clock in clocks], Parameters(), run)


def renamed(evaluated: Iterable[Poll], cluster: str) -> list[Poll]:
    return [replace(poll, snapshot=replace(poll.snapshot, cluster_id=cluster)) for poll in evaluated]


@pytest.fixture(scope="module")
def clusters(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Both marts by cluster, each of two processes at most."""
    jumped = [
        replace(poll, snapshot=replace(poll.snapshot, time=poll.snapshot.time + 3600.0)) if number in {4, 5} else poll
        for number, poll in enumerate(judged(FIRST, "one"))
    ]
    # A poll without reassignments, known or apparent.
    unknown = replace(snapshot(topics(0), clock=50.0), reassignments_known=False)
    blind = polls([unknown if clock == 50 else seen(clock) for clock in FIRST], Parameters(), "one")
    runs = {
        "usual": (judged(FIRST, "one"), judged(SECOND, "two")),
        "jumped": (jumped,),
        "blind": (blind, polls([_shifted(clock) for clock in range(80, 130, 10)], Parameters(), "two")),
        "without": (judged(range(0, 30, 10), "one"),),
    }
    folder = tmp_path_factory.mktemp("moves")
    for cluster, written in runs.items():
        for run in written:
            write(folder / "history" / cluster / run[0].run, renamed(run, cluster))
    place = stored(spark, folder / "store", folder / "history")
    JOB.run(request(spark, place))
    lives, samples = (mart(spark, place, each).collect() for each in (MOVES, MOVE_SAMPLES))
    return {
        cluster: {
            "lives": sorted(
                (row for row in lives if row["cluster_id"] == cluster),
                key=lambda row: (row["topic"], row["kind"], row["began"]),
            ),
            "samples": sorted(
                (row for row in samples if row["cluster_id"] == cluster),
                key=lambda row: (row["topic"], row["kind"], row["time"]),
            ),
        }
        for cluster in runs
    }


@pytest.fixture(scope="module")
def found(clusters: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return clusters["usual"]


def life(found: dict[str, Any], topic: str, kind: str = "reassignment") -> Any:
    """The only life of a topic's move."""
    (only,) = (row for row in found["lives"] if (row["topic"], row["kind"]) == (topic, kind))
    return only


def at(row: Any, name: str) -> float | None:
    """A moment as seconds since the first poll."""
    moment = row[name]
    return None if moment is None else moment.timestamp() - EPOCH


def test_every_move_has_one_life(found: dict[str, Any]) -> None:
    assert [(row["topic"], row["kind"]) for row in found["lives"]] == [
        ("done", "reassignment"),
        ("gone", "reassignment"),
        ("late", "log_dir"),
        ("late", "reassignment"),
        ("undone", "reassignment"),
    ]


def test_the_end_decides_the_outcome(found: dict[str, Any]) -> None:
    outcomes = {(row["topic"], row["kind"]): (row["outcome"], at(row, "ended")) for row in found["lives"]}
    assert outcomes == {
        ("done", "reassignment"): ("completed", 160),
        ("gone", "reassignment"): ("unknown", 60),
        ("late", "log_dir"): ("completed", 60),
        ("late", "reassignment"): ("running", None),
        ("undone", "reassignment"): ("cancelled", 70),
    }


def test_a_life_over_a_restart(found: dict[str, Any]) -> None:
    row = life(found, "done")
    assert (at(row, "began"), at(row, "last_seen"), row["seconds"]) == (30, 150, 130)
    assert (row["polls"], row["runs"], row["leader"]) == (8, 2, 1)
    assert row["uncertain_seconds"] == 20, "ten before it was seen, ten before it was seen to be over"
    assert row["unseen_seconds"] == 30, "of the minute without polls: the last values held for three intervals"


def test_bytes_rate_and_limit(found: dict[str, Any]) -> None:
    row = life(found, "done")
    assert (row["bytes_at_start"], row["bytes_copied"]) == (BYTES, BYTES)
    assert row["rate_mean"] == pytest.approx(BYTES / 130)
    assert row["rate_max"] == pytest.approx(6000, rel=1e-9)
    assert row["limit_mean"] == 50_000
    assert 0 < row["use_mean"] < 1
    other = life(found, "undone")
    assert other["limit_mean"] == math.inf, "no list names it"
    assert other["use_mean"] == 0


def test_predictions_stand_beside_what_came(found: dict[str, Any]) -> None:
    row = life(found, "done")
    assert row["predicted_seconds"] > 0
    assert row["prediction_error"] == pytest.approx(row["predicted_seconds"] / 130 - 1)
    rest = 160 - (at(row, "eta_first_at") or 0)
    assert row["eta_error"] == pytest.approx(row["eta_first"] / rest - 1)
    assert life(found, "undone")["prediction_error"] is None


def test_a_move_that_gains_nothing(found: dict[str, Any]) -> None:
    row = life(found, "late")
    assert (at(row, "began"), row["stalled_seconds"]) == (180, 40)
    assert row["stuck_seconds"] == sum(row["causes"].values())
    samples = [each for each in found["samples"] if (each["topic"], each["kind"]) == ("late", "reassignment")]
    assert [at(each, "time") for each in samples] == [180, 190, 200, 210, 220]
    assert {at(each, "began") for each in samples} == {180}
    assert [each["remaining_bytes"] for each in samples] == [500_000] * 5
    assert samples[-1]["stalled"] == 40


def test_a_move_between_directories_has_a_rate(found: dict[str, Any]) -> None:
    samples = [each for each in found["samples"] if each["kind"] == "log_dir"]
    assert [each["rate"] for each in samples] == [None, 1000, 1000]
    assert life(found, "late", "log_dir")["rate_max"] == 1000


def test_a_clock_that_jumps_moves_nothing(clusters: dict[str, dict[str, Any]]) -> None:
    row = life(clusters["jumped"], "undone")
    assert (at(row, "began"), at(row, "ended"), row["polls"], row["outcome"]) == (30, 70, 4, "cancelled")


def test_polls_that_do_not_know_end_nothing(clusters: dict[str, dict[str, Any]]) -> None:
    undone = [row for row in clusters["blind"]["lives"] if row["topic"] == "undone"]
    assert [(at(row, "began"), at(row, "ended"), row["polls"]) for row in undone] == [(30, 70, 3), (110, None, 2)]


def _shifted(clock: int) -> Snapshot:
    return replace(seen(clock - 80), clock=float(clock), time=EPOCH + clock)


def test_a_history_without_moves_has_no_rows(clusters: dict[str, dict[str, Any]]) -> None:
    assert clusters["without"] == {"lives": [], "samples": []}


WHEN = datetime(2026, 5, 4, tzinfo=UTC)
OF_MOVE = (
    "kind string, leader int, broker int, began int, ended int, last_seen int, bytes_copied double,"
    " planned double, cluster_id string"
)


def test_moves_that_overlap_are_one_reassignment(spark: SparkSession) -> None:
    rows = [
        ("reassignment", 1, 4, 0, 10, 9, 1e9, None, "c"),
        ("reassignment", 1, 5, 0, 12, 11, 3e9, 500.0, "c"),
        ("reassignment", 2, 5, 11, 20, 19, 2e9, 100.0, "c"),
        ("log_dir", None, 1, 15, 70, 69, 1e9, None, "c"),
        ("reassignment", 2, 4, 60, None, 90, 1e9, None, "c"),
        ("reassignment", 1, 4, 60, 65, 64, None, None, "c"),
        # A poll that does not list the one that runs.
        ("reassignment", 1, 6, 95, 96, 95, None, None, "c"),
        ("reassignment", None, 2, 5, 6, 5, 0.0, None, "d"),
    ]
    times = {name: F.lit(WHEN) + F.make_dt_interval(mins=F.col(name)) for name in ("began", "ended", "last_seen")}
    outcome = F.when(F.col("ended").isNull(), "running").otherwise("completed")
    constant = {"topic": F.lit("t"), "topic_id": F.lit("i"), "partition": F.lit(0), "stuck_seconds": F.lit(1.0)}
    given = spark.createDataFrame(rows, OF_MOVE).withColumnRenamed("planned", "predicted_bottleneck_seconds")
    moved = given.withColumns({**times, "outcome": outcome, **constant})
    found = {
        (row["cluster_id"], round((row["began"].timestamp() - WHEN.timestamp()) / 60)): row
        for row in shaped(REASSIGNMENTS, reassignments(moved)).collect()
    }
    assert found.keys() == {("c", 0), ("c", 60), ("d", 5)}
    ended, running, other = found["c", 0], found["c", 60], found["d", 5]
    assert (ended["replicas"], ended["completed"], ended["waves"], ended["bytes_copied"]) == (3, 3, 2, 6e9)
    assert (ended["seconds"], ended["planned_seconds"], ended["stuck_seconds"]) == (1200.0, 500.0, 3.0)
    assert (ended["bottleneck_broker"], ended["bottleneck_side"]) == (5, "follower")
    assert ended["ended"] > ended["last_seen"]
    assert (running["ended"], running["replicas"], running["completed"], running["waves"]) == (None, 3, 2, 2)
    assert (running["bytes_copied"], running["planned_seconds"], running["seconds"]) == (None, None, 2160.0)
    assert (running["bottleneck_broker"], running["bottleneck_side"]) == (6, "follower")
    assert (other["bottleneck_broker"], other["bottleneck_side"]) == (2, "follower")
