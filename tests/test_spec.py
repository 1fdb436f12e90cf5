"""The specification, docs/spec/: examples run, tables have all names, and references lead to a heading."""

import ast
import doctest
import importlib
import io
import math
import pkgutil
import re
import tokenize
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from kafka_warden import derive, model, releases, replies
from kafka_warden.derive import replica_state, stuck, throttle_problems, tiered
from scripts.words import tracked
from tests import building

ROOT: Final = Path(__file__).parents[1]
SPEC: Final = ROOT / "docs" / "spec"
EXAMPLES: Final = ROOT / "tests" / "spec"
MODULES: Final = {
    found.name: importlib.import_module(f"{derive.__name__}.{found.name}")
    for found in pkgutil.iter_modules(derive.__path__)
}
NAMES: Final = {
    **MODULES,
    **{module.__name__.rpartition(".")[2]: module for module in (model, releases, replies)},
    "Partition": building.Partition,
    "snapshot": building.snapshot,
    "derived": building.judge,
    "np": np,
    "inf": math.inf,
}
"""What the examples use."""
NAME: Final = re.compile(r"(?<![\w./{}<*-])((?:[\w.-]+/)*[\w-]+\.md)(#[\w-]+)?(?![\w/])")
LINK: Final = re.compile(r"\]\(([^)#\s]*)(#[^)\s]*)?\)")
NO_RULE: Final = {"columns", "evaluate", "saved", "snapshot_index"}
"""Files of `derive` that compute no value."""
INVENTED: Final = {
    *("tests/errands/alert.diff", "tests/test_readability.py", "tests/test_site.py", "tests/test_words.py"),
}
"""They make documents of their own."""


def sections(text: str) -> dict[str, str]:
    return dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", text, re.MULTILINE))


@pytest.mark.parametrize("page", sorted(SPEC.glob("*.md")), ids=lambda page: page.stem)
def test_rules_have_a_source_and_an_example_that_runs(page: Path) -> None:
    rules, more = sections(page.read_text()), sections((EXAMPLES / f"{page.stem}.txt").read_text())
    fenced = re.compile(r"^```pycon\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    examples = {rule: "".join(fenced.findall(text)) + "\n" + more.get(rule, "") for rule, text in rules.items()}
    assert [rule for rule, text in rules.items() if not re.search(r"\bSource: \S", text)] == []
    assert [rule for rule in rules if ">>> " not in examples[rule]] == []
    assert list(more) == [rule for rule in rules if rule in more]
    report, names = io.StringIO(), dict(NAMES)
    test = doctest.DocTestParser().get_doctest("".join(examples.values()), names, page.name, str(page), 0)
    assert doctest.DocTestRunner(verbose=False).run(test, out=report.write).failed == 0, report.getvalue()


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("replicas", replica_state.ReplicaState),
        ("throttles", throttle_problems.Problem),
        ("moves", stuck.Cause),
        ("tiered", tiered.Problem),
    ],
)
def test_tables_have_all_names(page: str, names: type[StrEnum]) -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (SPEC / f"{page}.md").read_text(), re.MULTILINE)
    assert rows == [str(name) for name in names]


@cache
def anchors(document: Path) -> set[str]:
    text = re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def prose(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def broken(path: str, text: str) -> Iterator[str]:
    """References to documents or headings that do not exist, and of code to a page without one of its rules.

    Links start at the folder of the file, names at the root.
    """
    document = path.endswith(".md")
    base, pattern = ((ROOT / path).parent, LINK) if document else (ROOT, NAME)
    for line in (line for each in (prose(text) if path.endswith(".py") else [text]) for line in each.splitlines()):
        for name, anchor in pattern.findall(line) if "](" in line or ".md" in line else ():
            target = base / name if name else ROOT / path
            known = ":" in name or (target.exists() and (not anchor or target.suffix != ".md"))
            no_rule = path.startswith("exporter/") and target.parent == SPEC and not anchor
            if no_rule or (not known and (not target.exists() or anchor[1:] not in anchors(target))):
                yield f"{path}: {name}{anchor}"


def test_references_lead_to_a_heading() -> None:
    texts = ((path, text) for path, text in tracked() if path not in INVENTED and ".md" in text)
    assert [each for path, text in texts for each in broken(path, text)] == []


def test_files_with_a_rule_cite_it() -> None:
    texts = {name: " ".join(prose(Path(str(module.__file__)).read_text())) for name, module in MODULES.items()}
    assert {name for name, text in texts.items() if not re.search(r"docs/spec/[\w-]+\.md#", text)} == NO_RULE
