"""Readers of single values: from YAML, or as text from the environment or a flag. No I/O.

Each raises a ValueError with the expected value. The caller adds the key.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from kafka_warden.settings.strict import Address, did_you_mean, parse_address, parse_duration, refuse_placeholder
from kafka_warden.settings.strict_yaml import parse_yaml

_PORTS: Final = 65536
_LONGEST: Final = 3650 * 86400.0
_LARGEST: Final = 10**18
"""A number of 310 digits has no float."""
_RATE_UNITS: Final = {
    "B": 1.0,
    "kB": 1e3,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "KiB": 1024.0,
    "MiB": 1024.0**2,
    "GiB": 1024.0**3,
    "kbit": 1e3 / 8,
    "Mbit": 1e6 / 8,
    "Gbit": 1e9 / 8,
}
_RATE: Final = re.compile(rf"(\d{{1,18}}(?:\.\d{{1,9}})?)\s?({'|'.join(_RATE_UNITS)})/s", re.ASCII)

_NUMBER: Final = re.compile(r"\d{1,400}(\.\d{0,400})?([eE][+-]?\d{1,4})?", re.ASCII)
_ITEM: Final = re.compile(r"(?:\\.|\[[^\]]*\]|\{[^{}]*\}|[^,])+", re.DOTALL)


def duration(value: object) -> float:
    """Read a duration above zero, such as `500ms`, `10s` or `1h30m`, as seconds."""
    seconds = parse_duration(value) if isinstance(value, str) else None
    if not seconds:
        raise _unexpected("expected a duration with its unit, such as 500ms, 10s or 1h30m", value)
    if seconds > _LONGEST:
        raise _unexpected("expected 3650d or less", value)
    return seconds


def whole_number(value: object) -> int:
    """Read a whole number from 1 on."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,18}", value.strip(), re.ASCII):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _unexpected("expected a whole number above 0", value)
    if value >= _LARGEST:
        raise _unexpected("expected a number of at most 18 digits", value)
    return value


def days_up_to(most: int) -> Callable[[object], int]:
    """Return a reader of a whole number of days from 1 to `most`."""

    def read(value: object) -> int:
        days = whole_number(value)
        if days > most:
            raise ValueError(f"expected {most} days or less, got {value}")
        return days

    return read


def port(value: object) -> int:
    """Read a TCP port."""
    try:
        number = whole_number(value)
    except ValueError:
        number = _PORTS
    if number >= _PORTS:
        raise _unexpected(f"expected a port from 1 to {_PORTS - 1}", value)
    return number


