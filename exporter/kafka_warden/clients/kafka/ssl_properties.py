"""The `ssl.` properties of a Kafka client, in librdkafka's spelling or Java's, as `TlsFiles`."""

import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeVar

from kafka_warden.clients.kafka.key_stores import is_pem
from kafka_warden.clients.kafka.tls import TlsFiles
from kafka_warden.errors import ConfigError
from kafka_warden.settings.ciphers import openssl_ciphers
from kafka_warden.settings.secrets import SecretSource
from kafka_warden.settings.strict import read_file, reason

T = TypeVar("T")

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_OLD_VERSIONS: Final = ("SSLv3", "TLSv1", "TLSv1.1")
_STORES: Final = ("ssl.truststore", "ssl.keystore")
_NEEDS_FILES: Final = {
    "ssl.certificate.pem": "ssl.certificate.location",
    "ssl.key.pem": "ssl.key.location",
    "ssl.keystore.certificate.chain": "ssl.keystore.location",
    "ssl.keystore.key": "ssl.keystore.location",
}
_TYPES: Final = ("PEM", "PKCS12", "JKS")

SSL_EFFECTIVE: Final = frozenset(
    {
        "enable.ssl.certificate.verification",
        "ssl.ca.location",
        "ssl.ca.pem",
        "ssl.certificate.location",
        "ssl.cipher.suites",
        "ssl.crl.location",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.location",
        "ssl.key.password",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    },
)
"""The properties that have an effect here."""

PATHS: Final = (
    "https.ca.location",
    "sasl.kerberos.keytab",
    *sorted(name for name in SSL_EFFECTIVE if name.endswith(".location")),
)
"""Properties whose value is a path."""


def tls_files(properties: Mapping[str, str], secrets: Mapping[str, SecretSource]) -> TlsFiles:
    """Translate the `ssl.` properties.

    Raises:
        ConfigError: a value cannot be used; the message names the property.
    """
    _refuse_text(properties, secrets)
    for store in _STORES:
        _check_store(store, properties)
    certificate = _path(properties, "ssl.certificate.location", "ssl.keystore.location")
    key = _path(properties, "ssl.key.location")
    if key is not None and certificate is None:
        raise ConfigError(
            "kafka.ssl.key.location: a key needs its certificate; set kafka.ssl.certificate.location, too"
        )
    least, most = checked(properties, "ssl.enabled.protocols", _enabled_versions, "TLSv1.2,TLSv1.3")
    return TlsFiles(
        ca=_path(properties, "ssl.ca.location", "ssl.truststore.location"),
        ca_text=properties.get("ssl.ca.pem", properties.get("ssl.truststore.certificates")),
        certificate=certificate,
        key=key,
        key_password=secrets.get("ssl.key.password"),
        ca_password=secrets.get("ssl.truststore.password"),
        certificate_password=secrets.get("ssl.keystore.password"),
        revoked=_path(properties, "ssl.crl.location"),
        verify=checked(properties, "enable.ssl.certificate.verification", boolean, "true"),
        verify_hostname=checked(properties, "ssl.endpoint.identification.algorithm", _verifies_hostname, "https"),
        ciphers=checked(properties, "ssl.cipher.suites", _ciphers, ""),
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


def _refuse_text(properties: Mapping[str, str], secrets: Mapping[str, SecretSource]) -> None:
    for name, instead in _NEEDS_FILES.items():
        if name in properties or name in secrets:
            raise ConfigError(f"kafka.{name}: not supported; put the PEM text into a file and set kafka.{instead}")


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


def boolean(text: str) -> bool:
    """Read true or false, or raise a ValueError."""
    if text.lower() not in ("true", "false"):
        raise ValueError(f"expected true or false, got {text!r}")
    return text.lower() == "true"


def _verifies_hostname(text: str) -> bool:
    if text.lower() not in ("", "none", "https"):
        raise ValueError(f"expected https or none, got {text!r}")
    return text.lower() == "https"


def _ciphers(text: str) -> str:
    return openssl_ciphers(name.strip() for name in text.replace(":", ",").split(",") if name.strip())


def _enabled_versions(text: str) -> tuple[ssl.TLSVersion, ssl.TLSVersion]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    usable = [_VERSIONS[name] for name in names if name in _VERSIONS]
    if not usable or any(name not in (*_VERSIONS, *_OLD_VERSIONS) for name in names):
        raise ValueError(f"expected TLSv1.2, TLSv1.3 or both, got {text!r}")
    return min(usable), max(usable)
