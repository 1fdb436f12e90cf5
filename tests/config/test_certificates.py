"""When certificates expire, as their files show it."""

import datetime as dt
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kafka_warden.settings.certificates import expires_at

KEY = ec.generate_private_key(ec.SECP256R1())
PRIVATE = KEY.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
DAMAGED = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def pem(expires: dt.datetime) -> bytes:
    """A self-signed certificate."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    certificate = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(KEY.public_key())
    certificate = (
        certificate.serial_number(7).not_valid_before(dt.datetime(2020, 1, 1, tzinfo=dt.UTC)).not_valid_after(expires)
    )
    return certificate.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


@pytest.mark.parametrize("year", [2023, 2049, 2050, 2090])
def test_each_form_of_a_time_is_read(tmp_path: Path, year: int) -> None:
    """Of a time with two digits of a year, until 2049, and with four; a key before the certificate is skipped."""
    expires = dt.datetime(year, 2, 3, 4, 5, 6, tzinfo=dt.UTC)
    file = tmp_path / "some.pem"
    file.write_bytes(PRIVATE + pem(expires))
    assert expires_at(file) == expires.timestamp()


def test_the_first_to_expire_counts(tmp_path: Path) -> None:
    """In a file with a chain."""
    file = tmp_path / "chain.pem"
    times = [dt.datetime(year, 1, 1, tzinfo=dt.UTC) for year in (2040, 2035, 2060)]
    file.write_bytes(b"".join(map(pem, times)))
    assert expires_at(file) == times[1].timestamp()


@pytest.mark.parametrize("content", [None, b"", PRIVATE, DAMAGED])
def test_without_a_certificate_the_time_is_unknown(tmp_path: Path, content: bytes | None) -> None:
    """The file is missing, empty, a key only, or damaged."""
    file = tmp_path / "some.pem"
    if content is not None:
        file.write_bytes(content)
    assert expires_at(file) is None
