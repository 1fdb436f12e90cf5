"""The brokers: any number of ports on one event loop, each answering Kafka's wire protocol from one `Description`."""

import asyncio
import contextlib
import socket
import ssl
import struct
import traceback
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kafka.protocol.broker_version_data import BROKER_API_VERSIONS
from kafka.protocol.metadata import ApiVersionsResponse
from kafka.protocol.sasl import SaslAuthenticateResponse, SaslHandshakeResponse

from tests.support.fuzz.wire import mutated
from tests.support.scripted.description import Description
from tests.support.scripted.encoder import Encoder, Request
from tests.support.scripted.kinds import KINDS
from tests.support.scripted.rules import Rule, fitting
from tests.support.scripted.sasl import BAD_LOGIN, BAD_MECHANISM, Accounts, Login
from tests.support.scripted.timing import Time

UNSUPPORTED_VERSION: Final = 35
RELEASE: Final = (4, 1)
LOGGED: Final = 100_000
CONNECTED: Final = "connected"
"""The entry in the log of requests for a new connection."""

_NAMES: Final = {name: key for key, (name, _, _) in KINDS.items()}


def _bound(host: str, port: int = 0) -> socket.socket:
    """Bind a socket next to others that do not listen; port 0 is one that no other socket has.

    asyncio sets TCP_NODELAY only where the protocol is named.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((host, port))
    return made


@dataclass(frozen=True, slots=True)
class Seen:
    """A request that arrived, or a new connection. `side` is that of ListOffsets and of DescribeConfigs."""

    at: float
    broker: int
    connection: int
    request: str
    version: int = -1
    side: str = ""


@dataclass(slots=True)
class _Connection:
    broker: int
    number: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    login: Login


@dataclass(slots=True)
class Brokers:
    """The listeners and what they share."""

    cluster: Description = field(default_factory=Description)
    rules: list[Rule] = field(default_factory=list)
    time: Time = field(default_factory=Time)
    accounts: Accounts | None = None
    seen: deque[Seen] = field(default_factory=lambda: deque(maxlen=LOGGED))
    received: Counter[str] = field(default_factory=Counter)
    """Requests by name, since the start."""
    moved: int = 0
    """Grows with all that arrives and leaves."""
    busy: int = 0
    """Requests that are being answered; not those that a rule holds back."""
    versions: dict[int, dict[str, tuple[int, int]]] = field(default_factory=dict)
    """Broker to request to the versions that it knows, where they are not those of `RELEASE`; (0, -1) for none."""
    problems: list[str] = field(default_factory=list)
    """Exceptions of this program itself."""
    _listeners: dict[int, asyncio.Server] = field(default_factory=dict)
    _addresses: dict[int, socket.socket] = field(default_factory=dict)
    """Bound but never listening: no other program gets the port of a broker that refuses connections."""
    _connections: dict[int, _Connection] = field(default_factory=dict)
    _encoder: Encoder = field(init=False)
    _count: int = 0

    def __post_init__(self) -> None:
        self._encoder = Encoder(self.cluster, self.time)

    async def listen(self, broker: int) -> None:
        """Accept connections for a broker or a controller, on the port that it had before if there was one."""
        node = self.cluster.brokers.get(broker) or self.cluster.controllers[broker]
        if broker not in self._listeners:

            async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await self._serve(broker, reader, writer)

            if not node.port:
                self.release(broker)
                self._addresses[broker] = _bound(node.host)
                node.port = self._addresses[broker].getsockname()[1]
            listening = _bound(node.host, node.port)
            self._listeners[broker] = await asyncio.start_server(accept, sock=listening, limit=1 << 24, ssl=node.tls())

    async def stop(self) -> None:
        for broker in list(self._listeners):
            await self.refuse(broker)
        for broker in list(self._addresses):
            self.release(broker)

    async def refuse(self, broker: int) -> None:
        listener = self._listeners.pop(broker, None)
        if listener is not None:
            listener.close()
        self.disconnect(broker)

    def release(self, broker: int) -> None:
        """Give the port of a broker back, if it has one."""
        if broker in self._addresses:
            self._addresses.pop(broker).close()

    def disconnect(self, broker: int) -> None:
        for connection in self._connections.values():
            if connection.broker == broker:
                connection.writer.transport.abort()

    async def _serve(self, broker: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._count += 1
        connection = _Connection(broker, self._count, reader, writer, Login(self.accounts))
        self._connections[connection.number] = connection
        self._note(connection, Request(-1, -1, 0, b"", CONNECTED))
        try:
            while await self._answer(connection, await self._read(reader)):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except Exception:  # noqa: BLE001  # the test that ends raises it
            self.problems.append(traceback.format_exc())
        finally:
            del self._connections[connection.number]
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()

    async def _read(self, reader: asyncio.StreamReader) -> Request:
        (size,) = struct.unpack(">i", await reader.readexactly(4))
        frame = await reader.readexactly(size)
        key, version, correlation, length = struct.unpack_from(">hhih", frame)
        _, kind, _ = KINDS[key]
        start = 10 + max(length, 0) + kind.flexible_version_q(version)  # no tagged field is ever sent
        return Request(key, version, correlation, frame[start:], KINDS[key][0])

    def _note(self, connection: _Connection, request: Request) -> None:
        self.moved += 1
        self.received[request.name] += 1
        self.seen.append(
            Seen(self.time.now(), connection.broker, connection.number, request.name, request.version, request.side)
        )

    async def _answer(self, connection: _Connection, request: Request) -> bool:
        request.side = self._encoder.side(connection.broker, request)
        self._note(connection, request)
        rule = fitting(self.rules, connection.broker, request.name, request.side)
        await self.time.sleep(rule.delay)
        async with self._working():
            if rule.drop or not self._supported(connection.broker, request):
                return False
            reply, stays = self._reply(connection, request, rule)
            if reply is None:
                return False
            frame = self._frame(request, rule, reply)
            if not rule.hang:
                connection.writer.write(frame[: len(frame) // 2] if rule.half else frame)
        await connection.writer.drain()
        if rule.hang or rule.half:
            await connection.reader.read()
            return False
        await self.time.sleep(rule.throttle_ms / 1000)
        return stays and not rule.close

    @asynccontextmanager
    async def _working(self) -> AsyncIterator[None]:
        self.busy += 1
        try:
            yield
        finally:
            self.busy -= 1
            self.moved += 1

    def _supported(self, broker: int, request: Request) -> bool:
        least, most = self._known(broker).get(request.key, (0, -1))
        return least <= request.version <= most or request.name == "ApiVersions"

    def _known(self, broker: int) -> Mapping[int, tuple[int, int]]:
        release = BROKER_API_VERSIONS[RELEASE]
        known = {key: (release[key][0], min(release[key][1], kind.max_version)) for key, (_, kind, _) in KINDS.items()}
        return known | {_NAMES[name]: (least, most) for name, (least, most) in self.versions.get(broker, {}).items()}

    def _frame(self, request: Request, rule: Rule, reply: bytes) -> bytes:
        flexible = KINDS[request.key][1].flexible_version_q(request.version) and request.name != "ApiVersions"
        header = struct.pack(">i", request.correlation) + b"\0" * flexible
        if rule.raw is not None:
            return bytes.fromhex(rule.raw) * rule.repeat
        if rule.body is not None:
            reply = bytes.fromhex(rule.body) * rule.repeat
        if rule.mutate is not None:
            reply = mutated(reply, rule.chance)
        if rule.recorded is not None:
            header, reply = header[:4], Path(rule.recorded).read_bytes()[4:]
        return struct.pack(">i", len(header) + len(reply)) + header + reply

    def _reply(self, connection: _Connection, request: Request, rule: Rule) -> tuple[bytes | None, bool]:
        if request.name == "ApiVersions":
            return self._api_versions(connection.broker, request, rule), True
        if request.name in ("SaslHandshake", "SaslAuthenticate"):
            return self._sasl(connection.login, request, rule)
        if not connection.login.valid(self.time.now()):
            return None, False
        return self._encoder.reply(connection.broker, request, rule), True

    def _api_versions(self, broker: int, request: Request, rule: Rule) -> bytes:
        known = self._known(broker)
        least, most = known[request.key]
        refused = rule.error or (0 if least <= request.version <= most else UNSUPPORTED_VERSION)
        reply = ApiVersionsResponse(
            error_code=refused,
            api_keys=[
                ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high)
                for key, (low, high) in known.items()
                if low <= high and (not refused or key == request.key)  # KIP-511
            ],
            throttle_time_ms=rule.changes.get("throttle_time_ms", rule.throttle_ms),
        )
        encoded: bytes = reply.encode(version=0 if refused else request.version)
        return encoded

    def _sasl(self, login: Login, request: Request, rule: Rule) -> tuple[bytes | None, bool]:
        if login.accounts is None:
            return None, False
        asked = KINDS[request.key][1].decode(request.body, version=request.version)
        reply: Any
        if request.name == "SaslHandshake":
            login.accounts = self.accounts or login.accounts
            bad = rule.error or (0 if asked.mechanism == login.accounts.mechanism else BAD_MECHANISM)
            reply = SaslHandshakeResponse(error_code=bad, mechanisms=[login.accounts.mechanism])
        else:
            answer = login.step(bytes(asked.auth_bytes), self.time.now())
            bad = rule.error or (BAD_LOGIN if answer is None else 0)
            reply = SaslAuthenticateResponse(
                error_code=bad,
                error_message="Authentication failed" if bad else None,
                auth_bytes=answer or b"",
                session_lifetime_ms=login.accounts.session_ms,
            )
        return reply.encode(version=request.version), not bad
