"""The layers of the configuration: the file, the environment and the flags, each as entries by dotted key."""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kafka_warden.clients.kafka.jaas import NAME as JAAS
from kafka_warden.clients.kafka.jaas import parse_jaas
from kafka_warden.clients.kafka.property_names import (
    ALIASES,
    KNOWN,
    PROVIDERS,
    SECRET_PROPERTIES,
    marked,
    meant_by,
    secret_file,
)
from kafka_warden.config.options import Entry
from kafka_warden.config.types import BY_KEY
from kafka_warden.errors import ConfigError, SecretError
from kafka_warden.settings.java_properties import Property, PropertySecret, read_properties
from kafka_warden.settings.secrets import Secret
from kafka_warden.settings.strict import did_you_mean, refuse_placeholder
from kafka_warden.settings.strict_yaml import read_yaml

PREFIX: Final = "KAFKA_WARDEN_"
CONFIG_VARIABLE: Final = f"{PREFIX}CONFIG"
TOP_PASSWORD: Final = f"{PREFIX}TOP_PASSWORD"
"""Password of the command `top`, which is no option."""
JMX_PASSWORD: Final = "jmx.password"  # noqa: S105  # the key's name, not a password
"""Settable in the environment only; in a file the key is `jmx.password_file`."""

_KAFKA: Final = "kafka."
PROPERTIES_FILE: Final = "kafka.properties_file"
"""The one key below `kafka` that is no property of Kafka's clients."""
_ABSENT_IF_EMPTY: Final = SECRET_PROPERTIES | marked("sasl", "path", "pem")
_FOREIGN_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
"""Not base64: lines of a key that are not continued are read as names, and names are logged."""
_SECTIONS: Final = frozenset(
    ".".join(parts[:depth]) for parts in (key.split(".") for key in BY_KEY) for depth in range(1, len(parts))
)
_NEVER_EMPTY: Final = ("kafka", "jmx", "jmx.tls", "topics", "web")
"""Sections that protect something. With nothing below one the file may be cut off."""
_SERVICE_LINK: Final = re.compile(r"(.*_)?SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|(.*_)?PORT(_\d+_(TCP|UDP|SCTP)(_[A-Z]+)?)?")
"""Variables that Kubernetes sets in every pod for a service whose name starts with `kafka-warden`."""
_LINK_VALUE: Final = re.compile(r"(tcp|udp|sctp)://")


Entries = dict[str, Entry]


def from_file(path: Path) -> Entries:
    """Read the configuration file.

    Raises:
        ConfigError: the file cannot be read, or a key in it is unknown or not allowed there.
    """
    return dict(_walk(path, "", read_yaml(path)))


def _walk(path: Path, section: str, content: Mapping[Any, Any]) -> Iterator[tuple[str, Entry]]:
    for name, value in content.items():
        key = " ".join(f"{section}{name}".split())
        where = f"{path}: {key}"
        dotted = "." in str(name)
        if section == _KAFKA or (key in BY_KEY and not dotted):
            _refuse_secret(key, where)
            yield key, Entry(value, where, path.absolute().parent)
        elif dotted or (key not in _SECTIONS and key != "kafka"):
            raise ConfigError(f"{where}: unknown key{_hint(key)}")
        elif isinstance(value, Mapping):
            yield from _walk(path, f"{key}.", value)
        elif value is not None or key in _NEVER_EMPTY:
            raise ConfigError(f"{where}: expected keys and values below it")


def _refuse_secret(key: str, where: str) -> None:
    name = key.removeprefix(_KAFKA)
    if key.startswith(_KAFKA) and name in SECRET_PROPERTIES:
        raise ConfigError(
            f"{where}: a secret is not allowed in this file; set {name}.file to the path of a file that holds it,"
            f" or the environment variable {variable(key)}"
        )


def _hint(key: str) -> str:
    if key == JMX_PASSWORD:
        return f"; set jmx.password_file to the path of a file that holds it, or {variable(key)}"
    if key in BY_KEY or key in _SECTIONS or key.startswith(_KAFKA):
        return f"; write it below {key.partition('.')[0]}:"
    if name := key if key in KNOWN else meant_by(key):
        return f"; write {name} below kafka:"
    return did_you_mean(key, (*BY_KEY, *_SECTIONS, "kafka"))


