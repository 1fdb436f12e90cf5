"""One set of standard Kafka client properties, for the links of this room and for confluent-kafka.

The spellings of librdkafka and of Java are both understood. A property that is known and has no effect here, for
example a consumer's, is kept in `ignored`, which the application logs once. An unknown one is an error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kafka_warden.clients.kafka.kerberos import KERBEROS_EFFECTIVE, MECHANISM, Kerberos, is_meant, kerberos
from kafka_warden.clients.kafka.known_properties import KNOWN
from kafka_warden.clients.kafka.oauth import OAUTH_ALIASES, OAUTH_EFFECTIVE, OAUTH_ONLY, oauth_tokens
from kafka_warden.clients.kafka.sasl import MECHANISMS, WITH_TOKENS, Credentials, sasl_credentials
from kafka_warden.clients.kafka.ssl_properties import SSL_EFFECTIVE, checked, tls_files
from kafka_warden.clients.kafka.tls import TlsClient
from kafka_warden.clients.kafka.tokens import Tokens
from kafka_warden.errors import ConfigError, SecretError
from kafka_warden.settings.secrets import FileWatch, Secret, SecretSource
from kafka_warden.settings.strict import Address, did_you_mean, parse_address

ALIASES: Final = {
    "metadata.broker.list": "bootstrap.servers",
    "sasl.mechanisms": "sasl.mechanism",
    **OAUTH_ALIASES,
}

SECRET_PROPERTIES: Final = frozenset(
    {
        "sasl.jaas.config",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.private.key.pem",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.config",
        "sasl.password",
        "ssl.key.password",
        "ssl.key.pem",
        "ssl.keystore.key",
        "ssl.keystore.password",
        "ssl.truststore.password",
        "ssl_key",
    },
)
"""Properties with a secret value: from `<property>.file` or the environment, never from a file's text or a flag."""

LOGIN: Final = ("sasl.username", *OAUTH_ONLY)
"""Properties of a login. Only some are secret."""

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
DEFAULT_PORT: Final = 9092
LARGEST_REPLY: Final = 1 << 28
"""Bytes: enough for the metadata of a cluster with a million partitions."""
_OF_OTHERS: Final = "schema.registry."
"""Properties of a client of schema registries. Some are named like those of Kafka, but are no typo."""
_PROVIDERS: Final = "config.providers"
"""Java's clients get values from these. Without them `${...}` would be the password."""
_INT_MAX: Final = (1 << 31) - 1

_EFFECTIVE: Final = {
    "bootstrap.servers",
    "client.id",
    "receive.message.max.bytes",
    "request.timeout.ms",
    "sasl.jaas.config",
    "sasl.mechanism",
    "sasl.password",
    "sasl.username",
    "security.protocol",
    "socket.connection.setup.timeout.ms",
    "socket.timeout.ms",
    *SSL_EFFECTIVE,
}

_SASL_ONLY: Final = ("sasl.jaas.config", "sasl.password", *LOGIN)
_SSL_ONLY: Final = (
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.key.location",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
)


@dataclass(frozen=True, slots=True)
class KafkaClientSettings:
    """What the connections of this program need. Made by `translate`."""

    bootstrap: tuple[Address, ...]
    security_protocol: str
    sasl_mechanism: str | None
    credentials: Credentials | Tokens | Kerberos | None
    tls: TlsClient | None
    client_id: str
    receive_message_max_bytes: int
    request_timeout: float | None
    """Seconds, where one is set: `request.timeout.ms` or `socket.timeout.ms`."""
    connect_timeout: float | None
    """Seconds, where one is set: `socket.connection.setup.timeout.ms`."""
    ignored: tuple[str, ...]
    """Properties that have no effect here."""
    _watch: FileWatch
    _last_login: list[tuple[str, Secret]]

    def ssl_context(self) -> Any:
        """Return the `ssl.SSLContext` for a new connection, from the files as they are now; `None` without TLS.

        Raises:
            TlsError: a file changed and cannot be used.
        """
        return self.tls.context() if self.tls else None

    def login(self) -> tuple[str, Secret] | None:
        """Return user name and password as they are now; `None` without them.

        While a file is gone or half written, as during a rotation, the last good ones are used: the next change is
        noticed.

        Raises:
            SecretError: they cannot be read and never could.
        """
        if not isinstance(self.credentials, Credentials):
            return None
        try:
            self._last_login[:] = [self.credentials.read()]
        except SecretError:
            if not self._last_login:
                raise
        return self._last_login[0]

    def changed(self) -> bool:
        """Return whether a file with a password, key or certificate changed since the previous call."""
        return self._watch.changed()


def canonical(name: str) -> str:
    """Return the one name of a property that has two."""
    return ALIASES.get(name, name)


def check_name(name: str) -> None:
    """Refuse a property that no Kafka client knows.

    Raises:
        ConfigError: with the nearest known name.
    """
    if name.startswith(_PROVIDERS):
        raise ConfigError(
            f"kafka.{name}: values as ${{provider:key}} are not supported; remove this, and write them out"
        )
    if name not in KNOWN:
        shown = " ".join(name.split())
        raise ConfigError(f"kafka.{shown}: no Kafka client has this property{did_you_mean(name, KNOWN)}")


def is_foreign(name: str) -> bool:
    """Return whether a property is that of another program: no Kafka client has it, nor one with a name like it."""
    return name not in KNOWN and (name.startswith(_OF_OTHERS) or not did_you_mean(name, KNOWN))


