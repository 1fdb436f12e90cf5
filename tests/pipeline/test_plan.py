"""The job `plan`: a reassignment against what the history says was produced."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import Row, SparkSession

from kafka_warden.errors import ConfigError, IncompleteError, PlanError
from kafka_warden.history.poll import Poll
from kafka_warden.model import Parameters, Snapshot
from kafka_warden.pipeline import plan
from kafka_warden.pipeline.marts import PLANS
from kafka_warden.pipeline.plan import JOB, Options, latest, percentiles
from kafka_warden.pipeline.store import Store
from kafka_warden.pipeline.timeline import History
from kafka_warden.planning.command import IMPOSSIBLE
from kafka_warden.planning.files import read_inbound
from tests.building import BYTES_PER_OFFSET, Partition
from tests.history.places import write
from tests.history.replay import polls
from tests.pipeline.stored import mart, options, request, stored
from tests.support.planned import GB, MB, cluster

POLLS = 21
PARAMETERS = Parameters(poll_interval=10.0, network_bytes_per_second=125 * MB, moves_deadline=7200.0)
MOVE = {
    "version": 1,
    "partitions": [
        {"topic": "t", "partition": 0, "replicas": [3, 2]},
        {"topic": "t", "partition": 1, "replicas": [2, 3]},
    ],
}


def seen(number: int, cluster_id: str = "cluster") -> Snapshot:
    """A poll: 1, 2, 3 ... messages of 100 bytes a second came to each partition in the ten seconds before."""
    end = int(36 * GB) // BYTES_PER_OFFSET + 10 * sum(range(number + 1))
    partitions = [Partition(replicas=replicas, end=end) for replicas in ((1, 2), (2, 1))]
    return replace(cluster({"t": partitions}, more=[3], clock=10.0 * number), cluster_id=cluster_id)


def history(folder: Path, cluster_id: str = "cluster", run: str = "run") -> list[Poll]:
    made = polls((seen(number, cluster_id) for number in range(POLLS)), PARAMETERS, run)
    write(folder, made)
    return made


@pytest.fixture(scope="module")
def place(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("plan")
    history(made / "landing")
    return stored(spark, made / "store", made / "landing")


@pytest.fixture(scope="module")
def fleet(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with several clusters.

    `bare` has no network capacity. One poll of `ahead` has a time of tomorrow. `most` lost the replicas of its last
    poll, `none` those of all.
    """
    made = tmp_path_factory.mktemp("fleet")
    history(made / "landing" / "north", "north", "north")
    write(made / "landing" / "bare", polls((seen(number, "bare") for number in range(3)), Parameters(), "bare"))
    ahead = [seen(number, "ahead") for number in range(POLLS)]
    ahead[5] = replace(ahead[5], time=ahead[5].time + 86400.0)
    write(made / "landing" / "ahead", polls(ahead, PARAMETERS, "ahead"))
    for number, name in ((POLLS - 1, "most"), (0, "none")):
        whole = polls((seen(number, name) for number in range(POLLS)), PARAMETERS, name)
        write(made / "landing" / name / "kept", whole[:number])
        write(made / "landing" / name / "lost", whole[number:])
        for file in (made / "landing" / name / "lost" / "replicas").rglob("*.parquet"):
            file.unlink()
    return stored(spark, made / "store", made / "landing")


@pytest.fixture
def move(tmp_path: Path) -> Path:
    """Two partitions get a replica on the third broker instead of one that they have."""
    file = tmp_path / "move.json"
    file.write_text(json.dumps(MOVE))
    return file


def planned(spark: SparkSession, place: Path, asked: Options, code: int = 0) -> list[Row]:
    """Run the job, which ends with `code`; the rows of the mart."""
    assert JOB.run(request(spark, place, asked)) == code
    return mart(spark, place, PLANS).orderBy("percentile").collect()


