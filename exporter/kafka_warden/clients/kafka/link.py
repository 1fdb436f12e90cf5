"""One raw connection to one broker or controller, at most one outstanding request, and the one function that sends.

Why not kafka-python's connection manager: it forgets a broker once it is fenced, keeps an authentication failure for
ever, and one shared client lets a broker that hangs hold all others.
"""

import contextlib
import socket
import ssl
import time
from typing import Any, Final

from kafka.net.connection import KafkaConnection
from kafka.net.inet import KafkaNetSocket
from kafka.protocol.api_key import ApiKey

from kafka_warden.clients.kafka.faults import closed_fault, connect_fault, handshake_fault, request_fault
from kafka_warden.clients.kafka.network import Network, remaining
from kafka_warden.clients.kafka.properties import KafkaClientSettings
from kafka_warden.clients.kafka.repeated import Repeated, Sending
from kafka_warden.clients.kafka.transport import TcpTransport, TlsTransport
from kafka_warden.errors import ForbiddenRequestError

READ_ONLY: Final = frozenset(
    {
        ApiKey.ApiVersions,
        ApiKey.SaslHandshake,
        ApiKey.SaslAuthenticate,
        ApiKey.Metadata,
        ApiKey.ListOffsets,
        ApiKey.DescribeCluster,
        ApiKey.DescribeConfigs,
        ApiKey.DescribeLogDirs,
        ApiKey.DescribeClientQuotas,
        ApiKey.DescribeQuorum,
        ApiKey.ListPartitionReassignments,
    },
)
"""Every request that this program may send. None of them changes anything."""


class ReadOnlyConnection(KafkaConnection):  # type: ignore[misc]  # kafka-python ships no types
    """A connection that refuses to send anything that is not on the allow-list."""

    def _send_request(self, request: Any, future: Any = None, timeout_at: float | None = None) -> Any:
        if request.API_KEY not in READ_ONLY:
            raise ForbiddenRequestError(f"{type(request).__name__} is not a read-only request and was not sent")
        return super()._send_request(request, future=future, timeout_at=timeout_at)


class BrokerLink:
    """A connection, made when it is needed and anew after any failure. Use it on the network's loop only."""

    def __init__(self, network: Network, settings: KafkaClientSettings, host: str, port: int) -> None:
        self._network = network
        self._settings = settings
        self.host = host
        self.port = port
        self._connection: ReadOnlyConnection | None = None
        self._asking = False

    @property
    def address(self) -> str:
        """`host:port`, for messages."""
        return f"{self.host}:{self.port}"

    @property
    def kafka_version(self) -> str | None:
        """The release that the API versions of the broker tell, such as `4.1`; `None` before the first connection."""
        data = self._connection.broker_version_data if self._connection is not None else None
        return None if data is None else ".".join(map(str, data.broker_version))

    async def ask(self, request: Any, timeout_at: float) -> Any:
        """Send one read-only request and wait for its decoded reply.

        Args:
            request: one of kafka-python's request classes, or one of them as `Repeated`; its version is settled with
                the broker.
            timeout_at: monotonic time at which to give up; the connection is closed then.

        Raises:
            SourceError: whatever went wrong, by its class.
        """
        if self._asking:
            raise ForbiddenRequestError(f"{self.address} has an outstanding request already")
        self._asking = True
        try:
            connection = await self._connected(timeout_at)
            return await self._exchange(connection, request, timeout_at)
        finally:
            self._asking = False

    async def supports(self, request_class: Any, version: int, timeout_at: float) -> bool:
        """Tell whether the broker knows this version of a request."""
        connection = await self._connected(timeout_at)
        versions = connection.broker_version_data.api_versions
        return bool(versions.get(request_class.API_KEY, (0, -1))[1] >= version)

    async def _exchange(self, connection: ReadOnlyConnection, request: Any, timeout_at: float) -> Any:
        left = timeout_at - time.monotonic()
        try:
            if isinstance(request, Repeated):
                request = Sending(request, connection.broker_version_data.api_version(request.request_class))
            return await connection.send_request(request, request_timeout_ms=1000 * left)
        except ForbiddenRequestError:
            raise
        except Exception as failure:
            self._drop(connection)
            raise request_fault(failure, self.address) from failure

    async def _connected(self, timeout_at: float) -> ReadOnlyConnection:
        if self._connection is not None and self._connection.connected:
            return self._connection
        self.close()
        transport = await self._transport(timeout_at)
        connection = ReadOnlyConnection(self._network.selector, **self._settings.connection_options())
        try:
            connection.connection_made(transport)
            await connection.initialize(timeout_at=timeout_at)
            await connection
        except Exception as failure:
            self._drop(connection)
            raise handshake_fault(failure, self.address) from failure
        self._connection = connection
        return connection

    async def _transport(self, timeout_at: float) -> Any:
        context = self._settings.ssl_context()
        plain = await self._socket(timeout_at)
        if context is None:
            return TcpTransport(self._network.selector, plain, host=self.host)
        transport = TlsTransport(self._network.selector, plain, host=self.host, ssl_context=context)
        try:
            await self._handshake(transport, timeout_at)
        except Exception as failure:
            transport.abort()
            raise handshake_fault(failure, self.address) from failure
        return transport

    async def _socket(self, timeout_at: float) -> socket.socket:
        failure: Exception | None = None
        try:
            addresses = await self._network.resolve(self.host, self.port, timeout_at)
            for left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
                # Each its share of the time, or one family that is dropped on the way would take it all.
                until = time.monotonic() + remaining(timeout_at) / left
                try:
                    return await self._connect(address, until)
                except Exception as fault:  # noqa: BLE001  # the next address may do
                    failure = fault
        except OSError as fault:
            failure = fault
        raise connect_fault(failure, self.address) from failure

    async def _connect(self, address: Any, timeout_at: float) -> socket.socket:
        family, kind, protocol, _, where = address
        connecting = socket.socket(family, kind, protocol)
        try:
            connecting.settimeout(0)
            connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connecting.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            await KafkaNetSocket().sock_connect(self._network.selector, connecting, where, timeout_at=timeout_at)
        except BaseException:
            connecting.close()
            raise
        return connecting

    async def _handshake(self, transport: Any, timeout_at: float) -> None:
        # KafkaSSLTransport.handshake() waits without a limit for a broker that accepted and says nothing.
        wrapped, selector = transport._sock, self._network.selector  # noqa: SLF001
        while True:
            try:
                wrapped.do_handshake()
            except ssl.SSLWantReadError:
                await selector.wait_read(wrapped, timeout_at=timeout_at)
            except ssl.SSLWantWriteError:
                await selector.wait_write(wrapped, timeout_at=timeout_at)
            else:
                return

    def _drop(self, connection: ReadOnlyConnection) -> None:
        """Leave a connection that failed: nobody waits for anything over it any more."""
        if connection is self._connection:
            self._connection = None
        if not connection.closed:
            with contextlib.suppress(Exception):
                connection.close(closed_fault(self.address))

    def close(self) -> None:
        """Close the connection, if there is one. The next question opens a new one."""
        connection, self._connection = self._connection, None
        if connection is not None and not connection.closed:
            connection.close()
