"""axe-core on a page of `browser.py`: what it finds wrong, and what it cannot decide."""

import importlib.metadata
import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from sandbox.browser import Page

PACKAGE: Final = "axe-playwright-python"
"""A wheel that has `axe.min.js`; its code is not used."""
RUN: Final = """
axe.run(document, {resultTypes: ["violations", "incomplete"]}).then(found => JSON.stringify({
  passes: found.passes.length, violations: found.violations, incomplete: found.incomplete}))
"""


@dataclass(frozen=True)
class Found:
    """What all rules found. An element is its rule, the reasons, and its HTML."""

    passes: int
    """Rules that were satisfied."""
    violations: list[tuple[str, str, str]]
    incomplete: list[tuple[str, str, str]]


@cache
def source() -> str:
    (file,) = (each for each in importlib.metadata.files(PACKAGE) or () if each.name == "axe.min.js")
    return file.read_text(encoding="utf-8")


def examine(page: Page) -> Found:
    """Run all rules on what the page shows. The policy of the page stays in force."""
    page.ask(f"{source()}; undefined")
    found = json.loads(page.ask(RUN))
    kinds = {kind: [_element(rule, node) for rule in found[kind] for node in rule["nodes"]] for kind in KINDS}
    return Found(found["passes"], **kinds)


KINDS: Final = ("violations", "incomplete")


def _element(rule: Any, node: Any) -> tuple[str, str, str]:
    checks = [*node["any"], *node["all"], *node["none"]]
    data = [check["data"] if isinstance(check.get("data"), dict) else {} for check in checks]
    reasons = {str(each.get("messageKey") or check["id"]) for each, check in zip(data, checks, strict=True)}
    return rule["id"], ", ".join(sorted(reasons)), node["html"][:200]
