"""CONTRIBUTING.md: its example of a metric, followed in a copy of the repository, and the places that steps name."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Final

import pytest

from sandbox.jars import CACHE_VARIABLE, cache_directory
from tests.support.processes import run

ROOT: Final = Path(__file__).parents[1]
PARTS: Final = ("alerts", "conftest.py", "docs", "exporter", "fleet", "grafana", "pyproject.toml", "sandbox", "tests")
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


def test_each_errand_has_its_steps() -> None:
    lists = {head.partition("\n")[0]: STEP.findall(head) for head in GUIDE.split("\n### ")}
    errands = ("A metric from data that a snapshot already has", "A request to Kafka", "A cause of a stuck move")
    assert all(lists[name] for name in (*errands, "An alert", "A job of the pipeline"))
    assert len([place for place, _ in lists["An alert"] if "runbooks" not in place]) <= 5


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
        "PYTHONDONTWRITEBYTECODE": "1",
        CACHE_VARIABLE: str(cache_directory()),
    }
    return run(sys.executable, *arguments, cwd=directory, env=environment, timeout=300)


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
    assert re.findall(r"^FAILED \S+::(\w+)", missed.stdout, re.MULTILINE) == ["test_golden_page"], missed.stdout
    updated = metric_tests(copy, "--update-golden")
    assert updated.returncode == 0, updated.stdout + updated.stderr
    assert changed(before, copy) == {CATALOGUE, GOLDEN}

    made = python(copy, "-m", "docs.generate")
    assert made.returncode == 0, made.stderr
    assert changed(before, copy) == {CATALOGUE, GOLDEN, "docs/metrics.md"}
