"""A page in Prometheus format, of which only the lines of wanted beans are read, and what beans are called there.

The agent of jmx_exporter names them by its rules. Known are the names without any naming rule (a plain `.*`, and Amazon
MSK), those of Strimzi's rules, and those of jmx_exporter's own examples for Kafka. Rules decide about upper case, so
names are compared without it.
"""

import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from kafka_warden.clients.jmx.protocol import MAX_ROWS, BeanQueries, BeanRow, RawBeans, Scalar
from kafka_warden.errors import ProtocolError

Labels = frozenset[tuple[str, str]]
BeanAttribute = tuple[str, str]
"""Name of a bean, or the pattern of it, and an attribute."""

LONGEST_NAME: Final = 4096
"""Characters of the name of a client's bean; longer ones are left out."""
_OTHER: Final = re.compile(r"[^a-z0-9_]+")
_PERCENTILE: Final = re.compile(r"(\d+)thPercentile")
_PER_SECOND: Final = re.compile(r"PerSec\w*$")
START: Final = ("java.lang:type=Runtime", "StartTime")
START_TIME: Final = "process_start_time_seconds"
"""Of the process that serves the page. The agent has it also where its rules name no bean of the JVM."""
MILLISECONDS: Final = 1000.0
"""In its second, as `START` has it."""
BUILD: Final = "jmx_exporter_build_info"
"""Names the program that serves the page. Only the agent runs in the process whose beans it has."""
AGENT: Final = "jmx_prometheus_javaagent"
_BEFORE_NAMES: Final = "user", "client_id"
_QUOTA: Final = "kafka_server_quota_"
"""Begins the names of clients' beans by jmx_exporter's examples, whose label `resource` is the type of the bean."""
_NAME: Final = re.compile(rb"[a-zA-Z_:][a-zA-Z0-9_:]*")
MOST_CLIENTS: Final = 8 << 20
"""Bytes of the beans of clients, of which a page may have any number. They are those of some 13,000."""
_AT_ONCE: Final = 50
"""Lines that are parsed together: the samples of a whole page need ten times its memory."""
_ROW: Final = 500
"""Bytes of a bean beside its name."""
_KEYS: Final = {"client_id": "client-id", "clientid": "client-id", "user": "user"}
"""Labels of clients, and the keys in the names of their beans."""


def _name(*parts: str) -> str:
    """Return the name of a metric or label as it is compared."""
    return _OTHER.sub("_", "_".join(parts).lower())


def _names(bean: str, attribute: str) -> Iterator[tuple[str, Labels]]:
    """Yield both names of an attribute, with the labels of each."""
    domain, _, listed = bean.partition(":")
    properties = dict(each.split("=", 1) for each in listed.split(","))
    kind, name = properties.pop("type"), properties.get("name")
    yield _name(domain, kind, attribute), _labels(properties)
    if name is None:
        return
    del properties["name"]
    if found := _PERCENTILE.fullmatch(attribute):
        yield _name(domain, kind, name), _labels(properties | {"quantile": f"0.{found[1]}"})
    elif attribute == "Count":
        yield _name(domain, kind, f"{_PER_SECOND.sub('', name)}_total"), _labels(properties)
    else:
        yield _name(domain, kind, name), _labels(properties)


def _names_of_clients(pattern: str, attribute: str) -> Iterator[tuple[str, str | None]]:
    """Yield the names of an attribute of clients' beans, with the label `resource` of each."""
    domain, kind = _type(pattern)
    yield _name(domain, kind, attribute), None
    yield _name(f"{_QUOTA}{attribute}"), kind


def _type(pattern: str) -> tuple[str, str]:
    domain, _, kind = pattern.removesuffix(",*").partition(":type=")
    return domain, kind


def _labels(properties: Mapping[str, str]) -> Labels:
    return frozenset((_name(key), value) for key, value in properties.items())


