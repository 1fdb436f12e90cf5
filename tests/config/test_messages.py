"""Options and flags that messages name exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import kafka_warden
from kafka_warden.cli import _parser
from kafka_warden.config import OPTIONS
from kafka_warden.pipeline.cli import parser as pipeline_parser

ROOT: Final = Path(kafka_warden.__file__).parent
KEYS: Final = {option.key for option in OPTIONS}
SECTIONS: Final = "|".join(sorted({key.partition(".")[0] for key in KEYS} | {"jmx"}))
OPTION: Final = re.compile(rf"(?<![\w./-])(?:{SECTIONS})(?:\.[a-z_]+)+\b(?!\.)")
FLAG: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
COMMANDS: Final = [
    command
    for parser in (_parser(), pipeline_parser([]))
    for command in parser._subparsers._group_actions[0].choices.values()  # type: ignore[union-attr]  # they have commands
]
FLAGS: Final = {flag for command in COMMANDS for flag in command._option_string_actions}
FILES: Final = sorted(ROOT.rglob("*.py"))


def test_options_and_flags_in_messages_exist() -> None:
    """Texts with a space in them are messages, except tables; `planning/` quotes flags of Kafka's tools, too."""
    messages = [(file, text) for file in FILES for text in _texts(file) if " " in text and text[0] != "\n"]
    options = {(name, file) for file, text in messages for name in OPTION.findall(text)}
    flags = {(flag, file) for file, text in messages for flag in FLAG.findall(text) if file.parent.name != "planning"}
    assert [named for named in options if named[0] not in KEYS] == []
    assert [named for named in flags if named[0] not in FLAGS] == []
    assert min(len(options), len(flags)) > 10


def _texts(file: Path) -> Iterator[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value
