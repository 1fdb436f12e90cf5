"""The documents keep up with the code: what is generated is current, what is linked exists, what is named is served."""

import re
from pathlib import Path
from typing import Any, Final

import pytest

from docs import history_schema, pipeline_marts
from docs.generate import api, render
from kafka_warden.catalogue import CATALOGUE
from kafka_warden.cli import _parser
from kafka_warden.config import OPTIONS
from tests.support.processes import run

ROOT: Final = Path(__file__).parents[1]
DOCUMENTS: Final = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("alerts/**/*.md"), *ROOT.glob("grafana/*.md")]
)
LINK: Final = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
FILE: Final = re.compile(r"`((?:alerts|bench|deploy|docs|exporter|grafana|sandbox|scripts|tests)/[\w./-]+)`")
NAMES: Final = {metric.full_name for metric in CATALOGUE}
KEYS: Final = {option.key for option in OPTIONS}
OPTION: Final = re.compile(rf"`((?:{'|'.join({key.partition('.')[0] for key in KEYS})})(?:\.[a-z_]+)+)`")

documents = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))


@pytest.mark.parametrize(
    ("name", "text"),
    [("metrics", render()), ("pipeline-marts", pipeline_marts.render()), ("history-schema", history_schema.render())],
    ids=lambda each: each[:16],
)
def test_document_is_current(name: str, text: str) -> None:
    """A document is what `make docs` makes of the code as it stands."""
    assert (ROOT / "docs" / f"{name}.md").read_text() == text, "run make docs"


def test_openapi_document_is_current() -> None:
    """The document of `/api/v1` is what the types of the rows are now."""
    assert (ROOT / "docs" / "openapi.json").read_text() == api(), "run make docs"


def test_metrics_document_has_every_family() -> None:
    """Every family is documented once, with its help, its type and a sample."""
    documented = re.findall(r"^# TYPE (\S+)", render(), re.MULTILINE)
    assert sorted(documented) == sorted(NAMES)


@documents
def test_links_lead_somewhere(document: Path) -> None:
    """Every relative link and every file that is named exists."""
    text = document.read_text()
    links = [document.parent / link for link in LINK.findall(text) if "://" not in link]
    named = [ROOT / name for name in FILE.findall(text) if not re.search(r"NAME|SUBJECT", name)]
    assert [str(path) for path in (*links, *named) if not path.exists()] == []


@documents
def test_metrics_that_are_named_are_served(document: Path) -> None:
    """Every `kafka_warden_...` that a document names in full is in `/metrics`."""
    named = set(re.findall(r"(?<![:\w])kafka_warden_[a-z_]*[a-z](?![a-z_]|\.{3})", document.read_text()))
    assert named - NAMES == set()


@documents
def test_commands_that_are_named_exist(document: Path) -> None:
    """Every `make` target, and every flag and option of `kafka-warden` that a document names exists."""
    text = document.read_text()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert (
        set(re.findall(r"`make ([a-z-]+)", text)) | set(re.findall(r"^make ([a-z-]+)", text, re.MULTILINE)) <= targets
    )
    commands: Any = _parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr]  # there are subcommands
    for name, arguments in re.findall(r"kafka-warden (run|plan|check|top)((?:[^`\n]|\\\n)*)", text):
        assert set(re.findall(r"(?<!\S)(--[a-z-]+)", arguments)) <= set(commands[name]._option_string_actions), (
            arguments
        )
    assert {name for name in OPTION.findall(text) if not name.endswith((".json", ".py", ".yml"))} <= KEYS


@documents
def test_shell_blocks_parse(document: Path) -> None:
    """Every block of commands is valid shell."""
    for block in re.findall(r"^ *```sh\n(.*?)^ *```$", document.read_text(), re.DOTALL | re.MULTILINE):
        assert run("bash", "-n", given=block).stderr == ""


def test_make_help_names_every_target_for_people() -> None:
    """`make help` lists what the README and the contributors' guide use."""
    listed = set(re.findall(r"^  make ([a-z-]+)", run("make", "help", cwd=ROOT).stdout, re.MULTILINE))
    assert {"setup", "run", "lint", "unit", "test", "full-kafka", "demo", "sandbox", "bench", "docs", "clean"} <= listed