def read_page(lines: Iterable[bytes], question: BeanQueries) -> RawBeans:
    """Read the numbers that a question asks for; the answer has no time.

    Raises:
        ProtocolError: a wanted line is not in the format, or no line is a metric of Kafka.
    """
    exact = {
        key: (bean.name, attribute)
        for bean in question.beans
        for attribute in bean.attributes
        for key in _names(bean.name, attribute)
    }
    clients = {
        key: (pattern.name, attribute)
        for pattern in question.patterns
        for attribute in pattern.attributes
        for key in _names_of_clients(pattern.name, attribute)
    }
    in_names = {
        f"{_name(*_type(pattern.name))}_{key}_": pattern.name for pattern in question.patterns for key in _BEFORE_NAMES
    }
    page = _Page(exact, clients, in_names)
    for name, labels, value in _samples(page.wanted(lines)):
        page.take(name, labels, value)
    return page.beans()


@dataclass(slots=True)
class _Page:
    """Where the numbers of a question are in a page, and what was read so far."""

    exact: Mapping[tuple[str, Labels], BeanAttribute]
    """By name and all labels."""
    of_clients: Mapping[tuple[str, str | None], BeanAttribute]
    """By name and label `resource`; the other labels are the keys of the bean's name."""
    in_names: Mapping[str, str]
    """Beginnings of names in which a rule has put user and client id, and the pattern of these beans."""
    values: dict[BeanAttribute, Scalar] = field(default_factory=dict)
    clients: dict[str, dict[str, dict[str, Scalar]]] = field(default_factory=dict)
    """By pattern and name of the bean."""
    size: int = 0
    """Bytes of `clients`."""
    beyond: Counter[BeanAttribute] = field(default_factory=Counter)
    """Attributes of clients' beans that are left out."""
    unreadable: set[str] = field(default_factory=set)
    started: float | None = None
    """Unix seconds, of the process that serves the page."""
    is_agent: bool = False

    def wanted(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the lines with wanted names."""
        any_of_kafka, in_names = False, tuple(self.in_names)
        wanted = {BUILD, START_TIME, *(name for name, _ in (*self.exact, *self.of_clients))}
        for line in lines:
            if (found := _NAME.match(line)) is not None:
                name = found[0].lower().decode()
                # Pages of other programs have the start time, too.
                any_of_kafka |= name.startswith("kafka_") or (name in wanted and name not in (START_TIME, BUILD))
                if name in wanted:
                    yield line
                elif name.startswith(in_names):
                    self.unreadable |= {self.in_names[each] for each in in_names if name.startswith(each)}
        if not any_of_kafka:
            raise ProtocolError("the answer is no page with metrics of Kafka; correct jmx.port or jmx.path")

    def take(self, name: str, labels: Mapping[str, str], value: float) -> None:
        """Take a sample with a wanted name."""
        keyed = {_name(key): text for key, text in labels.items()}
        if name == BUILD:
            self.is_agent |= keyed.get("name") == AGENT
        elif name == START_TIME:
            self.started = value
        elif (number := self.exact.get((name, frozenset(keyed.items())))) is not None:
            self.values.setdefault(number, value)
        else:
            self._take_client(name, keyed, value)

    def _take_client(self, name: str, keyed: dict[str, str], value: float) -> None:
        resource = keyed.pop("resource", None)
        if resource is not None and ", user=" in resource:  # by the examples before jmx_exporter 0.18
            resource, _, keyed["user"] = resource.partition(", user=")
        number = self.of_clients.get((name, resource))
        if number is None or not keyed.keys() <= _KEYS.keys():
            return
        pattern, attribute = number
        found, bean = self.clients.setdefault(pattern, {}), _object_name(pattern, keyed)
        if bean not in found:
            if self.size >= MOST_CLIENTS or len(bean) > LONGEST_NAME:
                self.beyond[number] += 1
                return
            self.size += sys.getsizeof(bean) + _ROW
        found.setdefault(bean, {})[attribute] = value

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
        most = Counter[str]()
        for (pattern, _), count in self.beyond.items():
            most[pattern] = max(most[pattern], count)
        left_out += most.total()
        return RawBeans(math.nan, self.values, rows, left_out, unreadable=frozenset(self.unreadable))


def _samples(lines: Iterator[bytes]) -> Iterator[tuple[str, Mapping[str, str], float]]:
    """Yield the samples of lines; their names are in lower case."""
    try:
        while some := list(islice(lines, _AT_ONCE)):
            for family in text_string_to_metric_families(b"\n".join([*some, b""]).decode()):
                for sample in family.samples:
                    yield sample.name.lower(), sample.labels, float(sample.value)
    except (ValueError, OverflowError) as failure:
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
