"""CONTRIBUTING.md: its lists of steps are followed in a copy of the repository; the places of all others exist."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

import pytest

from sandbox.jars import CACHE_VARIABLE, cache_directory
from tests.support.processes import run

ROOT: Final = Path(__file__).parents[1]
PARTS: Final = (
    *("alerts", "conftest.py", "deploy", "docs", "exporter", "fleet", "grafana", "pyproject.toml", "sandbox"),
    *("scripts", "tests"),
)
"""What the steps need."""
CATALOGUE: Final = "exporter/kafka_warden/catalogue/cluster.py"
GOLDEN: Final = "tests/golden/metrics.txt"
GUIDE: Final = (ROOT / "CONTRIBUTING.md").read_text()
STEP: Final = re.compile(r"^\d+\. `([\w./-]+)`: (.*\n(?: {3,4}\S.*\n)*)", re.MULTILINE)
"""A numbered step that begins with a place: the place, and what it says of it."""
WORD: Final = re.compile(r"`([A-Za-z_]\w*)(?:\.{3})?`")
"""A name in the place; not a command, a file or an option."""


@pytest.mark.parametrize(("place", "text"), STEP.findall(GUIDE), ids=[place for place, _ in STEP.findall(GUIDE)])
def test_each_step_leads_to_a_place_that_has_what_it_names(place: str, text: str) -> None:
    files = list(ROOT.glob(re.sub("NAME|SUBJECT", "*", place)))
    assert files
    inside = "".join(each.read_text() for file in files for each in (file.rglob("*.py") if file.is_dir() else [file]))
    assert [name for name in WORD.findall(text) if name not in inside] == []


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The parts of the repository that the steps need, in a directory that may change."""
    for part in PARTS:
        if (ROOT / part).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(ROOT / part, tmp_path / part, ignore=ignored)
        else:
            shutil.copy(ROOT / part, tmp_path / part)
    return tmp_path


def contents(directory: Path) -> dict[str, bytes]:
    files = {str(file.relative_to(directory)): file for file in directory.rglob("*") if file.is_file()}
    return {name: file.read_bytes() for name, file in files.items() if not name.startswith(".")}


def changed(before: dict[str, bytes], directory: Path) -> set[str]:
    after = contents(directory)
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def python(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PYTHONPATH": f"{directory}:{directory / 'exporter'}",
        "PYTHONPYCACHEPREFIX": str(directory / ".bytecode"),
        CACHE_VARIABLE: str(cache_directory()),
    }
    return run(sys.executable, *arguments, cwd=directory, env=environment, timeout=900)


def failed(done: subprocess.CompletedProcess[str]) -> set[str]:
    """The tests that failed."""
    assert "passed" in done.stdout, done.stdout + done.stderr
    return set(re.findall(r"^(?:FAILED|ERROR) \S+::(\w+)", done.stdout, re.MULTILINE))


