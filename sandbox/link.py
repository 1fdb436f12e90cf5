"""One request to one address over one fresh connection, with kafka-python's protocol classes.

A new connection for each request costs some milliseconds and has no memory: nothing of a broker that was paused, killed
or restarted in between can linger. That is what a test wants, and the reason why KafkaAdminClient is not used.
"""

import logging
import socket
import time
from collections.abc import Mapping
from typing import Any

import kafka.errors
from kafka.net.connection import KafkaConnection
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

LARGEST_REPLY_BYTES = 1 << 28
LEAST_CONNECT_SECONDS = 0.01

# Refused connections are normal here: without its own handler, logging would print each on standard error.
logging.getLogger("kafka").addHandler(logging.NullHandler())


class NoAnswerError(Exception):
    """The address did not answer in time, or broke the connection; `cause` is what kafka-python raised, if anything."""

    def __init__(self, message: str, cause: BaseException | None = None) -> None:
        super().__init__(message)
        self.cause = cause


def ask(address: str, request: Any, config: Mapping[str, object], timeout: float) -> Any:
    """Send `request` to `address` (host:port) and return the decoded reply.

    Args:
        address: Host and port.
        request: A request of kafka.protocol; its version is negotiated.
        config: kafka-python's keys for security, none for PLAINTEXT.
        timeout: Seconds for everything: connect, handshakes, answer.

    Raises:
        NoAnswerError: No connection, no authentication or no reply.
    """
    net = NetworkSelector()
    try:
        future = net.call_soon_with_future(_exchange(net, address, request, config, time.monotonic() + timeout))
        net.poll(timeout_ms=1000 * timeout, future=future)
        if not future.is_done:
            raise NoAnswerError(f"{address} did not answer within {timeout:g} s")
        if future.exception is not None:
            raise NoAnswerError(f"{address}: {future.exception!r}", future.exception) from future.exception
        return future.value
    finally:
        net.close()


def error_name(code: int) -> str:
    """The name of Kafka's error `code`, as kafka-python's class is called."""
    return str(kafka.errors.for_code(code).__name__)


class _LastWords:
    """Keeps bytes that arrive together with the end of a connection: the next read sees the end again.

    kafka-python 3.0.12 throws it away, so that a broker's refusal to authenticate looks like a lost connection.
    """

    def _sock_recv(self) -> tuple[bytes, Exception | None]:
        data, error = super()._sock_recv()  # type: ignore[misc]  # a mixin: the transport beside it has the method
        return (data, None) if data else (data, error)


class _TcpTransport(_LastWords, KafkaTCPTransport):  # type: ignore[misc]  # kafka-python has no types
    """Plain TCP."""


class _TlsTransport(_LastWords, KafkaSSLTransport):  # type: ignore[misc]  # kafka-python has no types
    """TLS."""


async def _exchange(net: Any, address: str, request: Any, config: Mapping[str, object], deadline: float) -> Any:
    transport = _transport(net, _connect(address, deadline), config)
    left_ms = 1000 * (deadline - time.monotonic())
    connection = KafkaConnection(
        net, receive_message_max_bytes=LARGEST_REPLY_BYTES, request_timeout_ms=left_ms, **config
    )
    try:
        await transport.handshake()
        connection.connection_made(transport)
        await connection.initialize(timeout_at=deadline)
        await connection
        return await connection.send_request(request)
    finally:
        connection.close()
        transport.close()


def _connect(address: str, deadline: float) -> socket.socket:
    """Connect; unlike kafka-python, close the socket if the connection is refused."""
    host, port = address.rsplit(":", 1)
    sock = socket.create_connection((host, int(port)), max(deadline - time.monotonic(), LEAST_CONNECT_SECONDS))
    sock.settimeout(0)
    return sock


def _transport(net: Any, sock: socket.socket, config: Mapping[str, object]) -> Any:
    host = sock.getpeername()[0]
    if config.get("security_protocol") not in {"SSL", "SASL_SSL"}:
        return _TcpTransport(net, sock, host=host)
    ssl_config = {key: value for key, value in config.items() if key.startswith("ssl_")}
    return _TlsTransport(net, sock, host=host, **ssl_config)
