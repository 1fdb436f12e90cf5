"""Strict reading of what users write: addresses, durations, words. Suggests the name for a misspelt one."""

import difflib
import ipaddress
import json
import os
import re
import stat
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

_LABEL: Final = r"[A-Za-z0-9_-]{1,63}"
_NAME: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*\.?")
_LONGEST_PORT: Final = 5
_PORTS: Final = 65536
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
    digits = port.isascii() and port.isdigit() and len(port) <= _LONGEST_PORT
    if not (digits and (0 if listen else 1) <= int(port) < _PORTS):
        raise ValueError(expected)
    return Address(host, int(port))


def parse_duration(text: str) -> float | None:
    """Read `500ms`, `10s`, `1h30m` ..., larger units first, as seconds; `None` when it is anything else."""
    found = _DURATION.fullmatch(text.strip())
    parts = {unit: number for unit, number in found.groupdict().items() if number} if found else {}
    return sum(float(number) * _UNITS[unit] for unit, number in parts.items()) if parts else None


_PLACEHOLDER: Final = re.compile(r"(\$\{)[^{}]*\}|(\{\{)[^{}]*\}\}|(?<![^\"'])(<)[A-Za-z][\w .-]*>(?![^\"'])")
_FORMS: Final = {"${": "${...}", "{{": "{{...}}", "<": "<...>"}


def refuse_placeholder(text: str, secret_file: str = "") -> None:
    """Refuse a value that another program, or a reader of a template, would have replaced.

    `secret_file`: the option with the file of a secret. There a secret may have any text.

    Raises:
        ValueError: the message quotes none of it.
    """
    if found := _PLACEHOLDER.search(text):
        way_out = f", or put a secret that has this text into the file of {secret_file}" if secret_file else ""
        raise ValueError(f"{_FORMS[found[found.lastindex or 0]]} is not replaced here; write the value itself{way_out}")


def nearest(name: str, known: Iterable[str], least: float = 0.7) -> str:
    """Return the known name nearest to `name`, or nothing when none is near: `least` is of difflib, from 0 to 1."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=least)), "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean X?` for the known name nearest to `name`, or nothing when none is near."""
    near = nearest(name, known)
    return f"; did you mean {near}?" if near else ""


def boolean(value: object) -> bool:
    """Read true or false.

    Raises:
        ValueError: it is anything else.
    """
    word = str(value).strip().lower()
    if word not in ("true", "false"):
        raise ValueError(f"expected true or false, got {value!r}")
    return word == "true"


def reason(failure: Exception) -> str:
    """Return why a file could not be read, without its path, on one line. A path with a NUL gives a ValueError."""
    return " ".join(str(getattr(failure, "strerror", None) or failure).split())


def _open_now(path: str, flags: int) -> int:
    """Open a file without waiting for the writer of a FIFO: an `opener` of `open`."""
    return os.open(path, flags | os.O_NONBLOCK)


def special_file(paths: Iterable[Path]) -> Path | None:
    """Return the first path that is neither a file nor a directory, nor missing. OpenSSL waits for a FIFO's writer."""
    return next((path for path in paths if path.exists() and not (path.is_file() or path.is_dir())), None)


def decoded(content: bytes) -> str:
    """Return the text of a file, without a byte order mark.

    Raises:
        ValueError: it is not UTF-8. The message has the line.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        line = content.count(b"\n", 0, failure.start) + 1
        raise ValueError(f"line {line} is not UTF-8 text; save the file as UTF-8") from None


LARGEST_FILE: Final = 16 << 20
"""Bytes. The authorities of a JDK have 160 KiB."""


def read_file(path: Path, most: int = LARGEST_FILE, accept: Callable[[os.stat_result], None] = lambda _: None) -> bytes:
    """Read a regular file of at most `most` bytes. Another kind, such as a FIFO, could block for ever.

    `accept` raises for a file with another owner or mode than wanted.

    Raises:
        OSError: it cannot be read, or is no regular file.
        ValueError: it is larger.
    """
    with open(path, "rb", opener=_open_now) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError("not a regular file")
        accept(status)
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"larger than {most} bytes")
    return content


LARGEST: Final = 2**63 - 1
"""Kafka's numbers have 64 bits. As a float this is 2^63."""
_LONGEST: Final = 400
"""Characters. `int` refuses some thousands."""


def parse_json(text: str | bytes) -> Any:
    """Parse JSON.

    Raises:
        ValueError: it is not valid, nested too deeply, has a key twice in one object, or a number beyond 64 bits.
    """
    decimals = partial(_bounded, float)
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_int=partial(_bounded, int),
            parse_float=decimals,
            parse_constant=decimals,
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} appears twice in one object")
    return found


def _bounded(kind: type[int] | type[float], text: str) -> float:
    """Read a number. JSON has no infinity and no NaN."""
    number = kind(text[:_LONGEST])
    if len(text) > _LONGEST or not abs(number) <= kind(LARGEST):
        raise ValueError(f"expected numbers of at most 64 bits, got {text[:20]}")
    return number
