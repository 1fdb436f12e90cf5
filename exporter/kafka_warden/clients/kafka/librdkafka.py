"""The same properties in librdkafka's words, for confluent-kafka."""

from collections.abc import Mapping
from typing import Final

from kafka_warden.clients.kafka.properties import SECRET_PROPERTIES, canonical, translate
from kafka_warden.settings.secrets import SecretSource

_RENAMED: Final = {
    "request.timeout.ms": "socket.timeout.ms",
    "ssl.keystore.location": "ssl.certificate.location",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.truststore.location": "ssl.ca.location",
}
_PASSED: Final = frozenset(
    {
        "bootstrap.servers",
        "client.id",
        "enable.ssl.certificate.verification",
        "receive.message.max.bytes",
        "sasl.mechanism",
        "sasl.username",
        "security.protocol",
        "socket.connection.setup.timeout.ms",
        "socket.timeout.ms",
        "ssl.ca.location",
        "ssl.ca.pem",
        "ssl.certificate.location",
        "ssl.crl.location",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.location",
    },
)


def librdkafka(properties: Mapping[str, str], secrets: Mapping[str, SecretSource] | None = None) -> dict[str, str]:
    """Return the connection's part of the properties for a confluent-kafka client, passwords in the clear.

    Raises:
        ConfigError: as `translate` does.
    """
    settings = translate(properties, secrets)
    known = {canonical(name): value for name, value in properties.items() if name not in SECRET_PROPERTIES}
    result = {_RENAMED.get(name, name): value for name, value in known.items()}
    result = {name: value for name, value in result.items() if name in _PASSED}
    if known.get("ssl.keystore.location"):
        # A PEM keystore holds both.
        result.setdefault("ssl.key.location", known["ssl.keystore.location"])
    if result.get("ssl.endpoint.identification.algorithm") == "":
        result["ssl.endpoint.identification.algorithm"] = "none"
    if settings.tls and settings.tls.files.ciphers:
        result["ssl.cipher.suites"] = settings.tls.files.ciphers
    if settings.credentials:
        username, password = settings.credentials.read()
        result |= {"sasl.username": username, "sasl.password": password.reveal()}
    if settings.tls and settings.tls.files.key_password:
        result["ssl.key.password"] = settings.tls.files.key_password.read().reveal()
    return result