def positive_number(value: object) -> float:
    """Read a finite number above zero."""
    unexpected = _unexpected("expected a number above 0", value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise unexpected
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
        raise unexpected
    try:
        number = float(value)
    except OverflowError:
        raise unexpected from None
    if not math.isfinite(number) or number <= 0:
        raise unexpected
    return number


def rate(value: object) -> float:
    """Read bytes per second above zero: a number, or one with its unit, such as `125MB/s` or `1Gbit/s`."""
    found = _RATE.fullmatch(value.strip()) if isinstance(value, str) else None
    try:
        return positive_number(value if found is None else float(found[1]) * _RATE_UNITS[found[2]])
    except ValueError:
        if not isinstance(value, str):
            raise
        raise _unexpected("expected bytes per second above 0, such as 125000000 or 125MB/s", value) from None


def share(value: object) -> float:
    """Read a share above 0 and up to 1, such as `30%` or `0.3`."""
    percent = isinstance(value, str) and value.strip().endswith("%")
    try:
        number = positive_number(str(value).strip().removesuffix("%") if percent else value)
    except ValueError:
        number = math.inf
    number = number / 100 if percent else number
    if number > 1:
        raise _unexpected("expected a share above 0% and up to 100%, such as 30%", value)
    return number


def text(value: object) -> str:
    """Read text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise _unexpected("expected text", value)
    refuse_placeholder(value)
    return value


def http_path(value: object) -> str:
    """Read the path of a URL."""
    path = text(value)
    if not re.fullmatch(r"/[!-~]*", path):
        raise _unexpected("expected the path of a URL, such as /metrics", value)
    return path


def topic(value: object) -> str:
    """Read the name of a topic."""
    name = text(value)
    if not re.fullmatch(r"[a-zA-Z0-9._-]{1,249}", name) or name in (".", ".."):
        raise _unexpected(
            "expected the name of a topic: up to 249 letters, digits, dots, underscores and hyphens", value
        )
    return name


def choice(*options: str) -> Callable[[object], str]:
    """Make a reader of one of several words."""

    def read(value: object) -> str:
        word = value.strip().lower() if isinstance(value, str) else ""
        if word not in options:
            raise ValueError(f"expected one of {', '.join(options)}, got {_shown(value)}{did_you_mean(word, options)}")
        return word

    return read


def choices(*options: str) -> Callable[[object], frozenset[str]]:
    """Make a reader of a list of words."""
    one = choice(*options)
    return lambda value: frozenset(map(one, _items(value)))


def address(value: object) -> Address:
    """Read `host:port` or `[IPv6]:port`."""
    return parse_address(text(value))


def listen_address(value: object) -> Address:
    """Read `host:port`, or `:port` for every interface. Port 0 is any free port."""
    return parse_address(text(value), listen=True)


def addresses(value: object) -> tuple[Address, ...]:
    """Read a list of addresses."""
    return tuple(address(item) for item in _items(value))


def host_names(value: object) -> frozenset[str]:
    """Read a list of host names, without ports and a last dot."""
    names = [text(item).strip().rstrip(".").lower() for item in _items(value)]
    for name in names:
        if not re.fullmatch(r"[a-z0-9._-]+", name):
            raise _unexpected("expected a host name without a port", name)
    return frozenset(names)


def numbered_addresses(value: object) -> dict[int, Address]:
    """Read a mapping of node id to address; as text `1=host:port,2=host:port`."""
    value = _parsed(value, "=")
    if not isinstance(value, Mapping):
        raise _unexpected('expected ids with addresses, such as {1: "host:port"}', value)
    nodes = [_node(key) for key in value]
    _refuse_twice(nodes)
    return dict(zip(nodes, map(address, value.values()), strict=True))


def named_addresses(value: object) -> dict[str, Address]:
    """Read a mapping of node id to address, or a list of addresses whose ids are not known, which are their own names.

    Returns:
        Addresses by node id as text, or by themselves.
    """
    value = _parsed(value, "=")
    if isinstance(value, Mapping):
        return {str(node): item for node, item in numbered_addresses(value).items()}
    return {str(item): item for item in addresses(value)}


def patterns(value: object) -> tuple[re.Pattern[str], ...]:
    """Read a list of regular expressions."""
    return tuple(_pattern(item) for item in _items(value))


def property_value(value: object) -> str:
    """Read the value of a Kafka client property: text, or a list of texts."""
    if isinstance(value, list):
        return ",".join(property_value(item) for item in value)
    if not isinstance(value, str):
        raise _unexpected("expected text", value)
    refuse_placeholder(value)
    return value


def _pattern(value: object) -> re.Pattern[str]:
    try:
        return re.compile(text(value))
    except (re.error, OverflowError, RecursionError) as failure:
        raise ValueError(f"{_shown(value)} is not a regular expression: {failure}") from None


def _node(value: object) -> int:
    if isinstance(value, str) and value.strip().isdecimal() and value.isascii():
        value = int(value[:18])
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _unexpected("expected a node id, which is a whole number", value)
    return value


def _items(value: object) -> list[Any]:
    value = _parsed(value)
    if not isinstance(value, list):
        raise _unexpected("expected a list", value)
    return value


def _parsed(value: object, separator: str = "") -> object:
    """Parse text as one YAML list or mapping, else as items between commas. Other values stay as they are.

    A comma inside brackets or braces belongs to its item: `x{2,3}` and `[a,b]x` are one pattern each.
    """
    if not isinstance(value, str):
        return value
    start = value.lstrip()[:1]
    if start in ("[", "{"):
        try:
            return parse_yaml(value)
        except ValueError as failure:
            # `[a-z]+` and `[::1]:9092` only begin like a list.
            if start == "{":
                raise ValueError(f"cannot be read as YAML: {failure}") from None
    items = [item.strip() for item in _ITEM.findall(value) if item.strip()]
    if separator and items and all(separator in item for item in items):
        pairs = [item.split(separator, 1) for item in items]
        _refuse_twice([key for key, _ in pairs])
        return dict(pairs)
    return items


def _refuse_twice(keys: list[Any]) -> None:
    for key, times in Counter(keys).items():
        if times > 1:
            raise ValueError(f"the key {key} appears twice")


_LONGEST_SHOWN: Final = 60


def _unexpected(expected: str, value: object) -> ValueError:
    return ValueError(f"{expected}, got {_shown(value)}")


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "keys and values"
    if isinstance(value, list):
        return "a list"
    shown = repr(value) if isinstance(value, str) else str(value)
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}..."
