"""The job `report`: from marts in a folder to a page in the same folder."""

import argparse
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_warden.errors import StoreError
from kafka_warden.pipeline.job import Request
from kafka_warden.pipeline.jobs.report import JOB, MARTS, MOST_DRAWN, Options
from kafka_warden.pipeline.marts import shaped
from kafka_warden.pipeline.report.page import INDEX, file_of
from kafka_warden.pipeline.report.saving import save
from kafka_warden.pipeline.store import Store, of_mart
from tests.pipeline.on_s3 import STORE, make
from tests.pipeline.report_rows import CLUSTERS, marts
from tests.pipeline.stored import request
from tests.pipeline.written import write_table
from tests.support.s3 import BUCKET, backend, serving


def _request(spark: SparkSession, place: Path, **options: object) -> Request[Options]:
    return request(spark, place, Options(**options))  # type: ignore[arg-type]  # what the test says


@pytest.fixture(scope="module")
def output(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with all marts, as the other jobs write them."""
    folder = tmp_path_factory.mktemp("marts")
    store = Store(spark, folder)
    store.create()
    for name, frame in marts(spark).items():
        mart = MARTS[name]
        lacking = [field for field in mart.columns if field.name not in frame.columns]
        whole = frame.selectExpr("*", *(f"CAST(NULL AS {field.type}) AS `{field.name}`" for field in lacking))
        for field in mart.columns:
            whole = whole.withColumn(field.name, whole[field.name].cast(field.type))
        write_table(store, of_mart(mart), shaped(mart, whole).toArrow())
    return folder


def test_page_is_made_beside_the_marts(spark: SparkSession, output: Path) -> None:
    JOB.run(_request(spark, output, made="2026-03-05"))
    page = (output / file_of(CLUSTERS[1])).read_text()
    assert str(output) in page
    assert "2026-03-05</dd>" in page
    assert page.count("<section") == 4
    assert 'class="missing"' not in page
    assert len(re.findall("<svg", page)) > 20
    assert {place.name for place in output.iterdir()} == {INDEX, "landing", *map(file_of, CLUSTERS), *marts(spark)}


def test_store_without_marts_names_the_commands(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "no marts"
    with pytest.raises(StoreError, match="no store; first run kafka-warden pipeline ingest"):
        JOB.run(_request(spark, folder))
    Store(spark, folder).create()
    JOB.run(_request(spark, folder))
    page = (folder / "report.html").read_text()
    assert f"kafka-warden pipeline moves --store &#x27;{folder}&#x27;" in page


def test_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"file/report\.html: cannot be written: .*check the folder"):
        save("page", tmp_path / "file", INDEX)


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_page_is_replaced_as_a_whole(tmp_path: Path, scheme: str) -> None:
    for text in ("first, which is longer", "second ü"):
        assert save(text, f"{scheme}{tmp_path}/new folder", INDEX) == str(tmp_path / "new folder" / INDEX)
    assert [place.name for place in (tmp_path / "new folder").iterdir()] == ["report.html"]
    assert (tmp_path / "new folder" / "report.html").read_text(encoding="utf-8") == "second ü"


def test_page_in_a_bucket_has_the_type_of_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as bucket:
        make(bucket)
        for name, value in bucket.environment().items():
            monkeypatch.setenv(name, value)
        assert save("page", STORE, INDEX) == f"{STORE}/{INDEX}"
        page = backend().buckets[BUCKET].keys[f"store/{INDEX}"]
        assert (page.value, page.metadata["content-type"]) == (b"page", "text/html; charset=utf-8")


def test_flags_become_options() -> None:
    parser = argparse.ArgumentParser()
    JOB.add_flags(parser)
    assert JOB.read_flags(parser.parse_args([])) == Options()
    given = ["--title", "T", "--moves", "3", "--made", "now"]
    assert JOB.read_flags(parser.parse_args(given)) == Options("T", 3, "now")
    for wrong in ("-1", "x", str(MOST_DRAWN + 1)):
        with pytest.raises(SystemExit):
            parser.parse_args([f"--moves={wrong}"])
