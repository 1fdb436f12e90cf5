"""Java's stores of keys and certificates, PKCS12 and JKS, as PEM text."""

import base64
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from kafka_warden.clients.kafka.jks import MAGIC, Entries, read_jks
from kafka_warden.errors import ConfigError, KeyStoreError
from kafka_warden.settings.secrets import Secret, SecretSource
from kafka_warden.settings.strict import read_file, reason

_PEM_MARK: Final = b"-----BEGIN"
_PKCS12_START: Final = b"\x30"
"""Of a DER sequence."""
_LARGEST: Final = 16 << 20
"""Bytes. The authorities of a JDK have 160 KiB."""


@dataclass(frozen=True, slots=True)
class KeyStore:
    """A file with a store, which is read each time. `name` is its property without `.location`."""

    name: str
    path: Path
    password: SecretSource | None = None
    key_password: SecretSource | None = None

    def trusted(self) -> str:
        """Return the certificates that it trusts, as PEM text. In PKCS12 these are all that belong to no key.

        Raises:
            ConfigError: it cannot be used, or has none.
        """
        certificates = self._read().trusted
        if not certificates:
            raise self._unusable("there is no trusted certificate in it (keytool -importcert adds one)")
        return _pem(certificates)

    def identity(self) -> tuple[str, Secret]:
        """Return the certificate with its chain, and the private key without a password, both as PEM text.

        Raises:
            ConfigError: it cannot be used, or has none.
        """
        entries = self._read()
        if entries.key is None or not entries.chain:
            raise self._unusable("there is no private key with its certificate in it")
        return _pem(entries.chain), Secret(_pem_key(entries.key))

    def _read(self) -> Entries:
        passwords = [source.read() if source else None for source in (self.password, self.key_password)]
        store, key = (secret.reveal() if secret else None for secret in passwords)
        try:
            content = read_file(self.path, _LARGEST)
            if content.startswith(MAGIC):
                return read_jks(content, self.name, store, key)
            if content.startswith(_PKCS12_START):
                return _read_pkcs12(content, self.name, store)
        except OSError as failure:
            raise self._unusable(f"cannot read it: {reason(failure)}") from None
        except KeyStoreError as failure:
            raise self._unusable(str(failure)) from None
        # Without a property: `ssl.ca.location` and `https.ca.location` may name it as well.
        raise ConfigError(
            f"kafka: {str(self.path)!r}: it is neither PEM, PKCS12 nor JKS; convert it with keytool -importkeystore"
        )

    def _unusable(self, why: str) -> ConfigError:
        return ConfigError(f"kafka.{self.name}.location: {str(self.path)!r}: {why}")


def is_pem(content: bytes) -> bool:
    """Return whether a file has PEM text, and no store."""
    return _PEM_MARK in content


def _read_pkcs12(content: bytes, name: str, password: str | None) -> Entries:
    if find_spec("cryptography") is None:
        raise KeyStoreError("PKCS12 needs cryptography, which is not installed: in a checkout pip install '.[stores]'")
    # Here, since only this format needs it.
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import pkcs12  # noqa: PLC0415

    try:
        found = pkcs12.load_pkcs12(content, None if password is None else password.encode())
    except UnsupportedAlgorithm as failure:
        raise KeyStoreError(f"its encryption is not supported ({failure})") from None
    except ValueError:
        problem = "missing: set it" if password is None else "wrong"
        raise KeyStoreError(f"{name}.password is {problem}, or the file is damaged") from None
    others = {each.certificate.subject: each.certificate for each in found.additional_certs}
    encoding = serialization.Encoding.DER
    chain = [found.cert.certificate] if found.key is not None and found.cert is not None else []
    while chain and (issuer := others.pop(chain[-1].issuer, None)) is not None:
        chain.append(issuer)
    # Not by subject: an authority that was renewed has the one before beside it.
    added = (each.certificate for each in found.additional_certs)
    trusted = tuple(each.public_bytes(encoding) for each in added if each not in chain)
    if found.key is None or not chain:
        return Entries(trusted)
    key = found.key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Entries(trusted, key, tuple(each.public_bytes(encoding) for each in chain))


def _pem(certificates: Iterable[bytes]) -> str:
    return "".join(map(ssl.DER_cert_to_PEM_cert, certificates))


def _pem_key(der: bytes) -> str:
    return f"-----BEGIN PRIVATE KEY-----\n{base64.encodebytes(der).decode()}-----END PRIVATE KEY-----\n"
