"""The documents keep up with the code: what is linked exists, what is named is served. `make lint` finds stale ones."""

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from docs import versions
from docs.build_site import OUTSIDE
from docs.generate import outputs
from docs.uses import all_rules
from kafka_warden.catalogue import CATALOGUE
from kafka_warden.cli import _parser
from kafka_warden.config import OPTIONS
from kafka_warden.pipeline.marts import MARTS
from kafka_warden.pipeline.runs import METRICS
from scripts.words import tracked
from tests.support.processes import run

ROOT: Final = Path(__file__).parents[1]
DOCUMENTS: Final = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("alerts/**/*.md"), *ROOT.glob("grafana/*.md")]
)
FILE: Final = re.compile(r"`((?:alerts|bench|deploy|docs|exporter|grafana|sandbox|scripts|tests)/[\w./-]+)`")
ALERT: Final = re.compile(r"\bKafka[A-Z][a-z]+[A-Z]\w+\b(?!\.\+)")
NO_RUNBOOK: Final = {"KafkaWardenWatchdog"}
NO_ALERTS: Final = {"KafkaAdminClient", "KafkaClientSettings", "KafkaRaftServer", "KafkaWardenError"}
"""Classes."""
SHARED: Final = {"KafkaWardenAccessRefused", "KafkaWardenDown", "KafkaWardenRestarting"}
"""Alerts that read only metrics of many alerts, which the page counts."""
NAMES: Final = {metric.full_name for metric in CATALOGUE}
KEYS: Final = {option.key for option in OPTIONS}
OPTION: Final = re.compile(rf"`((?:{'|'.join({key.partition('.')[0] for key in KEYS})})(?:\.[a-z_]+)+)`")
OF_KAFKA: Final = {"cluster.id"}
"""Keys of Kafka's meta.properties."""

MOST_WORDS: Final = 25_000
"""Of the documents for users."""

documents = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))


