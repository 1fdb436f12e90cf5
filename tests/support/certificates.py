"""Throw-away certificates for tests that talk TLS."""

import datetime as dt
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = dt.timedelta(days=1)


@dataclass(frozen=True)
class Pair:
    """PEM files of a certificate and its key."""

    certificate: Path
    key: Path
    serial: int


class Authority:
    """A certificate authority in a folder; `ca` is its certificate's file."""

    def __init__(self, folder: Path, name: str = "test authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = (
            _builder(self._name, self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.ca = folder / f"{name.replace(' ', '-')}.pem"
        self.ca.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def issue(
        self,
        file: str,
        names: Iterable[str] = ("localhost", "127.0.0.1"),
        password: str | None = None,
        lifetime: dt.timedelta = _DAY,
    ) -> Pair:
        """Write `file`.pem and `file`.key for these names and addresses; the key is encrypted with a password."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, file)]), self._name, key.public_key(), lifetime)
            .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        pair = Pair(self._folder / f"{file}.pem", self._folder / f"{file}.key", certificate.serial_number)
        pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        encryption = (
            serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        )
        pair.key.write_bytes(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption),
        )
        return pair

    def revoke(self, pair: Pair) -> Path:
        """Write a revocation list that names the certificate."""
        now = dt.datetime.now(dt.UTC)
        revoked = x509.RevokedCertificateBuilder().serial_number(pair.serial).revocation_date(now - _DAY).build()
        crl = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self._name)
            .last_update(now - _DAY)
            .next_update(now + _DAY)
            .add_revoked_certificate(revoked)
            .sign(self._key, hashes.SHA256())
        )
        file = self._folder / "revoked.pem"
        file.write_bytes(crl.public_bytes(serialization.Encoding.PEM))
        return file


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, lifetime: dt.timedelta = _DAY
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + lifetime)
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
