"""The job `report`: from marts in a folder to a page in the same folder."""

import argparse
import io
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_warden.errors import MartError
from kafka_warden.pipeline.history import History
from kafka_warden.pipeline.job import Request
from kafka_warden.pipeline.jobs.report import JOB, MARTS, MOST_DRAWN, Options
from kafka_warden.pipeline.marts import write
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.report.page import INDEX, file_of
from kafka_warden.pipeline.report.saving import save
from tests.pipeline.report_rows import CLUSTERS, marts


def _request(spark: SparkSession, output: Path, **options: object) -> Request[Options]:
    history = object.__new__(History)  # the job reads none
    parsed = Options(**options)  # type: ignore[arg-type]  # what the test says
    return Request(spark, history, "history of mine", output, parsed, Progress(spark.sparkContext, io.StringIO()))


@pytest.fixture(scope="module")
def output(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all marts, as the other jobs write them."""
    folder = tmp_path_factory.mktemp("marts")
    for name, frame in marts(spark).items():
        mart = MARTS[name]
        lacking = [field for field in mart.columns if field.name not in frame.columns]
        whole = frame.selectExpr("*", *(f"CAST(NULL AS {field.type}) AS `{field.name}`" for field in lacking))
        for field in mart.columns:
            whole = whole.withColumn(field.name, whole[field.name].cast(field.type))
        write(mart, whole, folder)
    return folder


def test_page_is_made_beside_the_marts(spark: SparkSession, output: Path) -> None:
    """A page names its history, has every section and no missing mart, and nothing else is left behind."""
    JOB.run(_request(spark, output, made="2026-03-05"))
    page = (output / file_of(CLUSTERS[1])).read_text()
    assert "history of mine" in page
    assert "2026-03-05</dd>" in page
    assert page.count("<section") == 4
    assert 'class="missing"' not in page
    assert len(re.findall("<svg", page)) > 20
    assert {place.name for place in output.iterdir()} == {INDEX, *map(file_of, CLUSTERS), *marts(spark)}


def test_folder_without_marts_names_the_commands(spark: SparkSession, tmp_path: Path) -> None:
    """A missing mart is reported with a complete command."""
    folder = tmp_path / "no marts"
    JOB.run(_request(spark, folder))
    page = (folder / "report.html").read_text()
    wanted = f"kafka-warden pipeline moves --input &#x27;history of mine&#x27; --output &#x27;{folder}&#x27;"
    assert wanted in page


def test_folder_that_cannot_be_written_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    """The message names the place and what to look at."""
    (tmp_path / "file").touch()
    with pytest.raises(MartError, match=r"file/report\.html: cannot be written: .*check the folder"):
        save(spark, "page", tmp_path / "file", INDEX)


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_page_is_replaced_as_a_whole(spark: SparkSession, tmp_path: Path, scheme: str) -> None:
    """A folder is a path or an address, made if need be; the second page takes the place of the first."""
    for text in ("first, which is longer", "second ü"):
        folder = f"{scheme}{tmp_path}/new folder" if not scheme else f"{scheme}{tmp_path}/new%20folder"
        save(spark, text, folder, INDEX)
    assert [place.name for place in (tmp_path / "new folder").iterdir()] == ["report.html"]
    assert (tmp_path / "new folder" / "report.html").read_text(encoding="utf-8") == "second ü"


def test_flags_become_options() -> None:
    """Flags are the options' names; a number that cannot be drawn is refused with what can be."""
    parser = argparse.ArgumentParser()
    JOB.add_flags(parser)
    assert JOB.read_flags(parser.parse_args([])) == Options()
    given = ["--title", "T", "--moves", "3", "--made", "now"]
    assert JOB.read_flags(parser.parse_args(given)) == Options("T", 3, "now")
    for wrong in ("-1", "x", str(MOST_DRAWN + 1)):
        with pytest.raises(SystemExit):
            parser.parse_args([f"--moves={wrong}"])
