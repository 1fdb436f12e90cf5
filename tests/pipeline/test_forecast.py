"""The job `forecast`: from raw rows to days."""

import math
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.errors import ConfigError
from kafka_warden.pipeline import forecast
from kafka_warden.pipeline.claims import holding
from kafka_warden.pipeline.cli import parser
from kafka_warden.pipeline.forecast import JOB, Options, series
from kafka_warden.pipeline.marks import Work
from kafka_warden.pipeline.marts import FORECAST_PATHS, FORECASTS, SERIES_DAYS, Mart
from kafka_warden.pipeline.rollup_series import put_days
from kafka_warden.pipeline.store import Store, of_mart
from tests.pipeline.daily import FIRST, HOUR, broker, partition, poll, write_table
from tests.pipeline.stored import mart, request, roll_up, stored
from tests.pipeline.written import live_files, read_table

GB = 10**9
DAYS = 30
START = datetime.fromtimestamp(FIRST, UTC).replace(tzinfo=None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30 days and 5 hours: 10 partitions and 10 GB a day, of a disk of 1 TB; a rate that is the same each day."""
    folder = tmp_path_factory.mktemp("history")
    made = folder / "one"
    hours = range(DAYS * 24 + 5)
    day = {hour: hour // 24 for hour in hours}
    limits = {"max_partitions": 1500.0, "max_broker_partitions": math.inf, "network_bytes_per_second": 1e6}
    dirs = {hour: {"/data": (1, 1000 * GB - (400 + 10 * day[hour]) * GB, 1000 * GB)} for hour in hours}
    write_table(made, "polls", [poll(hour, 1000 + 10 * day[hour], limits, rows=4) for hour in hours])
    write_table(
        made,
        "brokers",
        [broker(hour, 1, 3000 + 10 * day[hour], dirs[hour]) for hour in hours]
        + [broker(hour, 2, 7, {"/old": (5 * GB, -1, -1)}) for hour in range(3 * 24)],
    )
    write_table(
        made,
        "partitions",
        [partition(hour, number, 1 + number % 2, 100.0 * (1 + hour % 24)) for hour in hours for number in range(4)],
    )
    sampled(folder)
    lossy(folder)
    return folder


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory, folder: Path, spark: SparkSession) -> Path:
    """A store with its hours and forecasts."""
    made = stored(spark, tmp_path_factory.mktemp("store"), folder)
    roll_up(spark, made)
    JOB.run(request(spark, made, Options()))
    return made


def one(spark: SparkSession, place: Path, described: Mart) -> DataFrame:
    return mart(spark, place, described).where("cluster_id = 'one'")


def days(spark: SparkSession, place: Path, cluster: str) -> DataFrame:
    return series(mart(spark, place, SERIES_DAYS).where(f"cluster_id = '{cluster}'"), Options())


@pytest.fixture(scope="module")
def rows(spark: SparkSession, output: Path) -> dict[tuple[str, str], Row]:
    """Subject and what to the forecast."""
    return {(row.subject, row.what): row for row in one(spark, output, FORECASTS).collect()}


def test_everything_that_grows_has_a_row(rows: dict[tuple[str, str], Row]) -> None:
    assert set(rows) == {
        ("cluster", "partitions"),
        ("cluster", "bytes_in"),
        ("1", "replicas"),
        ("2", "replicas"),
        ("1", "bytes_in"),
        ("2", "bytes_in"),
        ("1:/data", "disk_bytes"),
        ("2:/old", "disk_bytes"),
    }
    disk = rows["1:/data", "disk_bytes"]
    assert (disk.cluster_id, disk.broker, disk.log_dir) == ("one", 1, "/data")


def test_a_line_reaches_its_limit_on_its_day(rows: dict[tuple[str, str], Row]) -> None:
    found = rows["cluster", "partitions"]

    assert (found.outcome, found.limit, found.now, found.history_days) == ("within", 1500.0, 1290.0, DAYS)
    assert found.growth_per_day == pytest.approx(10, rel=0.02)
    assert found.last_day == START + timedelta(days=DAYS - 1)
    assert found.baseline_day == START + timedelta(days=50)
    assert abs(found.day - (START + timedelta(days=50))) <= timedelta(days=1)
    assert found.day_low <= found.day <= found.day_high
    disk = rows["1:/data", "disk_bytes"]
    assert (disk.now, disk.limit) == (690 * GB, 1000 * GB)
    assert abs(disk.day - (START + timedelta(days=60))) <= timedelta(days=1)


def test_a_rate_is_that_of_the_busiest_hour(rows: dict[tuple[str, str], Row]) -> None:
    found = rows["1", "bytes_in"]

    assert (found.outcome, found.now, found.limit) == ("beyond", 4800.0, 1e6)
    assert (found.day, found.day_low, found.day_high, found.baseline_day) == (None, None, None, None)
    assert rows["cluster", "bytes_in"].now == 9600.0
    assert rows["cluster", "bytes_in"].outcome == "limit_unknown"


def test_what_cannot_be_said_is_null(rows: dict[tuple[str, str], Row]) -> None:
    unlimited, old = rows["1", "replicas"], rows["2:/old", "disk_bytes"]

    assert (unlimited.outcome, unlimited.limit, unlimited.day) == ("unlimited", math.inf, None)
    assert (old.outcome, old.limit, old.day, old.now) == ("too_short", None, None, 5 * GB)
    assert (old.history_days, old.growth_per_day, old.method) == (3, None, None)


def test_paths_go_on_where_the_days_end(spark: SparkSession, output: Path) -> None:
    where = "what = 'partitions'"
    path = one(spark, output, FORECAST_PATHS).where(where).orderBy("day").collect()

    assert [row.day for row in path] == [START + timedelta(days=day) for day in range(DAYS + 90)]
    assert [row.seen for row in path[:DAYS]] == [1000.0 + 10 * day for day in range(DAYS)]
    assert all(row.seen is None and row.low <= row.median <= row.high for row in path[DAYS:])


def test_given_limits_win(spark: SparkSession, output: Path, tmp_path: Path) -> None:
    own = shutil.copytree(output, tmp_path / "store")
    options = Options(max_partitions=1320, max_broker_partitions=3290, network=4000.0, disk_share=0.75, horizon=20)
    JOB.run(request(spark, own, options))
    found = {(row.subject, row.what): row for row in one(spark, own, FORECASTS).collect()}

    assert found["cluster", "partitions"].limit == 1320
    assert (found["1", "replicas"].outcome, found["1", "replicas"].day) == ("reached", START + timedelta(days=29))
    assert found["1", "bytes_in"].outcome == "reached"
    assert found["1:/data", "disk_bytes"].limit == 750 * GB
    assert {row.horizon_days for row in found.values()} == {20}


def sampled(folder: Path) -> None:
    limits = {"max_partitions": 1500.0, "network_bytes_per_second": 1e6}
    hours = range(0, 20 * 24 + 12, 6)
    rows = [poll(hour, 1000 + 10 * (hour // 24), limits, "sampled") for hour in hours]
    write_table(folder / "sampled", "polls", rows)


def lossy(folder: Path) -> None:
    """Three polls of an hour; one does not know one of two partitions, of one a row is lost."""
    later = [{"cluster_id": "lossy", "sequence": number, "time": FIRST + 60.0 * (1 + number)} for number in range(3)]
    rates = ((100.0, 100.0), (100.0, None), (100.0,))
    rows = [
        {**partition(0, number, 1, rate), **later[place]}
        for place, each in enumerate(rates)
        for number, rate in enumerate(each)
    ]
    write_table(folder / "lossy", "partitions", rows)
    write_table(folder / "lossy", "polls", [{**poll(0, 2, {}, rows=2), **each} for each in later])
    write_table(folder / "lossy", "brokers", [{**broker(0, 1, 1, {}), **each} for each in later])


def test_days_count_by_how_often_polls_are_kept(spark: SparkSession, output: Path) -> None:
    found = days(spark, output, "sampled").orderBy("day").collect()
    assert [row.value for row in found] == [1000.0 + 10 * day for day in range(20)] + [None]


def test_a_poll_that_does_not_know_all_counts_for_nothing(spark: SparkSession, output: Path) -> None:
    found = days(spark, output, "lossy").where("what = 'bytes_in'").collect()
    assert sorted((row.subject, row.value) for row in found) == [("1", 200.0), ("cluster", 200.0)]


def test_days_to_come_are_not_believed(spark: SparkSession, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that ran ahead made them. One may be ahead by a day."""
    today = (START + timedelta(days=9)).date()
    monkeypatch.setattr(Store, "today", lambda _: today)
    found = forecast._days(request(spark, output, Options())).agg(F.min("day"), F.max("day")).collect()
    assert [tuple(row) for row in found] == [(START.date(), today + timedelta(days=1))]


def test_days_before_new_hours_are_not_written_again(spark: SparkSession, output: Path) -> None:
    store, table = Store(spark, output), of_mart(SERIES_DAYS)
    since = DAYS * 24 + int(FIRST) // HOUR

    def round_of_a_loop() -> dict[str, int]:
        with holding(store, "rollup", lambda _: ()) as claim:
            put_days(store, Work(claim, 1, {"one": [(since, since + 5)]}, moves_marks=False, rows=0))
        return {file["path"]: file["size"] for file in live_files(output, table)}

    def rows() -> list[str]:
        return sorted(map(repr, read_table(output, table)))

    expected = rows()
    before, after = round_of_a_loop(), round_of_a_loop()
    assert max(before, key=before.__getitem__) in after
    assert after.keys() != before.keys()
    assert rows() == expected


def flags(*given: str) -> Any:
    arguments = ["forecast", "--store", "store", *given]
    return JOB.read_flags(parser(arguments).parse_args(arguments))


def test_flags_are_read_as_the_configuration_is() -> None:
    assert flags() == Options()
    assert flags("--network", "125MB/s", "--level", "80%", "--disk-share", "0.85") == Options(
        network=125e6, level=0.8, disk_share=0.85
    )
    with pytest.raises(ConfigError, match=r"--horizon: expected 366 days or less, got 400"):
        flags("--horizon", "400")
    with pytest.raises(ConfigError, match=r"--level: expected"):
        flags("--level", "100%")
    with pytest.raises(ConfigError, match=r"--network: expected bytes per second"):
        flags("--network", "fast")
