"""Logging in over SASL: the handshake, then PLAIN, SCRAM, OAUTHBEARER or GSSAPI, and when to log in again (KIP-368)."""

import base64
import binascii
import hashlib
import hmac
import random
import secrets
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from kafka_warden.clients.kafka.connection import BrokerConnection
from kafka_warden.clients.kafka.faults import error_code_fault
from kafka_warden.clients.kafka.kerberos import KerberosLogin
from kafka_warden.clients.kafka.network import Network
from kafka_warden.clients.kafka.properties import UserLogin
from kafka_warden.clients.kafka.requests import FRAMED_LOGIN, SaslAuthenticateRequest, SaslHandshakeRequest
from kafka_warden.clients.kafka.tokens import Token
from kafka_warden.errors import AuthenticationError, ProtocolError, UnsupportedError

RENEW_AT: Final = (0.85, 0.95)
"""Part of the session after which to log in again, as Java's clients do it."""
LEAST_RENEWAL: Final = 1.1
"""Seconds: brokers refuse a second login within one."""

_KEPT_ALIVE: Final = b"\1"
"""What a client says to a server that refuses its token, to get the error (RFC 7628, section 3.2.3)."""

HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
LEAST_ITERATIONS: Final = 4096
"""Kafka's own minimum. A broker that asks for fewer makes the password easy to guess from the exchange."""
MOST_ITERATIONS: Final = 1_000_000
"""About half a second of CPU; Kafka's own tools create at most 16,384."""

_NO_BINDING: Final = "biws"
"""`n,,` in base 64."""
_DELEGATED: Final = ",tokenauth=true"
"""The extension of a login with a delegation token (KIP-48)."""

Login = UserLogin | Token | KerberosLogin
"""User name and password, a token, or a login that was begun with a ticket."""


async def log_in(connection: BrokerConnection, network: Network, mechanism: str, login: Login) -> float | None:
    """Log in over a connection; return in how many seconds to do so again, `None` for never.

    Raises:
        AuthenticationError: the broker refused the mechanism or the login, or is not to be trusted.
        SourceError: it did not answer usefully.
    """
    if not connection.knows(FRAMED_LOGIN):
        wanted = f"Kafka {FRAMED_LOGIN.release} or newer is required"
        raise UnsupportedError(f"{connection.address} is too old for SASL: {wanted}")
    handshake = await connection.send(SaslHandshakeRequest(mechanism=mechanism), FRAMED_LOGIN.version)
    if handshake.error_code:
        offered = ", ".join(map(str, handshake.mechanisms))
        raise AuthenticationError(f"{connection.address} does not offer {mechanism}; it offers: {offered or 'nothing'}")
    lifetime = await _exchange_all(connection, network, mechanism, login)
    if lifetime <= 0:
        return None
    return max(LEAST_RENEWAL, lifetime / 1000 * random.uniform(*RENEW_AT))  # noqa: S311  # spreads load, no secret


async def _exchange_all(connection: BrokerConnection, network: Network, mechanism: str, login: Login) -> int:
    """Exchange all messages of a mechanism; return the lifetime of the session in milliseconds."""
    if isinstance(login, Token):
        exchange = partial(_exchange, connection, "the token")
        answer, lifetime = await exchange(login.message())
        if answer:
            await exchange(_KEPT_ALIVE)
            raise AuthenticationError(f"{connection.address} refused the token")
        return lifetime
    if isinstance(login, KerberosLogin):
        exchange = partial(_exchange, connection, f"the ticket of {login.principal}")
        message = login.first
        while not login.done:
            answer, _ = await exchange(message)
            message = await network.kerberos.run(partial(login.answer, answer))
        return (await exchange(message))[1]
    exchange = partial(_exchange, connection, "the delegation token" if login.delegated else "user name or password")
    if mechanism == "PLAIN":
        return (await exchange(f"\0{login.username}\0{login.password.reveal()}".encode()))[1]
    return await scram(exchange, network.hashers.run, mechanism, login)


