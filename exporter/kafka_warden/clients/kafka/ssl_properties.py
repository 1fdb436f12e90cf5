"""The `ssl.` properties of a Kafka client, in librdkafka's spelling or Java's, as `TlsFiles`."""

import re
import ssl
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeVar

from kafka_warden.clients.kafka.key_stores import is_pem
from kafka_warden.clients.kafka.tls import TlsFiles
from kafka_warden.errors import ConfigError
from kafka_warden.settings.secrets import Secret, SecretSource
from kafka_warden.settings.strict import boolean, read_file, reason
from kafka_warden.settings.tls import EXAMPLES, openssl_ciphers

T = TypeVar("T")

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_OLD_VERSIONS: Final = ("SSLv3", "TLSv1", "TLSv1.1")
CIPHERS: Final = "ssl.cipher.suites"
HOST_NAMES: Final = "ssl.endpoint.identification.algorithm"
_STORES: Final = ("ssl.truststore", "ssl.keystore")
_FILES: Final = ("ssl.certificate.location", "ssl.key.location", "ssl.keystore.location")
_PAIRS: Final = (("ssl.certificate.pem", "ssl.key.pem"), ("ssl.keystore.certificate.chain", "ssl.keystore.key"))
_PEM_BLOCK: Final = re.compile(r"(-----BEGIN [A-Z0-9 ]+-----)([A-Za-z0-9+/=\s]+)(-----END [A-Z0-9 ]+-----)")
_PEM_LINE: Final = 64
_TYPES: Final = ("PEM", "PKCS12", "JKS")


def tls_files(properties: Mapping[str, str], secrets: Mapping[str, SecretSource]) -> TlsFiles:
    """Translate the `ssl.` properties.

    Raises:
        ConfigError: a value cannot be used; the message names the property.
    """
    identity = _identity(properties, secrets)
    for store in _STORES:
        _check_store(store, properties)
    certificate = _path(properties, "ssl.certificate.location", "ssl.keystore.location")
    key = _path(properties, "ssl.key.location")
    if key is not None and certificate is None:
        raise ConfigError(
            "kafka.ssl.key.location: a key needs its certificate; set kafka.ssl.certificate.location, too"
        )
    ca_text = properties.get("ssl.ca.pem", properties.get("ssl.truststore.certificates"))
    key_password = secrets.get("ssl.key.password")
    least, most = checked(properties, "ssl.enabled.protocols", _enabled_versions, "TLSv1.2,TLSv1.3")
    return TlsFiles(
        ca=_path(properties, "ssl.ca.location", "ssl.truststore.location"),
        ca_text=None if ca_text is None else _lines(ca_text),
        certificate=certificate,
        key=key,
        identity=identity,
        # As old as the key: a file with both may change.
        key_password=key_password.read() if identity and key_password else key_password,
        ca_password=secrets.get("ssl.truststore.password"),
        certificate_password=secrets.get("ssl.keystore.password"),
        revoked=_path(properties, "ssl.crl.location"),
        verify=checked(properties, "enable.ssl.certificate.verification", boolean, "true"),
        verify_hostname=checked(properties, HOST_NAMES, _verifies_hostname, "https"),
        ciphers=checked(properties, CIPHERS, _ciphers, ""),
        least=least,
        most=most,
    )


def checked(properties: Mapping[str, str], name: str, read: Callable[[str], T], default: str) -> T:
    """Read one property; `read` raises a ValueError that says what it expected.

    Raises:
        ConfigError: the same, with the name of the property in front.
    """
    try:
        return read(properties.get(name, default).strip())
    except ValueError as failure:
        raise ConfigError(f"kafka.{name}: {failure}") from None


def _path(properties: Mapping[str, str], *names: str) -> Path | None:
    # librdkafka's `probe` looks for the system's authorities, which is the default here.
    given = [properties[name] for name in names if properties.get(name, "probe") != "probe"]
    return Path(given[0]) if given else None


def _identity(properties: Mapping[str, str], secrets: Mapping[str, SecretSource]) -> tuple[str, Secret] | None:
    """Return certificate chain and key that are given as PEM text."""
    given = {*properties, *secrets}
    for pair in _PAIRS:
        if given.isdisjoint(pair):
            continue
        if missing := [name for name in pair if name not in given]:
            name = next(name for name in pair if name in given)
            raise ConfigError(f"kafka.{name}: a certificate and its key belong together; set kafka.{missing[0]}, too")
        chain, key = pair
        others = (*_FILES, *(name for names in _PAIRS if names != pair for name in names))
        if clash := [name for name in others if name in given]:
            raise ConfigError(f"kafka.{chain}: set either this or {clash[0]}, not both")
        return _lines(properties[chain]), Secret(_lines(secrets[key].read().reveal()))
    return None


def _lines(text: str) -> str:
    """Return PEM text with its lines, which a properties file joins where it continues them."""
    return _PEM_BLOCK.sub(
        lambda found: "\n".join((found[1], *textwrap.wrap("".join(found[2].split()), _PEM_LINE), found[3], "")), text
    )


def _check_store(store: str, properties: Mapping[str, str]) -> None:
    """Compare a store with its type. Java reads PKCS12 and JKS with either type; so its default, JKS, fits both."""
    kind, location = properties.get(f"{store}.type"), properties.get(f"{store}.location")
    if kind is not None and kind.upper() not in _TYPES:
        raise ConfigError(f"kafka.{store}.type: expected {', '.join(_TYPES[:-1])} or {_TYPES[-1]}, got {kind!r}")
    if location is None:
        return
    try:
        pem = is_pem(read_file(Path(location)))
    except (OSError, ValueError) as failure:
        raise ConfigError(f"kafka.{store}.location: cannot read {location!r}: {reason(failure)}") from None
    if kind is not None and pem != (kind.upper() == _TYPES[0]):
        raise ConfigError(
            f"kafka.{store}.location: {location!r} is{'' if pem else ' not'} PEM, and {store}.type is {kind}"
        )


def _verifies_hostname(text: str) -> bool:
    if text.lower() not in ("", "none", "https"):
        raise ValueError(f"expected https or none, got {text!r}")
    return text.lower() == "https"


def unknown_ciphers(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return the cipher suites that are left out of the list."""
    return openssl_ciphers(_names(properties.get(CIPHERS, "")))[1]


def _ciphers(text: str) -> str:
    names = _names(text)
    suites, unknown = openssl_ciphers(names)
    if names and len(unknown) == len(names):
        raise ValueError(f"unknown or unsafe cipher suites only: {', '.join(unknown)}; expected names as {EXAMPLES}")
    return suites


def _names(text: str) -> list[str]:
    return re.findall(r"[^\s,:]+", text)


def _enabled_versions(text: str) -> tuple[ssl.TLSVersion, ssl.TLSVersion]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    usable = [_VERSIONS[name] for name in names if name in _VERSIONS]
    if not usable or any(name not in (*_VERSIONS, *_OLD_VERSIONS) for name in names):
        raise ValueError(f"expected TLSv1.2, TLSv1.3 or both, got {text!r}")
    return min(usable), max(usable)
