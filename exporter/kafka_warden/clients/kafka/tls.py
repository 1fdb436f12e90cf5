"""TLS of a Kafka client: the `ssl.` properties, in librdkafka's spelling or Java's, as files, and these as a context.

A context is made again when a file changes.
"""

import os
import re
import ssl
import textwrap
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kafka_warden.clients.kafka.key_stores import KeyStore, is_pem
from kafka_warden.clients.kafka.property_names import checked
from kafka_warden.errors import ConfigError, TlsError
from kafka_warden.settings.secrets import FileWatch, Secret, SecretSource, file_status
from kafka_warden.settings.strict import boolean, read_file, reason, special_file
from kafka_warden.settings.tls import EXAMPLES, Validity, openssl_ciphers, validity

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


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """What a TLS client needs. `None` is the system's authorities, or no client certificate.

    Paths name PEM files. `ca` and `certificate` may be stores of Java, too: the content decides, each time.
    """

    ca: Path | None = None
    ca_text: str | None = None
    certificate: Path | None = None
    key: Path | None = None
    """`None` where the certificate's file holds the key, too."""
    identity: tuple[str, Secret] | None = None
    """Certificate chain and key as PEM text, in place of `certificate` and `key`."""
    key_password: SecretSource | None = None
    ca_password: SecretSource | None = None
    certificate_password: SecretSource | None = None
    revoked: Path | None = None
    verify: bool = True
    verify_hostname: bool = True
    ciphers: str = ""
    least: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    most: ssl.TLSVersion = ssl.TLSVersion.MAXIMUM_SUPPORTED

    def paths(self) -> tuple[Path, ...]:
        """Every file whose change asks for a new context."""
        files = tuple(path for path in (self.ca, self.certificate, self.key, self.revoked) if path is not None)
        passwords = (self.ca_password, self.certificate_password, self.key_password)
        return files + tuple(path for source in passwords if source is not None for path in source.paths())

    def key_store(self) -> KeyStore | None:
        """Return the store with the client's certificate, if it is in one."""
        return _store("ssl.keystore", self.certificate, self.certificate_password, self.key_password)

    def pem_authorities(self) -> str | None:
        """Return the authorities as PEM text; `None` where they are in a PEM file, or the system's.

        Raises:
            ConfigError: their store cannot be used.
        """
        if self.ca_text is not None:
            return self.ca_text
        store = _store("ssl.truststore", self.ca, self.ca_password)
        return store.trusted() if store is not None else None

    def pem_identity(self) -> tuple[str, Secret] | None:
        """Return certificate chain and key as PEM text; `None` where they are in PEM files, or there are none.

        Raises:
            ConfigError: their store cannot be used.
        """
        store = self.key_store()
        return self.identity if store is None else store.identity()

    def context(self) -> ssl.SSLContext:
        """Make the context.

        Raises:
            ConfigError: a file cannot be read or is not what it should be.
        """
        if (special := special_file(self.paths())) is not None:
            raise ConfigError(f"{special}: not a regular file")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version, context.maximum_version = self.least, self.most
        context.check_hostname = self.verify and self.verify_hostname
        context.verify_mode = ssl.CERT_REQUIRED if self.verify else ssl.CERT_NONE
        if self.ciphers:
            context.set_ciphers(self.ciphers)
        self._load_authorities(context)
        self._load_revoked(context)
        self._load_certificate(context)
        return context

    def _load_authorities(self, context: ssl.SSLContext) -> None:
        text = self.pem_authorities()
        try:
            if text is not None:
                context.load_verify_locations(cadata=text)
                if self.ca_text is None:
                    # As in Java: whatever is in the store is trusted, also a server's own certificate.
                    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
            elif self.ca is None:
                context.load_default_certs()
            elif self.ca.is_dir():
                context.load_verify_locations(capath=self.ca)
            else:
                context.load_verify_locations(cafile=self.ca)
        except (OSError, ValueError) as failure:
            raise _unusable("certificate authorities", self.ca or "kafka: the given text", failure) from None

    def _load_revoked(self, context: ssl.SSLContext) -> None:
        if self.revoked is None:
            return
        try:
            context.load_verify_locations(cafile=self.revoked)
        except (OSError, ValueError) as failure:
            raise _unusable("revocation list", self.revoked, failure) from None
        context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF

    def _load_certificate(self, context: ssl.SSLContext) -> None:
        if self.certificate is None and self.identity is None:
            return
        pem = self.pem_identity()
        password = self.key_password.read().reveal() if self.key_password else ""
        try:
            # Always with a password: without one OpenSSL asks for it on the terminal and waits.
            if pem is not None:
                _load_pem(context, *pem, password)
            elif self.certificate is not None:
                context.load_cert_chain(self.certificate, self.key, password=lambda: password)
        except (OSError, ValueError) as failure:
            where = self.key or self.certificate or "kafka: the given text"
            raise _unusable("certificate and key", where, failure) from None


def _store(
    name: str, path: Path | None, password: SecretSource | None, key_password: SecretSource | None = None
) -> KeyStore | None:
    """Return the store at a path, `None` for PEM text. What cannot be read is left to OpenSSL, which names it."""
    try:
        pem = path is None or path.is_dir() or is_pem(read_file(path))
    except OSError:
        return None
    except ValueError:  # Too large: the store says so.
        pem = False
    return None if pem or path is None else KeyStore(name, path, password, key_password)


def _load_pem(context: ssl.SSLContext, chain: str, key: Secret, password: str) -> None:
    """Load PEM text, which Python's ssl takes from a file only: here from one in memory, which has no name."""
    file = os.memfd_create("certificate")
    with os.fdopen(file, "wb") as memory:
        memory.write(f"{chain}\n{key.reveal()}".encode())
        memory.flush()
        context.load_cert_chain(f"/proc/self/fd/{file}", password=lambda: password)


def _unusable(what: str, where: Path | str, failure: Exception) -> ConfigError:
    if isinstance(failure, ssl.SSLError):
        return ConfigError(f"{where}: no usable {what} in it ({failure.reason or 'not PEM'})")
    return ConfigError(f"{where}: cannot read the {what}: {reason(failure)}")


class TlsClient:
    """The context of `files` as they are now."""

    def __init__(self, files: TlsFiles) -> None:
        self.files = files
        self._lock = threading.Lock()
        self._watch = FileWatch(files.paths())
        self._context: ssl.SSLContext | None = files.context()
        self._validity: tuple[object, Validity | None] | None = None

    def context(self) -> ssl.SSLContext:
        """Return the context for a new connection.

        Raises:
            TlsError: a file changed and cannot be used. It is read again for every connection until it can be.
        """
        with self._lock:
            if self._watch.changed() or self._context is None:
                self._context = None
                try:
                    self._context = self.files.context()
                except ConfigError as failure:
                    raise TlsError(f"the TLS files changed and cannot be used: {failure}") from None
            return self._context

    def validity(self) -> Validity | None:
        """Return the validity of the client's certificate; `None` without one, or while it is unusable."""
        seen = tuple(map(file_status, self.files.paths()))
        if self._validity is None or self._validity[0] != seen:
            try:
                own = self.files.pem_identity()
                found = validity(self.files.certificate if own is None else own[0])
            except ConfigError:
                found = None
            self._validity = seen, found
        return self._validity[1]


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