def test_versions_of_python_are_those_of_the_lock() -> None:
    found = re.findall(r"Language :: Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    text = f"Python {found[0]} to {found[-1]}"
    for name in ("README.md", "docs/how-to/install.md", "docs/reliability.md"):
        assert re.findall(r"Python 3\.\d+ (?:to 3\.\d+|or newer)", (ROOT / name).read_text()) == [text], name
    assert f"for version in {' '.join(found)}; do" in (ROOT / "scripts" / "make-dist").read_text()


def words(*patterns: str) -> int:
    return sum(len(page.read_text().split()) for pattern in patterns for page in ROOT.glob(pattern))


def test_documents_are_short() -> None:
    assert max(words("README.md"), words("docs/how-to/coming-from.md")) <= 600
    project = [page for page in OUTSIDE if page.startswith("docs/")]
    assert words("docs/**/*.md", "alerts/README.md") - words(*project) <= MOST_WORDS


def test_versions_showed_what_their_requests_allow() -> None:
    record, columns = versions.read(), versions.COLUMNS
    asked = [feature for feature in versions.FEATURES if feature.since is not None]
    shown = {feature.what: [feature.seen(record, column) for column in columns] for feature in asked}
    assert shown == {feature.what: [feature.known_to(column) for column in columns] for feature in asked}


def test_every_metric_that_a_version_lacks_is_of_a_feature() -> None:
    partly = {metric for metric, columns in versions.read().items() if len(columns) < len(versions.COLUMNS)}
    assert partly <= {metric for feature in versions.FEATURES for metric in feature.metrics}
    with pytest.raises(ValueError, match="only"):
        versions.FEATURES[2].seen(
            {"log_dir_total_bytes": ["2.8.2 ZooKeeper"], "log_dir_usable_bytes": []}, ("2.8.2", "ZooKeeper")
        )


def test_every_metric_and_every_alert_is_documented() -> None:
    page = outputs()[ROOT / "docs" / "metrics.md"]
    labels = dict(re.findall(r"^\|`(kafka_warden_\w+)(?:\{([a-z_,]+)\})?`\|.+\|.*\|$", page, re.MULTILINE))
    assert labels == {metric.full_name: ",".join(metric.labels) for metric in CATALOGUE}
    assert len(labels) == page.count("\n|`kafka_warden_")
    linked = re.findall(r"\[(\w+)\]\(../alerts/runbooks/\1\.md\)", page)
    assert {rule.name for rule in all_rules()} - set(linked) <= SHARED


def test_every_column_of_a_mart_is_documented() -> None:
    page = outputs()[ROOT / "docs" / "pipeline-marts.md"].partition("## In SQL")[0]
    found = re.findall(r"^###? (.*?)\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)
    cells = {title: " ".join(re.findall(r"^\|`.*?\|", text, re.MULTILINE)) for title, text in found}
    named = {title: re.findall(r"`(\w+)`(?=[,|])", each) for title, each in cells.items()}
    common = set(named.pop("Common columns"))
    for mart in (mart for marts in MARTS.values() for mart in marts):
        (own,) = (names for title, names in named.items() if f"`{mart.name}`" in title and not title.startswith("Job"))
        assert len(own) == len(set(own))
        assert set(own) <= set(mart.names) <= {*own, *common}


@documents
def test_files_that_are_named_exist(document: Path) -> None:
    named = [ROOT / name for name in FILE.findall(document.read_text()) if not re.search(r"NAME|SUBJECT", name)]
    assert [str(path) for path in named if not path.exists()] == []


@documents
def test_metrics_that_are_named_are_served(document: Path) -> None:
    named = set(re.findall(r"(?<![:\w])kafka_warden_[a-z_]*[a-z](?![a-z_]|\.{3})", document.read_text()))
    assert named - NAMES - set(METRICS.values()) == set()


def test_alerts_that_are_named_exist() -> None:
    named = {name: path for path, text in tracked() if not path.startswith("tests/") for name in ALERT.findall(text)}
    known = {page.stem for page in (ROOT / "alerts" / "runbooks").glob("*.md")} | NO_RUNBOOK | NO_ALERTS
    assert {name: path for name, path in named.items() if name not in known} == {}


@documents
def test_commands_that_are_named_exist(document: Path) -> None:
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
    assert {name for name in OPTION.findall(text) if not name.endswith((".json", ".py", ".yml"))} <= KEYS | OF_KAFKA


@documents
def test_shell_blocks_parse(document: Path) -> None:
    for block in re.findall(r"^ *```sh\n(.*?)^ *```$", document.read_text(), re.DOTALL | re.MULTILINE):
        assert run("bash", "-n", given=block).stderr == ""


def first_column(page: str, title: str) -> list[str]:
    """The cells below a title of a page."""
    table = (ROOT / page).read_text().split(f"| {title} |")[1].split("\n\n")[0]
    return re.findall(r"^\| (.*?) \|", table.partition("|---|---|\n")[2], re.MULTILINE)


def test_the_page_of_the_api_names_its_paths() -> None:
    """Those of the description, and nothing else."""
    cells = first_column("docs/reference/status-page.md", "Path below `/api/v1/`")
    named = {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    paths = json.loads((ROOT / "docs/openapi.json").read_text())["paths"]
    assert named == {path.strip("/") for path in paths} | {"openapi.json"}


def test_what_others_names_become_exists() -> None:
    text = (ROOT / "docs/how-to/coming-from.md").read_text()
    metrics, options = (text.partition(f"## {head}\n")[2].partition("\n## ")[0] for head in ("Metrics", "Options"))
    last = [" ".join(re.findall(r"([^|]+) \|$", table, re.MULTILINE)[1:]) for table in (metrics, options)]
    shown, keys = set(re.findall(r"`([a-z_]+)`", last[0])), set(re.findall(r"`([a-z_]+\.[a-z_]+)[`:]", last[1]))
    assert min(len(shown), len(keys)) > 5
    assert {f"kafka_warden_{name}" for name in shown} <= NAMES
    assert keys <= KEYS | {"kafka.properties_file"}


def test_the_page_of_the_dashboards_names_them() -> None:
    titles = {json.loads(file.read_text())["title"] for file in (ROOT / "grafana/dashboards").glob("*.json")}
    assert {f"kafka-warden / {name}" for name in first_column("docs/how-to/dashboards.md", "Dashboard")} == titles
