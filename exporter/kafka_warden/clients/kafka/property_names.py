"""The names of client properties: which are known, which are secret, and which two name one thing."""

import re
from collections.abc import Mapping
from typing import Final, TypeVar

from kafka_warden.clients.kafka.jaas import PASSWORD_FILE
from kafka_warden.clients.kafka.kerberos import KERBEROS_EFFECTIVE
from kafka_warden.clients.kafka.known_properties import KNOWN
from kafka_warden.clients.kafka.oauth import OAUTH_ALIASES, OAUTH_EFFECTIVE, OAUTH_ONLY
from kafka_warden.clients.kafka.ssl_properties import SSL_EFFECTIVE
from kafka_warden.errors import ConfigError
from kafka_warden.settings.secrets import Secret, SecretSource
from kafka_warden.settings.strict import nearest

T = TypeVar("T", bound=str | SecretSource)

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

_LIKE: Final = 0.6
"""Of difflib, for one word of a name: `user` is like `username`."""
_OF_OTHERS: Final = "schema.registry."
"""Properties of a client of schema registries. Some are named like those of Kafka, but are no typo."""
PROVIDERS: Final = "config.providers"
"""Java's clients replace `${provider:key}` by values from these."""
EFFECTIVE: Final = {
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

_SUGGESTED: Final = sorted({*EFFECTIVE, *ALIASES, *OAUTH_EFFECTIVE, *KERBEROS_EFFECTIVE})
_PREFIX: Final = re.compile(r"^(?=.*\.)(spring\.)?(kafka\.)?((properties|producer|consumer|admin)\.)?")
"""What other programs put before properties of Kafka."""
_CONNECTING: Final = ("bootstrap.", "sasl.", "security.", "ssl.")
"""Starts of the properties without which their connection would be another one."""
_SAME: Final = (
    ("ssl.ca.location", "ssl.truststore.location"),
    ("ssl.ca.pem", "ssl.truststore.certificates"),
    ("ssl.certificate.location", "ssl.keystore.location"),
    ("ssl.certificate.pem", "ssl.keystore.certificate.chain"),
    ("ssl.key.pem", "ssl.keystore.key"),
)
"""librdkafka's name and Java's for one thing. Unlike `ALIASES`, a message has the name that was set."""


def secret_file(name: str) -> str:
    """Return the property for a file with a secret, which may have any text."""
    return PASSWORD_FILE if name == "sasl.jaas.config" else f"{name}.file"


def canonical(name: str) -> str:
    """Return the one name of a property that has two."""
    return ALIASES.get(name, name)


def check_name(name: str) -> None:
    """Refuse a property that no Kafka client knows.

    Raises:
        ConfigError: with the nearest known name.
    """
    if name.startswith(PROVIDERS):
        raise ConfigError(
            f"kafka.{name}: values as ${{provider:key}} are not supported; remove this, and write them out"
        )
    if name not in KNOWN:
        shown = " ".join(name.split())
        hint = f"did you mean {meant}?" if (meant := meant_by(name)) else "remove it, if it is not misspelt"
        raise ConfigError(f"kafka.{shown}: no Kafka client has this property; {hint}")


def meant_by(name: str) -> str:
    """Return the property with an effect here that an unknown name means; empty if there is none.

    It is spelt in another way, such as `saslMechanism`, has the prefix of another program, or has a typing error. A
    word that is another one is no typing error: `ssl.truststore.path` does not mean `ssl.truststore.type`.
    """
    if name in KNOWN or name.startswith(_OF_OTHERS):
        return ""
    if (stem := name.removesuffix(".file")) != name:
        return f"{meant}.file" if (meant := meant_by(stem)) in SECRET_PROPERTIES else ""
    own = _PREFIX.sub("", name)
    known = [each for each in _SUGGESTED if own == name or each.startswith(_CONNECTING)]
    dotted = re.sub(r"[-_]|(?<=[a-z])(?=[A-Z])", ".", own).lower().replace("sasl.plain.", "sasl.")
    spelt = [each for each in known if each.replace(".", "") == dotted.replace(".", "")]
    words = dotted.split(".")
    near = [each for each in known if _are_near(words, each.split("."))]
    longer = [each for each in known if each.split(".")[:-1] == words]
    return next(iter(spelt), "") or nearest(dotted, near, 0.0) or (longer[0] if len(longer) == 1 else "")


def _are_near(words: list[str], others: list[str]) -> bool:
    return len(words) == len(others) and all(nearest(one, [two], _LIKE) for one, two in zip(words, others, strict=True))


def split(
    properties: Mapping[str, str],
    secrets: Mapping[str, SecretSource],
) -> tuple[dict[str, str], dict[str, SecretSource]]:
    """Return the properties that are no secret and those that are, each by its one name.

    Raises:
        ConfigError: a name is unknown, or two names of one property have different values.
    """
    plain: dict[str, str] = {}
    hidden: dict[str, SecretSource] = {}
    for name, secret in secrets.items():
        _add(hidden, name, secret)
    for name, value in properties.items():
        check_name(name)
        if name not in SECRET_PROPERTIES:
            _add(plain, name, value)
        elif name not in secrets:
            _add(hidden, name, Secret(value))
    for ours, javas in _SAME:
        for given in (plain, hidden):
            if ours in given and javas in given:
                _refuse_two(given[ours], given.pop(javas), javas, ours)
    return plain, hidden


def _add(given: dict[str, T], name: str, value: T) -> None:
    known = canonical(name)
    if known in given:
        alias = next(alias for alias, other in ALIASES.items() if other == known)
        _refuse_two(given[known], value, alias, known)
    given[known] = value


def _refuse_two(one: str | SecretSource, other: str | SecretSource, name: str, same: str) -> None:
    """Refuse two values of one property, which has two names. Equal ones are taken."""
    first, second = ("".join(each.split()) if isinstance(each, str) else each.read() for each in (one, other))
    if first != second:
        raise ConfigError(f"kafka.{name}: set either this or {same}, not both: their values differ")