def translate(properties: Mapping[str, str], secrets: Mapping[str, SecretSource] | None = None) -> KafkaClientSettings:
    """Check the properties and turn them into settings. Every file that they name is read once, to see that it can be.

    `secrets` has the secret ones from files or the environment. One in `properties` is taken too: the caller decides.

    Raises:
        ConfigError: one line that names the property.
    """
    plain, hidden = _split(properties, secrets or {})
    protocol = checked(plain, "security.protocol", _protocol, "PLAINTEXT")
    _refuse_unused_security(protocol, plain, hidden)
    mechanism = _chosen_mechanism(plain, hidden) if protocol.startswith("SASL") else None
    credentials = _credentials(plain, hidden, mechanism)
    files = tls_files(plain, hidden) if protocol.endswith("SSL") else None
    passwords = credentials.paths() if isinstance(credentials, Credentials | Kerberos) else ()
    watched = (*passwords, *(files.paths() if files else ()))
    effective = _EFFECTIVE | (OAUTH_EFFECTIVE if isinstance(credentials, Tokens) else set())
    effective |= KERBEROS_EFFECTIVE if isinstance(credentials, Kerberos) else set()
    return KafkaClientSettings(
        bootstrap=_bootstrap(plain),
        security_protocol=protocol,
        sasl_mechanism=WITH_TOKENS[0] if mechanism in WITH_TOKENS else mechanism,
        credentials=credentials,
        tls=TlsClient(files) if files else None,
        client_id=plain.get("client.id", "kafka-warden"),
        receive_message_max_bytes=checked(plain, "receive.message.max.bytes", _positive, str(LARGEST_REPLY)),
        request_timeout=_seconds(plain, "request.timeout.ms", "socket.timeout.ms"),
        connect_timeout=_seconds(plain, "socket.connection.setup.timeout.ms"),
        ignored=tuple(sorted({*plain, *hidden} - effective)),
        _watch=FileWatch(watched),
        _last_login=[],
    )


def _split(
    properties: Mapping[str, str],
    secrets: Mapping[str, SecretSource],
) -> tuple[dict[str, str], dict[str, SecretSource]]:
    plain: dict[str, str] = {}
    hidden: dict[str, SecretSource] = {}
    for name, secret in secrets.items():
        if canonical(name) in hidden:
            raise _two_names(name)
        hidden[canonical(name)] = secret
    for name, value in properties.items():
        check_name(name)
        if name in SECRET_PROPERTIES:
            hidden.setdefault(canonical(name), Secret(value))
        elif canonical(name) in plain:
            raise _two_names(name)
        else:
            plain[canonical(name)] = value
    return plain, hidden


def _two_names(name: str) -> ConfigError:
    alias = next(alias for alias, known in ALIASES.items() if known == canonical(name))
    return ConfigError(f"kafka.{alias}: set either this or {canonical(name)}, not both")


def _chosen_mechanism(plain: Mapping[str, str], hidden: Mapping[str, SecretSource]) -> str:
    default = MECHANISM if "sasl.mechanism" not in plain and is_meant(plain, hidden) else ""
    return checked(plain, "sasl.mechanism", _mechanism, default)


def _credentials(
    plain: Mapping[str, str], hidden: Mapping[str, SecretSource], mechanism: str | None
) -> Credentials | Tokens | Kerberos | None:
    unused = () if mechanism in WITH_TOKENS else OAUTH_ONLY
    if mechanism in (*WITH_TOKENS, MECHANISM):
        unused = (*unused, "sasl.password", "sasl.username")
    if mechanism is not None and (given := sorted({*plain, *hidden}.intersection(unused))):
        raise ConfigError(f"kafka.{given[0]}: no effect with sasl.mechanism {mechanism}; remove it")
    if mechanism in WITH_TOKENS:
        return oauth_tokens(plain, hidden, [address.host for address in _bootstrap(plain)])
    if mechanism == MECHANISM:
        return kerberos(plain, hidden)
    return sasl_credentials(plain, hidden, mechanism) if mechanism else None


def _refuse_unused_security(protocol: str, plain: Mapping[str, str], hidden: Mapping[str, SecretSource]) -> None:
    given = {*plain, *hidden}
    for needed, names, choice in (("SASL", _SASL_ONLY, "SASL_SSL"), ("SSL", _SSL_ONLY, "SSL or SASL_SSL")):
        unused = sorted(given.intersection(names))
        if unused and needed not in protocol.split("_"):
            raise ConfigError(
                f"kafka.{unused[0]}: no effect with security.protocol {protocol}; set that to {choice}, or remove this",
            )


def _bootstrap(plain: Mapping[str, str]) -> tuple[Address, ...]:
    def read(text: str) -> tuple[Address, ...]:
        found = tuple(parse_address(part, default_port=DEFAULT_PORT) for part in text.split(",") if part.strip())
        if not found:
            raise ValueError(
                "missing; name one broker or more as host:port, here, with --bootstrap-servers or in"
                " KAFKA_WARDEN_KAFKA_BOOTSTRAP_SERVERS",
            )
        return found

    return checked(plain, "bootstrap.servers", read, "")


def _protocol(text: str) -> str:
    if text.upper() not in PROTOCOLS:
        raise ValueError(f"expected one of {', '.join(PROTOCOLS)}, got {text!r}{did_you_mean(text.upper(), PROTOCOLS)}")
    return text.upper()


def _mechanism(text: str) -> str:
    if text.upper() not in MECHANISMS:
        found = f"{text!r} is not supported" if text else "missing"
        raise ValueError(f"{found}; expected one of {', '.join(MECHANISMS)}")
    return text.upper()


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:11]) <= _INT_MAX):
        raise ValueError(f"expected a whole number from 1 to {_INT_MAX}, got {text!r}")
    return int(text)


def _seconds(plain: Mapping[str, str], *names: str) -> float | None:
    given = [checked(plain, name, _positive, "") / 1000 for name in names if name in plain]
    return given[0] if given else None
