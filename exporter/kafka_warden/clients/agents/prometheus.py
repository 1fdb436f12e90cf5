"""A page in Prometheus format, of which only the lines of wanted beans are read."""

import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from kafka_warden.clients.agents.names import (
    AGENT,
    BUILD,
    LONGEST_NAME,
    MILLISECONDS,
    START,
    START_TIME,
    Names,
    Number,
    label,
)
from kafka_warden.clients.jmx.protocol import MAX_ROWS, BeanRow, RawBeans, Scalar
from kafka_warden.errors import ProtocolError

_NAME: Final = re.compile(rb"[a-zA-Z_:][a-zA-Z0-9_:]*")
MOST_CLIENTS: Final = 8 << 20
"""Bytes of the beans of clients, of which a page may have any number. They are those of some 13,000."""
_AT_ONCE: Final = 50
"""Lines that are parsed together: the samples of a whole page need ten times its memory."""
_ROW: Final = 500
"""Bytes of a bean beside its name."""
_KEYS: Final = {"client_id": "client-id", "clientid": "client-id", "user": "user"}
"""Labels of clients, and the keys in the names of their beans."""


def read_page(lines: Iterable[bytes], names: Names) -> RawBeans:
    """Read the wanted numbers; the answer has no time.

    Raises:
        ProtocolError: a wanted line is not in the format, or no line is a metric of Kafka.
    """
    page = _Page(names)
    for name, labels, value in _samples(page.wanted(lines)):
        page.take(name, labels, value)
    return page.beans()


@dataclass(slots=True)
class _Page:
    """What was read so far."""

    names: Names
    values: dict[tuple[str, str], Scalar] = field(default_factory=dict)
    clients: dict[str, dict[str, dict[str, Scalar]]] = field(default_factory=dict)
    """By pattern and name of the bean."""
    size: int = 0
    """Bytes of `clients`."""
    beyond: Counter[Number] = field(default_factory=Counter)
    """Attributes of clients' beans that are left out."""
    unreadable: set[str] = field(default_factory=set)
    started: float | None = None
    """Unix seconds, of the process that serves the page."""
    is_agent: bool = False

    def wanted(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the lines with wanted names."""
        any_of_kafka, wanted, in_names = False, self.names.wanted(), tuple(self.names.in_names)
        for line in lines:
            if (found := _NAME.match(line)) is not None:
                name = found[0].lower().decode()
                # Pages of other programs have the start time, too.
                any_of_kafka |= name.startswith("kafka_") or (name in wanted and name not in (START_TIME, BUILD))
                if name in wanted:
                    yield line
                elif name.startswith(in_names):
                    self.unreadable |= {self.names.in_names[each] for each in in_names if name.startswith(each)}
        if not any_of_kafka:
            raise ProtocolError("the answer is no page with metrics of Kafka; correct jmx.port or jmx.path")

    def take(self, name: str, labels: Mapping[str, str], value: float) -> None:
        """Take a sample with a wanted name."""
        keyed = {label(key): text for key, text in labels.items()}
        if name == BUILD:
            self.is_agent |= keyed.get("name") == AGENT
        elif name == START_TIME:
            self.started = value
        elif (number := self.names.exact.get((name, frozenset(keyed.items())))) is not None:
            self.values.setdefault((number.bean, number.attribute), value * number.factor)
        else:
            self._take_client(name, keyed, value)

    def _take_client(self, name: str, keyed: dict[str, str], value: float) -> None:
        resource = keyed.pop("resource", None)
        if resource is not None and ", user=" in resource:  # by the examples before jmx_exporter 0.18
            resource, _, keyed["user"] = resource.partition(", user=")
        number = self.names.of_clients.get((name, resource))
        if number is None or not keyed.keys() <= _KEYS.keys():
            return
        found, bean = self.clients.setdefault(number.bean, {}), _object_name(number.bean, keyed)
        if bean not in found:
            if self.size >= MOST_CLIENTS or len(bean) > LONGEST_NAME:
                self.beyond[number] += 1
                return
            self.size += sys.getsizeof(bean) + _ROW
        found.setdefault(bean, {})[number.attribute] = value

    def beans(self) -> RawBeans:
        """Return what was read."""
        if self.is_agent and self.started is not None:
            self.values.setdefault(START, self.started * MILLISECONDS)
        rows = {
            pattern: tuple(BeanRow(bean, found[bean]) for bean in sorted(found)[:MAX_ROWS])
            for pattern, found in self.clients.items()
        }
        left_out = sum(max(0, len(found) - MAX_ROWS) for found in self.clients.values())
        # Each bean has a line for each of its attributes.
        beyond = self.beyond
        left_out += sum(
            max(beyond[each] for each in beyond if each.bean == bean) for bean in {each.bean for each in beyond}
        )
        return RawBeans(math.nan, self.values, rows, left_out, unreadable=frozenset(self.unreadable))


def _samples(lines: Iterator[bytes]) -> Iterator[tuple[str, Mapping[str, str], float]]:
    """Yield the samples of lines; their names are in lower case."""
    try:
        while some := list(islice(lines, _AT_ONCE)):
            for family in text_string_to_metric_families(b"\n".join([*some, b""]).decode()):
                for sample in family.samples:
                    yield sample.name.lower(), sample.labels, sample.value
    except ValueError as failure:
        raise ProtocolError(f"a line of the page is not in Prometheus format: {failure}") from None


def _object_name(pattern: str, labels: Mapping[str, str]) -> str:
    """Return the name of a client's bean. The agent leaves values that JMX quotes in their quotes."""
    listed = (f"{_KEYS[key]}={_quoted(text)}" for key, text in sorted(labels.items()))
    return ",".join((pattern.removesuffix(",*"), *listed))


def _quoted(text: str) -> str:
    if text.startswith('"') and text.endswith('"') and len(text) > 1:
        return text
    escaped = re.sub(r'(["\\*?])', r"\\\1", text).replace("\n", "\\n")
    return f'"{escaped}"'
