"""Strict reading of YAML: text stays as it was written, and a key appears once."""

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Final

import yaml

from kafka_warden.errors import ConfigError
from kafka_warden.settings.strict import decoded, read_file, reason

MOST_VALUES: Final = 100_000
"""Values in one file."""
_QUOTED: Final = re.compile(r"'([^']*)'")
_QUOTES_HELP: Final = ("found character '%'", "found character '@'", "found character '`'", "mapping values are not")
_SYNTAX: Final = re.compile(r"<.*>|.{,2}")
_TAG: Final = "tag:yaml.org,2002:"
_NO_TEXT: Final = (f"{_TAG}null", f"{_TAG}merge")


class _StrictLoader(yaml.SafeLoader):
    """Keeps the text of keys and values, and refuses two equal keys, of which PyYAML's takes the last one.

    PyYAML would read the user names `0123`, `1_000`, `12:30` and `yes` as 83, 1000, 750 and True. Here the reader of an
    option decides what its text means. Only nothing, `~` and `null` are no text.
    """

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Put in what `<<` names: a few merges of merges can be billions of values."""
        super().flatten_mapping(node)
        if len(node.value) > MOST_VALUES:
            raise yaml.constructor.ConstructorError(None, None, "too many values are merged", node.start_mark)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            if isinstance(key_node, yaml.ScalarNode) and key_node.tag != f"{_TAG}merge":
                if key_node.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key_node.value} appears twice", key_node.start_mark
                    )
                seen.add(key_node.value)
        self.flatten_mapping(node)
        for key_node, _ in node.value:
            if isinstance(key_node, yaml.ScalarNode):
                key_node.tag = f"{_TAG}str"
        return super().construct_mapping(node, deep)


_StrictLoader.yaml_implicit_resolvers = {
    first: [each for each in resolvers if each[0] in _NO_TEXT]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a file that holds one YAML mapping with text keys; an empty file is an empty mapping.

    Raises:
        ConfigError: it cannot be read, or is anything else. The message quotes no value, which may be secret.
    """
    try:
        text = decoded(read_file(path))
    except OSError as failure:
        raise ConfigError(f"{path}: cannot read the file: {reason(failure)}") from None
    except ValueError as failure:
        raise ConfigError(f"{path}: {failure}") from None
    try:
        content = parse_yaml(text)
    except ValueError as failure:
        raise ConfigError(f"{path}: not valid YAML: {failure}") from None
    if content is None:
        return {}
    if not _is_small(content):
        raise ConfigError(f"{path}: expected at most {MOST_VALUES} values, with the values of each alias counted again")
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected keys and values, such as `poll:`, at the top of the file")
    return {str(key): value for key, value in content.items()}


def parse_yaml(text: str) -> Any:
    """Read one YAML value from text.

    Raises:
        ValueError: it cannot be read.
    """
    try:
        return yaml.load(text, Loader=_StrictLoader)  # noqa: S506  # a SafeLoader
    except yaml.MarkedYAMLError as failure:
        raise ValueError(_problem(failure)) from None
    except yaml.reader.ReaderError as failure:
        line = text.count("\n", 0, failure.position) + 1
        column = failure.position - text.rfind("\n", 0, failure.position)
        problem = f"the character U+{failure.character:04X} (line {line}, column {column}) is not allowed; remove it"
        raise ValueError(problem) from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except Exception:  # noqa: BLE001  # PyYAML's readers of explicit tags raise KeyError, IndexError and more
        raise ValueError("a tag does not fit its value") from None


def _is_small(content: Any) -> bool:
    """Return whether it has at most `MOST_VALUES` values: a few aliases of aliases can be billions."""
    left = [content]
    for _ in range(MOST_VALUES):
        if not left or len(left) > MOST_VALUES:
            break
        value = left.pop()
        left += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not left


def _problem(failure: yaml.MarkedYAMLError) -> str:
    # PyYAML quotes aliases and tags. In `password: *hunter2` the alias is a password.
    shown = failure.problem or "cannot be parsed"
    problem = _QUOTED.sub(lambda quoted: quoted[0] if _SYNTAX.fullmatch(quoted[1]) else "'...'", shown)
    mark = failure.problem_mark or failure.context_mark
    place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
    hint = "; put the value in quotes" if problem.startswith(_QUOTES_HELP) else ""
    return " ".join(f"{problem}{place}{hint}".split())