def test_the_throttle_grows_with_the_percentile(
    spark: SparkSession, place: Path, move: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "inbound.json"
    rows = planned(spark, place, Options(move, inbound=file))
    printed = capsys.readouterr().out

    assert [(row.percentile, row.chosen) for row in rows] == [(50.0, False), (95.0, True), (99.0, False)]
    assert rows[0].needed < rows[1].needed < rows[2].needed
    assert all(row.verdict == "possible" and row.deadline == 7200.0 and row.allowed == 125 * MB for row in rows)
    assert all(row.throttle >= row.needed and row.lower_bound < row.throttle < row.upper_bound for row in rows)
    document = json.loads(rows[1].document)
    assert document["throttle"]["bytes_per_second"] == rows[1].throttle
    assert document["measured"]["percentile"] == 95.0
    assert document["commands"] == document["checks"] == []
    assert "--throttle" not in printed
    assert f"kafka-warden plan --reassignment {move} --inbound {file}" in printed
    assert "p50" in printed

    reader = History(Store(spark, place))
    snapshot, parameters = latest(reader, None)
    assert (snapshot.clock, parameters) == (10.0 * (POLLS - 1), PARAMETERS)
    judged = np.array([each.derived.bytes_in for each in polls((seen(n) for n in range(POLLS)), PARAMETERS)][1:])
    expected = np.quantile(judged, [0.5, 0.95], axis=0, method="inverted_cdf")
    half, most = percentiles(reader, snapshot, [0.5, 0.95])
    assert [each.rates.tolist() for each in (half, most)] == expected.tolist()
    assert (half.polls, half.longest) == (POLLS - 1, 10.0 * (POLLS - 2))
    read_back = read_inbound(file).of(snapshot)
    assert read_back.rates.tolist() == most.rates.tolist()
    assert replace(read_back, rates=most.rates) == most


def test_options_win_over_what_was_set(spark: SparkSession, place: Path, move: Path) -> None:
    asked = Options(move, deadline=60.0, max_network_share=0.1, network=10 * MB, percentile=0.9)
    rows = planned(spark, place, asked, IMPOSSIBLE)

    assert [row.percentile for row in rows] == [50.0, 90.0, 95.0, 99.0]
    assert {row.verdict for row in rows} == {"impossible"}
    assert (rows[0].allowed, rows[0].deadline, rows[0].throttle) == (MB, 60.0, None)
    assert rows[0].problems[0].startswith("deadline and network contradict")


def test_the_last_whole_poll_of_the_cluster_is_taken(
    spark: SparkSession, fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = History(Store(spark, fleet))
    for name, clock in (("north", POLLS - 1), ("ahead", POLLS - 1), ("most", POLLS - 2)):
        found, _ = latest(rows, name)
        assert (found.cluster_id, found.clock) == (name, 10.0 * clock)
    with pytest.raises(ConfigError, match="name one with --cluster; the history has ahead, bare, most, none, north"):
        latest(rows, None)
    with pytest.raises(ConfigError, match="there is no west"):
        latest(rows, "west")
    # Each of ten would be read from all tables.
    monkeypatch.setattr(plan, "TRIED", 2)
    with pytest.raises(IncompleteError, match="none of the last 2 polls is complete: replicas: 0 rows"):
        latest(rows, "none")


def test_what_cannot_be_planned_is_named(spark: SparkSession, place: Path, fleet: Path, move: Path) -> None:
    with pytest.raises(ConfigError, match=r"--max-network-share: give --network too"):
        planned(spark, fleet, Options(move, max_network_share=0.3, cluster="bare"))
    move.write_text(json.dumps(MOVE).replace('"t"', '"gone"'))
    with pytest.raises(PlanError, match=r"move\.json: .*no such topic"):
        planned(spark, place, Options(move))


def test_flags_are_read_as_those_of_the_live_plan() -> None:
    required = ("--reassignment", "move.json")
    assert options(JOB, *required) == Options(Path("move.json"))
    given = ("--deadline", "2h", "--max-network-share", "30%", "--percentile", "99%", "--inbound", "in.json")
    assert options(JOB, *required, *given) == (
        Options(Path("move.json"), 7200.0, max_network_share=0.3, percentile=0.99, inbound=Path("in.json"))
    )
    with pytest.raises(ConfigError, match=r"--deadline: expected a duration"):
        options(JOB, *required, "--deadline", "soon")


def test_exit_code_is_that_of_the_plan_in_full(spark: SparkSession, place: Path, move: Path) -> None:
    half, _, most = planned(spark, place, Options(move))
    between = (half.needed + most.needed) / 2
    for share, code in ((0.5, 0), (0.99, IMPOSSIBLE)):
        asked = Options(move, max_network_share=1.0, network=between, percentile=share)
        rows = planned(spark, place, asked, code)
        assert {row.percentile: row.verdict for row in rows}[100 * share] == ("impossible" if code else "possible")


def test_moves_between_directories_are_no_plan(spark: SparkSession, place: Path, tmp_path: Path) -> None:
    """A file that asks for nothing else ends as the live command does."""
    file = tmp_path / "dirs.json"
    stay = {"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["/data", "any"]}
    file.write_text(json.dumps({"version": 1, "partitions": [stay]}))
    rows = planned(spark, place, Options(file), IMPOSSIBLE)
    assert {row.verdict for row in rows} == {"not_planned"}