def variable(key: str) -> str:
    """Return the environment variable of a key."""
    return PREFIX + key.upper().replace(".", "_")


_VARIABLES: Final = {variable(key): key for key in (*BY_KEY, JMX_PASSWORD, PROPERTIES_FILE)}


def from_properties_file(named: Entry) -> Entries:
    """Read a properties file of Kafka's clients, which may have secrets if no other user can read it.

    Raises:
        ConfigError: it cannot be used.
    """
    if not isinstance(named.value, str) or not named.value:
        raise ConfigError(f"{named.where}: expected the path of a properties file")
    path = (named.folder or Path()).absolute() / named.value
    try:
        found = read_properties(path, SECRET_PROPERTIES)
    except ConfigError as failure:
        raise type(failure)(f"{named.where}: {failure}") from None
    # First: lines that a value lost are names of properties below.
    for name, each in found.items():
        _refuse_cut_off(path, name, each.value)
    return {
        f"{_KAFKA}{name}": _property_entry(path, name, each, found)
        for name, each in found.items()
        if each.value or name not in _ABSENT_IF_EMPTY
    }


def _refuse_cut_off(path: Path, name: str, value: str) -> None:
    if "-----BEGIN" in value and "-----END" not in value:
        raise ConfigError(f"{path}: {name}: the PEM text ends with its first line; end each line but the last with \\")
    if value and f"{_KAFKA}{name}" == JAAS:
        try:
            parse_jaas(Secret(value))
        except SecretError as failure:
            raise SecretError(f"{path}: {str(failure).removeprefix(_KAFKA)}") from None


def _property_entry(path: Path, name: str, found: Property, others: Collection[str]) -> Entry:
    where = f"{path}: {name}"
    secret = name in SECRET_PROPERTIES
    known = name in KNOWN or name.removesuffix(".file") in SECRET_PROPERTIES or name.startswith(PROVIDERS)
    if not known and meant_by(name) in ("", *others):
        if not _FOREIGN_NAME.fullmatch(name) or found.is_lost(name):
            raise ConfigError(
                f"{path}: line {found.line} does not start with the name of a property, or continues the line before,"
                " which then must end with \\ and nothing behind it; it is not shown, as it may be secret"
            )
        return Entry(None, where, foreign=True)
    try:
        refuse_placeholder(found.value, secret_file(name) if secret else "")
    except ValueError as failure:
        raise ConfigError(f"{where}: {failure}") from None
    return Entry(PropertySecret(path, name) if secret else found.value, where, path.parent)


def from_environment(environment: Mapping[str, str]) -> Entries:
    """Read the variables that start with `KAFKA_WARDEN_`. `KAFKA_WARDEN_KAFKA_A_B` is the Kafka property `a.b`.

    Raises:
        ConfigError: a variable is unknown.
    """
    found: Entries = {}
    for name, value in environment.items():
        if not name.startswith(PREFIX) or name in (CONFIG_VARIABLE, TOP_PASSWORD) or _LINK_VALUE.match(value):
            continue
        if name in _VARIABLES:
            found[_VARIABLES[name]] = Entry(value, name)
        elif _SERVICE_LINK.fullmatch(name.removeprefix(PREFIX)):
            continue
        elif name.startswith(f"{PREFIX}KAFKA_"):
            found[_KAFKA + name.removeprefix(f"{PREFIX}KAFKA_").lower().replace("_", ".")] = Entry(value, name)
        else:
            raise ConfigError(
                f"{name}: unknown environment variable{did_you_mean(name, (*_VARIABLES, CONFIG_VARIABLE))}"
            )
    return found


def merge(*layers: Entries) -> Entries:
    """Merge layers. A later layer wins, also over another spelling of the same property."""
    merged: Entries = {}
    for layer in layers:
        for key in layer:
            for other in _other_spellings(key):
                if other not in layer:
                    merged.pop(other, None)
        merged |= layer
    return merged


def _other_spellings(key: str) -> tuple[str, ...]:
    if key == JMX_PASSWORD:
        return ("jmx.password_file",)
    name = key.removeprefix(_KAFKA)
    aliases = [pair for pair in ALIASES.items() if name in pair]
    return (
        *(f"{_KAFKA}{other}" for pair in aliases for other in pair if other != name),
        f"{key}.file",
        key.removesuffix(".file"),
    )
