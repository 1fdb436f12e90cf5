"""The runbook pages: what they name exists, in the sidecar or in Kafka's own tools."""

import ast
import math
import re
from collections.abc import Iterator
from itertools import pairwise
from operator import add, mul, sub, truediv
from pathlib import Path

import pytest

from kafka_warden.config import FLAGS, OPTIONS
from kafka_warden.errors import REASONS, SinkError
from kafka_warden.formulas import throttle_problems, tiered_problems
from kafka_warden.formulas.replica_state import ReplicaState
from kafka_warden.formulas.stuck import Cause
from kafka_warden.model import BrokerState, Origin, Side, Source
from sandbox.monitoring import ALERTS, JOB
from tests.support.dashboards import FILES, load, panels, titles
from tests.support.processes import run

ROOT = ALERTS.parent
PAGES = sorted((ALERTS / "runbooks").glob("*.md"))
HELP = Path(__file__).parent / "recorded"
"""What each tool of Kafka 4.1.1 prints with `--help`, that of its sub-commands after it."""
TARGET_LABELS = {"cluster", "job", "instance"}
PARTS = ["Run this", "Look at this", "What to do", "When not to act"]
ENTITIES = {"topics", "brokers", "users", "clients"}
VALUES = {
    "side": set(Side),
    "problem": {*throttle_problems.Problem, *tiered_problems.Problem},
    "state": {*ReplicaState, *BrokerState},
    "cause": set(Cause),
    "source": set(Source),
    "reason": set(REASONS),
    "origin": set(Origin),
    "job": {JOB},
}
"""Labels with a closed set of values."""

