"""The line protocol between the sidecar and its JMX child: JSON, one message a line, over the child's stdin and stdout.

The parent writes one :class:`Hello`, then any number of :class:`BeanRequest`. The child writes `{"ready": ...}` or
`{"failed": message}`, then one reply for each request, in any order, matched by `id`. It has a reason of
:mod:`kafka_warden.errors` and a message, or beans: `{"id": 1, "beans": [[name, {attribute: value}]], "rows": {pattern:
[[name, {attribute: value}]]}, "left_out": 0}`. The parent starts the child, so both have the same version, and a
missing key is a bug that raises.

Both sides import this, so it imports neither numpy nor JPype.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from kafka_warden import errors

Kind = Literal["broker", "controller"]
Scalar = float | int | str | bool
"""Value of an attribute. NaN and infinity are sent as they are: both ends use Python's `json`."""
MAX_ROWS: Final = 1000
"""Beans read for one pattern. A controller has one for each client that mutated within an hour."""


@dataclass(frozen=True, slots=True)
class BeanQuery:
    """Attributes of one bean, or of every bean that matches if `name` is a pattern."""

    name: str
    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BeanQueries:
    """What one kind of process is asked: beans by their exact names, and patterns if the names are not known."""

    beans: tuple[BeanQuery, ...]
    patterns: tuple[BeanQuery, ...] = ()


@dataclass(frozen=True, slots=True)
class JmxTls:
    """JMX over TLS: PEM files, and whether the registry uses TLS too (`jmxremote.registry.ssl`)."""

    ca_file: str
    cert_file: str | None = None
    key_file: str | None = None
    registry: bool = True


@dataclass(frozen=True, slots=True)
class Hello:
    """The first line: everything that does not change while the child lives. `timeout`: seconds of one RMI step."""

    questions: Mapping[str, BeanQueries]
    tls: JmxTls | None = None
    timeout: float = 1.0


@dataclass(frozen=True, slots=True)
class BeanRequest:
    """Ask one process once. No other message has the password."""

    id: int
    key: str
    kind: str
    host: str
    port: int
    user: str | None = None
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class BeanRow:
    """The attributes of one bean, as the process named them."""

    name: str
    values: Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class RawBeans:
    """The answer of one process, uninterpreted. Beans and attributes that it does not have are absent."""

    at: float
    """Monotonic time of the answer."""
    values: Mapping[tuple[str, str], Scalar]
    """(object name, attribute) to value, for the beans that were asked for by name."""
    rows: Mapping[str, tuple[BeanRow, ...]] = field(default_factory=dict)
    """Pattern to the beans that matched it, sorted by name."""
    left_out: int = 0
    """Beans that matched a pattern and were not read, because there were too many."""
    took: float | None = None
    """Seconds that the reading took, where that is not the time since it was asked for."""
    every: float = 0.0
    """Seconds until the next reading, where that may be later than the next poll."""
    unreadable: frozenset[str] = frozenset()
    """Patterns of which there are beans whose names cannot be read: an agent's rules made them ambiguous."""


def encode(message: Hello | BeanRequest | Mapping[str, Any]) -> bytes:
    """One line of the protocol, its newline included."""
    body = dict(message) if isinstance(message, Mapping) else asdict(message)
    return json.dumps(body, separators=(",", ":")).encode() + b"\n"


def decode_hello(line: bytes) -> Hello:
    """The inverse of :func:`encode`."""
    body = json.loads(line)
    tls = body.pop("tls")
    questions = {
        kind: BeanQueries(_queries(asked["beans"]), _queries(asked["patterns"]))
        for kind, asked in body.pop("questions").items()
    }
    return Hello(questions=questions, tls=JmxTls(**tls) if tls else None, **body)


def decode_answer(reply: Mapping[str, Any], at: float) -> RawBeans | errors.SourceError:
    """The answer or error of a reply, parsed JSON, with the monotonic time at which it arrived."""
    if "reason" in reply:
        return errors.REASONS.get(reply["reason"], errors.ProtocolError)(reply["message"])
    values = {(bean, name): value for bean, found in reply["beans"] for name, value in found.items()}
    rows = {pattern: tuple(BeanRow(*row) for row in found) for pattern, found in reply["rows"].items()}
    return RawBeans(at, values, rows, reply["left_out"])


def _queries(items: Sequence[Mapping[str, Any]]) -> tuple[BeanQuery, ...]:
    return tuple(BeanQuery(item["name"], tuple(item["attributes"])) for item in items)
