"""Properties files of Java: `key=value`, `key: value`, comments, continued lines and escapes."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafka_warden.errors import ConfigError, SecretError
from kafka_warden.settings.secrets import Secret, refuse_shared
from kafka_warden.settings.strict import decoded, read_file, reason

MOST: Final = 1 << 20
"""Bytes of a file."""
_INDENT: Final = " \t\f"
_BLANKS: Final = "".join(map(chr, range(33)))
"""What Java's `trim` removes."""
_LINE_END: Final = re.compile(r"\r\n?|\n")
_CONTINUED: Final = re.compile(r"(?<!\\)(?:\\\\)*\\$")
_PAIR: Final = re.compile(r"((?:\\.|[^\\=: \t\f])+)[ \t\f]*(?:[=:][ \t\f]*|(?<=[ \t\f])|$)(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_CONTROL: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


class Property(NamedTuple):
    """A value, and the number of the line where it starts."""

    value: str
    line: int

    def is_lost(self, name: str) -> bool:
        """Return whether the line is one word: perhaps the rest of the value before, which may be secret."""
        return not self.value and "." not in name


def parse_properties(text: str) -> dict[str, Property]:
    """Parse the text of a file. As the clients do, blanks around a value are left out, except in its quotes.

    Raises:
        ValueError: a line cannot be read. The message quotes none of it: it may be a secret.
    """
    found: dict[str, Property] = {}
    lines = iter(enumerate(_LINE_END.split(text), 1))
    for number, first in lines:
        line = first.lstrip(_INDENT)
        if not line.strip(_BLANKS) or line[0] in "#!":
            continue
        while _CONTINUED.search(line):
            line = line[:-1] + next(lines, (0, ""))[1].lstrip(_INDENT)
        pair = _PAIR.fullmatch(line)
        if pair is None:
            raise ValueError(f"line {number}: expected key=value")
        try:
            found[_unescape(pair[1])] = Property(_unescape(pair[2]).strip(_BLANKS), number)
        except UnicodeDecodeError:
            raise ValueError(f"line {number}: an escape is half a character") from None
    return found


def _unescape(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code[1:], 16)) if len(code) > 1 else _CONTROL.get(code, code)

    return _ESCAPE.sub(one, text).encode("utf-16", "surrogatepass").decode("utf-16")


def read_properties(path: Path, secret: frozenset[str]) -> dict[str, Property]:
    """Read a file. If one of the `secret` properties is not empty, it must not be readable by group or others.

    Raises:
        ConfigError: it cannot be read, a line is no pair, or others may read its secrets.
    """
    status: list[Any] = []
    try:
        content = read_file(path, MOST, status.append)
    except (OSError, ValueError) as failure:
        raise ConfigError(f"{path}: cannot read the file: {reason(failure)}") from None
    try:
        found = parse_properties(decoded(content))
    except ValueError as failure:
        raise ConfigError(f"{path}: {failure}") from None
    if any(found[name].value for name in secret if name in found):
        refuse_shared(path, *status)
    return found


@dataclass(frozen=True, slots=True)
class PropertySecret:
    """One secret property of a file, read each time."""

    path: Path
    name: str

    def read(self) -> Secret:
        """Read it.

        Raises:
            SecretError: the file cannot be read, or does not have it any more.
        """
        try:
            found = read_properties(self.path, frozenset({self.name})).get(self.name)
        except ConfigError as failure:
            raise SecretError(str(failure)) from None
        if found is None or not found.value:
            raise SecretError(f"{self.path}: {self.name}: missing")
        return Secret(found.value)

    def paths(self) -> tuple[Path, ...]:
        """Return the file."""
        return (self.path,)
