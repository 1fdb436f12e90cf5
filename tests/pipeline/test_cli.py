"""`kafka-warden pipeline`: flags, exit codes, and the progress of a job."""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from pyspark.sql import SparkSession

from kafka_warden import cli
from kafka_warden.errors import (
    ClockError,
    EmptyHistoryError,
    HistoryFileError,
    KafkaWardenError,
    StoreError,
    TruthError,
)
from kafka_warden.pipeline import report
from kafka_warden.pipeline.cli import JOBS, load, parser, repeat
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.session import ROWS, adapt, java_options, set_shuffle_partitions
from tests.history.places import write
from tests.history.replay import scene_polls
from tests.pipeline.commands import PLAIN, TIME_LIMIT
from tests.support.processes import checked
from tests.support.processes import run as run_program

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", JOBS)
def test_job_has_its_name_and_help(name: str) -> None:
    assert load(name).name == name
    assert f"\n    {name}" in parser([]).format_help()
    assert f"\n| `{name}` |" in (ROOT / "docs" / "pipeline.md").read_text()


@pytest.mark.parametrize(
    ("jobs", "given", "message"),
    [
        ("ingest", ["--input", "in", "--conf", "spark.ui.enabled"], "--conf: expected KEY=VALUE"),
        ("ingest,rollup", ["--input", "in", "--keep-raw", "some"], "--keep-raw: expected a whole number"),
        ("ingest", ["--input", "in", "--keep-minutes", "100001"], "--keep-minutes: expected 100000 days or less"),
        (
            "ingest",
            ["--input", "in", "--kafka-properties", "x"],
            "--kafka-properties: only valid with --input kafka://",
        ),
        ("ingest", ["--input", "kafka://x"], "--input: expected kafka://HOST:PORT,HOST:PORT/TOPIC"),
        ("rollup", ["--every", "1"], "--every: expected a duration"),
        ("rollup", ["--every", "1m", "--start", "2026-11-21T17:00"], "--start, --end: not valid with --every"),
        ("rollup", ["--every", "1m", "--start", "0001-01-01"], "--start, --end: not valid with --every"),
        ("ingest", [], "--input: ingest needs the landing zone, and no other job reads it; first run"),
        ("rollup,report", ["--input", "in"], "--input: ingest needs the landing zone, and no other job reads it"),
        ("rollup", ["--jars", "/nowhere"], "--jars: no jars in /nowhere; fetch them: kafka-warden"),
    ],
)
def test_what_cannot_be_used_together_is_reported(
    jobs: str, given: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = cli.main(["pipeline", jobs, "--store", str(tmp_path), *given])
    assert code == cli.BAD_CONFIGURATION
    assert message in capsys.readouterr().err


@pytest.mark.spark
@pytest.mark.parametrize(
    ("given", "path"), [(["--master", "nonsense"], None), (["--memory", "nonsense"], None), ([], "/nowhere")]
)
def test_spark_that_does_not_start_is_reported(given: list[str], path: str | None, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("bash", "dirname", "ps", "readlink"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or "")
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    if path is not None:
        environment["PATH"] = str(tmp_path / "bin")
    command = (sys.executable, "-m", "kafka_warden.cli", "pipeline", "rollup", "--store", "store")
    done = run_program(*command, *given, cwd=ROOT, env=environment)
    assert done.returncode == cli.GAVE_UP
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("kafka-warden: Spark did not start: ")


@pytest.mark.parametrize("jobs", ["rollup,nonsense", "rollup,", ",", "rollup, moves"])
def test_job_that_does_not_exist_is_reported(jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(["pipeline", jobs, "--store", "store"])
    assert end.value.code == cli.BAD_CONFIGURATION
    assert f"invalid choice: '{jobs}' (choose from 'ingest', 'rollup', 'moves'" in capsys.readouterr().err


@pytest.mark.parametrize(("codes", "ran"), [((0, None), ["moves", "report"]), ((3, None), ["moves"])])
def test_several_jobs_share_a_session(
    monkeypatch: pytest.MonkeyPatch, codes: tuple[int | None, ...], ran: list[str]
) -> None:
    seen: list[str] = []
    make = Mock()
    jobs = {name: load(name) for name in ("moves", "report")}
    asked = {"moves": None, "report": report.Options(title="Ours")}

    def lead(name: str, code: int | None) -> Job[Any]:
        def run(request: Request[Any]) -> int | None:
            assert request.spark is make.return_value
            assert request.options == asked[name]
            seen.append(name)
            return code

        return replace(jobs[name], run=run)

    led = {name: lead(name, code) for name, code in zip(jobs, codes, strict=True)}
    monkeypatch.setattr("kafka_warden.pipeline.cli.load", led.__getitem__)
    monkeypatch.setattr("kafka_warden.pipeline.session.make", make)
    assert cli.main(["pipeline", "moves,report", "--store", "store", "--title", "Ours"]) == (codes[0] or 0)
    assert seen == ran
    make.assert_called_once()
    make.return_value.stop.assert_called_once_with()


@pytest.mark.parametrize("failure", [HistoryFileError, StoreError, TruthError])
def test_what_cannot_be_used_is_reported_in_a_line(
    failure: type[KafkaWardenError], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(arguments: Sequence[str]) -> int:
        raise failure("truth/faults.json: no such file")

    monkeypatch.setattr("kafka_warden.pipeline.cli.main", refuse)
    assert cli.main(["pipeline", "backtest"]) == cli.BAD_CONFIGURATION
    assert capsys.readouterr().err == "kafka-warden: truth/faults.json: no such file\n"


def test_partitions_of_shuffles_that_were_asked_for_stay(spark: SparkSession) -> None:
    set_shuffle_partitions(spark, 100 * ROWS)
    assert spark.conf.get("spark.sql.shuffle.partitions") == "1"
    other = spark.newSession()
    other.conf.unset("spark.sql.shuffle.partitions")
    adapt(other)
    set_shuffle_partitions(other, 100 * ROWS)
    assert other.conf.get("spark.sql.shuffle.partitions") == "100"


@pytest.mark.parametrize(
    ("given", "collector"),
    [
        ({}, "-XX:+UseParallelGC"),
        ({"JAVA_TOOL_OPTIONS": "-Xss2m -XX:+UseG1GC"}, None),
        ({"spark.driver.defaultJavaOptions": "-XX:+UseG1GC"}, None),
        ({"JDK_JAVA_OPTIONS": "-XX:+UseSerialGC"}, None),
        ({"_JAVA_OPTIONS": "-XX:+UseSerialGC"}, None),
        ({"SPARK_SUBMIT_OPTS": "-XX:+UseSerialGC -Xss2m"}, None),
        ({"JAVA_TOOL_OPTIONS": "-XX:+UseStringDeduplication -XX:-UseG1GC"}, "-XX:+UseParallelGC"),
    ],
)
def test_garbage_collector_that_was_chosen_stays(given: Mapping[str, str], collector: str | None) -> None:
    flags = list(java_options(given, given))
    assert flags[1:] == ([] if collector is None else [collector])
    command = ["java", *flags, *given.get("SPARK_SUBMIT_OPTS", "").split(), "-version"]
    assert run_program(*command, env={"PATH": os.environ["PATH"], **given}).returncode == 0


def test_without_spark_the_extra_is_named() -> None:
    hidden = "import sys; sys.modules['pyspark'] = None; import importlib.util as u; f = u.find_spec"
    hidden += "; u.find_spec = lambda name, *rest: None if name == 'pyspark' else f(name, *rest)"
    code = f"{hidden}; from kafka_warden.cli import main; sys.exit(main(sys.argv[1:]))"
    commands = (["pipeline", "rollup"], ["--version"])
    found = [run_program(sys.executable, "-c", code, *given, cwd=ROOT) for given in commands]
    assert [done.returncode for done in found] == [2, 0]
    assert found[0].stderr == (
        "kafka-warden: pipeline: needs pyspark, which is not installed: in a checkout pip install '.[spark]'\n"
    )


@pytest.mark.spark
def test_command_runs_jobs(jars: Path, tmp_path: Path) -> None:
    write(tmp_path / "history", scene_polls())
    flags = ["--master", "local[1]", "--memory", "1g", "--jars", str(jars), "--keep-raw", "100000", *PLAIN]
    flags += ["--conf", f"spark.local.dir={tmp_path}", "--store", str(tmp_path / "store")]
    command = [sys.executable, "-m", "kafka_warden.pipeline", "ingest,rollup", *flags]
    done = run_program(*command, "--input", tmp_path / "history", cwd=ROOT, timeout=None)
    assert done.returncode == 0, done.stderr
    assert "kafka-warden: minutes of replicas: done in " in done.stderr
    assert "kafka-warden: rollup: 1 hour of 1 cluster" in done.stderr
    assert list((tmp_path / "store" / "replica_hour").rglob("*.parquet"))


def test_steps_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    with progress.step("counting"):
        pass
    with pytest.raises(ZeroDivisionError), progress.step("dividing"):
        _ = 1 / 0
    lines = [line.rstrip("0123456789. s") for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "kafka-warden: counting",
        "kafka-warden: counting: done in",
        "kafka-warden: dividing",
        "kafka-warden: dividing: failed after",
    ]


class Clock:
    """In place of the module `time`: a pause takes no time."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("kafka_warden.pipeline.cli.time", clock)
    return clock


def rounds(
    clock: Clock, *outcomes: int | Exception | None, takes: float = 0.0
) -> tuple[Callable[[], int], list[float]]:
    """A run with these outcomes, in which None is a SIGTERM to this process; and the times of its calls."""
    left, began = iter(outcomes), list[float]()

    def run() -> int:
        began.append(clock.now)
        clock.now += takes
        outcome = next(left)
        if isinstance(outcome, Exception):
            raise outcome
        if outcome is None:
            os.kill(os.getpid(), signal.SIGTERM)
        return outcome or 0

    return run, began


@pytest.mark.parametrize(("takes", "period"), [(0.0, 60.0), (45.0, 60.0), (90.0, 90.0)])
def test_rounds_go_on_until_one_fails(
    clock: Clock, takes: float, period: float, capsys: pytest.CaptureFixture[str]
) -> None:
    run, began = rounds(clock, 0, EmptyHistoryError("nothing here"), ClockError("all ahead"), 3, takes=takes)
    assert repeat(run, 60.0) == 3
    assert began == [0.0, period, 2 * period, 3 * period]
    printed = [f"kafka-warden: {what}; the next round looks again" for what in ("nothing here", "all ahead")]
    assert capsys.readouterr().err.splitlines() == printed


@pytest.mark.parametrize("every", [0.0, 3600.0])
def test_sigterm_ends_it_after_the_round(clock: Clock, every: float) -> None:
    before = signal.getsignal(signal.SIGTERM)
    run, began = rounds(clock, None)
    assert repeat(run, every) == 0
    assert (len(began), clock.now) == (1, 0.0)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_a_job_at_once(number: signal.Signals) -> None:
    """It ends without the work that is left for its end, and so does Spark."""
    program = """
import os, sys
from kafka_warden.pipeline import cli
cli._session = lambda _: os.kill(os.getpid(), int(sys.argv[1]))
cli.main(["rollup", "--store", "store"])
"""
    ended = run_program(sys.executable, "-c", program, str(int(number)))
    assert (ended.returncode, ended.stdout, ended.stderr) == (128 + number, "", "kafka-warden: interrupted\n")


@pytest.mark.spark
@pytest.mark.full_pipeline
def test_delta_prints_nothing(jars: Path, tmp_path: Path) -> None:
    program = """
import sys
from kafka_warden.pipeline import session
spark = session.make("quiet", "local[1]", "1g", sys.argv[1])
spark.range(1).write.format("delta").save(sys.argv[2])
spark.sql(f"VACUUM delta.`{sys.argv[2]}`").collect()
"""
    assert checked(sys.executable, "-c", program, jars, tmp_path / "table", timeout=TIME_LIMIT) == ""
