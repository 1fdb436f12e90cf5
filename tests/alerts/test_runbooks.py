"""The runbook pages: what they name exists, in the sidecar or in Kafka's own tools."""

import ast
import math
import re
from collections.abc import Iterable
from itertools import pairwise
from operator import add, mul, sub, truediv
from pathlib import Path

import pytest

from sandbox.monitoring import ALERTS
from sandbox.settings import release
from tests.alerts.record_help import VERSIONS, deprecated, options
from tests.alerts.runbook import (
    PAGES,
    PLACEHOLDER,
    Kind,
    blocks,
    commands,
    labels_of_alerts,
    read_blocks,
    unwrapped,
)
from tests.support.dashboards import FILES, load, panels, titles
from tests.support.rules import FILES as RULES
from tests.support.rules import MATCHER, METRIC, SERVED, TARGET_LABELS, VALUES, alerting_rules, rules_in

ROOT = ALERTS.parent
REFUSED = "source:kafka_warden_access_refused:max"
OF_REPLICAS = {"BROKER", "LEADER", "PARTITION", "SIDE", "TARGET", "TOPIC"}
"""Placeholders for what an alert is about, as opposed to addresses and files."""
PROPERTIES = {"$CC": "--command-config", "${CC/command-/}": "--config", "${CC/command-/admin.}": "--admin.config"}
"""How a command names the properties of a secured cluster, and the flag that this is."""
DYNAMIC_SINCE = {"remote.log.manager.copier.thread.pool.size": "4.0"}
"""Settings that older brokers read at their start only; the page says so."""
LOCAL = "kafka-storage"
"""The tool that asks no cluster."""
ENTITIES = {"topics", "brokers", "users", "clients"}

EXAMPLE_END = re.compile(r"(?<![\w.])\(?-?\d(?:[\d.,()/+ -]|(?<= )x(?= ))*$")
EXAMPLE_START = re.compile(r"\(?-?\d(?:[\d.,()/+ -]|(?<= )x(?= ))*")
"""A sum of numbers before and after an equals sign."""


def each(chosen: Iterable[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", list(chosen), ids=lambda page: page.stem)


def examples(page: Path) -> list[tuple[str, str]]:
    """The text before and after each equals sign between numbers that something is done with."""
    paragraphs = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL).split("\n\n")
    pairs = (pair for each in paragraphs for pair in pairwise(re.sub(r"\s+", " ", each).split(" = ")))
    found = ((EXAMPLE_END.search(left), EXAMPLE_START.match(right)) for left, right in pairs)
    return [(left[0], right[0]) for left, right in found if left and right and re.search(r"[x/+-]", left[0])]


def value(text: str) -> float:
    """What a sum comes to; `x` multiplies, and commas stand between thousands."""
    return evaluate(ast.parse(text.strip(" ,.;:").replace(",", "").replace(" x ", " * "), mode="eval").body)


def evaluate(node: ast.expr) -> float:
    if isinstance(node, ast.BinOp):
        operation = {ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.Div: truediv}[type(node.op)]
        return float(operation(evaluate(node.left), evaluate(node.right)))
    if isinstance(node, ast.UnaryOp):
        return -evaluate(node.operand)
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, int | float)
    return float(node.value)


pages = each(PAGES)
with_commands = each(page for page in PAGES if any(commands(page)))
each_version = pytest.mark.parametrize("version", VERSIONS)
to_paste = each(page for page in PAGES if read_blocks(page))


@pages
def test_page_names_what_is_served(page: Path) -> None:
    for name, selector in METRIC.findall(page.read_text()):
        assert name in SERVED, name
        for label, _, value in MATCHER.findall(selector):
            assert label in SERVED[name] | TARGET_LABELS, f"{label} of {name}"
            if label in VALUES:
                assert set(value.split("|")) <= VALUES[label] | {"", "unset"}, f"{label}={value} of {name}"


