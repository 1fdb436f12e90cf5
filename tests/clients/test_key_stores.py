"""Stores of Java, PKCS12 and JKS, made by keytool: their content as PEM, in TLS and for librdkafka."""

import datetime as dt
import os
import shutil
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from kafka_warden.clients.kafka.key_stores import KeyStore
from kafka_warden.clients.kafka.librdkafka import librdkafka
from kafka_warden.clients.kafka.properties import KafkaClientSettings, translate
from kafka_warden.errors import ConfigError, TlsError
from kafka_warden.settings.secrets import Secret
from kafka_warden.settings.strict import LARGEST_FILE
from sandbox.certificates import Authority, Identity
from sandbox.key_stores import write_key_store, write_trust_store

PASSWORD = "canary-Tr0ub4dor"
KEY_PASSWORD = "another-canary"
KINDS = ("PKCS12", "JKS")
BASE = {"bootstrap.servers": "a:1", "security.protocol": "SSL"}


class Stores:
    """Stores of one authority and one client, by their type."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority(folder, "authority")
        # Of a chain the first to expire counts: the client's, also when the authority's was made a second before.
        self.client = self.authority.issue("client", lifetime=dt.timedelta(hours=1))
        self.trust = {kind: self.make_trust(kind, f"trust.{kind}") for kind in KINDS}
        self.keys = {kind: self.make_keys(kind, self.client, f"keys.{kind}") for kind in KINDS}

    def make_trust(self, kind: str, name: str, *options: str) -> Path:
        return write_trust_store(self.folder / name, kind, PASSWORD, self.authority.certificate, *options)

    def make_keys(self, kind: str, identity: Identity, name: str, key_password: str | None = None) -> Path:
        return write_key_store(
            self.folder / name, kind, PASSWORD, identity, key_password=key_password, chain=self.authority.certificate
        )


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(tmp_path_factory.mktemp("stores"))


def settings(
    trust: Path | None = None,
    keys: Path | None = None,
    passwords: Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
) -> KafkaClientSettings:
    return translate(*_properties(trust, keys, passwords, types))


def _properties(
    trust: Path | None,
    keys: Path | None,
    passwords: Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
) -> tuple[dict[str, str], dict[str, Secret]]:
    properties = {**BASE, **dict(types or {})}
    secrets: dict[str, str] = {}
    for store, path in (("truststore", trust), ("keystore", keys)):
        if path is not None:
            properties[f"ssl.{store}.location"] = str(path)
            secrets[f"ssl.{store}.password"] = PASSWORD
    return properties, {name: Secret(value) for name, value in (secrets | dict(passwords or {})).items()}


def problem(*arguments: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        settings(*arguments)
    assert PASSWORD not in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def subjects(pem: str) -> list[str]:
    return [each.subject.rfc4514_string() for each in x509.load_pem_x509_certificates(pem.encode())]


@pytest.mark.parametrize("kind", KINDS)
def test_the_content_of_a_store_is_that_of_the_pem_files(stores: Stores, kind: str) -> None:
    secret = Secret(PASSWORD)
    assert KeyStore("s", stores.trust[kind], secret).trusted() == stores.authority.certificate.read_text()
    chain, key = KeyStore("s", stores.keys[kind], secret).identity()
    assert chain == stores.client.certificate.read_text() + stores.authority.certificate.read_text()
    assert _number(key.reveal().encode()) == _number(stores.client.key.read_bytes())


def _number(pem: bytes) -> Any:
    key: Any = serialization.load_pem_private_key(pem, None)
    return key.private_numbers()


def test_the_chain_of_a_key_is_not_trusted(stores: Stores, tmp_path: Path) -> None:
    """Of one PKCS12 file for both: what belongs to the key is its chain, and only the rest is trusted."""
    other = Authority(tmp_path, "other")
    certificates = [
        x509.load_pem_x509_certificate(file.read_bytes())
        for file in (stores.client.certificate, stores.authority.certificate, other.certificate)
    ]
    own, *added = certificates
    key = serialization.load_pem_private_key(stores.client.key.read_bytes(), None)
    encryption = serialization.BestAvailableEncryption(PASSWORD.encode())
    file = tmp_path / "both.p12"
    file.write_bytes(pkcs12.serialize_key_and_certificates(b"own", key, own, added, encryption))  # type: ignore[arg-type]  # a key of a kind that PKCS #12 knows
    store = KeyStore("ssl.truststore", file, Secret(PASSWORD))
    assert store.trusted().count("BEGIN") == 1
    assert ssl.PEM_cert_to_DER_cert(store.trusted()) == added[1].public_bytes(serialization.Encoding.DER)
    assert store.identity()[0].count("BEGIN") == 2


@pytest.mark.parametrize("options", [("-J-Dkeystore.pkcs12.legacy",), ("-J-Dkeystore.pkcs12.macAlgorithm=NONE",)])
def test_pkcs12_of_old_and_of_careless_jdks_is_read(stores: Stores, options: tuple[str, ...]) -> None:
    """JDK 8 encrypts with RC2; a store without a checksum is possible."""
    store = stores.make_trust("PKCS12", "old.p12", *options)
    assert subjects(KeyStore("s", store, Secret(PASSWORD)).trusted()) == ["CN=authority"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("declared", [None, "PKCS12", "JKS", "jks"])
def test_the_content_decides_which_of_javas_types_it_is(stores: Stores, kind: str, declared: str | None) -> None:
    """As in Java, which reads both with either type."""
    types = {} if declared is None else {"ssl.truststore.type": declared, "ssl.keystore.type": declared}
    made = settings(stores.trust[kind], stores.keys[kind], None, types)
    context = made.ssl_context()
    assert [dict(item[0] for item in ca["subject"])["commonName"] for ca in context.get_ca_certs()] == ["authority"]
    assert made.tls is not None
    certificate = x509.load_pem_x509_certificate(stores.client.certificate.read_bytes())
    assert made.tls.validity() == tuple(
        each.timestamp() for each in (certificate.not_valid_before_utc, certificate.not_valid_after_utc)
    )


def test_a_jks_key_has_its_own_password(stores: Stores) -> None:
    keys = stores.make_keys("JKS", stores.client, "own-password.jks", KEY_PASSWORD)
    assert settings(None, keys, {"ssl.key.password": KEY_PASSWORD}).ssl_context()
    assert "ssl.key.password is wrong" in problem(None, keys, {"ssl.key.password": "wrong"})
    assert "ssl.key.password is wrong" in problem(None, keys)


@pytest.mark.parametrize("kind", KINDS)
def test_mistakes_name_the_store(stores: Stores, kind: str, tmp_path: Path) -> None:
    trust, keys = stores.trust[kind], stores.keys[kind]
    found = problem(trust, None, {"ssl.truststore.password": "wrong"})
    assert found.startswith(f"kafka.ssl.truststore.location: {str(trust)!r}: ssl.truststore.password is wrong")
    assert "ssl.keystore.password is wrong" in problem(trust, keys, {"ssl.keystore.password": "wrong"})
    assert "no private key" in problem(None, trust, {"ssl.keystore.password": PASSWORD})
    cut = tmp_path / "cut"
    cut.write_bytes(trust.read_bytes()[:-30])
    assert "the file is damaged" in problem(cut)
    assert "PEM, and ssl.truststore.type is PEM" in problem(trust, None, None, {"ssl.truststore.type": "PEM"})
    pem = stores.authority.certificate
    assert f"is PEM, and ssl.truststore.type is {kind}" in problem(pem, None, None, {"ssl.truststore.type": kind})


def test_mistakes_that_only_one_type_has(stores: Stores, tmp_path: Path) -> None:
    assert "no trusted certificate" in problem(stores.keys["JKS"])
    other = tmp_path / "other"
    other.write_bytes(b"\xce\xce\xce\xce")
    assert "neither PEM, PKCS12 nor JKS" in problem(other)
    with pytest.raises(ConfigError, match=r"^kafka: '.*other': it is neither PEM"):
        translate({**BASE, "ssl.ca.location": str(other)})
    os.truncate(other, LARGEST_FILE + 1)
    assert "cannot read" in problem(other)
    with pytest.raises(ConfigError, match=rf"cannot read it: larger than {LARGEST_FILE} bytes"):
        translate({**BASE, "ssl.ca.location": str(other)})
    properties = {**BASE, "ssl.truststore.location": str(stores.trust["PKCS12"])}
    with pytest.raises(ConfigError, match=r"ssl\.truststore\.password is missing"):
        translate(properties)
    with pytest.raises(ConfigError, match=r"no effect with security\.protocol"):
        translate({"bootstrap.servers": "a"}, {"ssl.truststore.password": Secret(PASSWORD)})


def test_a_jks_trust_store_needs_no_password(stores: Stores) -> None:
    """As in Java: it has no secret, and the password only proves that it is whole."""
    assert translate({**BASE, "ssl.truststore.location": str(stores.trust["JKS"])}).ssl_context()


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_one_line(stores: Stores, kind: str, tmp_path: Path) -> None:
    content, damaged = stores.keys[kind].read_bytes(), tmp_path / "damaged"
    for at in range(4, len(content), 31):
        for text in (content[:at], content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]):
            damaged.write_bytes(text)
            for password in (None, Secret(PASSWORD)):
                assert len(_outcome(KeyStore("s", damaged, password, Secret(PASSWORD))).splitlines()) == 1


def _outcome(store: KeyStore) -> str:
    """What is wrong with it; the first line of the key if nothing is."""
    try:
        return store.identity()[1].reveal().splitlines()[0]
    except ConfigError as failure:
        return str(failure)


def test_a_replaced_store_makes_a_new_context(stores: Stores, tmp_path: Path) -> None:
    trust = tmp_path / "trust"
    shutil.copy(stores.trust["JKS"], trust)
    made = settings(trust)
    before = made.ssl_context()
    assert made.ssl_context() is before
    shutil.copy(stores.trust["PKCS12"], trust)
    assert made.changed()
    after = made.ssl_context()
    assert after is not before
    trust.write_bytes(b"\xfe\xed\xfe\xed half")
    with pytest.raises(TlsError, match=r"changed and cannot be used: .*ssl\.truststore"):
        made.ssl_context()
    shutil.copy(stores.trust["JKS"], trust)
    assert made.ssl_context()


@pytest.mark.parametrize("kind", KINDS)
def test_librdkafka_gets_pem_text(stores: Stores, kind: str) -> None:
    """It reads no JKS, and no trust store of PKCS12."""
    options = librdkafka(settings(stores.trust[kind], stores.keys[kind]))
    assert subjects(options["ssl.ca.pem"]) == ["CN=authority"]
    assert subjects(options["ssl.certificate.pem"]) == ["CN=client", "CN=authority"]
    assert _number(options["ssl.key.pem"].encode()) == _number(stores.client.key.read_bytes())
    assert not [name for name in options if name.endswith((".location", ".password", "store.type"))]


def test_no_key_is_left_behind(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key goes to OpenSSL by a file in memory, which is closed then."""
    loaded: list[str] = []
    load: Any = ssl.SSLContext.load_cert_chain

    def record(context: ssl.SSLContext, file: str, **options: Any) -> None:
        loaded.append(file)
        load(context, file, **options)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", record)
    settings(None, stores.keys["PKCS12"])
    assert [Path(file).parent for file in loaded] == [Path("/proc/self/fd")]
    assert [file for file in loaded if Path(file).exists() and "certificate" in str(Path(file).readlink())] == []
