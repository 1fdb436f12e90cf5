"""The target `replies`: one reply of any kind and version, from the frame to what the poller is given."""

import asyncio
import contextlib
import random
import re
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
from kafka.protocol.broker_version_data import BrokerVersionData
from kafka.protocol.sasl import SaslHandshakeResponse
from structlog.testing import capture_logs

from kafka_warden.clients.kafka.connection import SMALL, BrokerConnection
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.login import log_in
from kafka_warden.clients.kafka.properties import UserLogin, translate
from kafka_warden.clock import Clock
from kafka_warden.errors import LONGEST_MESSAGE, SourceError
from kafka_warden.poller.asking import PollContext
from kafka_warden.poller.links import Links
from kafka_warden.settings.secrets import Secret
from kafka_warden.sources import cluster, configs, log_dirs, metadata, offsets
from kafka_warden.sources.metadata import Layout
from kafka_warden.sources.offsets import index_rows
from tests.support.fuzz.wire import Body, mutated
from tests.support.scripted.kinds import KINDS

RECORDED: Final = Path(__file__).parents[2] / "sources" / "recorded"
NAMES: Final = {"metadata": 3, "ends": 2, "starts": 2, "dirs": 35, "quorum": 55, "quotas": 48, "reassignments": 46}
"""Last word of the name of a recorded reply to its API key; all others are of DescribeConfigs, except `cluster`."""
CLUSTER: Final = 60
CONFIGS: Final = 32
HANDSHAKE: Final = 17
LARGE: Final = 0.001
"""Share of the replies that are as large as a frame may be before login."""
BLOCKS: Final = (0, 1, 2, 16, 127, 128, 255)
"""Bytes that these are filled with."""
LATER: Final = 1e9
"""Seconds: no deadline."""

_NONCE: Final = re.compile(rb"r=([\w-]+)")
_INT32: Final = np.dtype(np.int32)

Question = Callable[[BrokerLink, float], Coroutine[Any, Any, Any]]


