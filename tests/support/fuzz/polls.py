"""The target `polls`: whole polls of scripted brokers whose replies are well-formed and have absurd values."""

import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from unittest import mock

from kafka.protocol.broker_version_data import BrokerVersionData
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from structlog.processors import format_exc_info
from structlog.testing import capture_logs

from kafka_warden.clients.kafka.connection import BrokerConnection
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.properties import translate
from kafka_warden.cycle import Cycle
from kafka_warden.history.parquet.arrow import to_arrow
from kafka_warden.history.poll import Poll
from kafka_warden.history.schema import TABLES, build
from kafka_warden.model import Parameters
from kafka_warden.poller import Poller, PollerSettings
from kafka_warden.sources.configs import BROKER_KEYS, TOPIC_KEYS
from kafka_warden.state import StateFile
from tests import scene
from tests.support.fuzz.wire import FLOATS, INTS, NUMBERS, WORDS, number
from tests.support.scripted import VirtualClock
from tests.support.scripted.description import Broker, Description, Topic
from tests.support.scripted.encoder import Encoder, Request
from tests.support.scripted.kinds import KINDS
from tests.support.scripted.rules import Rule

BROKERS: Final = (1, 2, 3)
POLLS: Final = 3
INTERVAL: Final = 61.0
"""Seconds: every question is due in every poll."""
CHANGED: Final = 0.2
"""Share of the replies with absurd values."""
SET: Final = 0.1
"""Share of the keys of brokers and topics whose values may be absurd in a whole case."""
SETTINGS: Final = PollerSettings(interval=INTERVAL, deadline=5.0)


