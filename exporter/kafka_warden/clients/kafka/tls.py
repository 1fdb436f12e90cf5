"""The TLS side of Kafka client properties: files in, one `ssl.SSLContext` out, a new one when a file changes."""

import os
import ssl
import threading
from dataclasses import dataclass
from pathlib import Path

from kafka_warden.clients.kafka.key_stores import KeyStore, is_pem
from kafka_warden.errors import ConfigError, TlsError
from kafka_warden.settings.secrets import FileWatch, Secret, SecretSource, file_status
from kafka_warden.settings.strict import read_file, reason, special_file
from kafka_warden.settings.tls import Validity, validity


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

    def trust_store(self) -> KeyStore | None:
        """Return the store with the authorities, if they are in one."""
        return _store("ssl.truststore", self.ca, self.ca_password) if self.ca_text is None else None

    def key_store(self) -> KeyStore | None:
        """Return the store with the client's certificate, if it is in one."""
        return _store("ssl.keystore", self.certificate, self.certificate_password, self.key_password)

    def pem_authorities(self) -> str | None:
        """Return the authorities as PEM text; `None` where they are in a PEM file, or the system's.

        Raises:
            ConfigError: their store cannot be used.
        """
        store = self.trust_store()
        return self.ca_text if store is None else store.trusted()

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
            raise ConfigError(f"kafka: {special}: not a regular file")
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
        store = self.trust_store()
        try:
            if store is not None:
                context.load_verify_locations(cadata=store.trusted())
                # As in Java: whatever is in the store is trusted, also a server's own certificate.
                context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
            elif self.ca_text is not None:
                context.load_verify_locations(cadata=self.ca_text)
            elif self.ca is None:
                context.load_default_certs()
            elif self.ca.is_dir():
                context.load_verify_locations(capath=self.ca)
            else:
                context.load_verify_locations(cafile=self.ca)
        except (OSError, ValueError) as failure:
            raise _unusable("certificate authorities", self.ca or "the given text", failure) from None

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
            where = self.key or self.certificate or "the given text"
            raise _unusable("certificate and key", where, failure) from None


def _store(
    name: str, path: Path | None, password: SecretSource | None, key_password: SecretSource | None = None
) -> KeyStore | None:
    """Return the store at a path, `None` for PEM text. What cannot be read is left to OpenSSL, which names it."""
    try:
        pem = path is None or path.is_dir() or is_pem(read_file(path))
    except OSError:
        return None
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
        return ConfigError(f"kafka: {where}: no usable {what} in it ({failure.reason or 'not PEM'})")
    return ConfigError(f"kafka: {where}: cannot read the {what}: {reason(failure)}")


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
