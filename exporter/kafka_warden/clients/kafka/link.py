"""The link to one broker or controller: a connection, made when it is needed and again after a failure."""

import asyncio
import errno
import math
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from enum import Enum
from functools import partial
from typing import Any, Final

from kafka_warden.clients.kafka.connection import BrokerConnection
from kafka_warden.clients.kafka.faults import connect_fault, handshake_fault, request_fault, resolve_fault
from kafka_warden.clients.kafka.kerberos import Kerberos
from kafka_warden.clients.kafka.login import Login, log_in
from kafka_warden.clients.kafka.network import Network
from kafka_warden.clients.kafka.properties import KafkaClientSettings
from kafka_warden.clients.kafka.requests import Since
from kafka_warden.clients.kafka.tokens import Token, Tokens
from kafka_warden.errors import (
    AnswerTimeoutError,
    AuthenticationError,
    ForbiddenRequestError,
    RefusedError,
    SourceError,
    UnsupportedError,
)

LASTING: Final = 10.0
"""Seconds. A connection that is younger may be closed without the end of its broker."""
IDLE: Final = 60.0
"""Seconds. So may one without a reply for longer."""
KEEPALIVE: Final = {socket.TCP_KEEPIDLE: 2, socket.TCP_KEEPINTVL: 1, socket.TCP_KEEPCNT: 3}
"""Seconds, seconds and probes: a host that lost its power, or its network, closes nothing. The loss is known after 5 s,
before the controller fences its broker, which takes 7 s to 9 s by default."""


Ask = Callable[[Any], Awaitable[Any]]
"""Sends a request over one connection, and returns the decoded reply."""


class Step(Enum):
    """How far the making of a connection came: what a failure belongs to."""

    RESOLVE = "the name of the host"
    CONNECT = "the TCP connection"
    TLS = "the TLS handshake"
    VERSIONS = "the API versions"
    LOGIN = "the login"
    REQUEST = "a request"


