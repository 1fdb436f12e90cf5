"""What runs say of themselves: metrics, a run that only says what it would do, and maintenance."""

import re
import time
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.errors import ConfigError
from kafka_warden.history.poll import Poll
from kafka_warden.pipeline import ingest, maintain, rollup
from kafka_warden.pipeline.marts import REPLICAS
from kafka_warden.pipeline.runs import Run, write_metrics
from kafka_warden.pipeline.store import RUNS, TAKEN, Store, of_mart, raw
from tests.history.places import write
from tests.pipeline.arrivals import history_polls
from tests.pipeline.stored import ALWAYS, landed, request, rows, take
from tests.pipeline.written import read_table

pytestmark = pytest.mark.timeout(1800)


def test_metrics_of_a_run(tmp_path: Path) -> None:
    """Without any row in the store there is no newest one."""
    file = tmp_path / "pipeline.prom"
    write_metrics([Run("ingest", 2, 30, 4, 1, 1.7e9, seconds=1.5), Run("rollup", seconds=0.5)], file)
    found = {
        (family.name, sample.labels["job"]): sample.value
        for family in text_string_to_metric_families(file.read_text())
        for sample in family.samples
    }
    names = ("hours", "rows", "files", "duration_seconds", "problems", "newest_row_timestamp_seconds")
    assert found == {
        (f"kafka_warden_pipeline_{name}", job): value
        for job, values in (("ingest", (2, 30, 4, 1.5, 1, 1.7e9)), ("rollup", (0, 0, 0, 0.5, 0)))
        for name, value in zip(names, values, strict=False)
    }
    with pytest.raises(ConfigError, match=r"--metrics: .*No such file or directory"):
        write_metrics([], tmp_path / "none" / "pipeline.prom")


@pytest.mark.full_pipeline
def test_dry_run_writes_nothing(
    capsys: pytest.CaptureFixture[str], spark: SparkSession, judged: list[Poll], tmp_path: Path
) -> None:
    write(tmp_path / "landing", judged[:2])
    asked = request(spark, tmp_path / "store", ALWAYS, tmp_path / "landing")
    count = sum(len(found) for found in landed(tmp_path / "landing").values())
    said = ingest.JOB.preview(asked)
    assert re.fullmatch(rf"ingest: {count} rows of \d+ files would be taken", said)
    assert rollup.JOB.preview(asked).startswith("rollup: all hours that ingest takes would be computed")
    assert not (tmp_path / "store").exists()
    take(spark, tmp_path / "store", tmp_path / "landing")
    assert ingest.JOB.preview(asked) == "ingest: 0 rows of 0 files would be taken"
    assert rollup.JOB.preview(asked) == "rollup: 1 hour of 1 cluster would be computed"
    rollup.JOB.run(request(spark, tmp_path / "store"))
    hours = len(read_table(tmp_path / "store", of_mart(REPLICAS["hour"])))
    assert f"kafka-warden: replica_hour: {hours} rows\n" in capsys.readouterr().err
    assert rollup.JOB.preview(asked) == "rollup: 0 hours of 0 clusters would be computed"
    runs: list[Any] = read_table(tmp_path / "store", RUNS)
    assert [(run["job"], run["hours"]) for run in runs] == [("ingest", 1), ("rollup", 1)]
    assert runs[0]["rows"] == count


@pytest.mark.full_pipeline
def test_maintenance_says_what_it_did(
    capsys: pytest.CaptureFixture[str], spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintain, "FILES", 1)
    place = tmp_path / "store"
    for number in range(2):
        write(tmp_path / "landing", history_polls(1, f"run-{number}"))
        monkeypatch.setattr(maintain, "FILES", 9)
        take(spark, place, tmp_path / "landing")
    monkeypatch.setattr(maintain, "FILES", 1)
    before = rows(place)
    store = Store(spark, place)
    for _ in range(2):
        store.append(RUNS, store.read(RUNS).limit(1))
    maintain.JOB.run(request(spark, place, {"raw": 100_000}))
    said = capsys.readouterr().err
    assert "kafka-warden: runs: 4 files before, 2 after" in said
    assert rows(place) == before
    assert all(len(store.files(table, "true")) == 1 for table in (TAKEN, raw("replicas")))
    # Of 2023.
    asked = request(spark, place, {"raw": 30, "minutes": 30})
    count = len(read_table(place, TAKEN))
    store.append(TAKEN, store.read(TAKEN).withColumn("until", F.lit(time.time())).limit(1))
    assert f"\ntaken: {count + 1} rows from before" in maintain.JOB.preview(asked)
    maintain.JOB.run(asked)
    assert f"kafka-warden: taken: deleted {count + 1} rows from before" in capsys.readouterr().err
