"""One set of standard Kafka client properties, for the links of this room and for confluent-kafka.

The spellings of librdkafka and of Java are both understood. A property that is known and has no effect here, for
example a consumer's, is kept in `ignored`, which the application logs once. An unknown one is an error.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafka_warden.clients.kafka.jaas import NAME, read_jaas
from kafka_warden.clients.kafka.kerberos import MECHANISM, Kerberos, is_meant, kerberos
from kafka_warden.clients.kafka.oauth import oauth_tokens
from kafka_warden.clients.kafka.property_names import EFFECTIVE, TOKEN_ONLY, checked, marked, split
from kafka_warden.clients.kafka.tls import CIPHERS, TlsClient, tls_files, unknown_ciphers
from kafka_warden.clients.kafka.tokens import Tokens
from kafka_warden.errors import ConfigError, SecretError
from kafka_warden.settings.secrets import FileWatch, Secret, SecretSource
from kafka_warden.settings.strict import Address, did_you_mean, parse_address

WITH_TOKENS: Final = ("OAUTHBEARER", "AWS_MSK_IAM")
"""Mechanisms whose login is a token; on the wire both are the first one."""
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", MECHANISM, *WITH_TOKENS)
_OPTIONS: Final = ("username", "password")
_DELEGATED: Final = "tokenauth"
PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
DEFAULT_PORT: Final = 9092
LARGEST_REPLY: Final = 1 << 28
"""Bytes: enough for the metadata of a cluster with a million partitions."""
_INT_MAX: Final = (1 << 31) - 1

_SERVER: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*|\w+)://(.*)", re.DOTALL)


class UserLogin(NamedTuple):
    """A user name with its password, or the id of a delegation token with its HMAC (KIP-48)."""

    username: str
    password: Secret
    delegated: bool = False


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user name and a password, read again for each connection."""

    username: str | None
    """None: `secret` is `sasl.jaas.config`, for the login modules of PLAIN and SCRAM, not a password."""
    secret: SecretSource
    mechanism: str

    def read(self) -> UserLogin:
        """Return the login as it is now, or raise SecretError."""
        return self._of_jaas()[0] if self.username is None else UserLogin(self.username, self.secret.read())

    def ignored(self) -> tuple[str, ...]:
        """Return the options of `sasl.jaas.config` that have no effect, as in Java."""
        return () if self.username is not None else self._of_jaas()[1]

    def paths(self) -> tuple[Path, ...]:
        """Return the file that they come from, if they come from one."""
        return self.secret.paths()

    def _of_jaas(self) -> tuple[UserLogin, tuple[str, ...]]:
        scram = self.mechanism != "PLAIN"
        jaas = read_jaas(self.secret, self.mechanism, "ScramLoginModule" if scram else "PlainLoginModule")
        ignored = jaas.unknown((*_OPTIONS, _DELEGATED) if scram else _OPTIONS)
        for option in _OPTIONS:
            if not jaas.text(option):
                raise SecretError(f'{NAME}: {option} is missing; write {option}="..." before the ;')
        delegated = scram and jaas.text(_DELEGATED).lower() == "true"
        return UserLogin(jaas.text("username"), jaas.options["password"], delegated), ignored


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
    _last_login: list[UserLogin]

    def ssl_context(self) -> Any:
        """Return the `ssl.SSLContext` for a new connection, from the files as they are now; `None` without TLS.

        Raises:
            TlsError: a file changed and cannot be used.
        """
        return self.tls.context() if self.tls else None

    def login(self) -> UserLogin | None:
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

    @property
    def principal(self) -> str:
        """The principal as brokers see it. Those of a certificate and a delegation token are not known."""
        if isinstance(self.credentials, Tokens | Kerberos):
            return f"User:{self.credentials.subject or 'PRINCIPAL'}"
        if (login := self.login()) is not None:
            return f"User:{'PRINCIPAL' if login.delegated else login.username}"
        return "User:PRINCIPAL" if self.tls is not None else "User:ANONYMOUS"

    def changed(self) -> bool:
        """Return whether a file with a password, key or certificate changed since the previous call."""
        return self._watch.changed()


