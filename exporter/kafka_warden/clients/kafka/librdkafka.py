"""The settings of the links in librdkafka's words, for confluent-kafka."""

import time
from functools import partial
from typing import Any, Final

from kafka_warden.clients.kafka.kerberos import MECHANISM, Kerberos
from kafka_warden.clients.kafka.properties import Credentials, KafkaClientSettings
from kafka_warden.clients.kafka.tls import TlsFiles
from kafka_warden.clients.kafka.tokens import Tokens
from kafka_warden.clock import monotonic
from kafka_warden.errors import ConfigError

LEAST_REPLY: Final = 1000
"""Bytes: the least `receive.message.max.bytes` of librdkafka."""
REQUEST_TIMEOUTS: Final = 10, 300_000
"""Milliseconds: the least and the largest `socket.timeout.ms`."""
LEAST_SETUP: Final = 1000
"""Milliseconds: the least `socket.connection.setup.timeout.ms`."""

TOKEN_WITHIN: Final = 10.0
"""Seconds that librdkafka's caller waits for a token."""
LONGEST_LIFE: Final = 3600.0
"""Seconds after which librdkafka asks for another token, also where the end of the present one is unknown."""


def refusal(settings: KafkaClientSettings) -> str | None:
    """Return why confluent-kafka cannot log in, `None` if it can.

    Raises:
        SecretError: the login cannot be read and never could.
    """
    login = settings.login()
    if isinstance(settings.credentials, Kerberos):
        reason = f"{MECHANISM}, since confluent-kafka is built without it"
    elif login is not None and login.delegated:
        reason = "a delegation token, since librdkafka sends no SCRAM extensions"
    else:
        return None
    return f"the topic of the history cannot be used with {reason}; use another login, or history.parquet.path"


def librdkafka(settings: KafkaClientSettings) -> dict[str, Any]:
    """Return the connection's part of the settings for a confluent-kafka client, passwords in the clear.

    Tokens are shared with the links. A value out of librdkafka's range is the nearest one in it.

    Raises:
        ConfigError: confluent-kafka cannot log in so, or a file cannot be used.
    """
    if (why := refusal(settings)) is not None:
        raise ConfigError(f"kafka.sasl.mechanism: {why}")
    result: dict[str, Any] = {
        "bootstrap.servers": ",".join(map(str, settings.bootstrap)),
        "client.id": settings.client_id,
        "security.protocol": settings.security_protocol,
        "receive.message.max.bytes": max(settings.receive_message_max_bytes, LEAST_REPLY),
    }
    if settings.request_timeout is not None:
        least, most = REQUEST_TIMEOUTS
        result["socket.timeout.ms"] = min(max(round(1000 * settings.request_timeout), least), most)
    if settings.connect_timeout is not None:
        result["socket.connection.setup.timeout.ms"] = max(round(1000 * settings.connect_timeout), LEAST_SETUP)
    if settings.sasl_mechanism is not None:
        result["sasl.mechanism"] = settings.sasl_mechanism
    if isinstance(settings.credentials, Tokens):
        result["oauth_cb"] = partial(_token, settings.credentials)
    elif isinstance(settings.credentials, Credentials):
        login = settings.credentials.read()
        result |= {"sasl.username": login.username, "sasl.password": login.password.reveal()}
    return result | _tls(settings.tls.files) if settings.tls else result


def _tls(files: TlsFiles) -> dict[str, Any]:
    """Return TLS, with PEM text in the place of stores: librdkafka reads no JKS, and no trust store of PKCS12."""
    result: dict[str, Any] = {
        "enable.ssl.certificate.verification": files.verify,
        "ssl.endpoint.identification.algorithm": "https" if files.verify_hostname else "none",
    }
    if files.ciphers:
        result["ssl.cipher.suites"] = files.ciphers
    if files.revoked is not None:
        result["ssl.crl.location"] = str(files.revoked)
    if (authorities := files.pem_authorities()) is not None:
        result["ssl.ca.pem"] = authorities
    elif files.ca is not None:
        result["ssl.ca.location"] = str(files.ca)
    if (identity := files.pem_identity()) is not None:
        result["ssl.certificate.pem"], result["ssl.key.pem"] = identity[0], identity[1].reveal()
    elif files.certificate is not None:
        result["ssl.certificate.location"] = str(files.certificate)
        result["ssl.key.location"] = str(files.key or files.certificate)
    if files.key_password and files.key_store() is None:
        result["ssl.key.password"] = files.key_password.read().reveal()
    return result


def _token(tokens: Tokens, _: str) -> tuple[str, float, str, dict[str, str]]:
    """Return token, Unix time of its end, principal and extensions; librdkafka asks again after 80 % of the time.

    Raises:
        SourceError: there is none; librdkafka asks again after 10 s.
    """
    now = monotonic()
    token = tokens.wait(now, TOKEN_WITHIN)
    left = min(tokens.left(token, now), LONGEST_LIFE)
    return token.value.reveal(), time.time() + left, token.subject or "unknown", dict(token.extensions)
