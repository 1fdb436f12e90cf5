"""SASL of a Kafka client: PLAIN and SCRAM, with a password or with Java's `sasl.jaas.config`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from kafka_warden.clients.kafka.jaas import NAME, read_jaas
from kafka_warden.clients.kafka.kerberos import MECHANISM as GSSAPI
from kafka_warden.errors import ConfigError, SecretError
from kafka_warden.settings.secrets import Secret, SecretSource

WITH_TOKENS: Final = ("OAUTHBEARER", "AWS_MSK_IAM")
"""Mechanisms whose login is a token; on the wire both are the first one."""
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", GSSAPI, *WITH_TOKENS)
_OPTIONS: Final = ("username", "password")
_DELEGATED: Final = "tokenauth"


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


def sasl_credentials(properties: Mapping[str, str], secrets: Mapping[str, SecretSource], mechanism: str) -> Credentials:
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