class Polls:
    """Whatever brokers answer, a page is shown, and no part of the program calls it a bug. A case is a seed."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()

    def close(self) -> None:
        self._folder.cleanup()

    def make(self, chance: random.Random) -> bytes:
        return chance.randbytes(8)

    def check(self, data: bytes) -> None:
        chance, clock = random.Random(data), VirtualClock()
        encoder = Encoder(_cluster(chance), SimpleNamespace(now=lambda: clock.monotonic() - 900.0))  # type: ignore[arg-type]  # has what is used
        file = Path(self._folder.name, "state")
        file.unlink(missing_ok=True)

        class Link(_Link):
            connect = partial(_Answering, chance, encoder)

        with mock.patch("kafka_warden.poller.links.BrokerLink", Link), capture_logs([format_exc_info]) as logs:
            poller = Poller(SETTINGS, translate({"bootstrap.servers": "1:1,2:2,3:3"}, {}), None, clock)
            parameters, rows = Parameters(poll_interval=INTERVAL), _Rows()
            state, build_ = StateFile(file), scene.BUILD
            cycle = Cycle(poller, parameters, build_, state, rows, clock)  # type: ignore[arg-type]  # the same
            try:
                for _ in range(POLLS):
                    clock.advance(INTERVAL)
                    cycle.once()
                    _check_page(cycle)
                cycle.save()
                state.load()
            finally:
                poller.close()
        bugs = [entry for entry in logs if "bug" in entry["event"]]
        assert not bugs, bugs[0].get("exception", bugs[0])


def _check_page(cycle: Cycle) -> None:
    page = cycle.holder.page
    assert page is not None
    assert b" NaN\n" not in page.text
    assert list(text_string_to_metric_families(page.openmetrics.decode()))


class _Rows:
    """History that is made and not kept."""

    status: Mapping[str, Any] = {}

    def record(self, snapshot: Any, derived: Any, parameters: Any, remembered: Any, document: Any) -> None:
        poll = Poll(snapshot, derived, parameters, "fuzz", 0, remembered, document)
        for table in TABLES:
            to_arrow(build(table, poll))


class _Link(BrokerLink):
    """A link to a broker whose id is its port; other ports are refused."""

    connect: Callable[[int, str], BrokerConnection]

    async def _connected(self, timeout_at: float) -> BrokerConnection:
        if self.port not in BROKERS:
            return await super()._connected(timeout_at)
        if self._connection is None:
            connection = self.connect(self.port, self.address)
            connection._versions = BrokerVersionData(
                api_versions={key: (0, kind[2].max_version) for key, kind in KINDS.items()}
            )
            self._connection = connection
        return self._connection

    async def _open_socket(self, _: float) -> Any:
        raise ConnectionResetError


class _Answering(BrokerConnection):
    """Answers as a scripted broker does, some replies with absurd values."""

    connected = True  # there is nothing to lose

    def __init__(self, chance: random.Random, encoder: Encoder, broker: int, address: str) -> None:
        super().__init__("fuzz", address)
        self._chance = chance
        self._encoder = encoder
        self._broker = broker

    async def _exchange(self, frame: bytes) -> bytes:
        key, version = int.from_bytes(frame[4:6], "big"), int.from_bytes(frame[6:8], "big")
        name, request_class, response_class = KINDS[key]
        flexible = request_class.flexible_version_q(version)
        start = 14 + int.from_bytes(frame[12:14], "big") + flexible
        request = Request(key, version, 0, frame[start:], name)
        body = self._encoder.reply(self._broker, request, Rule())
        if self._chance.random() < CHANGED:
            body = absurd(body, response_class, version, self._chance)
        return frame[8:12] + b"\0" * response_class.flexible_version_q(version) + body


def _numbers(chance: random.Random, keys: Sequence[str]) -> dict[str, str]:
    return {key: chance.choice(NUMBERS) for key in keys if chance.random() < SET}


def _cluster(chance: random.Random) -> Description:
    cluster = Description()
    cluster.brokers = {
        broker: Broker(broker, broker, str(broker), config=_numbers(chance, BROKER_KEYS)) for broker in BROKERS
    }
    cluster.controllers = {100: Broker(100, 100, "100")}
    lists = {"leader.replication.throttled.replicas": "*", "follower.replication.throttled.replicas": "0:1"}
    cluster.add_topics(
        [
            Topic("a", [[1, 2, 3], [2, 3, 1]], end=100, rate=10.0, lag={2: 5}, config=lists),
            Topic(
                "b",
                [[3, 1], [1, 2, 3]],
                isr=[[3], [1, 2]],
                end=10**6,
                moves={1: {"adding": [3], "removing": [2]}},
                config=_numbers(chance, TOPIC_KEYS),
            ),
            Topic("c", [[2, 1]], end=50, rate=1.0, tiered=20, config={"remote.storage.enable": "true"}),
        ]
    )
    cluster.quotas = [{"entity": {"user": "a"}, "values": {"controller_mutation_rate": 5}}]
    return cluster


def absurd(body: bytes, response_class: Any, version: int, chance: random.Random) -> bytes:
    """Give one to four fields of a reply another value that their type has."""
    reply = response_class.decode(body, version=version)
    for _ in range(chance.randint(1, 4)):
        owner, field = chance.choice(_places(reply, response_class._struct, version))
        value = getattr(owner, field.name)
        setattr(owner, field.name, _list(value, chance) if field.is_array() else _value(field, value, version, chance))
    reply._header = None
    encoded: bytes = reply.encode(version=version)
    return encoded


def _places(owner: Any, struct: Any, version: int) -> list[tuple[Any, Any]]:
    """Every field of a reply at any depth, with the object that has it."""
    found = []
    for field in struct.untagged_fields(version):
        if not field.is_struct():
            found.append((owner, field))
        if field.is_struct_array():
            for part in getattr(owner, field.name) or ():
                found += _places(part, field.array_of, version)
    return found


def _list(value: list[Any] | None, chance: random.Random) -> list[Any]:
    some = list(value or ())
    match chance.randrange(4):
        case 0:
            return []
        case 1:
            return some[:-1]
        case 2:
            return some + chance.choices(some, k=2) if some else some
        case _:
            return chance.sample(some, len(some))


def _value(field: Any, value: Any, version: int, chance: random.Random) -> Any:
    kind = field._type_str
    if kind in INTS:
        return number(chance, INTS[kind])
    if kind == "float64":
        return chance.choice(FLOATS)
    if kind == "bool":
        return not value
    if kind == "string":
        null = (None,) if field.nullable_for_version_q(version) else ()
        return chance.choice((*WORDS, *null))
    return value
