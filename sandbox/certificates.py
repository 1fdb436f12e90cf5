"""A certificate authority of one's own, and PEM files that Java, OpenSSL and librdkafka all read."""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from sandbox.passwords import write_secret
from sandbox.ports import LOOPBACK

DAY = dt.timedelta(days=1)
HERE = (LOOPBACK, "localhost")


@dataclass(frozen=True)
class Identity:
    """A key and its certificate, as files.

    Attributes:
        certificate: The certificate, PEM.
        key: The private key, PEM, PKCS #8, mode 600.
        keystore: Both in one file, as Kafka's PEM key stores want them, mode 600.
        serial: The certificate's number.
    """

    certificate: Path
    key: Path
    keystore: Path
    serial: int


class Authority:
    """Issues certificates; `certificate` is the file that clients trust."""

    def __init__(self, directory: Path, name: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        certificate = (
            _builder(self._name, self._name, self._key.public_key(), DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
        )
        self.certificate = directory / f"{name}.pem"
        self.certificate.write_bytes(_pem(certificate.sign(self._key, hashes.SHA256())))

    def issue(
        self,
        file_name: str,
        common_name: str | None = None,
        hosts: Sequence[str] = (),
        lifetime: dt.timedelta = DAY,
        password: str | None = None,
    ) -> Identity:
        """Issue a certificate for `common_name`, which Kafka takes as the principal.

        Args:
            file_name: Stem of the three files.
            common_name: The subject's CN; by default the stem.
            hosts: Names and addresses that a server may be called by.
            lifetime: Until it expires; a negative one has expired already.
            password: What the key is encrypted with.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(common_name or file_name), self._name, key.public_key(), lifetime)
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        builder = builder.add_extension(issuer, critical=False)
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName(list(map(_host, hosts))), critical=False)
        signed = builder.sign(self._key, hashes.SHA256())
        certificate = _pem(signed).decode("ascii")
        encryption = (
            serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        )
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption).decode()
        certificate_file, key_file, keystore = (
            self._directory / f"{file_name}.{kind}" for kind in ("pem", "key", "keystore.pem")
        )
        identity = Identity(certificate_file, key_file, keystore, signed.serial_number)
        identity.certificate.write_text(certificate, encoding="ascii")
        write_secret(identity.key, private)
        write_secret(identity.keystore, private + certificate)
        return identity

    def revoke(self, identity: Identity) -> Path:
        """Write a revocation list that names the certificate."""
        now = dt.datetime.now(dt.UTC)
        revoked = x509.RevokedCertificateBuilder().serial_number(identity.serial).revocation_date(now - DAY).build()
        issued = x509.CertificateRevocationListBuilder().issuer_name(self._name).last_update(now - DAY)
        listed = issued.next_update(now + DAY).add_revoked_certificate(revoked).sign(self._key, hashes.SHA256())
        file = self._directory / "revoked.pem"
        file.write_bytes(listed.public_bytes(serialization.Encoding.PEM))
        return file


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, lifetime: dt.timedelta
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 2 * DAY)
        .not_valid_after(now + lifetime)
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
