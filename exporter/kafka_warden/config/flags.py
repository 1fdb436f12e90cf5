"""Flags of a command that are no options, read as strictly as options are."""

from collections.abc import Callable, Mapping
from typing import Any

from kafka_warden.errors import ConfigError


def read_values(parsed: Mapping[str, Any], readers: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
    """Read the value of each flag, by its name with underscores; `None` where it was not given.

    Raises:
        ConfigError: a value cannot be used; the message names the flag.
    """
    found: dict[str, Any] = {}
    for name, read in readers.items():
        try:
            found[name] = None if parsed[name] is None else read(parsed[name])
        except ValueError as failure:
            raise ConfigError(f"{flag_name(name)}: {failure}") from None
    return found


def flag_name(name: str) -> str:
    """Return the flag of a name with underscores."""
    return "--" + name.replace("_", "-")
