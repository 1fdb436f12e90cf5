"""The TLS side of Kafka client properties: PEM files in, one `ssl.SSLContext` out, a new one when a file changes."""

import ssl
import threading
from dataclasses import dataclass
from pathlib import Path

from kafka_warden.errors import ConfigError, TlsError
from kafka_warden.settings.secrets import FileWatch, SecretSource
from kafka_warden.settings.strict import reason, special_file


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """What a TLS client needs. Paths name PEM files; `None` is the system's authorities, or no client certificate."""

    ca: Path | None = None
    ca_text: str | None = None
    certificate: Path | None = None
    key: Path | None = None
    """`None` where the certificate's file holds the key, too."""
    key_password: SecretSource | None = None
    revoked: Path | None = None
    verify: bool = True
    verify_hostname: bool = True
    ciphers: str = ""
    least: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    most: ssl.TLSVersion = ssl.TLSVersion.MAXIMUM_SUPPORTED

    def paths(self) -> tuple[Path, ...]:
        """Every file whose change asks for a new context."""
        files = tuple(path for path in (self.ca, self.certificate, self.key, self.revoked) if path is not None)
        return files + (self.key_password.paths() if self.key_password else ())

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
        try:
            if self.ca_text is not None:
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
        if self.certificate is None:
            return
        password = self.key_password.read().reveal() if self.key_password else ""
        try:
            # Always with a password: without one OpenSSL asks for it on the terminal and waits.
            context.load_cert_chain(self.certificate, self.key, password=lambda: password)
        except (OSError, ValueError) as failure:
            raise _unusable("certificate and key", self.key or self.certificate, failure) from None


def _unusable(what: str, where: Path | str, failure: Exception) -> ConfigError:
    if isinstance(failure, ssl.SSLError):
        return ConfigError(
            f"kafka: {where}: no usable {what} in it ({failure.reason or 'not PEM'}); PEM files are read"
        )
    return ConfigError(f"kafka: {where}: cannot read the {what}: {reason(failure)}")


class TlsClient:
    """The context of `files` as they are now."""

    def __init__(self, files: TlsFiles) -> None:
        self.files = files
        self._lock = threading.Lock()
        self._watch = FileWatch(files.paths())
        self._context: ssl.SSLContext | None = files.context()

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