class BrokerLink:
    """Asks one question at a time; others wait for their turn. Use it on the network's loop only.

    `lost` is called when the broker closes a connection that lasted, between two questions. `verify` is called on each
    new connection, before its first question, and raises a `SourceError` where the process must not be asked anything.
    """

    def __init__(
        self,
        network: Network,
        settings: KafkaClientSettings,
        host: str,
        port: int,
        lost: Callable[[], None] = lambda: None,
        verify: Callable[[Ask], Awaitable[None]] | None = None,
    ) -> None:
        self._network = network
        self._settings = settings
        self.host = host
        self.port = port
        self.answered_at = -math.inf
        """Monotonic time of the last reply of any kind."""
        self.lost_at = -math.inf
        """Monotonic time at which the broker last closed a connection between two questions."""
        self.step = Step.RESOLVE
        """The last step that was begun."""
        self._connection: BrokerConnection | None = None
        self._lost = lost
        self._verify = verify
        self._verified = False
        self._lasting_from = math.inf
        self._turn = asyncio.Lock()
        self._resolved = False
        """Whether the name was ever found."""
        self._log_in_at: float | None = None
        self._quiet_until = 0.0
        self._longest_throttle: float | None = None
        self._closings = 0
        """How often it was closed from outside."""

    @property
    def address(self) -> str:
        """`host:port`, for messages."""
        return f"{self.host}:{self.port}"

    @property
    def kafka_version(self) -> str | None:
        """The release that the API versions of the broker belong to, such as `4.1`; `None` without a connection."""
        known = self._connection.kafka_version if self._connection is not None else ()
        return ".".join(map(str, known)) or None

    @property
    def connected(self) -> bool:
        """Whether a connection of an earlier question is still open: the process is the same, and runs or hangs."""
        return self._connection is not None and self._connection.connected

    @property
    def busy(self) -> bool:
        """Whether a question is under way."""
        return self._turn.locked()

    def take_throttle_time(self) -> float | None:
        """Return the longest pause since the previous call, or what is left of an earlier one. Seconds.

        `None` while the broker is silent without a pause.
        """
        longest, self._longest_throttle = self._longest_throttle, None
        left = self._quiet_until - self.now()
        return max(longest or 0.0, left) if left > 0 else longest

    async def ask(self, request: Any, timeout_at: float) -> Any:
        """Send one read-only request, as `BrokerConnection.send` does, and wait for its decoded reply.

        `timeout_at` is the monotonic time at which to give up; the connection is closed then. A pause that the broker
        asks for and that ends before comes on top: what is left of the time may be too short for any reply.

        Raises:
            SourceError: whatever went wrong, by its class.
        """
        async with self._own_turn(timeout_at):
            connection = await self._connected(timeout_at)
            waited = await self._wait_while_throttled(timeout_at)
            return await self._exchange(connection, request, timeout_at + waited)

    async def supports(self, since: Since, timeout_at: float) -> bool:
        """Return whether the broker knows that version of a request.

        Raises:
            SourceError: it could not be connected to.
        """
        async with self._own_turn(timeout_at):
            return (await self._connected(timeout_at)).knows(since)

    def knows(self, since: Since) -> bool | None:
        """Do the same without a wait; `None` while it is not connected."""
        return None if self._connection is None else self._connection.knows(since)

    async def answers(self, timeout_at: float) -> bool:
        """Return whether the broker answers for its API versions, over a connection of its own and without a login."""
        try:
            connection = await self._open(timeout_at)
        except SourceError:
            return False
        connection.close()
        return True

    def now(self) -> float:
        """Return the monotonic time that deadlines are given in."""
        return self._network.clock.monotonic()

    def close(self) -> None:
        """Close the connection, also one that is being made. All questions so far fail; the next opens a new one."""
        self._closings += 1
        self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        self._quiet_until = 0.0
        if connection is not None:
            connection.close()

    @asynccontextmanager
    async def _own_turn(self, timeout_at: float) -> AsyncIterator[None]:
        closings = self._closings
        try:
            async with asyncio.timeout_at(timeout_at):
                await self._turn.acquire()
        except TimeoutError:
            raise AnswerTimeoutError(f"{self.address} did not answer the question before this one in time") from None
        try:
            if self.now() >= timeout_at:
                raise AnswerTimeoutError(f"{self.address} left no time for this question")
            if self._closings != closings:
                raise self._closed()
            yield
        finally:
            self._turn.release()

    def _closed(self) -> SourceError:
        fault: SourceError = RefusedError(f"the link to {self.address} was closed before it was connected")
        fault.reached = None
        return fault

    async def _wait_while_throttled(self, timeout_at: float) -> float:
        """Wait for as long as the broker asked for, since it does not read from this connection before. Seconds."""
        now = self.now()
        if self._quiet_until > timeout_at:
            fault = AnswerTimeoutError(
                f"{self.address} asks for a pause of {self._quiet_until - now:.1f} s (throttle_time_ms), longer"
                " than the poll may take; raise the request quota of this user, or poll.interval",
            )
            fault.reached = True
            raise fault
        left = max(self._quiet_until - now, 0.0)
        await asyncio.sleep(left)
        return left

    async def _exchange(self, connection: BrokerConnection, request: Any, timeout_at: float) -> Any:
        try:
            if self._log_in_at is not None and self.now() >= self._log_in_at:
                login = await self._login(timeout_at)
                async with asyncio.timeout_at(timeout_at):
                    await self._log_in(login, connection)
            async with asyncio.timeout_at(timeout_at):
                reply = await connection.send(request)
        except (ForbiddenRequestError, UnsupportedError):
            raise  # nothing was sent: the connection is as good as before
        except BaseException as failure:
            self._disconnect()
            if isinstance(failure, Exception) and not isinstance(failure, SourceError):
                raise request_fault(failure, self.address) from failure
            raise
        self._note_reply(connection)
        return reply

    async def _connected(self, timeout_at: float) -> BrokerConnection:
        if self._connection is None or not self.connected:
            self._disconnect()
            self.step, closings = Step.LOGIN, self._closings
            login = await self._login(timeout_at)
            connection = await self._open(timeout_at, partial(self._log_in, login))
            if self._closings != closings:
                connection.close()
                raise self._closed()
            self._connection = connection
            self._lasting_from = self.now() + LASTING
            self._verified = False
        if self._verify is not None and not self._verified:
            waited = await self._wait_while_throttled(timeout_at)
            try:
                await self._verify(partial(self._exchange, self._connection, timeout_at=timeout_at + waited))
            except BaseException:
                self._disconnect()
                raise
            self._verified = True
        return self._connection

    async def _open(
        self, timeout_at: float, log_in: Callable[[BrokerConnection], Awaitable[None]] | None = None
    ) -> BrokerConnection:
        try:
            self.step = Step.TLS
            context = self._settings.ssl_context()
            self.step = Step.RESOLVE
            limit = self._settings.connect_timeout
            plain = await self._open_socket(timeout_at if limit is None else min(timeout_at, self.now() + limit))
            async with asyncio.timeout_at(timeout_at):
                return await self._established(plain, context, log_in)
        except SourceError:
            raise
        except Exception as failure:
            raise handshake_fault(failure, self.address) from failure

    async def _established(
        self, plain: socket.socket, context: Any, log_in: Callable[[BrokerConnection], Awaitable[None]] | None
    ) -> BrokerConnection:
        """Make a connection of a socket: TLS, API versions, login where it is wanted."""
        self.step = Step.TLS if context is not None else Step.VERSIONS
        settings = self._settings
        limits = settings.request_timeout, settings.receive_message_max_bytes
        connection = BrokerConnection(settings.client_id, self.address, *limits, self._note_loss)
        try:
            await asyncio.get_running_loop().create_connection(
                lambda: connection,
                sock=plain,
                ssl=context,
                server_hostname=self.host if context is not None else None,
            )
            self.step = Step.VERSIONS
            await connection.negotiate()
            self._note_reply(connection)
            if log_in is not None:
                self.step = Step.LOGIN
                await log_in(connection)
            self.step = Step.REQUEST
        except BaseException:
            # asyncio closes the socket, except where it is cancelled before the handshake has begun. Closed here, its
            # number would go to the next socket while asyncio still waits for this one.
            connection.close()
            raise
        return connection

    def _note_loss(self) -> None:
        # Of this end's own closing nothing is left here: `close` forgets the connection first.
        if self._connection is not None and not self.connected and not self.busy:
            self.lost_at = self.now()
            lasted, self._lasting_from = self.now() >= self._lasting_from, math.inf
            if lasted and self.now() < self.answered_at + IDLE:
                self._lost()

    async def _login(self, timeout_at: float) -> Login | None:
        """Return what to log in with, before a connection is made: a token or a ticket may take a while."""
        credentials = self._settings.credentials
        if isinstance(credentials, Tokens):
            return await credentials.token(self.now(), timeout_at)
        if isinstance(credentials, Kerberos):
            return await credentials.login(self._network, self.host, timeout_at)
        return self._settings.login()

    async def _log_in(self, login: Login | None, connection: BrokerConnection) -> None:
        self._log_in_at = None
        mechanism, credentials = self._settings.sasl_mechanism, self._settings.credentials
        if mechanism is None or login is None:
            return
        try:
            again_in = await log_in(connection, self._network, mechanism, login)
        except AuthenticationError:
            if isinstance(credentials, Tokens) and isinstance(login, Token):
                credentials.refuse(login)
            raise
        if again_in is not None:
            self._log_in_at = self.now() + again_in

    def _note_reply(self, connection: BrokerConnection) -> None:
        self.answered_at = self.now()
        self._quiet_until = self.answered_at + connection.throttle_time
        self._longest_throttle = max(self._longest_throttle or 0.0, connection.throttle_time)

    async def _open_socket(self, timeout_at: float) -> socket.socket:
        try:
            async with asyncio.timeout_at(timeout_at):
                addresses = await self._network.resolve(self.host, self.port)
        except (OSError, ValueError, OverflowError) as fault:
            raise resolve_fault(fault, self.address, self._resolved) from fault
        self._resolved = True
        self.step = Step.CONNECT
        failure: Exception | None = None
        for left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
            # Each its share of the time, or one family whose packets are dropped would take it all.
            until = self.now() + (timeout_at - self.now()) / left
            try:
                return await self._connect(address, until)
            except Exception as fault:  # noqa: BLE001  # the next address may do
                failure = fault
        try:
            raise connect_fault(failure, self.address) from failure
        finally:
            del failure  # it refers to this frame by its traceback, and would stay until Python looks for cycles

    async def _connect(self, address: Any, timeout_at: float) -> socket.socket:
        family, kind, protocol, _, where = address
        connecting = socket.socket(family, kind, protocol)
        # The lowest free number is given out: this many are in use.
        if connecting.fileno() >= self._network.descriptors:
            connecting.close()
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        try:
            connecting.settimeout(0)
            connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connecting.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in KEEPALIVE.items():
                connecting.setsockopt(socket.IPPROTO_TCP, option, value)
            async with asyncio.timeout_at(timeout_at):
                await asyncio.get_running_loop().sock_connect(connecting, where)
        except BaseException:
            connecting.close()
            raise
        return connecting
