"""The job `forecast`: from raw rows to days."""

import math
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.errors import ConfigError
from kafka_warden.pipeline import forecast
from kafka_warden.pipeline.forecast import GONE, JOB, Options, series
from kafka_warden.pipeline.incremental import Work
from kafka_warden.pipeline.marts import FORECAST_PATHS, FORECASTS, SERIES_DAYS, Mart
from kafka_warden.pipeline.rollup import put_days
from kafka_warden.pipeline.store import Store, of_mart
from tests.pipeline.daily import FIRST, HOUR, broker, partition, poll, write_table
from tests.pipeline.stored import mart, options, request, roll_up, stored
from tests.pipeline.written import live_files, read_table

GB = 10**9
DAYS = 30
START = datetime.fromtimestamp(FIRST, UTC).replace(tzinfo=None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30 days and 5 hours: 10 partitions and 10 GB a day, of a disk of 1 TB; a rate that is the same each day.

    Broker 2 is new, and broker 3 is gone. So are the other clusters.
    """
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
        + [broker(hour, 2, 7, {"/new": (5 * GB, -1, -1)}) for hour in range((DAYS - 3) * 24, DAYS * 24)]
        + [broker(hour, 3, 7, {"/old": (1, 0, 1)}) for hour in range((DAYS + 1 - GONE) * 24)],
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


def day(number: int) -> datetime:
    return START + timedelta(days=number)


EXPECTED: dict[tuple[str, str], dict[str, Any]] = {
    ("cluster", "partitions"): {
        "outcome": "within",
        "limit": 1500.0,
        "now": 1290.0,
        "history_days": DAYS,
        "last_day": day(DAYS - 1),
        "baseline_day": day(50),
        "horizon_days": 90,
    },
    ("1:/data", "disk_bytes"): {"broker": 1, "log_dir": "/data", "now": 690 * GB, "limit": 1000 * GB},
    # The busiest hour of each day is the same.
    ("1", "bytes_in"): {"outcome": "beyond", "now": 4800.0, "limit": 1e6, "day": None, "day_low": None},
    ("cluster", "bytes_in"): {"outcome": "limit_unknown", "now": 9600.0, "broker": None},
    ("1", "replicas"): {"outcome": "unlimited", "limit": math.inf, "day": None},
    ("2:/new", "disk_bytes"): {
        "outcome": "too_short",
        "limit": None,
        "day": None,
        "now": 5 * GB,
        "history_days": 3,
        "growth_per_day": None,
        "method": None,
    },
    ("2", "replicas"): {},
    ("2", "bytes_in"): {},
}


def test_every_series_has_its_forecast(spark: SparkSession, output: Path) -> None:
    found = {(row.subject, row.what): row.asDict() for row in mart(spark, output, FORECASTS).collect()}
    assert {key: {name: found[key][name] for name in row} for key, row in EXPECTED.items()} == EXPECTED
    assert found.keys() == EXPECTED.keys()
    partitions = found["cluster", "partitions"]
    assert partitions["growth_per_day"] == pytest.approx(10, rel=0.02)
    assert partitions["day_low"] <= partitions["day"] <= partitions["day_high"]
    for row, expected in ((partitions, 50), (found["1:/data", "disk_bytes"], 60)):
        assert abs(row["day"] - day(expected)) <= timedelta(days=1)


def test_paths_go_on_where_the_days_end(spark: SparkSession, output: Path) -> None:
    path = one(spark, output, FORECAST_PATHS).where("what = 'partitions'").orderBy("day").collect()
    assert [row.day for row in path] == [*map(day, range(DAYS + 90))]
    assert [row.seen for row in path[:DAYS]] == [1000.0 + 10 * day for day in range(DAYS)]
    assert all(row.seen is None and row.low <= row.median <= row.high for row in path[DAYS:])


def test_given_limits_win(spark: SparkSession, output: Path, tmp_path: Path) -> None:
    own = shutil.copytree(output, tmp_path / "store")
    limits = Options(max_partitions=1320, max_broker_partitions=3290, network=4000.0, disk_share=0.75, horizon=20)
    JOB.run(request(spark, own, limits))
    found = {(row.subject, row.what): row for row in one(spark, own, FORECASTS).collect()}
    assert found["cluster", "partitions"].limit == 1320
    assert (found["1", "replicas"].outcome, found["1", "replicas"].day) == ("reached", day(29))
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


def test_a_day_needs_most_of_its_usual_hours_and_whole_polls(spark: SparkSession, output: Path) -> None:
    """`sampled` has four polls a day, and two on its last one."""

    def days(cluster: str) -> DataFrame:
        return series(mart(spark, output, SERIES_DAYS).where(f"cluster_id = '{cluster}'"), Options())

    found = days("sampled").orderBy("day").collect()
    assert [row.value for row in found] == [1000.0 + 10 * day for day in range(20)] + [None]
    rates = days("lossy").where("what = 'bytes_in'").collect()
    assert sorted((row.subject, row.value) for row in rates) == [("1", 200.0), ("cluster", 200.0)]


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
        put_days(store, Work(store, {"one": [(since, since + 5)]}, rows=0))
        return {file["path"]: file["size"] for file in live_files(output, table)}

    def rows() -> list[str]:
        return sorted(map(repr, read_table(output, table)))

    expected = rows()
    before, after = round_of_a_loop(), round_of_a_loop()
    assert max(before, key=before.__getitem__) in after
    assert after.keys() != before.keys()
    assert rows() == expected


def test_flags_are_read_as_the_configuration_is() -> None:
    assert options(JOB) == Options()
    assert options(JOB, "--network", "125MB/s", "--level", "80%", "--disk-share", "0.85") == Options(
        network=125e6, level=0.8, disk_share=0.85
    )
    with pytest.raises(ConfigError, match=r"--horizon: expected 366 days or less, got 400"):
        options(JOB, "--horizon", "400")
    with pytest.raises(ConfigError, match=r"--level: expected"):
        options(JOB, "--level", "100%")
    with pytest.raises(ConfigError, match=r"--network: expected bytes per second"):
        options(JOB, "--network", "fast")
