"""Java's stores of keys and certificates, PKCS12 and JKS, as PEM text.

JKS is older than PKCS12, and Java still reads and writes it. Described by `sun.security.provider.JavaKeyStore` and
`KeyProtector` of OpenJDK: entries, then a SHA-1 of password and entries. A key is hidden by a stream of SHA-1 of
password and salt. Read here, since a JVM for it would take a second, a temporary file and another process that knows
the passwords.
"""

import base64
import hashlib
import hmac
import io
import ssl
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kafka_warden.errors import ConfigError, KeyStoreError
from kafka_warden.settings.secrets import Secret, SecretSource
from kafka_warden.settings.strict import read_file, reason

MAGIC: Final = b"\xfe\xed\xfe\xed"
_VERSIONS: Final = (1, 2)
_KEY, _CERTIFICATE = 1, 2
_WHITENING: Final = b"Mighty Aphrodite"
_DIGEST: Final = 20
"""Bytes of a SHA-1, also of the salt."""


@dataclass(frozen=True, slots=True)
class Entries:
    """What a store has: certificates, DER, and a private key, PKCS #8 and DER, with its certificate chain."""

    trusted: tuple[bytes, ...]
    key: bytes | None = field(default=None, repr=False)
    chain: tuple[bytes, ...] = ()


def read_jks(content: bytes, name: str, password: str | None, key_password: str | None) -> Entries:
    """Read all entries. Without a password nothing proves that the file is whole, as in Java. `name`: for messages.

    Raises:
        KeyStoreError: a password is wrong or missing, or the file is damaged or has several keys.
    """
    body, digest = content[:-_DIGEST], content[-_DIGEST:]
    if password is not None and not hmac.compare_digest(_sha1(_utf16(password), _WHITENING, body), digest):
        raise KeyStoreError(f"{name}.password is wrong, or the file is damaged")
    try:
        trusted, keys = _entries(io.BytesIO(body))
    except (struct.error, UnicodeDecodeError, ValueError):
        raise KeyStoreError("the file is damaged") from None
    if len(keys) > 1:
        raise KeyStoreError(f"it has {len(keys)} private keys; keep only that of this client (keytool -delete -alias)")
    for protected, chain in keys:
        chosen = key_password or password
        if chosen is None:
            raise KeyStoreError(f"{name}.password is missing: the key needs one")
        return Entries(trusted, _unprotect(protected, chosen), chain)
    return Entries(trusted)


def _number(store: io.BytesIO, kind: str) -> int:
    """Read a big-endian number of a `struct` type."""
    (value,) = struct.unpack(f">{kind}", store.read(struct.calcsize(kind)))
    return int(value)


def _block(store: io.BytesIO, kind: str) -> bytes:
    """Read bytes, with their length before them."""
    block = store.read(length := _number(store, kind))
    if len(block) < length:
        raise ValueError("cut off")
    return block


def _entries(store: io.BytesIO) -> tuple[tuple[bytes, ...], list[tuple[bytes, tuple[bytes, ...]]]]:
    """Return the trusted certificates, and protected keys with their chains."""
    trusted: list[bytes] = []
    keys: list[tuple[bytes, tuple[bytes, ...]]] = []
    _number(store, "I")  # the magic number
    version = _number(store, "I")
    if version not in _VERSIONS:
        raise ValueError("unknown version")
    for _ in range(_number(store, "I")):
        kind = _number(store, "I")
        _block(store, "H")  # the alias
        _number(store, "Q")  # when it was made
        if kind == _KEY:
            protected = _block(store, "I")
            keys.append((protected, tuple(_certificate(store, version) for _ in range(_number(store, "I")))))
        elif kind == _CERTIFICATE:
            trusted.append(_certificate(store, version))
        else:
            raise ValueError("unknown entry")
    return tuple(trusted), keys


def _certificate(store: io.BytesIO, version: int) -> bytes:
    if version > _VERSIONS[0]:
        _block(store, "H")  # its type, X.509
    return _block(store, "I")


def _unprotect(protected: bytes, password: str) -> bytes:
    """Return the PKCS #8 key, DER, of an EncryptedPrivateKeyInfo: an algorithm, then salt, hidden key and checksum."""
    hidden = _last_octets(protected)
    salt, key, checksum = hidden[:_DIGEST], hidden[_DIGEST:-_DIGEST], hidden[-_DIGEST:]
    secret, block, stream = _utf16(password), salt, b""
    while len(stream) < len(key):
        block = _sha1(secret, block)
        stream += block
    plain = bytes(left ^ right for left, right in zip(key, stream, strict=False))
    if not hmac.compare_digest(_sha1(secret, plain), checksum):
        raise KeyStoreError("ssl.key.password is wrong, or missing where it is not that of the store")
    return plain


def _last_octets(der: bytes) -> bytes:
    """Return the content of the OCTET STRING that ends a SEQUENCE of it and an algorithm, which is always the same."""
    start, _ = _content(der, 0)
    _, octets = _content(der, start)
    start, end = _content(der, octets)
    return der[start:end]


def _content(der: bytes, at: int) -> tuple[int, int]:
    """Return where the content of the DER value at this place starts and ends."""
    try:
        length, start = der[at + 1], at + 2
        if length & 0x80:
            start += length & 0x7F
            length = int.from_bytes(der[at + 2 : start])
    except IndexError:
        raise KeyStoreError("the file is damaged") from None
    return start, start + length


def _utf16(password: str) -> bytes:
    return password.encode("utf-16-be")


def _sha1(*parts: bytes) -> bytes:
    return hashlib.sha1(b"".join(parts), usedforsecurity=False).digest()


_PEM_MARK: Final = b"-----BEGIN"
_PKCS12_START: Final = b"\x30"
"""Of a DER sequence."""


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
        key = f"-----BEGIN PRIVATE KEY-----\n{base64.encodebytes(entries.key).decode()}-----END PRIVATE KEY-----\n"
        return _pem(entries.chain), Secret(key)

    def _read(self) -> Entries:
        passwords = [source.read() if source else None for source in (self.password, self.key_password)]
        store, key = (secret.reveal() if secret else None for secret in passwords)
        try:
            content = read_file(self.path)
            if content.startswith(MAGIC):
                return read_jks(content, self.name, store, key)
            if content.startswith(_PKCS12_START):
                return _read_pkcs12(content, self.name, store)
        except KeyStoreError as failure:
            raise self._unusable(str(failure)) from None
        except (OSError, ValueError) as failure:
            raise self._unusable(f"cannot read it: {reason(failure)}") from None
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