async def _exchange(connection: BrokerConnection, login: str, message: bytes) -> tuple[bytes, int]:
    """Send one SASL message; return the answer and the lifetime of the session in milliseconds."""
    reply = await connection.send(SaslAuthenticateRequest(auth_bytes=message))
    if fault := error_code_fault(reply.error_code, reply.error_message, connection.address, login):
        raise fault
    return bytes(reply.auth_bytes), int(reply.session_lifetime_ms)


async def scram(
    exchange: Callable[[bytes], Awaitable[tuple[bytes, int]]],
    hashed: Callable[[Callable[[], bytes]], Awaitable[bytes]],
    mechanism: str,
    login: UserLogin,
) -> int:
    """Log in with SCRAM (RFC 5802), without channel binding and authorization identity.

    `exchange` sends one message and returns the answer with the lifetime of the session in milliseconds, which is
    returned here, too. `hashed` runs the expensive hash without holding up the event loop.

    Raises:
        AuthenticationError: the server's messages would weaken the login, or it does not know the password.
        ProtocolError: they cannot be decoded.
    """
    kind, password, ours = HASHES[mechanism], login.password.reveal().encode(), secrets.token_urlsafe(24)
    name = login.username.replace("=", "=3D").replace(",", "=2C")
    first = f"n={name},r={ours}{_DELEGATED if login.delegated else ''}"
    server_first, _ = await exchange(f"n,,{first}".encode())
    nonce, salt, iterations = _challenge(server_first, ours)
    salted = await hashed(lambda: hashlib.pbkdf2_hmac(kind, password, salt, iterations))
    without_proof = f"c={_NO_BINDING},r={nonce}"
    exchanged = b",".join([first.encode(), server_first, without_proof.encode()])
    client_key, server_key = (hmac.digest(salted, key, kind) for key in (b"Client Key", b"Server Key"))
    signature = hmac.digest(hashlib.new(kind, client_key).digest(), exchanged, kind)
    proof = bytes(left ^ right for left, right in zip(client_key, signature, strict=True))
    server_final, lifetime = await exchange(f"{without_proof},p={base64.b64encode(proof).decode()}".encode())
    server_signature = _base64(_values(server_final).get("v", ""))
    if not hmac.compare_digest(server_signature, hmac.digest(server_key, exchanged, kind)):
        raise AuthenticationError("the broker's SCRAM signature is wrong: it does not know the password")
    return lifetime


def _challenge(server_first: bytes, ours: str) -> tuple[str, bytes, int]:
    """Return nonce, salt and iterations of the server's first message, which continues our nonce."""
    values = _values(server_first)
    if "m" in values:
        raise ProtocolError("the broker's SCRAM message needs an extension that is not supported")
    nonce, salt, iterations = values.get("r", ""), _base64(values.get("s", "")), values.get("i", "")
    if not nonce.startswith(ours) or nonce == ours:
        raise AuthenticationError("the broker's SCRAM nonce does not continue ours; is something in between?")
    if not (iterations.isascii() and iterations.isdigit() and len(iterations) <= len(str(MOST_ITERATIONS))):
        raise ProtocolError("the broker's SCRAM iteration count is not a number")
    if not salt:
        raise AuthenticationError("the broker's SCRAM salt is empty, which makes the password easy to guess")
    if not LEAST_ITERATIONS <= int(iterations) <= MOST_ITERATIONS:
        raise AuthenticationError(
            f"the broker asks for {iterations} SCRAM iterations; from {LEAST_ITERATIONS} to {MOST_ITERATIONS} are"
            " accepted. Set the user's password again with kafka-configs and more iterations",
        )
    return nonce, salt, int(iterations)


def _values(message: bytes) -> dict[str, str]:
    try:
        values = [(part[:1], part[2:]) for part in message.decode().split(",") if part[1:2] == "="]
    except UnicodeDecodeError:
        raise ProtocolError("the broker's SCRAM message is not UTF-8") from None
    if len(dict(values)) < len(values):
        raise ProtocolError("the broker's SCRAM message has a value twice")
    return dict(values)


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ProtocolError("the broker's SCRAM message has a value that is not base 64") from None