METRIC = re.compile(r"\bkafka_warden_(\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')

EXAMPLE_END = re.compile(r"(?<![\w.])\(?-?\d(?:[\d.,()/+ -]|(?<= )x(?= ))*$")
EXAMPLE_START = re.compile(r"\(?-?\d(?:[\d.,()/+ -]|(?<= )x(?= ))*")
"""A sum of numbers before and after an equals sign."""

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def served() -> dict[str, set[str]]:
    """Labels by metric, from docs/metrics.md."""
    text = (ROOT / "docs" / "metrics.md").read_text()
    names = re.findall(r"^# HELP kafka_warden_(\w+)", text, re.MULTILINE)
    samples = dict(re.findall(r"^kafka_warden_(\w+)(?:\{(.*)\})? \S+$", text, re.MULTILINE))
    return {name: set(re.findall(r'(\w+)="', samples[name])) for name in names}


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^ *```{language}\n(.*?)^ *```$", page.read_text(), re.DOTALL | re.MULTILINE)


def commands(page: Path) -> Iterator[tuple[str, str]]:
    """Kafka's tools and what they are given, wherever on the page they stand."""
    text = page.read_text().replace("\\\n", " ")
    yield from re.findall(r"\b(kafka-[a-z-]+)\.sh((?:[^`\n#|;]|\|(?= *$))*)", text)


def paragraphs(page: Path) -> list[str]:
    """The text of a page without its blocks, a paragraph to a line."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    return [re.sub(r"\s+", " ", paragraph) for paragraph in text.split("\n\n")]


def value(text: str) -> float:
    """What a sum comes to; `x` multiplies, and commas stand between thousands."""
    return evaluate(ast.parse(text.strip(" ,.;:").replace(",", "").replace(" x ", " * "), mode="eval").body)


def evaluate(node: ast.expr) -> float:
    """The value of numbers and the four operations."""
    if isinstance(node, ast.BinOp):
        operation = {ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.Div: truediv}[type(node.op)]
        return float(operation(evaluate(node.left), evaluate(node.right)))
    if isinstance(node, ast.UnaryOp):
        return -evaluate(node.operand)
    assert isinstance(node, ast.Constant)
    return float(node.value)


@pages
def test_page_has_its_form(page: Path) -> None:
    """A page is named after its alert, says in one paragraph what it means, and then has its parts in order."""
    title, meaning, rest = page.read_text().split("\n\n", 2)
    assert title == f"# {page.stem}"
    assert 200 < len(meaning) < 800, len(meaning)
    assert not meaning.startswith(("#", "|", "`"))
    found = [part for part in re.findall(r"^## (.*)$", rest, re.MULTILINE) if part in PARTS]
    assert found == PARTS


@pages
def test_page_names_what_is_served(page: Path) -> None:
    """Every metric that a page names, in a query or not, is in docs/metrics.md, with these labels and values."""
    metrics = served()
    for name, selector in METRIC.findall(page.read_text()):
        assert name in metrics, name
        for label, _, value in MATCHER.findall(selector):
            assert label in metrics[name] | TARGET_LABELS, f"{label} of {name}"
            known = VALUES.get(label)
            assert known is None or set(value.split("|")) - {"", "unset"} <= known, f"{label}={value} of {name}"


@pages
def test_queries_keep_clusters_apart(page: Path) -> None:
    """A query takes each metric by its cluster and by labels that the metric has; two sidecars are one series."""
    metrics = served()
    for block in blocks(page, "promql"):
        for labels in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", block):
            assert "cluster" in labels.split(", "), labels
        for labels, inner in re.findall(r"\b(?:sum|min|max|count|avg) by \(([^)]*)\) \((?=\w*\(?kafka)([^\n]*)", block):
            found = METRIC.search(inner)
            assert found
            assert set(labels.split(", ")) <= metrics[found[1]] | TARGET_LABELS, f"{labels} of {found[1]}"


def linked_panels() -> dict[str, dict[str, set[str]]]:
    """The pages that each panel links to, by title of dashboard and of panel."""
    return {
        title: {panel["title"]: {link["url"] for link in panel.get("links", ())} for panel in panels(load(file))}
        for title, file in zip(titles().values(), FILES, strict=True)
    }


@pages
def test_page_names_panels(page: Path) -> None:
    """What to look at begins with dashboards and their panels, by their titles; one of them links back to the page."""
    part = page.read_text().split("## Look at this\n")[1].split("```")[0]
    dashboards, linked = linked_panels(), set()
    found = re.findall(r"Dashboard \*\*([^*]+)\*\*:((?:(?!Dashboard).)*)", part, re.DOTALL)
    assert len(found) == part.count("Dashboard ")
    for dashboard, text in found:
        named = re.findall(r"\*([^*]+)\*", " ".join(text.split()))
        assert named, dashboard
        assert set(named) <= dashboards[dashboard].keys()
        linked |= {url.rpartition("/")[2] for panel in named for url in dashboards[dashboard][panel]}
    assert page.name in linked


@pages
def test_links_lead_somewhere(page: Path) -> None:
    """Every link is to a file that exists, and every alert that is named has a page."""
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (page.parent / target).is_file(), target
    for name in re.findall(r"\bKafka[A-Z][a-z]+[A-Z]\w+", text):
        assert (page.parent / f"{name}.md").is_file(), name


@pages
def test_commands_are_those_of_kafka(page: Path) -> None:
    """Every option, entity and dynamic setting exists in the tool, by its own help (Kafka 4.1.1)."""
    for tool, given in commands(page):
        text = (HELP / f"{tool}.txt").read_text()
        known = set(re.findall(r"(?<![\w-])--[a-z][a-z.-]*", text))
        used = re.findall(r"(?<!\S)--?[a-z][\w.-]*", given)
        assert set(used) <= known, f"{tool}: {set(used) - known}"
        assert set(re.findall(r"--entity-type (\S+)", given)) <= ENTITIES
        flat = re.sub(r"\s", "", text)
        for keys in re.findall(r'--(?:add|delete)-config "?([\w.,=:\[\]]+)', given):
            for key in re.sub(r"=(?:\[[^]]*\]|[^,]*)", "", keys).strip(".").split(","):
                assert key in flat, f"{tool}: {key}"


@pages
def test_commands_need_a_cluster(page: Path) -> None:
    """Every command of Kafka's tools says which cluster, by the variable that the block sets first."""
    for tool, given in commands(page):
        if "--" in given:  # else a tool is only named in a sentence
            assert "--bootstrap-server $B" in given, f"{tool}{given}"
    first = blocks(page, "sh")[0]
    if "$B" in first:
        assert re.search(r"^B=[\w-]+:\d+", first, re.MULTILINE)


@pages
def test_a_cancelled_move_takes_no_throttle_of_others(page: Path) -> None:
    """Where a page cancels a move it says how the throttles of other moves stay: the tool clears them all."""
    if any("--cancel" in given for _, given in commands(page)):
        assert "`--preserve-throttles`" in page.read_text()


@pages
def test_properties_go_by_the_flag_of_the_tool(page: Path) -> None:
    """Tools that take no --command-config on a secured cluster are named with the flag that they take."""
    for tool in {tool for tool, _ in commands(page)}:
        text = (HELP / f"{tool}.txt").read_text()
        named = re.search(rf"{tool}: (--[\w.-]*\w)", page.read_text())
        assert "--command-config" in text or (named and f"{named[1]} " in text), tool


@pages
def test_shell_blocks_parse(page: Path) -> None:
    """Every block of commands is valid shell."""
    for block in blocks(page, "sh"):
        done = run("bash", "-n", given=block)
        assert done.returncode == 0, done.stderr


@pages
def test_options_of_the_sidecar_exist(page: Path) -> None:
    """Every flag of the command and every option of a section of its configuration exists."""
    text = page.read_text()
    options = {option.key for option in OPTIONS}
    sections = "|".join(sorted({key.partition(".")[0] for key in options}))
    named = set(re.findall(rf"`((?:{sections})\.[a-z_.]+)`", text))
    assert named <= options, named - options
    for given in re.findall(r"kafka-warden run ([^\n#`]*)", text):
        flags = set(re.findall(r"--[\w-]+", given))
        assert flags <= {*FLAGS, "--config", "--check-config"}, flags


@pages
def test_examples_add_up(page: Path) -> None:
    """What a worked example says to be equal is, to the digits that are given."""
    for line in paragraphs(page):
        for left, right in pairwise(line.split(" = ")):
            before, after = EXAMPLE_END.search(left), EXAMPLE_START.match(right)
            if before and after and re.search(r"[x/+-]", before[0]):
                assert math.isclose(value(before[0]), value(after[0]), rel_tol=0.011), f"{before[0]} = {after[0]}"


@pages
def test_throttles_are_spoken_of(page: Path) -> None:
    """A page about moves, throttles or replicas says to which value, or that none is to be touched."""
    text = page.read_text()
    if page.stem.startswith(("KafkaThrottle", "KafkaReassignment")):
        assert "/ 0.8" in text or "divided by 0.8" in text or "replication_throttle_recommended" in text
        assert "throttled.rate" in text or "--throttle" in text
    else:
        assert "throttle" in text.lower()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("KafkaReassignmentStuck", set(Cause)),
        ("KafkaPartitionUnderReplicated", set(ReplicaState) - {"unknown", "in_sync", "moving"}),
        ("KafkaWardenPageStale", set(REASONS)),
        ("KafkaWardenHistoryLost", {kind.reason for kind in (SinkError, *SinkError.__subclasses__())} | {"stopped"}),
        ("KafkaWardenBlind", {Source.REASSIGNMENTS, Source.LOG_DIRS, Source.CONFIGS}),
    ],
)
def test_every_value_has_an_answer(name: str, values: set[str]) -> None:
    """What the alert may say to be the reason stands in the page's table of what to do."""
    page = (ALERTS / "runbooks" / f"{name}.md").read_text().split("## What to do")[1]
    first = [line.split("|")[1] for line in page.splitlines() if line.startswith("|")]
    told = {value for cell in first for value in re.findall(r"`([a-z_]+)`", cell)}
    assert values <= told, values - told


def test_every_problem_has_a_page() -> None:
    """Each problem of a throttle or of tiered storage that can page is asked for on the page of its alert."""
    text = "".join(page.read_text() for page in PAGES)
    asked = {value for found in re.findall(r'problem=~?"([^"]*)"', text) for value in found.split("|")}
    problems = {*throttle_problems.Problem, *tiered_problems.Problem}
    assert problems - asked == {"fetch_size", "idle_rate"}  # shown on the dashboard, and paged by nothing