def translate(properties: Mapping[str, str], secrets: Mapping[str, SecretSource] | None = None) -> KafkaClientSettings:
    """Check the properties and turn them into settings. Every file that they name is read once, to see that it can be.

    `secrets` has the secret ones from files or the environment. One in `properties` is taken too: the caller decides.

    Raises:
        ConfigError: one line that names the property.
    """
    plain, hidden = split(properties, secrets or {})
    protocol = checked(plain, "security.protocol", _protocol, "PLAINTEXT")
    _refuse_unused_security(protocol, plain, hidden)
    mechanism = None
    if protocol.startswith("SASL"):
        default = MECHANISM if "sasl.mechanism" not in plain and is_meant(plain, hidden) else ""
        mechanism = checked(plain, "sasl.mechanism", _mechanism, default)
    credentials = _credentials(plain, hidden, mechanism)
    files = tls_files(plain, hidden) if protocol.endswith("SSL") else None
    passwords = credentials.paths() if isinstance(credentials, Credentials | Kerberos) else ()
    watched = (*passwords, *(files.paths() if files else ()))
    logins = {"token": Tokens, "kerberos": Kerberos}
    of_other_logins = marked(*(mark for mark, kind in logins.items() if not isinstance(credentials, kind)))
    ignored = {*plain, *hidden} - (EFFECTIVE - of_other_logins)
    options = credentials.ignored() if isinstance(credentials, Credentials) else ()
    ciphers = unknown_ciphers(plain) if files else ()
    return KafkaClientSettings(
        bootstrap=_bootstrap(plain, protocol),
        security_protocol=protocol,
        sasl_mechanism=WITH_TOKENS[0] if mechanism in WITH_TOKENS else mechanism,
        credentials=credentials,
        tls=TlsClient(files) if files else None,
        client_id=plain.get("client.id", "kafka-warden"),
        receive_message_max_bytes=checked(plain, "receive.message.max.bytes", _positive, str(LARGEST_REPLY)),
        request_timeout=_seconds(plain, "request.timeout.ms", "socket.timeout.ms"),
        connect_timeout=_seconds(plain, "socket.connection.setup.timeout.ms"),
        ignored=(
            *sorted(ignored),
            *(f"sasl.jaas.config: {name}" for name in options),
            *(f"{CIPHERS}: {name}" for name in ciphers),
        ),
        _watch=FileWatch(watched),
        _last_login=[],
    )


def _credentials(
    plain: Mapping[str, str], hidden: Mapping[str, SecretSource], mechanism: str | None
) -> Credentials | Tokens | Kerberos | None:
    unused = frozenset() if mechanism in WITH_TOKENS else TOKEN_ONLY
    if mechanism in (*WITH_TOKENS, MECHANISM):
        unused |= {"sasl.password", "sasl.username"}
    if mechanism is not None and (given := sorted({*plain, *hidden}.intersection(unused))):
        raise ConfigError(f"kafka.{given[0]}: no effect with sasl.mechanism {mechanism}; remove it")
    if mechanism in WITH_TOKENS:
        protocol = checked(plain, "security.protocol", _protocol, "")
        return oauth_tokens(plain, hidden, [address.host for address in _bootstrap(plain, protocol)])
    if mechanism == MECHANISM:
        return kerberos(plain, hidden)
    return _user_credentials(plain, hidden, mechanism) if mechanism else None


def _user_credentials(
    properties: Mapping[str, str], secrets: Mapping[str, SecretSource], mechanism: str
) -> Credentials:
    """Choose what to log in with, and read it once, so that a mistake shows at the start.

    Raises:
        ConfigError: something is missing, or there is too much of it.
    """
    username, password, jaas = (
        properties.get("sasl.username"),
        secrets.get("sasl.password"),
        secrets.get("sasl.jaas.config"),
    )
    if jaas is not None and (username is not None or password is not None):
        login = Credentials(None, jaas, mechanism).read()
        same = password is None or password.read() == login.password
        if username not in (None, login.username) or login.delegated or not same:
            raise ConfigError("kafka.sasl.jaas.config: set either this or sasl.username and sasl.password, not both")
        username = None
    if jaas is None and not username:
        raise ConfigError("kafka.sasl.username: missing; security.protocol asks for it, or for sasl.jaas.config")
    secret = jaas or password
    if secret is None:
        raise ConfigError(
            "kafka.sasl.password.file: missing; set it to the path of a file that holds the password of"
            f" {username}, or set KAFKA_WARDEN_KAFKA_SASL_PASSWORD",
        )
    credentials = Credentials(username, secret, mechanism)
    credentials.read()
    return credentials


def _refuse_unused_security(protocol: str, plain: Mapping[str, str], hidden: Mapping[str, SecretSource]) -> None:
    given = {*plain, *hidden}
    for needed, mark, choice in (("SASL", "sasl", "SASL_SSL"), ("SSL", "tls", "SSL or SASL_SSL")):
        unused = sorted(given & marked(mark))
        if unused and needed not in protocol.split("_"):
            raise ConfigError(
                f"kafka.{unused[0]}: no effect with security.protocol {protocol}; set that to {choice}, or remove this",
            )


def _bootstrap(plain: Mapping[str, str], protocol: str) -> tuple[Address, ...]:
    def read(text: str) -> tuple[Address, ...]:
        found = tuple(_server(part.strip(), protocol) for part in text.split(",") if part.strip())
        if not found:
            raise ValueError(
                "missing; name one broker or more as host:port, here, with --bootstrap-servers or in"
                " KAFKA_WARDEN_KAFKA_BOOTSTRAP_SERVERS",
            )
        return found

    return checked(plain, "bootstrap.servers", read, "")


def _server(text: str, protocol: str) -> Address:
    """Read `host:port`, or `SASL_SSL://host:port`. As in Java, a prefix that is no protocol says nothing."""
    found = _SERVER.fullmatch(text)
    named, server = (found[1].upper(), found[2]) if found else (protocol, text)
    address = parse_address(server, default_port=DEFAULT_PORT)
    if named in PROTOCOLS and named != protocol:
        raise ValueError(f"{named}://{address} and security.protocol {protocol} differ; set that to {named}")
    return address


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
