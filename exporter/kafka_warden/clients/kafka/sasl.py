"""SASL of a Kafka client: PLAIN and SCRAM, with a password or with Java's `sasl.jaas.config`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kafka_warden.clients.kafka.jaas import NAME, parse_jaas
from kafka_warden.clients.kafka.kerberos import MECHANISM as GSSAPI
from kafka_warden.errors import ConfigError, SecretError
from kafka_warden.settings.secrets import Secret, SecretSource

WITH_TOKENS: Final = ("OAUTHBEARER", "AWS_MSK_IAM")
"""Mechanisms whose login is a token; on the wire both are the first one."""
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", GSSAPI, *WITH_TOKENS)
_MODULES: Final = {"PlainLoginModule": "PLAIN", "ScramLoginModule": "SCRAM"}


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user name and a password, read again for each connection."""

    username: str | None
    """None: `secret` is `sasl.jaas.config`, for the login modules of PLAIN and SCRAM, not a password."""
    secret: SecretSource
    mechanism: str

    def read(self) -> tuple[str, Secret]:
        """Return user name and password as they are now, or raise SecretError."""
        secret = self.secret.read()
        return _user(secret, self.mechanism) if self.username is None else (self.username, secret)

    def paths(self) -> tuple[Path, ...]:
        """Return the file that they come from, if they come from one."""
        return self.secret.paths()


def _user(config: Secret, mechanism: str) -> tuple[str, Secret]:
    jaas = parse_jaas(config)
    if not mechanism.startswith(_MODULES.get(jaas.module, "none")):
        raise SecretError(f"{NAME}: the login module does not do {mechanism}")
    if not jaas.text("username") or "password" not in jaas.options:
        raise SecretError(f"{NAME}: username or password is missing")
    return jaas.text("username"), jaas.options["password"]


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
        raise ConfigError("kafka.sasl.jaas.config: set either this or sasl.username and sasl.password, not both")
    if jaas is None and not username:
        raise ConfigError("kafka.sasl.username: missing; security.protocol asks for it")
    secret = jaas or password
    if secret is None:
        raise ConfigError(
            "kafka.sasl.password.file: missing; set it to the path of a file that holds the password of"
            f" {username}, or set KAFKA_WARDEN_KAFKA_SASL_PASSWORD",
        )
    credentials = Credentials(username, secret, mechanism)
    credentials.read()
    return credentials
