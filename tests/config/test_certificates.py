"""How long certificates are valid, as their files show it."""

import datetime as dt
import ssl
from pathlib import Path

import pytest
from cryptography import x509

from kafka_warden.settings.tls import Validity, validity
from sandbox.certificates import Authority, Identity
from tests.building import known

DAMAGED = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
MONTH_99 = ssl.DER_cert_to_PEM_cert(b"0\x1e\x17\r240101000000Z\x17\r259901000000Z")


def issue(folder: Path, years: int) -> Identity:
    return Authority(folder, "authority").issue(f"{years}", lifetime=dt.timedelta(days=365 * years))


def valid(pair: Identity) -> Validity:
    read = x509.load_pem_x509_certificate(pair.certificate.read_bytes())
    return Validity(read.not_valid_before_utc.timestamp(), read.not_valid_after_utc.timestamp())


@pytest.mark.parametrize("years", [1, 20, 50])
def test_each_form_of_a_time_is_read(tmp_path: Path, years: int) -> None:
    pair = issue(tmp_path, years)
    found = known(validity(pair.certificate))
    assert found == validity(pair.key.read_text() + pair.certificate.read_text()) == valid(pair)
    # `issue` dates a certificate back a little.
    assert found.lifetime == pytest.approx(years * 365 * 86_400, rel=0.01)


def test_years_of_two_digits_are_1950_to_2049() -> None:
    """As in a root certificate of 1998."""
    pem = ssl.DER_cert_to_PEM_cert(b"0\x1e\x17\r500101000000Z\x17\r491231235959Z")
    begin, end = (dt.datetime(year, 1, 1, tzinfo=dt.UTC).timestamp() for year in (1950, 2050))
    assert validity(pem) == (begin, end - 1)


def test_the_first_to_expire_counts(tmp_path: Path) -> None:
    pairs = [issue(tmp_path, years) for years in (14, 9, 34)]
    assert validity("".join(pair.certificate.read_text() for pair in pairs)) == valid(pairs[1])


def test_without_a_certificate_the_time_is_unknown(tmp_path: Path) -> None:
    for source in (tmp_path / "missing.pem", issue(tmp_path, 1).key, None, "", DAMAGED, MONTH_99):
        assert validity(source) is None
