"""The same properties in librdkafka's words, for confluent-kafka."""

import time
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from kafka_warden.clients.kafka.kerberos import MECHANISM, Kerberos
from kafka_warden.clients.kafka.properties import Credentials, KafkaClientSettings, translate
from kafka_warden.clients.kafka.property_names import SAME, SECRET_PROPERTIES, canonical, marked
from kafka_warden.clients.kafka.tls import TlsFiles
from kafka_warden.clients.kafka.tokens import Tokens
from kafka_warden.clock import monotonic
from kafka_warden.errors import ConfigError
from kafka_warden.settings.secrets import SecretSource

_RENAMED: Final = {"request.timeout.ms": "socket.timeout.ms"} | {javas: ours for ours, javas in SAME}

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


def librdkafka(
    properties: Mapping[str, str],
    secrets: Mapping[str, SecretSource] | None = None,
    settings: KafkaClientSettings | None = None,
) -> dict[str, Any]:
    """Return the connection's part of the properties for a confluent-kafka client, passwords in the clear.

    `settings` are those of an earlier `translate`, whose tokens are then shared.

    Raises:
        ConfigError: as `translate` does.
    """
    settings = settings or translate(properties, secrets)
    if (why := refusal(settings)) is not None:
        raise ConfigError(f"kafka.sasl.mechanism: {why}")
    known = {canonical(name): value for name, value in properties.items() if name not in SECRET_PROPERTIES}
    result: dict[str, Any] = {_RENAMED.get(name, name): value for name, value in known.items()}
    result = {name: value for name, value in result.items() if name in marked("librdkafka")}
    result["bootstrap.servers"] = ",".join(map(str, settings.bootstrap))
    files = settings.tls.files if settings.tls else None
    if known.get("ssl.keystore.location"):
        # A PEM keystore holds both.
        result.setdefault("ssl.key.location", known["ssl.keystore.location"])
    if result.get("ssl.endpoint.identification.algorithm") == "":
        result["ssl.endpoint.identification.algorithm"] = "none"
    if files and files.ciphers:
        result["ssl.cipher.suites"] = files.ciphers
    if isinstance(settings.credentials, Tokens):
        result |= {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": partial(_token, settings.credentials)}
    elif isinstance(settings.credentials, Credentials):
        login = settings.credentials.read()
        result |= {"sasl.username": login.username, "sasl.password": login.password.reveal()}
    if files:
        _add_texts(result, files)
    return result


def _add_texts(result: dict[str, Any], files: TlsFiles) -> None:
    """Put PEM text in the place of stores: librdkafka reads no JKS, and PKCS12 for the client's certificate only."""
    if (authorities := files.pem_authorities()) is not None:
        result.pop("ssl.ca.location", None)
        result["ssl.ca.pem"] = authorities
    if (identity := files.pem_identity()) is not None:
        for name in ("ssl.certificate.location", "ssl.key.location"):
            result.pop(name, None)
        result["ssl.certificate.pem"], result["ssl.key.pem"] = identity[0], identity[1].reveal()
    if files.key_password and files.key_store() is None:
        result["ssl.key.password"] = files.key_password.read().reveal()


def _token(tokens: Tokens, _: str) -> tuple[str, float, str, dict[str, str]]:
    """Return token, Unix time of its end, principal and extensions; librdkafka asks again after 80 % of the time.

    Raises:
        SourceError: there is none; librdkafka asks again after 10 s.
    """
    now = monotonic()
    token = tokens.wait(now, TOKEN_WITHIN)
    left = min(tokens.left(token, now), LONGEST_LIFE)
    return token.value.reveal(), time.time() + left, token.subject or "unknown", dict(token.extensions)
