"""The one function that sends refuses every request that does more than read."""

import asyncio
import importlib
import re
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.broker_version_data import BROKER_API_VERSIONS

from kafka_warden.clients.kafka import requests
from kafka_warden.clients.kafka.connection import BrokerConnection
from kafka_warden.clients.kafka.requests import QUORUM, READ_ONLY, Repeated, Since
from kafka_warden.errors import ForbiddenRequestError

ACLS = Path(__file__).parents[2] / "docs" / "reference" / "acls.md"
READING = {
    *("ApiVersions", "SaslHandshake", "SaslAuthenticate"),
    *re.findall(r"^\| `\w+` \| ([A-Z]\w+)", ACLS.read_text(), re.MULTILINE),
}
"""Those of a login, and those of the page about ACLs."""
PACKAGES = ("admin", "consumer", "producer", "metadata", "sasl")
HANDSHAKE = {"SaslBytesRequest"}
"""Raw bytes of a SASL exchange, for brokers before Kafka 1.0: no request of the protocol, and without a key."""


CLASSES = {
    value.__name__: value
    for package in PACKAGES
    for value in vars(importlib.import_module(f"kafka.protocol.{package}")).values()
    if isinstance(value, type) and issubclass(value, ApiMessage) and value.__name__.endswith("Request")
}
"""Every request of the protocol that kafka-python can build."""
NONE = 0, -1
"""Versions of a request that no broker of a release knows."""
FORBIDDEN = [
    CLASSES[name] for name in sorted(CLASSES.keys() - HANDSHAKE) if name.removesuffix("Request") not in READING
]


def test_the_list_has_the_requests_that_read_and_no_other() -> None:
    assert {key.name for key in READ_ONLY} == READING
    assert len(FORBIDDEN) > len(READING)


@pytest.mark.parametrize("request_class", FORBIDDEN, ids=lambda each: each.__name__)
@pytest.mark.parametrize("repeated", [False, True])
def test_every_other_request_is_refused_before_it_is_sent(request_class: Any, *, repeated: bool) -> None:
    """There is no connection to send it over, and it is the kind of request that is the reason."""
    request = Repeated(request_class, request_class) if repeated else request_class()
    with pytest.raises(ForbiddenRequestError, match=f"{request_class.__name__} is not a read-only request"):
        asyncio.run(BrokerConnection("test", "broker.example:9092").send(request, 0))


def test_releases_that_messages_name_are_those_of_kafka_python() -> None:
    """Not that of the quorum: its table has ZooKeeper mode before Kafka 4.0."""
    named = {each for each in vars(requests).values() if isinstance(each, Since) and each.release} - {QUORUM}
    first = {
        each: min(
            of for of, keys in BROKER_API_VERSIONS.items() if keys.get(each.request.API_KEY, NONE)[1] >= each.version
        )
        for each in named
    }
    assert {each: ".".join(map(str, release)) for each, release in first.items()} == {
        each: each.release for each in named
    }
    assert len(named) > 5
