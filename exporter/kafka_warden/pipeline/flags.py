"""Flags of jobs whose values are read as those of the configuration are."""

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

from kafka_warden.errors import ConfigError


def read_values(parsed: Namespace, readers: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
    """Read the value of each flag, by its name with underscores; None where it was not given.

    Raises:
        ConfigError: a value cannot be used; the message names the flag.
    """
    found: dict[str, Any] = {}
    for name, read in readers.items():
        text = getattr(parsed, name)
        try:
            found[name] = None if text is None else read(text)
        except ValueError as failure:
            raise ConfigError(f"--{name.replace('_', '-')}: {failure}") from None
    return found
