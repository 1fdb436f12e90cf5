"""A mapping of a strict YAML file with its place for error messages, and readers of values.

Readers raise a ValueError with the expected value.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from kafka_warden.errors import ConfigError
from kafka_warden.settings.strict import did_you_mean

T = TypeVar("T")


class Section:
    """One mapping of the file, with its place in it."""

    def __init__(self, path: Path, name: str, content: Mapping[Any, Any]) -> None:
        self.path = path
        self.name = name
        self.content = {str(key): value for key, value in content.items()}

    def error(self, key: str, problem: str) -> ConfigError:
        """Make the error for a key of this section."""
        return ConfigError(f"{self.path}: {self.name}{' '.join(key.split())}: {problem}")

    def only(self, *known: str) -> None:
        """Raise a ConfigError for an unknown key."""
        for key in self.content:
            if key not in known:
                raise self.error(key, f"unknown key{did_you_mean(key, known)}")

    def section(self, key: str) -> "Section":
        """Return the section below a key; empty without the key. Nothing below a key is an error: it may be cut off."""
        content = self.content.get(key, {})
        if not isinstance(content, Mapping):
            raise self.error(key, "expected keys and values below it")
        return Section(self.path, f"{self.name}{key}.", content)

    def read(self, key: str, read: Callable[[Any], T], default: T) -> T:
        """Read a value. A ValueError of `read` becomes a ConfigError with file and key."""
        if self.content.get(key) is None:
            return default
        try:
            return read(self.content[key])
        except ValueError as failure:
            raise self.error(key, str(failure)) from None

    def file(self, key: str) -> Path | None:
        """Read a path. A relative one starts at the folder of this file."""
        name = self.read(key, text, "")
        return self.path.absolute().parent / name if name else None


def expected(what: str, value: Any) -> ValueError:
    """Make the error for an unexpected value."""
    return ValueError(f"expected {what}, got {value!r}")


def text(value: Any) -> str:
    """Read text."""
    if not isinstance(value, str):
        raise ValueError("expected text")  # noqa: TRY004  # every reader raises ValueError
    return value


def texts(value: Any) -> list[str]:
    """Read a list of texts."""
    if not isinstance(value, list):
        raise ValueError("expected a list of texts")  # noqa: TRY004  # the same
    return [text(item) for item in value]
