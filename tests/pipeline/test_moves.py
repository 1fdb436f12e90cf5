"""Lives of moves: where they begin and end, how they end, and what they come to."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.history.poll import Poll
from kafka_warden.model import BrokerConfig, Limit, Origin, Parameters, Side, Snapshot, TopicConfig
from kafka_warden.pipeline.marts import MOVE_SAMPLES, MOVES, REASSIGNMENTS, shaped
from kafka_warden.pipeline.moves import JOB, reassignments
from kafka_warden.replies import FutureReplica, LogDir
from tests.building import EPOCH, Partition, Topics, snapshot
from tests.history.places import rewrite, the_file, write
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


def of_run(clocks: Iterable[int], run: str, later: int = 0) -> list[Poll]:
    """Polls of a process. `later`: seconds by which all is later than `seen` has it."""
    shown = (replace(seen(clock - later), clock=float(clock), time=EPOCH + clock) for clock in clocks)
    return polls(shown, Parameters(), run)


def jumped() -> list[Poll]:
    """Polls of which two have a wall clock that is ahead by an hour."""
    made = of_run(FIRST, "one")
    ahead = [replace(poll, snapshot=replace(poll.snapshot, time=poll.snapshot.time + 3600.0)) for poll in made]
    return [*made[:4], *ahead[4:6], *made[6:]]


def blind() -> list[Poll]:
    """Polls of which one has no reassignments, known or apparent."""
    unknown = replace(snapshot(topics(0), clock=50.0), reassignments_known=False)
    return polls([unknown if clock == 50 else seen(clock) for clock in FIRST], Parameters(), "one")


@pytest.fixture(scope="module")
def found(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[dict[str, Any]]]:
    """Both marts, times as seconds since the first poll. The clusters have two processes at most."""
    runs = {
        "usual": (of_run(FIRST, "one"), of_run(SECOND, "two")),
        "jumped": (jumped(),),
        "blind": (blind(), of_run(range(80, 130, 10), "two", 80)),
        "without": (of_run(range(0, 30, 10), "one"),),
        "lossy": (of_run(FIRST, "one"),),
    }
    folder = tmp_path_factory.mktemp("moves")
    for cluster, written in runs.items():
        for run in written:
            renamed = [replace(poll, snapshot=replace(poll.snapshot, cluster_id=cluster)) for poll in run]
            write(folder / "history" / cluster / run[0].run, renamed)
    file = the_file(folder / "history" / "lossy" / "one", "moves")
    listed = pq.read_table(file)
    lost = pc.and_(pc.equal(listed["clock"], 50.0), pc.equal(listed["topic"], "undone"))
    rewrite(file, listed.filter(pc.invert(lost)))
    place = stored(spark, folder / "store", folder / "history")
    JOB.run(request(spark, place))
    return {each.name: [since_first(row.asDict()) for row in mart(spark, place, each).collect()] for each in MARTS}


MARTS = (MOVES, MOVE_SAMPLES)


def since_first(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value.timestamp() - EPOCH if isinstance(value, datetime) else value for name, value in row.items()}


DONE = ("usual", "done", "reassignment", 30)
UNDONE = ("usual", "undone", "reassignment", 30)
LATE = ("usual", "late", "reassignment", 180)
COPIED = ("usual", "late", "log_dir", 30)
LIVES: dict[tuple[Any, ...], dict[str, Any]] = {
    DONE: {
        "outcome": "completed",
        "ended": 160,
        "last_seen": 150,
        "seconds": 130,
        "polls": 8,
        "runs": 2,
        "leader": 1,
        # Ten before it was listed, ten before it was not.
        "uncertain_seconds": 20,
        # Of the minute without polls: the last values held for three intervals.
        "unseen_seconds": 30,
        "bytes_at_start": BYTES,
        "bytes_copied": BYTES,
        "rate_mean": BYTES / 130,
        "rate_max": 6000,
        "limit_mean": 50_000,
    },
    # No list names it.
    UNDONE: {"outcome": "cancelled", "ended": 70, "limit_mean": math.inf, "use_mean": 0, "prediction_error": None},
    ("usual", "gone", "reassignment", 30): {"outcome": "unknown", "ended": 60},
    COPIED: {"outcome": "completed", "ended": 60, "rate_max": 1000, "bytes_copied": 30_000},
    LATE: {"outcome": "running", "ended": None, "stalled_seconds": 40},
    ("jumped", "undone", "reassignment", 30): {"ended": 70, "polls": 4, "outcome": "cancelled"},
    # A poll that does not know ends nothing.
    ("blind", "undone", "reassignment", 30): {"ended": 70, "polls": 3},
    ("blind", "undone", "reassignment", 110): {"ended": None, "polls": 2},
    # Neither does one that has lost a row.
    ("lossy", "undone", "reassignment", 30): {"ended": 70, "polls": 3},
}


def key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["cluster_id"], row["topic"], row["kind"], round(row["began"])


def test_moves_have_their_lifetimes(found: Mapping[str, list[dict[str, Any]]]) -> None:
    lives = {key(row): row for row in found["moves"]}
    assert len(lives) == len(found["moves"])
    assert {each for each in lives if each[0] == "usual"} == {each for each in LIVES if each[0] == "usual"}
    assert [each for each in lives if each[0] == "without"] == []
    for each, expected in LIVES.items():
        assert {name: lives[each][name] for name in expected} == pytest.approx(expected), each
    done, late = lives[DONE], lives[LATE]
    assert 0 < done["use_mean"] < 1
    assert done["predicted_seconds"] > 0
    assert done["prediction_error"] == pytest.approx(done["predicted_seconds"] / 130 - 1)
    assert done["eta_error"] == pytest.approx(done["eta_first"] / (160 - done["eta_first_at"]) - 1)
    assert late["stuck_seconds"] == sum(late["causes"].values())


def test_samples_are_those_of_the_polls(found: Mapping[str, list[dict[str, Any]]]) -> None:
    samples = sorted(found["move_samples"], key=lambda row: row["time"])
    late, copied = ([row for row in samples if key(row) == each] for each in (LATE, COPIED))
    assert [(row["time"], row["remaining_bytes"]) for row in late] == [(at, 500_000) for at in range(180, 230, 10)]
    assert late[-1]["stalled"] == 40
    assert [row["rate"] for row in copied] == [None, 1000, 1000]
    assert {row["ended"] for row in copied} == {60}


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
