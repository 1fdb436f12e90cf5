"""docs/reference/check.md has a section for every code, and every flag."""

import re
from pathlib import Path

from kafka_warden.check.results import CHECKS
from kafka_warden.cli import _parser

TEXT = (Path(__file__).parents[2] / "docs" / "reference" / "check.md").read_text()


def test_every_code_has_a_section() -> None:
    sections = re.findall(r"^### (\S+)$", TEXT, re.MULTILINE)
    assert sorted(sections) == sorted(CHECKS)


def test_every_flag_is_described() -> None:
    commands = _parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr]  # there are subcommands
    flags = {name: set(commands[name]._option_string_actions) for name in ("check", "run")}  # type: ignore[index]  # by name
    assert set(re.findall(r"^\| `(--[a-z-]+)", TEXT, re.MULTILINE)) == flags["check"] - flags["run"]