@pages
def test_queries_keep_clusters_apart(page: Path) -> None:
    """A query takes each metric by its cluster and by labels that the metric has; two sidecars are one series."""
    for block in blocks(page, "promql"):
        for labels in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", block):
            assert "cluster" in labels.split(", "), labels
        for labels, inner in re.findall(r"\b(?:sum|min|max|count|avg) by \(([^)]*)\) \((?=\w*\(?kafka)([^\n]*)", block):
            found = METRIC.search(inner)
            assert found
            assert set(labels.split(", ")) <= SERVED[found[1]] | TARGET_LABELS, f"{labels} of {found[1]}"


def linked_panels() -> dict[str, dict[str, set[str]]]:
    return {
        title: {panel["title"]: {link["url"] for link in panel.get("links", ())} for panel in panels(load(file))}
        for title, file in zip(titles().values(), FILES, strict=True)
    }


@pages
def test_page_names_panels(page: Path) -> None:
    """The last part names dashboards and their panels, by their titles; one of them links back to the page."""
    part = unwrapped(page).split("## Why ")[1]
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
def test_page_names_the_dashboard_of_the_alert(page: Path) -> None:
    (url,) = {rule["annotations"]["dashboard_url"] for rule in alerting_rules() if rule["alert"] == page.stem}
    opened = re.findall(r"/d/kafka-warden-(\w+)", url)[0]
    assert f"Dashboard **{titles()[opened]}**" in unwrapped(page)


@each(page for page in PAGES if page.stem in {"KafkaBrokerUnreachable", "KafkaClusterUnreachable"})
def test_refused_access_is_another_alert(page: Path) -> None:
    """No row is for a reason with which a broker counts as reachable: KafkaWardenAccessRefused fires for it."""
    (rule,) = (rule for rule in rules_in(*(file.read_text() for file in RULES)) if rule.get("record") == REFUSED)
    reasons = re.findall(r'reason=~"([^"]*)"', rule["expr"])[0].split("|")
    found = re.findall(r"`([a-z_]+)`", page.read_text())
    assert reasons
    assert set(reasons) & set(found) == set()


@with_commands
@each_version
def test_commands_are_those_of_kafka(page: Path, version: str) -> None:
    """Every option, entity and dynamic setting exists in the tool, by its own help, and is not deprecated."""
    for tool, given in commands(page):
        known = options(version, tool)
        used = re.findall(r"(?<!\S)--?[a-z][\w.-]*", given)
        assert set(used) <= known, f"{tool}: {set(used) - known}"
        assert set(re.findall(r"--entity-type (\S+)", given)) <= ENTITIES
        for keys in re.findall(r'--(?:add|delete)-config "?([\w.,=:\[\]]+)', given):
            for key in re.sub(r"=(?:\[[^]]*\]|[^,]*)", "", keys).strip(".").split(","):
                since = DYNAMIC_SINCE.get(key)
                assert since is None or f"From Kafka {since} on" in page.read_text()
                assert key in known or (since and release(version) < release(since)), f"{tool}: {key}"


@with_commands
def test_commands_need_a_cluster(page: Path) -> None:
    given = [(tool, options) for tool, options in commands(page) if tool != LOCAL]
    assert given or page.stem.startswith("KafkaWarden")
    assert [command for command in given if "--bootstrap-server $B" not in command[1]] == []


@with_commands
@each_version
def test_commands_work_on_a_secured_cluster(page: Path, version: str) -> None:
    """Every command takes the properties of the administrator, by a flag that the tool has in every version."""
    for tool, given in commands(page):
        if tool != LOCAL:
            (name,) = re.findall(r"--bootstrap-server \$B .*?(\$CC|\$\{CC/[^}]*\})", given)
            assert PROPERTIES[name] in options(version, tool) | deprecated(version, tool), f"{tool}: {name}"


@to_paste
def test_a_block_is_one_action(page: Path) -> None:
    assert [
        block.commands for block in read_blocks(page) if block.kind is not Kind.LOOK and len(block.commands) > 1
    ] == []


