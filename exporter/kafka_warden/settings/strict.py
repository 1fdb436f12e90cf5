"""Strict reading of what users write: YAML files, addresses, durations. Suggests the name for a misspelt one."""

import difflib
import ipaddress
import os
import re
import stat
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from kafka_warden.errors import ConfigError

_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_QUOTED: Final = re.compile(r"'([^']*)'")
_SYNTAX: Final = re.compile(r"<.*>|.{,2}")
_PORTS: Final = 65536
MOST_VALUES: Final = 100_000
"""Values in one file."""
_UNITS: Final = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_DURATION: Final = re.compile(
    "".join(rf"(?:(?P<{unit}>\d{{1,9}}(?:\.\d{{1,9}})?){unit})?" for unit in _UNITS), re.ASCII
)


class Address(NamedTuple):
    """A host (name, IPv4 or IPv6 address without brackets; empty: every interface) and a TCP port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str, *, default_port: int | None = None, listen: bool = False) -> Address:
    """Read `host:port`, `[IPv6]:port` or, where `listen` allows it, `:port` for every interface and port 0 for any.

    Raises:
        ValueError: what was expected instead.
    """
    # The text before an @ may be a password.
    expected = f"expected host:port or [IPv6 address]:port, got {text.rpartition('@')[2]!r}"
    host, separator, port = text.strip().rpartition(":")
    if not separator or port.endswith("]"):
        host, port = text.strip(), "" if default_port is None else str(default_port)
    if host.startswith("[") and host.endswith("]"):
        try:
            host = str(ipaddress.IPv6Address(host[1:-1]))
        except ValueError:
            raise ValueError(expected) from None
    elif not _NAME.fullmatch(host) and not (listen and not host):
        raise ValueError(expected)
    if not (port.isascii() and port.isdigit() and (0 if listen else 1) <= int(port[:6]) < _PORTS):
        raise ValueError(expected)
    return Address(host, int(port))


def parse_duration(text: str) -> float | None:
    """Read `500ms`, `10s`, `1h30m` ..., larger units first, as seconds; `None` when it is anything else."""
    found = _DURATION.fullmatch(text.strip())
    parts = {unit: number for unit, number in found.groupdict().items() if number} if found else {}
    return sum(float(number) * _UNITS[unit] for unit, number in parts.items()) if parts else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean X?` for the known name nearest to `name`, or nothing when none is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.7)
    return f"; did you mean {near[0]}?" if near else ""


def reason(failure: Exception) -> str:
    """Return why a file could not be read, without its path, on one line. A path with a NUL gives a ValueError."""
    return " ".join(str(getattr(failure, "strerror", None) or failure).split())


_TAG: Final = "tag:yaml.org,2002:"


class _StrictLoader(yaml.SafeLoader):
    """Refuses a file with two equal keys, of which PyYAML's takes the last one. Keys are text, as Go reads them.

    PyYAML would read the user names `007` and `yes` as 7 and True.
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


def open_now(path: str, flags: int) -> int:
    """Open a file without waiting for the writer of a FIFO: an `opener` of `open`."""
    return os.open(path, flags | os.O_NONBLOCK)


def special_file(paths: Iterable[Path]) -> Path | None:
    """Return the first path that is neither a file nor a directory, nor missing. OpenSSL waits for a FIFO's writer."""
    return next((path for path in paths if path.exists() and not (path.is_file() or path.is_dir())), None)


def read_file(path: Path, most: int = -1) -> bytes:
    """Read a regular file, or its first `most` bytes. Another kind, such as a FIFO, could block for ever.

    Raises:
        OSError: it cannot be read, or is no regular file.
    """
    with open(path, "rb", opener=open_now) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("not a regular file")
        return file.read(most)


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a file that holds one YAML mapping with text keys; an empty file is an empty mapping.

    Raises:
        ConfigError: it cannot be read, or is anything else. The message quotes no value, which may be secret.
    """
    try:
        content = yaml.load(read_file(path).decode(), Loader=_StrictLoader)  # noqa: S506  # a SafeLoader
    except OSError as failure:
        raise ConfigError(f"{path}: cannot read the file: {reason(failure)}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: the file is not UTF-8 text") from None
    except yaml.MarkedYAMLError as failure:
        raise ConfigError(f"{path}: not valid YAML: {_problem(failure)}") from None
    except Exception:  # noqa: BLE001  # PyYAML's readers of explicit tags raise KeyError, IndexError and more
        raise ConfigError(f"{path}: not valid YAML") from None
    if content is None:
        return {}
    if not _is_small(content):
        raise ConfigError(f"{path}: expected at most {MOST_VALUES} values, with the values of each alias counted again")
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected keys and values, such as `poll:`, at the top of the file")
    return {str(key): value for key, value in content.items()}


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
    return " ".join(f"{problem}{place}".split())
