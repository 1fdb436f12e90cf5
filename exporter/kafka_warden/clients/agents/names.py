"""What beans are called in Prometheus format.

The agent of jmx_exporter names them by its rules. Known are the names without any naming rule (a plain `.*`, and Amazon
MSK), those of Strimzi's rules, and those of jmx_exporter's own examples for Kafka. Rules decide about upper case, so
names are compared without it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kafka_warden.clients.jmx.protocol import Question

Labels = frozenset[tuple[str, str]]

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
_KEYS: Final = "user", "client_id"
_QUOTA: Final = "kafka_server_quota_"
"""Begins the names of clients' beans by jmx_exporter's examples, whose label `resource` is the type of the bean."""


@dataclass(frozen=True, slots=True)
class Number:
    """An attribute of a bean, and the factor to its unit."""

    bean: str
    attribute: str
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Names:
    """Where the numbers of a question are in a page."""

    exact: Mapping[tuple[str, Labels], Number]
    """By name and all labels."""
    of_clients: Mapping[tuple[str, str | None], Number]
    """By name and label `resource`; `bean` is the pattern, and the other labels are the keys of the bean's name."""
    in_names: Mapping[str, str]
    """Beginnings of names in which a rule has put user and client id, and the pattern of these beans."""

    @classmethod
    def of(cls, question: Question) -> "Names":
        """Name all attributes of a question."""
        exact = {
            key: Number(bean.name, attribute)
            for bean in question.beans
            for attribute in bean.attributes
            for key in _names(bean.name, attribute)
        }
        clients = {
            key: Number(pattern.name, attribute)
            for pattern in question.patterns
            for attribute in pattern.attributes
            for key in _names_of_clients(pattern.name, attribute)
        }
        in_names = {
            f"{_metric(*_type(pattern.name))}_{key}_": pattern.name for pattern in question.patterns for key in _KEYS
        }
        return cls(exact, clients, in_names)

    def wanted(self) -> frozenset[str]:
        """Return the names, in lower case."""
        return frozenset({BUILD, START_TIME, *(name for name, _ in (*self.exact, *self.of_clients))})


def label(name: str) -> str:
    """Return the name of a label as it is compared."""
    return _OTHER.sub("_", name.lower())


def _metric(*parts: str) -> str:
    return _OTHER.sub("_", "_".join(parts).lower())


def _names(bean: str, attribute: str) -> Iterator[tuple[str, Labels]]:
    """Yield both names of an attribute, with the labels of each."""
    domain, _, listed = bean.partition(":")
    properties = dict(each.split("=", 1) for each in listed.split(","))
    kind, name = properties.pop("type"), properties.get("name")
    yield _metric(domain, kind, attribute), _labels(properties)
    if name is None:
        return
    del properties["name"]
    if found := _PERCENTILE.fullmatch(attribute):
        yield _metric(domain, kind, name), _labels(properties | {"quantile": f"0.{found[1]}"})
    elif attribute == "Count":
        yield _metric(domain, kind, f"{_PER_SECOND.sub('', name)}_total"), _labels(properties)
    else:
        yield _metric(domain, kind, name), _labels(properties)


def _names_of_clients(pattern: str, attribute: str) -> Iterator[tuple[str, str | None]]:
    """Yield the names of an attribute of clients' beans, with the label `resource` of each."""
    domain, kind = _type(pattern)
    yield _metric(domain, kind, attribute), None
    yield _metric(f"{_QUOTA}{attribute}"), kind


def _type(pattern: str) -> tuple[str, str]:
    domain, _, kind = pattern.removesuffix(",*").partition(":type=")
    return domain, kind


def _labels(properties: Mapping[str, str]) -> Labels:
    return frozenset((label(key), value) for key, value in properties.items())