@to_paste
def test_an_action_has_its_undo(page: Path) -> None:
    """The block after an action undoes it, or the page says why none does; an undo follows its action."""
    blocks = read_blocks(page)
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block.kind is Kind.ACT and block.has_undo:
            assert following is not None
            assert following.kind is Kind.UNDO, block.commands
            assert following.commands[0].entity == block.commands[0].entity
            if "-config" in block.commands[0].text:
                assert re.search(r"=\[?OLD_", following.commands[0].text), (
                    f"{block.commands}: the undo drops the old value"
                )
        elif block.kind is Kind.ACT:
            assert re.search(r"^No undo\b", block.after, re.MULTILINE), block.commands
    assert all(block.kind is Kind.ACT for block, following in pairwise(blocks) if following.kind is Kind.UNDO)


@to_paste
def test_an_action_has_its_dry_run(page: Path) -> None:
    """The last block before an action that only looks shows what the action changes."""
    seen: list[str] = []
    for block in read_blocks(page):
        if block.kind is Kind.LOOK:
            seen = [command.entity for command in block.commands]
        elif block.kind is Kind.ACT:
            entity = block.commands[0].entity
            assert any(entity.startswith(each) for each in seen if each), f"{block.commands}: {seen}"


@with_commands
def test_commands_are_safe_on_every_version(page: Path) -> None:
    """No command that Kafka 3.9 lacks, none that fails if one of two settings is absent, no number ready to paste."""
    for command in (given for _, given in commands(page)):
        assert "list-endpoints" not in command  # since Kafka 4.0
        assert not re.search(r"--delete-config \S+,", command)
        assert not re.search(r"--add-config \"?[\w.]+=\[?\d|--throttle \d", command)
        if re.search(r"--entity-type (users|clients) --entity-default", command):
            assert "--describe" in command, "a quota of all users or clients"


@each(page for page in PAGES if any("--cancel" in given for _, given in commands(page)))
def test_a_cancelled_move_takes_no_throttle_of_others(page: Path) -> None:
    """Every command that cancels a move keeps the throttles of other moves: without the option the tool clears them."""
    cancels = [given for _, given in commands(page) if "--cancel" in given]
    assert [given for given in cancels if "--preserve-throttles" not in given] == []


@to_paste
def test_exit_codes_are_those_of_a_plain_shell(page: Path) -> None:
    """A comment with an exit code is on a pipeline whose last command can fail: a shell reports only that one."""
    for command in (command for block in read_blocks(page) for command in block.commands if command.exits):
        last = re.split(r"[;|](?![^']*'(?:[^']*'[^']*')*[^']*$)", command.text)[-1].split()[0]
        assert last not in {"awk", "cut", "head", "sed", "sort", "tail", "uniq", "wc"}, command.text


@to_paste
def test_first_block_needs_only_the_alert(page: Path) -> None:
    """The first block names a topic or a broker only by a label of the alert: nothing was looked at before."""
    first = " ".join(command.text for command in read_blocks(page)[0].commands)
    assert set(PLACEHOLDER.findall(first)) & OF_REPLICAS <= {label.upper() for label in labels_of_alerts()[page.stem]}


@to_paste
def test_placeholders_are_explained(page: Path) -> None:
    table = (ALERTS / "README.md").read_text().split("| Placeholder |")[1].split("\n\n")[0]
    known = {word for line in table.splitlines() for word in PLACEHOLDER.findall(line.split("|")[1])}
    in_text = re.findall(r"`([^`\n]*--[^`\n]*)`", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL))
    given = [*in_text, *(command.text for block in read_blocks(page) for command in block.commands)]
    named = {word for text in given for word in PLACEHOLDER.findall(text) if not word.startswith("OLD_")}
    assert named <= known, named - known


@each(page for page in PAGES if examples(page))
def test_examples_add_up(page: Path) -> None:
    for left, right in examples(page):
        assert math.isclose(value(left), value(right), rel_tol=0.011), f"{left} = {right}"


def test_every_problem_has_a_page() -> None:
    text = "".join(page.read_text() for page in PAGES)
    asked = {
        value for found in re.findall(r'problem=~?"([^"]*)"|`([a-z_]+)`', text) for value in "|".join(found).split("|")
    }
    assert VALUES["problem"] - asked == {"fetch_size", "idle_rate"}  # shown on the dashboard, and paged by nothing
