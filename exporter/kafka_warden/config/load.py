"""Loads the configuration: flags over environment over file over defaults, checked and typed."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from kafka_warden.clients.kafka.librdkafka import refusal
from kafka_warden.clients.kafka.properties import translate
from kafka_warden.clients.kafka.property_names import SECRET_PROPERTIES, canonical, check_name, marked, secret_file
from kafka_warden.clients.kafka.tls import HOST_NAMES
from kafka_warden.config import values
from kafka_warden.config.layers import (
    CONFIG_VARIABLE,
    JMX_PASSWORD,
    PROPERTIES_FILE,
    Entries,
    from_environment,
    from_file,
    from_properties_file,
    merge,
)
from kafka_warden.config.options import Entry, build, located, read_option
from kafka_warden.config.types import FLAGS, HTTP, OPTIONS, Config, KafkaConfig
from kafka_warden.errors import ConfigError, SecretError
from kafka_warden.settings.java_properties import PropertySecret
from kafka_warden.settings.secrets import Secret, SecretFile, SecretSource
from kafka_warden.settings.strict import read_file, reason, refuse_placeholder

_KAFKA_KEY: Final = re.compile(r"kafka\.([^:]+): (.*)", re.DOTALL)
_SHORTEST_INTERVAL: Final = 0.1
_HOUR: Final = 3600.0
_DEFAULT_DEADLINE: Final = 5.0
"""Seconds; half the interval where that is less."""


def config_file(flag: Path | None, environment: Mapping[str, str]) -> Path | None:
    """Return the configuration file that the command line names; without one, that of the environment."""
    named = environment.get(CONFIG_VARIABLE)
    return flag or (Path(named) if named else None)


def load(flags: Mapping[str, str], environment: Mapping[str, str], file: Path | None = None) -> Config:
    """Read the whole configuration. Every file with a secret or certificate is read once, to check it.

    `flags` are values by the name of the flag, such as `--listen`; without `file` the environment may name one.

    Raises:
        ConfigError: one line that names the file, variable or flag, the key, and what is expected.
    """
    file = config_file(file, environment)
    of_flags = {FLAGS[flag]: Entry(value, flag) for flag, value in flags.items()}
    layers = (from_file(file) if file else {}, from_environment(environment), of_flags)
    entries = merge(*layers)
    if (named := entries.get(PROPERTIES_FILE)) is not None:
        entries = merge(from_properties_file(named), *layers)
        del entries[PROPERTIES_FILE]
    read = {option.key: read_option(option, entries.get(option.key)) for option in OPTIONS}
    _check_poll(read, entries)
    _check_history(read, entries)
    _check_jmx_source(read, entries)
    _check_jmx_tls(read, entries)
    kafka = _kafka(entries, file)
    if read["history.kafka.topic"] is not None and (why := refusal(kafka.settings)) is not None:
        raise ConfigError(f"{_where(entries, 'history.kafka.topic')}: {why}")
    added = {
        "kafka": kafka,
        "jmx.password": _jmx_password(read, entries),
        "explicit": frozenset(entries),
    }
    return build(Config, read | added)


def _check_poll(read: dict[str, Any], entries: Entries) -> None:
    interval, deadline = read["poll.interval"], read["poll.deadline"]
    if interval < _SHORTEST_INTERVAL:
        raise ConfigError(f"{_where(entries, 'poll.interval')}: expected 100ms or more, got {interval * 1000:g}ms")
    if interval > _HOUR:
        raise ConfigError(f"{_where(entries, 'poll.interval')}: expected 1h or less, got {interval:g}s")
    if deadline is None:
        deadline = read["poll.deadline"] = min(_DEFAULT_DEADLINE, interval / 2)
    if deadline >= interval:
        raise ConfigError(
            f"{_where(entries, 'poll.deadline')}: expected less than poll.interval ({interval:g}s), got {deadline:g}s"
        )


def _check_history(read: Mapping[str, Any], entries: Entries) -> None:
    roll, retention = read["history.parquet.roll"], read["history.parquet.retention"]
    if roll > _HOUR:
        raise ConfigError(f"{_where(entries, 'history.parquet.roll')}: expected 1h or less, got {roll:g}s")
    if retention < _HOUR:
        where = _where(entries, "history.parquet.retention")
        raise ConfigError(f"{where}: expected 1h or more, got {retention:g}s")


def _jmx_password(read: Mapping[str, Any], entries: Entries) -> SecretSource | None:
    entry = entries.get(JMX_PASSWORD)
    file = entries.get("jmx.password_file")
    if entry and file:
        raise ConfigError(f"{entry.where}: set either this or jmx.password_file, not both")
    found = entry or file
    if found is None:
        if read["jmx.user"] is not None:
            raise ConfigError(f"{_where(entries, 'jmx.user')}: needs jmx.password_file, or KAFKA_WARDEN_JMX_PASSWORD")
        return None
    if read["jmx.user"] is None:
        raise ConfigError(f"{found.where}: needs jmx.user")
    return _secret(found, None if found is file else "jmx.password_file")


def _check_jmx_tls(read: Mapping[str, Any], entries: Entries) -> None:
    ca, cert, key = (read[f"jmx.tls.{name}_file"] for name in ("ca", "cert", "key"))
    first = next((option for option in entries if option.startswith("jmx.tls.")), None)
    if first is not None and (ca is None or (cert is None) != (key is None)):
        missing = "ca_file" if ca is None else "cert_file" if cert is None else "key_file"
        raise ConfigError(f"{_where(entries, first)}: needs jmx.tls.{missing}")
    for name, path in (("ca", ca), ("cert", cert), ("key", key)):
        _check_readable(path, _where(entries, f"jmx.tls.{name}_file"))


def _check_jmx_source(read: Mapping[str, Any], entries: Entries) -> None:
    source = read["jmx.source"]
    unused = "jmx.tls.registry" if source == HTTP else "jmx.path"
    if unused in entries:
        raise ConfigError(f"{_where(entries, unused)}: no effect with jmx.source {source}; remove it")
    if source == HTTP and not all(map(str.isdecimal, read["jmx.controllers"])):
        # Which one is active now, beans of a minute ago do not say.
        where = _where(entries, "jmx.controllers")
        raise ConfigError(f"{where}: jmx.source http needs their ids, such as {{101: 'host:9404'}}")


def _check_readable(path: Path | None, where: str) -> None:
    try:
        if path is not None:
            read_file(path)
    except (OSError, ValueError) as failure:
        raise ConfigError(f"{where}: cannot read {str(path)!r}: {reason(failure)}") from None


def _kafka(entries: Entries, file: Path | None) -> KafkaConfig:
    properties: dict[str, str] = {}
    secrets: dict[str, SecretSource] = {}
    of_kafka = {key.removeprefix("kafka."): entry for key, entry in entries.items() if key.startswith("kafka.")}
    for name, entry in of_kafka.items():
        secret = name.removesuffix(".file")
        if entry.foreign:
            continue
        if secret in SECRET_PROPERTIES:
            if secret in secrets:
                raise ConfigError(f"{entry.where}: set either {secret} or {secret}.file, not both")
            secrets[secret] = _secret(entry, secret_file(name) if name == secret else None)
        else:
            properties[name] = _property(name, entry)
    try:
        settings = translate(properties, secrets)
    except ConfigError as failure:
        raise ConfigError(_placed(str(failure), of_kafka, file)) from None
    foreign = (name for name, entry in of_kafka.items() if entry.foreign)
    return KafkaConfig(properties, secrets, replace(settings, ignored=tuple(sorted((*settings.ignored, *foreign)))))


def _property(name: str, entry: Entry) -> str:
    if isinstance(entry.value, Mapping):
        first = next(iter(entry.value), "...")
        raise ConfigError(f"{entry.where}: write each property on a line of its own, such as {name}.{first}")
    if name == HOST_NAMES and (entry.value is None or (entry.value == "" and entry.folder is None)):
        # Compose sets a variable that has no value to nothing.
        raise ConfigError(f"{entry.where}: {_EMPTY}")
    try:
        check_name(name)
        value = values.property_value(entry.value)
    except ConfigError as failure:
        raise ConfigError(_placed(str(failure), {name: entry}, None)) from None
    except ValueError as failure:
        raise ConfigError(f"{entry.where}: {failure}") from None
    return str(located(value, entry)) if name in marked("path") and value != "probe" else value


_EMPTY: Final = "expected https or none, which stops the check of host names, got nothing"


def _secret(entry: Entry, file_option: str | None) -> SecretSource:
    """Read a secret. `file_option`: the option for a file that has it, `None` if this is that option."""
    given: object = entry.value
    in_file = file_option is None
    if isinstance(given, PropertySecret):
        return given
    if not isinstance(given, str) or not given.strip():
        raise ConfigError(f"{entry.where}: expected {'the path of a file' if in_file else 'a secret'}")
    source = SecretFile(located(given, entry)) if in_file else Secret(given)
    try:
        refuse_placeholder(given, file_option or "")
        source.read()
    except (SecretError, ValueError) as failure:
        raise SecretError(f"{entry.where}: {failure}") from None
    return source


def _placed(message: str, entries: Entries, file: Path | None) -> str:
    """Replace the property at the start of a message by the place where it was set."""
    if found := _KAFKA_KEY.fullmatch(message):
        name, rest = found.groups()
        named = canonical(name.removesuffix(".file"))
        same = [each for each in entries if canonical(each.removesuffix(".file")) == named]
        if same:
            return f"{entries[name if name in same else same[0]].where}: {rest}"
    return f"{file}: {message}" if file else message


def _where(entries: Entries, key: str) -> str:
    return entries[key].where if key in entries else key
