"""kafka-python's transports, which throw away what arrives together with the end of a connection."""

from typing import Any

from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport


class LastWords:
    """Hands over what was read before the end; the next read sees the end again.

    A broker that refuses a password says so and closes: without this the refusal looks like a lost connection.
    """

    def _sock_recv(self) -> tuple[bytes, Any]:
        data, end = super()._sock_recv()  # type: ignore[misc]  # a mixin: the transport beside it has the method
        return (data, None) if data else (data, end)


class TcpTransport(LastWords, KafkaTCPTransport):  # type: ignore[misc]  # kafka-python ships no types
    """Plain TCP."""


class TlsTransport(LastWords, KafkaSSLTransport):  # type: ignore[misc]  # kafka-python ships no types
    """TLS."""