class Replies:
    """Each reply ends in an answer or a `SourceError`. Bytes of a case: API key, version, header's tags and body."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._settings = translate({"bootstrap.servers": "unused:1"}, {})
        self._recorded = [_recorded(file) for file in sorted(RECORDED.glob("kafka-*.bin"))]
        self.asked = self.refused = 0
        """Questions, and those that ended in a `SourceError`."""

    def close(self) -> None:
        self._loop.close()

    def make(self, chance: random.Random) -> bytes:
        """Make a reply that is recorded or generated, and mutate most of them."""
        if chance.random() < 0.3:
            key, version, body = chance.choice(self._recorded)
            return bytes([key, version]) + mutated(body, chance)
        key = chance.choice(list(KINDS))
        response_class = KINDS[key][2]
        version = chance.randint(0, response_class.max_version)
        header = b"\0" if response_class.flexible_version_q(version) and KINDS[key][0] != "ApiVersions" else b""
        body = header + Body(chance, response_class, version).encode()
        if chance.random() < LARGE:
            return bytes([key, version]) + (body + bytes([chance.choice(BLOCKS)]) * SMALL)[:SMALL]
        return bytes([key, version]) + (mutated(body, chance) if chance.random() < 0.6 else body)

    def check(self, data: bytes) -> None:
        with capture_logs():
            for question in QUESTIONS[data[0]]:
                answer = self._loop.run_until_complete(self._ask(question, data[0], data[1], data[2:]))
                self.asked += 1
                if isinstance(answer, SourceError):
                    self.refused += 1
                    assert len(str(answer)) <= LONGEST_MESSAGE + 3

    async def _ask(self, question: Question, key: int, version: int, reply: bytes) -> Any:
        async def hashed(_: Callable[[], bytes]) -> bytes:
            return bytes(32)

        network: Any = SimpleNamespace(clock=_Clock(), hashers=SimpleNamespace(run=hashed))
        state: Any = SimpleNamespace(network=network, links=Links(network, self._settings))
        link = BrokerLink(network, self._settings, "fuzzed.example", 9092)
        connection = link._connection = _Answering(key, reply, link.address)
        known = {each: (0, kind[2].max_version) for each, kind in KINDS.items()} | {key: (0, version)}
        connection._versions = BrokerVersionData(api_versions=known)
        context = PollContext(state, 0.0, LATER)
        return await context.attempt(link, question, LATER)


class _Clock(Clock):
    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


class _Answering(BrokerConnection):
    """Answers requests of one kind with the reply, and handshakes with what a broker answers."""

    connected = True  # there is nothing to lose

    def __init__(self, key: int, reply: bytes, address: str) -> None:
        super().__init__("fuzz", address)
        self._key = key
        self._body = reply
        self._nonce = b"NONCE"

    async def _exchange(self, frame: bytes) -> bytes:
        """Answer with the correlation id of the request, and the nonce of the client where the reply has `NONCE`."""
        if found := _NONCE.search(frame):
            self._nonce = found[1]
        key = int.from_bytes(frame[4:6], "big")
        reply = self._body.replace(b"NONCE", self._nonce)
        if key == HANDSHAKE != self._key:
            reply = SaslHandshakeResponse(error_code=0, mechanisms=[]).encode(version=1)
        return frame[8:12] + reply


def _recorded(file: Path) -> tuple[int, int, bytes]:
    name, _, version = file.stem.rpartition("-v")
    word = name.rpartition("-")[2].rpartition("_")[2]
    key = CLUSTER if word == "cluster" else NAMES.get(word, CONFIGS)
    return key, int(version), file.read_bytes()[4:]


def _layout() -> Layout:
    """Topics a and b with two partitions each; all replicas are on brokers 1 and 2."""
    ints: Any = {"topic": [0, 0, 1, 1], "number": [0, 1, 0, 1], "leader": [1, 2, 1, 2], "leader_epoch": [0, 0, 0, 0]}
    ints |= {"leader_row": [0, 3, 4, 7], "partition": [0, 0, 1, 1, 2, 2, 3, 3], "broker": [1, 2] * 4}
    rows: Any = {name: np.array(values, _INT32) for name, values in ints.items()}
    none, every = np.zeros(8, bool), np.ones(8, bool)
    return Layout("c", {}, ("a", "b"), (b"a" * 16, b"b" * 16), in_isr=every, offline=none, **rows)


_LAYOUT: Final = _layout()
_ROWS: Final = index_rows(_LAYOUT, np.arange(8)[_LAYOUT.broker == 1])


def _offsets(read: Callable[..., Coroutine[Any, Any, None]]) -> Question:
    return lambda link, until: read(link, _ROWS, until, np.zeros(8, np.int64))


def _log_in(mechanism: str) -> Question:
    async def read(link: BrokerLink, _: float) -> Any:
        assert link._connection is not None
        return await log_in(link._connection, link._network, mechanism, UserLogin("a,=b", Secret("secret")))

    return read


async def _negotiate(link: BrokerLink, _: float) -> None:
    assert link._connection is not None
    with contextlib.suppress(TimeoutError):
        await link._connection.negotiate()


QUESTIONS: Final[dict[int, Sequence[Question]]] = {
    2: [_offsets(offsets.read_ends), _offsets(offsets.read_starts), _offsets(offsets.read_tiered)],
    3: [lambda link, until: metadata.MetadataQuestion().read(link, until)],
    HANDSHAKE: [_log_in("PLAIN")],
    18: [_negotiate],
    CONFIGS: [
        partial(configs.read_broker_config, broker=1),
        partial(configs.read_topic_configs, topics=["a"]),
        partial(configs.read_controller_window, node=1),
    ],
    35: [
        lambda link, until: log_dirs.read_log_dirs(
            link, 1, None, _ROWS, until, np.zeros(8, np.int64), np.ones(8, dtype=bool)
        )
    ],
    36: [_log_in("PLAIN"), _log_in("SCRAM-SHA-512")],
    46: [cluster.read_reassignments],
    48: [cluster.read_quotas],
    55: [cluster.read_quorum],
    CLUSTER: [metadata.read_fenced],
    75: [partial(cluster.read_eligible_leaders, partitions=[("a", 0), ("b", 1)])],
}
"""API key to the questions whose reply is fuzzed."""