def metric_tests(directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    chosen = ("-k", "not promtool", "tests/test_catalogue.py", "tests/test_exposition.py")
    return python(directory, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, *options)


def test_a_metric_is_one_entry_and_the_golden_page(copy: Path) -> None:
    (example,) = re.findall(r"^ *```python\n(.*?)^ *```$", GUIDE, re.DOTALL | re.MULTILINE)
    before = contents(copy)
    catalogue = copy / CATALOGUE
    text, end, empty = catalogue.read_text().rpartition("\n)\n")
    assert empty == "", "CLUSTER is the last definition of the file"
    entry = textwrap.indent(textwrap.dedent(example).rstrip(), "    ")
    catalogue.write_text(f"{text}\n{entry},\n{end.lstrip()}")

    missed = metric_tests(copy)
    assert failed(missed) == {"test_golden_page"}, missed.stdout
    updated = metric_tests(copy, "--update-golden")
    assert updated.returncode == 0, updated.stdout + updated.stderr
    assert changed(before, copy) == {CATALOGUE, GOLDEN}

    made = python(copy, "-m", "docs.generate")
    assert made.returncode == 0, made.stderr
    assert changed(before, copy) == {CATALOGUE, GOLDEN, "docs/metrics.md"}


@dataclass(frozen=True)
class Errand:
    """The steps below a heading, and the changes of `tests/errands/NAME.diff`, which follow them.

    Attributes:
        name: Of the file.
        heading: Of the steps.
        stages: Numbers of steps, and what fails once these and those before them are done: tests, or a module of
            `makes`.
        tests: Arguments of pytest.
        makes: Modules that run before the tests.
        then: Modules that run at the end.
        made: Files that modules and tests write.
        on_a_cluster: Numbers of steps that need one; no other is left out.
    """

    name: str
    heading: str
    stages: Mapping[tuple[int, ...], set[str]]
    tests: Sequence[str]
    makes: Sequence[str] = ()
    then: Sequence[str] = ()
    made: set[str] = field(default_factory=set)
    on_a_cluster: set[int] = field(default_factory=set)

    def places(self) -> dict[int, str]:
        """A pattern of files by the number of their step."""
        (steps,) = (STEP.findall(each) for each in GUIDE.split("\n### ") if each.startswith(f"{self.heading}\n"))
        return {
            number: re.sub("NAME|SUBJECT", "*", place if not place.endswith("/") else f"{place}*")
            for number, (place, _) in enumerate(steps, 1)
        }

    def step(self, file: str) -> int:
        """The step that names a file. One that is named itself also fits `NAME.py`."""
        return min(("*" in place, number) for number, place in self.places().items() if fnmatch(file, place))[1]

    def edits(self) -> dict[str, list[str]]:
        """The hunks of each file."""
        text = (ROOT / "tests" / "errands" / f"{self.name}.diff").read_text()
        files = (part.partition("\n") for part in text.removeprefix("+++ ").rstrip("\n").split("\n+++ "))
        return {file: hunks.split("\n@@\n") for file, _, hunks in files}

    def failures(self, directory: Path) -> set[str]:
        for module in self.makes:
            if python(directory, "-m", module).returncode:
                return {module}
        return failed(
            python(directory, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *self.tests)
        )


def apply(directory: Path, name: str, hunks: Sequence[str]) -> None:
    """Change a file: in each hunk, what begins with a space or a minus is there once."""
    file = directory / name
    text = file.read_text() if file.exists() else ""
    for hunk in hunks:
        before, after = (
            "\n".join(line[1:] for line in hunk.splitlines() if line[:1] in kinds) for kinds in (" -", " +")
        )
        assert not text or text.count(before) == 1, f"{name}: {before}"
        if FINGERPRINT in after:
            code = "from tests.history.test_schema import fingerprint; print(fingerprint())"
            after = after.replace(FINGERPRINT, python(directory, "-c", code).stdout.strip())
        text = text.replace(before, after) if text else f"{after}\n"
    file.write_text(text)


FINGERPRINT: Final = "FINGERPRINT"
RULE_FILES: Final = {"deploy/chart/files/rules.yaml", "deploy/prometheusrule.yaml"}
DISABLED: Final = "test_what_is_disabled_is_not_asked"
VERSIONS: Final = "test_version_grows_with_the_tables"
ON_A_CLUSTER: Final = {
    "test_every_alert_has_fired",
    "test_every_command_was_run_on_each_version",
    "test_every_fault_was_recorded",
    "test_the_page_shows_the_record",
}
"""Tests of what a run on a cluster writes."""
WALKED: Final = (
    Errand(
        "request",
        "A request to Kafka",
        {
            (1, 2, 3, 4): {
                "test_the_list_has_the_requests_that_read_and_no_other",
                "test_every_field_of_a_poll_is_stored_or_left_out",
                DISABLED,
            },
            (6, 9, 11): {"test_rights_on_the_cluster_are_those_of_the_page_about_acls", VERSIONS, DISABLED},
            (5, 7, 8, 10): set(),
        },
        (
            *("tests/clients/test_allow_list.py", "tests/check/test_command.py", "tests/history/test_schema.py"),
            *("tests/poller/test_not_available.py", "-k"),
            f"list_has or rights_on or field_of or {VERSIONS} or {DISABLED} and scram",
        ),
        then=("docs.generate",),
        made={"docs/history-schema.md"},
        on_a_cluster={12},
    ),
    Errand(
        "alert",
        "An alert",
        {
            (1,): {"alerts.render"},
            (2,): {"alerts.render"},
            (3,): {"alerts.render"},
            (6,): ON_A_CLUSTER - {"test_every_fault_was_recorded"} | {"test_every_alert_is_read"},
            (4, 5): ON_A_CLUSTER,
        },
        (
            *(f"tests/alerts/test_{part}.py" for part in ("matrix", "rules", "runbooks", "runbooks_form", "scenarios")),
            *("tests/alerts/test_texts.py", "tests/rules/test_delays.py", "-m", "not cluster", "--update-golden", "-k"),
            "(ordoned or S90 or is_read or has_fired or was_run or recorded or the_record) and not cordoned-15",
        ),
        makes=("alerts.render", "grafana.build"),
        then=("docs.generate",),
        made=RULE_FILES
        | {
            *("alerts/README.md", "alerts/disks.rules.yml", "exporter/kafka_warden/views/severities.txt"),
            *("docs/metrics.md", "grafana/dashboards/kafka-warden-capacity.json"),
            "tests/golden/texts/a_log_directory_is_cordoned.txt",
        },
    ),
    Errand(
        "cause",
        "A cause of a stuck move",
        {
            (2,): {
                "test_tables_have_all_names",
                "test_every_cause_and_problem_has_a_sentence",
                "test_every_cause_of_a_stuck_move_is_described",
                "test_every_value_has_an_answer",
                "test_every_cause_has_a_row",
            },
            (1, 3, 4, 5, 6): set(),
        },
        (
            *("tests/test_spec.py", "tests/views/test_rows.py", "tests/alerts/test_runbooks_form.py"),
            *("tests/alerts/test_rules.py", "tests/derive/test_stuck_causes.py"),
            *("-k", "all_names or cause or is_short or every_value_has"),
        ),
        makes=("alerts.render",),
        made=RULE_FILES | {"alerts/moves.rules.yml"},
        on_a_cluster={7},
    ),
    Errand(
        "job",
        "A job of the pipeline",
        {
            (1, 2, 3): {"test_every_table_is_opened", "test_job_has_its_name_and_help", "test_commands_are_valid"},
            (4, 5, 6, 7): set(),
        },
        (
            *("tests/pipeline/test_cli.py", "tests/pipeline/test_demo.py", "tests/pipeline/test_sql.py"),
            *("-k", "job_has_its or commands_are_valid or table_is_opened"),
        ),
        then=("docs.generate",),
        made={"docs/pipeline-marts.md"},
    ),
)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("errand", WALKED, ids=lambda errand: errand.name)
def test_an_errand_is_its_steps(copy: Path, errand: Errand) -> None:
    """Each check fails until its step is done, then all pass; and no other file than those of the steps is changed."""
    before, edits = contents(copy), errand.edits()
    for steps, missing in errand.stages.items():
        for file in edits:
            if errand.step(file) in steps:
                apply(copy, file, edits[file])
        assert errand.failures(copy) == missing
    assert errand.places().keys() == {errand.step(file) for file in edits} | errand.on_a_cluster
    assert [module for module in errand.then if python(copy, "-m", module).returncode] == []
    assert changed(before, copy) == edits.keys() | errand.made


@pytest.mark.spark
@pytest.mark.full_pipeline
def test_the_job_of_the_example_counts(copy: Path) -> None:
    (errand,) = (each for each in WALKED if each.name == "job")
    for file, hunks in errand.edits().items():
        apply(copy, file, hunks)
    done = python(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/pipeline/test_polls.py")
    assert done.returncode == 0, done.stdout
