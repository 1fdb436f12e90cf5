"""A real throttled move, recorded by a sidecar that is restarted halfway: Spark makes of it what the sidecar said."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_warden.history.parquet.reader import polls
from kafka_warden.history.schema import BY_NAME, columns_of
from kafka_warden.pipeline.jobs.moves import JOB
from kafka_warden.pipeline.marts.moves import MOVE_SAMPLES, MOVES
from kafka_warden.pipeline.replay import CONFIDENCE, gathered, replayed
from kafka_warden.pipeline.session import persisted
from sandbox import Cluster
from tests.cluster.page import Page
from tests.cluster.sidecar import Sidecar, configuration
from tests.history.replay import Rows, differences, in_order_of, written
from tests.pipeline.stored import history, mart, request

pytestmark = [pytest.mark.cluster, pytest.mark.full_pipeline]

MEGABYTE = 1_000_000
THROTTLE = MEGABYTE // 2
LONG_ENOUGH = 240.0

Tables = Mapping[str, Mapping[str, Sequence[Any]]]


@pytest.fixture
def recorded(cluster: Cluster, tmp_path: Path) -> Path:
    """The history of a move that ended, of one that was cancelled, and of a restart between."""
    folder = tmp_path / "history"
    cluster.admin.create_topic("done", assignment={0: [1]})
    cluster.admin.create_topic("undone", assignment={0: [1]})
    for topic in ("done", "undone"):
        cluster.load.produce(topic, bytes=15 * MEGABYTE, record_size=10_000)
    config = configuration(cluster, history={"parquet": {"path": str(folder), "roll": "2s"}})
    with Sidecar(config, tmp_path) as sidecar:
        sidecar.whole_page()
        moves = {("done", 0): [2], ("undone", 0): [3]}
        cluster.admin.reassign(moves, throttle=THROTTLE)
        sidecar.wait(lambda page: len(page.all("reassignment_eta_seconds")) == len(moves), what="both move")
    with Sidecar(config, tmp_path) as sidecar:
        sidecar.wait(lambda page: page.all("reassignment_bytes_remaining"), what="they go on")
        cluster.admin.cancel([("undone", 0)])
        sidecar.wait(nothing_moves, LONG_ENOUGH, what="one is cancelled, and the other one ends")
        sidecar.next_page()
    return folder


def nothing_moves(page: Page) -> bool:
    """Nothing is left to move."""
    return not page.all("reassignment_bytes_remaining")


def test_a_recorded_move_is_replayed_alike(recorded: Path, spark: SparkSession) -> None:
    """State, cause, since when, tokens and every number, poll by poll, of both processes; and the life of each move."""
    kept = {key(tables): written(tables) for tables in polls(recorded)}
    place = recorded.parent / "store"
    assert len({run for run, _ in kept}) == 2
    with persisted(gathered(history(spark, place, recorded))) as rows:
        for name in BY_NAME:
            again = by_poll(replayed(rows, name).toArrow().to_pylist())
            for poll, before in kept.items():
                was = {name: before[name]}
                found = again.get(poll, {column.name: [] for column in columns_of(BY_NAME[name])})
                now = written({name: {column: found[column] for column in was[name]}})
                assert differences(was, in_order_of(was, now)) == [], (name, poll)
    print(f"{len(kept)} polls of two processes evaluated alike in Spark")

    JOB.run(request(spark, place))
    lives = {row["topic"]: row for row in mart(spark, place, MOVES).collect()}
    samples = mart(spark, place, MOVE_SAMPLES).where("topic = 'done'").orderBy("time").collect()
    assert {topic: row["outcome"] for topic, row in lives.items()} == {"done": "completed", "undone": "cancelled"}
    done = lives["done"]
    assert (done["broker"], done["leader"], done["runs"]) == (2, 1, 2)
    assert (len(samples), samples[-1]["limit"]) == (done["polls"], THROTTLE)
    assert done["bytes_copied"] == pytest.approx(15 * MEGABYTE, rel=0.15)
    print({name: done[name] for name in ("seconds", "rate_mean", "use_mean", "predicted_seconds", "eta_error")})


def key(tables: Tables) -> tuple[str, int]:
    """Run and sequence of a poll."""
    return tables["polls"]["run"][0], tables["polls"]["sequence"][0]


def by_poll(rows: list[dict[str, Any]]) -> dict[tuple[str, int], Rows]:
    """Run and sequence to columns; all that is said of a whole run is exact."""
    found: dict[tuple[str, int], Rows] = {}
    for row in rows:
        assert row.pop(CONFIDENCE) == "exact"
        columns = found.setdefault((row["run"], row["sequence"]), {})
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    return found
