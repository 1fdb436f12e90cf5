"""`make pipeline-demo`: its commands are valid, it takes no foreign folder, and its output exists."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fleet.cli import _parser as fleet_parser
from kafka_warden.pipeline.cli import JOBS, parser
from tests.fleet.test_recorded import truth
from tests.support.processes import run as run_program

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "pipeline-demo"
SECTIONS = ("Moves", "Followers that were not in sync", "False alarms", "Days to each limit")


def commands(start: str) -> list[list[str]]:
    """Arguments of the commands of the script that begin so, without what goes to a file."""
    text = SCRIPT.read_text().replace("\\\n", " ")
    found = re.findall(rf"^{re.escape(start)} (.*)$", text, re.MULTILINE)
    return [shlex.split(line.partition(" >")[0]) for line in found]


def run(*arguments: object, venv: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script with the programs of the environment that runs this test."""
    programs = Path(sys.executable).parent if venv is None else venv
    variables = {**os.environ, "PIPELINE_DEMO_PROGRAMS": str(programs), "PYTHONPATH": str(ROOT), **environment}
    return run_program(SCRIPT, *arguments, env=variables, timeout=None)


def test_commands_are_valid() -> None:
    (given,) = commands("pipeline")
    arguments = [*given, "--store", "store"]
    parsed = parser(arguments).parse_args(arguments)
    assert set(parsed.job.split(",")) == set(JOBS)
    assert parsed.cluster in {event["cluster_id"] for event in truth("moves")}
    (generated,) = commands('"$programs/python" -m fleet')
    assert fleet_parser().parse_args(generated).preset == "growth"
    assert (ROOT / "fleet/recorded/move.json").is_file()


@pytest.mark.parametrize(("given", "code"), [(("--help",), 0), (("--nonsense",), 2), (("-x",), 2), (("one", "two"), 2)])
def test_usage_is_reported(given: tuple[str, ...], code: int) -> None:
    done = run(*given)
    printed, nothing = (done.stderr, done.stdout) if code else (done.stdout, done.stderr)
    assert (done.returncode, nothing) == (code, "")
    assert printed.startswith("usage: scripts/pipeline-demo [FOLDER]")


def test_a_folder_of_another_program_stays(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    done = run(tmp_path)
    assert done.returncode == 1
    assert f"{tmp_path} is something else: move it away, or name another folder" in done.stderr
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(tmp_path / "file" / "demo")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"pipeline-demo: {tmp_path}/file/demo cannot be written: name another folder"
    )


def test_what_is_missing_is_reported(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    assert run(tmp_path / "demo", venv=tmp_path).stderr == "pipeline-demo: there is no .venv: make setup\n"
    old = run(tmp_path / "demo", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert old.returncode == 1
    assert "Spark needs a JRE 17 or newer" in old.stderr
    assert not (tmp_path / "demo").exists()


@pytest.mark.spark
@pytest.mark.full_pipeline
@pytest.mark.timeout(1800)
def test_it_leaves_what_it_promises(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / ".made-by-pipeline-demo").touch()
    (tmp_path / "demo" / "left").touch()
    done = run(tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "demo" / "left").exists()
    pages = [page.read_text() for page in (tmp_path / "demo" / "store").glob("report-*.html")]
    assert len(pages) == 2
    for page in pages:
        assert all(f">{title}</h2>" in page for title in SECTIONS)
        assert "There is no mart" not in page
    assert "POSSIBLE  3 partitions" in (tmp_path / "demo" / "plan.txt").read_text()
    named = re.findall(r"^  (\S+?)(?:,.*)?$", done.stdout, re.MULTILINE)
    assert len(named) == 4
    assert all((ROOT / name).exists() for name in named)
