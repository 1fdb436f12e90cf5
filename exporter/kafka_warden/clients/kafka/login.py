"""Logging in over SASL: the handshake, then PLAIN, SCRAM, OAUTHBEARER or GSSAPI, and when to log in again (KIP-368)."""

import random
from functools import partial
from typing import Final

from kafka_warden.clients.kafka.connection import Connection
from kafka_warden.clients.kafka.faults import error_code_fault
from kafka_warden.clients.kafka.kerberos import KerberosLogin
from kafka_warden.clients.kafka.network import Network
from kafka_warden.clients.kafka.requests import SaslAuthenticateRequest, SaslHandshakeRequest
from kafka_warden.clients.kafka.sasl import UserLogin
from kafka_warden.clients.kafka.scram import ScramClient
from kafka_warden.clients.kafka.tokens import Token
from kafka_warden.errors import AuthenticationError, UnsupportedError

FRAMED: Final = 1
"""First version of SaslHandshake after which SASL goes in Kafka's own requests (Kafka 1.0)."""
RENEW_AT: Final = (0.85, 0.95)
"""Part of the session after which to log in again, as Java's clients do it."""
LEAST_RENEWAL: Final = 1.1
"""Seconds: brokers refuse a second login within one."""


_KEPT_ALIVE: Final = b"\1"
"""What a client says to a server that refuses its token, to get the error (RFC 7628, section 3.2.3)."""

_PASSWORD: Final = "user name or password"  # noqa: S105  # words of a message

Login = UserLogin | Token | KerberosLogin
"""User name and password, a token, or a login that was begun with a ticket."""


async def log_in(connection: Connection, network: Network, mechanism: str, login: Login) -> float | None:
    """Log in over a connection; return in how many seconds to do so again, `None` for never.

    Raises:
        AuthenticationError: the broker refused the mechanism or the login, or is not to be trusted.
        SourceError: it did not answer usefully.
    """
    if connection.newest(SaslHandshakeRequest) < FRAMED:
        raise UnsupportedError(f"{connection.address} is too old for SASL: Kafka 1.0 or newer is required")
    handshake = await connection.send(SaslHandshakeRequest(mechanism=mechanism), FRAMED)
    if handshake.error_code:
        offered = ", ".join(map(str, handshake.mechanisms))
        raise AuthenticationError(f"{connection.address} does not offer {mechanism}; it offers: {offered or 'nothing'}")
    lifetime = await _exchange_all(connection, network, mechanism, login)
    if lifetime <= 0:
        return None
    return max(LEAST_RENEWAL, lifetime / 1000 * random.uniform(*RENEW_AT))  # noqa: S311  # spreads load, no secret


async def _exchange_all(connection: Connection, network: Network, mechanism: str, login: Login) -> int:
    """Exchange all messages of a mechanism; return the lifetime of the session in milliseconds."""
    if isinstance(login, Token):
        answer, lifetime = await _exchange(connection, login.message(), "the token")
        if answer:
            await _exchange(connection, _KEPT_ALIVE, "the token")
            raise AuthenticationError(f"{connection.address} refused the token")
        return lifetime
    if isinstance(login, KerberosLogin):
        return await _exchange_tickets(connection, network, login)
    username, password = login.username, login.password.reveal()
    if mechanism == "PLAIN":
        return (await _exchange(connection, f"\0{username}\0{password}".encode()))[1]
    client = ScramClient(mechanism, username, password, network.hash, delegated=login.delegated)
    refusable = "the delegation token" if login.delegated else _PASSWORD
    server_first, _ = await _exchange(connection, client.first_message(), refusable)
    server_final, lifetime = await _exchange(connection, await client.final_message(server_first), refusable)
    client.check(server_final)
    return lifetime


async def _exchange_tickets(connection: Connection, network: Network, login: KerberosLogin) -> int:
    message, refusable = login.first, f"the ticket of {login.principal}"
    while not login.done:
        answer, _ = await _exchange(connection, message, refusable)
        message = await network.kerberos(partial(login.answer, answer))
    return (await _exchange(connection, message, refusable))[1]


async def _exchange(connection: Connection, message: bytes, login: str = _PASSWORD) -> tuple[bytes, int]:
    """Send one SASL message; return the answer and the lifetime of the session in milliseconds."""
    reply = await connection.send(SaslAuthenticateRequest(auth_bytes=message))
    if fault := error_code_fault(reply.error_code, reply.error_message, connection.address, login):
        raise fault
    return bytes(reply.auth_bytes), int(reply.session_lifetime_ms)
