"""Logging in over SASL: the handshake, then PLAIN or SCRAM, and when to log in again (KIP-368)."""

import random
from typing import Final

from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from kafka_warden.clients.kafka.connection import Connection
from kafka_warden.clients.kafka.faults import error_code_fault
from kafka_warden.clients.kafka.network import Network
from kafka_warden.clients.kafka.scram import ScramClient
from kafka_warden.errors import AuthenticationError, UnsupportedError
from kafka_warden.settings.secrets import Secret

FRAMED: Final = 1
"""First version of SaslHandshake after which SASL goes in Kafka's own requests (Kafka 1.0)."""
RENEW_AT: Final = (0.85, 0.95)
"""Part of the session after which to log in again, as Java's clients do it."""
LEAST_RENEWAL: Final = 1.1
"""Seconds: brokers refuse a second login within one."""


async def log_in(
    connection: Connection, network: Network, mechanism: str, username: str, password: Secret
) -> float | None:
    """Log in over a connection; return in how many seconds to do so again, `None` for never.

    Raises:
        AuthenticationError: the broker refused the mechanism, the user name or the password, or is not to be trusted.
        SourceError: it did not answer usefully.
    """
    if connection.newest(SaslHandshakeRequest) < FRAMED:
        raise UnsupportedError(f"{connection.address} is too old for SASL: Kafka 1.0 or newer is required")
    handshake = await connection.send(SaslHandshakeRequest(mechanism=mechanism), FRAMED)
    if handshake.error_code:
        offered = ", ".join(map(str, handshake.mechanisms))
        raise AuthenticationError(f"{connection.address} does not offer {mechanism}; it offers: {offered or 'nothing'}")
    if mechanism == "PLAIN":
        lifetime = (await _exchange(connection, f"\0{username}\0{password.reveal()}".encode()))[1]
    else:
        client = ScramClient(mechanism, username, password.reveal(), network.hash)
        server_first, _ = await _exchange(connection, client.first_message())
        server_final, lifetime = await _exchange(connection, await client.final_message(server_first))
        client.check(server_final)
    if lifetime <= 0:
        return None
    return max(LEAST_RENEWAL, lifetime / 1000 * random.uniform(*RENEW_AT))  # noqa: S311  # spreads load, no secret


async def _exchange(connection: Connection, message: bytes) -> tuple[bytes, int]:
    """Send one SASL message; return the answer and the lifetime of the session in milliseconds."""
    reply = await connection.send(SaslAuthenticateRequest(auth_bytes=message))
    if fault := error_code_fault(reply.error_code, reply.error_message, connection.address):
        raise fault
    return bytes(reply.auth_bytes), int(reply.session_lifetime_ms)
