"""The flags of `kafka-warden check`, read as strictly as the configuration."""

from collections.abc import Mapping
from typing import Any, Final

from kafka_warden.check.command import Request
from kafka_warden.check.results import BY_CODE
from kafka_warden.config import values
from kafka_warden.config.flags import read_values
from kafka_warden.errors import ConfigError
from kafka_warden.settings.strict import did_you_mean

GROUPS: Final = {code.rsplit("-", cut)[0] for code in BY_CODE for cut in range(code.count("-"))}
"""All codes, and what some of them begin with."""


def read(flags: Mapping[str, Any]) -> Request:
    """Make a request from the flags by name; `None` is a flag that was not set.

    Raises:
        ConfigError: a bad value, or no check is left.
    """
    read = read_values(flags, {"wait": values.duration, "only": _codes, "skip": _codes})
    codes = (read["only"] or frozenset(BY_CODE)) - (read["skip"] or frozenset())
    if not codes:
        raise ConfigError("--skip: no check is left")
    return Request(codes, flags["fail_on"] == "warning", read["wait"] or 0.0, bool(flags["json"]))


def _codes(text: str) -> frozenset[str]:
    """Read codes with commas between them; one that others begin with means those, too: KW-ACL is all rights."""
    found: set[str] = set()
    for part in filter(None, (part.strip().upper() for part in text.split(","))):
        named = {code for code in BY_CODE if code == part or code.startswith(f"{part}-")}
        if not named:
            raise ValueError(f"{part!r} is no check{did_you_mean(part, GROUPS)}; docs/check.md lists them")
        found |= named
    if not found:
        raise ValueError("expected the codes of checks, such as KW-ACL,KW-JMX")
    return frozenset(found)
