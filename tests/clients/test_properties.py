"""Kafka client properties in both spellings, as settings for kafka-python and for confluent-kafka."""

import ssl
from collections.abc import Mapping
from pathlib import Path

import confluent_kafka.admin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.clients.kafka.librdkafka import librdkafka
from kafka_warden.clients.kafka.properties import KafkaClientSettings, translate
from kafka_warden.clients.kafka.property_names import KNOWN, SECRET_PROPERTIES, meant_by
from kafka_warden.errors import ConfigError
from kafka_warden.settings.secrets import Secret
from sandbox.certificates import Authority

CANARY = "canary-Tr0ub4dor"
JAAS = (
    "org.apache.kafka.common.security.scram.ScramLoginModule required\n"
    ' username="monitor"\n password="canary \\"quoted\\" ; Tr0ub4dor";'
)
SASL = {"bootstrap.servers": "a:1", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}

SCRAM = {**SASL, "sasl.mechanism": "SCRAM-SHA-512"}
SSL = {"security.protocol": "SSL"}
PEM_PAIR = ("ssl.keystore.key", "ssl.keystore.certificate.chain")
OVER_TLS = {"security.protocol": "SASL_SSL"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"), "authority")


def _login(settings: KafkaClientSettings) -> tuple[str, str] | None:
    login = settings.login()
    return None if login is None else (login[0], login[1].reveal())


def test_plaintext_needs_bootstrap_servers_only() -> None:
    settings = translate({"bootstrap.servers": "one:1, two ,[::1]:3"})

    assert [str(address) for address in settings.bootstrap] == ["one:1", "two:9092", "[::1]:3"]
    assert settings.bootstrap[0] == ("one", 1)
    assert settings.ssl_context() is None
    assert settings.login() is None
    assert (settings.client_id, settings.receive_message_max_bytes) == ("kafka-warden", 1 << 28)
    assert (settings.request_timeout, settings.connect_timeout) == (None, None)
    assert not settings.changed()


def test_times_and_the_name_of_the_client_are_taken_over() -> None:
    settings = translate(
        {
            "bootstrap.servers": "a",
            "request.timeout.ms": "1500",
            "socket.connection.setup.timeout.ms": "250",
            "client.id": "me",
        }
    )
    assert (settings.request_timeout, settings.connect_timeout, settings.client_id) == (1.5, 0.25, "me")


def test_both_spellings_come_to_the_same(authority: Authority, tmp_path: Path) -> None:
    pair = authority.issue("both")
    store = tmp_path / "store.pem"
    store.write_bytes(pair.key.read_bytes() + pair.certificate.read_bytes())
    ours = {
        "metadata.broker.list": "a:1",
        "security.protocol": "sasl_ssl",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "monitor",
        "ssl.ca.location": str(authority.certificate),
        "ssl.certificate.location": str(store),
        "socket.timeout.ms": "2000",
    }
    javas = {
        "bootstrap.servers": "a:1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.certificate),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(store),
        "ssl.endpoint.identification.algorithm": "https",
        "request.timeout.ms": "2000",
    }
    first = translate(ours, {"sasl.password": Secret('canary "quoted" ; Tr0ub4dor')})
    second = translate(javas, {"sasl.jaas.config": Secret(JAAS)})

    assert _login(first) == _login(second)
    assert (first.sasl_mechanism, first.request_timeout) == (second.sasl_mechanism, second.request_timeout)
    assert first.tls is not None
    assert second.tls is not None
    assert first.tls.files == second.tls.files
    assert (first.bootstrap, first.request_timeout) == (second.bootstrap, second.request_timeout)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bootstrap.servers": ""}, "kafka.bootstrap.servers: missing"),
        ({"bootstrap.servers": "a:b"}, "kafka.bootstrap.servers: expected host:port"),
        ({"bootstrap.servers": "::1:9092"}, "kafka.bootstrap.servers: expected host:port"),
        ({"bootstrap.server": "a:1"}, "did you mean bootstrap.servers?"),
        ({"metadata.broker.list": "b:1"}, "kafka.metadata.broker.list: set either this or bootstrap.servers, not both"),
        ({**SCRAM, "sasl.mechanisms": "PLAIN"}, "kafka.sasl.mechanisms: set either this or sasl.mechanism, not both"),
        ({"security.protocol": "SASL-SSL"}, "got 'SASL-SSL'; did you mean SASL_SSL?"),
        (OVER_TLS, "kafka.sasl.mechanism: missing"),
        ({**OVER_TLS, "sasl.mechanism": "DIGEST"}, "'DIGEST' is not supported; expected one of PLAIN"),
        ({**OVER_TLS, "sasl.mechanism": "PLAIN"}, "kafka.sasl.username: missing"),
        ({**SASL, "sasl.username": "u"}, "kafka.sasl.password.file: missing"),
        ({**SCRAM, "sasl.username": "u", "sasl.jaas.config": JAAS}, "not both"),
        ({**SCRAM, "sasl.password": "p", "sasl.jaas.config": JAAS}, "not both"),
        ({**SCRAM, "sasl.jaas.config": JAAS.replace("username", "usrname")}, "has no option usrname; did you mean"),
        (
            {**SASL, "sasl.jaas.config": "PlainLoginModule required username=u;"},
            "sasl.jaas.config: password is missing",
        ),
        ({"bootstrap.servers": "SASL_SSL://a:1"}, "SASL_SSL://a:1 and security.protocol PLAINTEXT differ; set that to"),
        ({"bootstrap.servers": "a:1,ssl://b:1"}, "kafka.bootstrap.servers: SSL://b:1 and security.protocol PLAINTEXT"),
        ({"bootstrap.servers": "SASL_SSL://a:1/"}, "kafka.bootstrap.servers: expected host:port"),
        ({"security.protocol": "SSL", "ssl.ca.location": "/a", "ssl.truststore.location": "/b"}, "their values differ"),
        ({**SSL, "ssl.keystore.key": "p", "ssl.key.pem": "q"}, "set either this or ssl.key.pem, not both"),
        ({"ssl.truststore.path": "/a"}, "no Kafka client has this property; remove it, if it is not misspelt"),
        ({**SASL, "sasl.jaas.config": JAAS}, "does not do PLAIN"),
        ({**SASL, "sasl.jaas.config": f"password={CANARY}"}, "expected <login module>"),
        ({"sasl.username": "u"}, "no effect with security.protocol PLAINTEXT; set that to SASL_SSL"),
        ({"ssl.ca.location": "/ca.pem"}, "set that to SSL or SASL_SSL"),
        ({"security.protocol": "SSL", "ssl.ca.location": "/missing.pem"}, "/missing.pem: cannot read"),
        ({"security.protocol": "SSL", "ssl.ca.location": "/dev/zero"}, "/dev/zero: not a regular file"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/missing.jks"}, "cannot read '/missing.jks'"),
        ({"security.protocol": "SSL", "ssl.truststore.type": "BCFKS"}, "expected PEM, PKCS12 or JKS, got 'BCFKS'"),
        ({"security.protocol": "SSL", "ssl.key.location": "/key.pem"}, "set kafka.ssl.certificate.location, too"),
        ({"security.protocol": "SSL", "ssl.key.pem": CANARY}, "set kafka.ssl.certificate.pem, too"),
        ({**SSL, "ssl.certificate.pem": CANARY}, "set kafka.ssl.key.pem, too"),
        ({**SSL, "ssl.keystore.key": CANARY}, "set kafka.ssl.keystore.certificate.chain, too"),
        (
            {**SSL, **dict.fromkeys(PEM_PAIR, CANARY), "ssl.keystore.location": "/keys.jks"},
            ": set either this or ssl.keystore.location, not both",
        ),
        ({"ssl.key.pem": CANARY}, "kafka.ssl.key.pem: no effect with security.protocol PLAINTEXT"),
        ({**OVER_TLS, "sasl.jaas.config": "PlainLoginModule required;"}, "kafka.sasl.mechanism: missing"),
        ({"security.protocol": "SSL", "ssl.ca.pem": "nonsense"}, "no usable certificate authorities"),
        ({"security.protocol": "SSL", "ssl.truststore.certificates": "nonsense"}, "no usable certificate authorities"),
        ({"security.protocol": "SSL", "ssl.crl.location": "/missing.pem"}, "cannot read the revocation list"),
        ({"security.protocol": "SSL", "ssl.enabled.protocols": "TLSv1"}, "expected TLSv1.2, TLSv1.3 or both"),
        (
            {"security.protocol": "SSL", "ssl.cipher.suites": "TLS_NULL,X"},
            "unknown or unsafe cipher suites only: TLS_N",
        ),
        ({"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "http"}, "expected https or none"),
        ({"security.protocol": "SSL", "enable.ssl.certificate.verification": "no"}, "expected true or false"),
        ({"receive.message.max.bytes": "0"}, "expected a whole number from 1"),
        ({"socket.timeout.ms": "5s"}, "kafka.socket.timeout.ms: expected a whole number"),
    ],
)
def test_mistakes_are_one_line_that_names_the_property(changes: Mapping[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        translate({"bootstrap.servers": "a:1", **changes})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert CANARY not in str(caught.value)


def test_both_names_of_a_property_may_have_one_value(authority: Authority) -> None:
    """As a file for clients of both kinds has them; the login, too."""
    ca = str(authority.certificate)
    settings = translate(
        {
            **SCRAM,
            "security.protocol": "SASL_SSL",
            "bootstrap.servers": "a:1,b:2",
            "metadata.broker.list": "a:1, b:2",
            "sasl.mechanisms": "SCRAM-SHA-512",
            "sasl.username": "monitor",
            "ssl.ca.location": ca,
            "ssl.truststore.location": ca,
        },
        {"sasl.jaas.config": Secret(JAAS), "sasl.password": Secret('canary "quoted" ; Tr0ub4dor')},
    )
    assert settings.bootstrap == (("a", 1), ("b", 2))
    assert _login(settings) == ("monitor", 'canary "quoted" ; Tr0ub4dor')
    assert settings.ignored == ()


@pytest.mark.parametrize("server", ["PLAINTEXT://a:1", "plaintext://a:1", "EXTERNAL://a:1", "my_listener://a:1"])
def test_a_protocol_before_a_server_is_that_of_the_connection(server: str) -> None:
    """As Confluent Cloud and brokers' own properties write it; librdkafka gets the address alone."""
    properties = {"bootstrap.servers": f"{server}, [::1]:3"}
    assert translate(properties).bootstrap == (("a", 1), ("::1", 3))
    assert librdkafka(translate(properties))["bootstrap.servers"] == "a:1,[::1]:3"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("bootstrapServers", "bootstrap.servers"),
        ("sasl_plain_username", "sasl.username"),
        ("sasl.pasword", "sasl.password"),
        ("sasl.pasword.file", "sasl.password.file"),
        ("spring.kafka.ssl.trust-store-location", "ssl.truststore.location"),
        ("spring.kafka.properties.sasl.jaas.config", "sasl.jaas.config"),
        ("producer.security.protocol", "security.protocol"),
        ("sasl.kerberos.service", "sasl.kerberos.service.name"),
        ("ssl.truststore.path", ""),
        ("ssl.keystore.file", ""),
        ("sasl.kerberos.realm", ""),
        ("sasl.oauthbearer.client.credentials.scope", ""),
        ("sasl.enabled.mechanisms", ""),
        ("azure.client.id", ""),
        ("username", ""),
        ("linger.mss", ""),
    ],
)
def test_a_misspelt_name_has_its_right_one(name: str, meant: str) -> None:
    assert meant_by(name) == meant


@pytest.mark.parametrize(
    ("given", "used", "left_out"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384", "ECDHE-RSA-AES256-SHA384", ()),
        ("TLS_RSA_WITH_AES_128_CBC_SHA256, TLS_DHE_RSA_WITH_AES_256_CCM_8", "AES128-SHA256:DHE-RSA-AES256-CCM8", ()),
        ("DHE-RSA-CHACHA20-POLY1305:TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "DHE-RSA-CHACHA20-POLY1305", ()),
        ("TLS_AES_256_GCM_SHA384,TLS_EMPTY_RENEGOTIATION_INFO_SCSV", "", ("TLS_EMPTY_RENEGOTIATION_INFO_SCSV",)),
        ("TLS_RSA_WITH_NULL_SHA256,RC4-MD5,AES128-SHA", "AES128-SHA", ("TLS_RSA_WITH_NULL_SHA256", "RC4-MD5")),
    ],
)
def test_cipher_suites_have_the_names_of_java_and_of_openssl(
    authority: Authority, given: str, used: str, left_out: tuple[str, ...]
) -> None:
    """Unknown and unsafe ones are left out, and reported with what has no effect."""
    properties = {"bootstrap.servers": "a:1", **SSL, "ssl.ca.location": str(authority.certificate)}
    settings = translate({**properties, "ssl.cipher.suites": given})
    assert settings.tls is not None
    assert settings.tls.files.ciphers == used
    assert settings.ignored == tuple(f"ssl.cipher.suites: {name}" for name in left_out)
    names = [each["name"] for each in settings.ssl_context().get_ciphers()]
    assert [name for name in names if not name.startswith("TLS_")] == used.split(":") or not used


def test_options_of_java_s_brokers_have_no_effect_in_a_login() -> None:
    """Java ignores what its login module does not know, as here; a delegation token is a login of SCRAM only."""
    jaas = 'ScramLoginModule required username="u" password="p" user_admin="x" serviceName="kafka" tokenauth="TRUE";'
    settings = translate(SCRAM, {"sasl.jaas.config": Secret(jaas)})
    assert settings.ignored == ("sasl.jaas.config: user_admin", "sasl.jaas.config: serviceName")
    assert settings.login() == ("u", Secret("p"), True)
    with pytest.raises(ConfigError, match="cannot be used with a delegation token"):
        librdkafka(settings)
    plain = translate(SASL, {"sasl.jaas.config": Secret(jaas.replace("Scram", "Plain"))})
    assert plain.login() == ("u", Secret("p"), False)
    assert "sasl.jaas.config: tokenauth" in plain.ignored


def test_known_properties_without_effect_are_ignored() -> None:
    assert translate({"bootstrap.servers": "a:1", "group.id": "g", "linger.ms": "5"}).ignored == (
        "group.id",
        "linger.ms",
    )


def test_every_secret_property_is_a_known_one() -> None:
    assert SECRET_PROPERTIES <= KNOWN
    looks_secret = {name for name in KNOWN if name.endswith((".password", ".secret", ".passphrase", ".key", "key.pem"))}
    assert looks_secret <= SECRET_PROPERTIES | {"transactional.id"}


def _context(authority: Authority, **changes: str) -> ssl.SSLContext:
    properties = {"bootstrap.servers": "a:1", "security.protocol": "SSL", "ssl.ca.location": str(authority.certificate)}
    context = translate({**properties, **changes}).ssl_context()
    assert isinstance(context, ssl.SSLContext)
    return context


def test_a_client_key_that_cannot_be_decrypted_is_a_mistake(authority: Authority) -> None:
    """Without a password and with a wrong one; never a question on the terminal."""
    pair = authority.issue("client", password=CANARY)
    files = {"ssl.certificate.location": str(pair.certificate), "ssl.key.location": str(pair.key)}
    for wrong in ({}, {"ssl.key.password": "wrong"}):
        with pytest.raises(ConfigError, match="no usable certificate and key"):
            _context(authority, **files, **wrong)


def test_tls_below_1_2_is_never_used(authority: Authority) -> None:
    assert _context(authority).minimum_version is ssl.TLSVersion.TLSv1_2
    raised = _context(authority, **{"ssl.enabled.protocols": "TLSv1.3"})
    assert raised.minimum_version is ssl.TLSVersion.TLSv1_3


def test_confluent_kafka_takes_the_translation(authority: Authority, tmp_path: Path) -> None:
    pair = authority.issue("confluent", password="key-password")
    store = tmp_path / "store.pem"
    store.write_bytes(pair.key.read_bytes() + pair.certificate.read_bytes())
    properties = {
        "bootstrap.servers": "127.0.0.1:1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "ssl.truststore.location": str(authority.certificate),
        "ssl.keystore.location": str(store),
        "ssl.endpoint.identification.algorithm": "",
        "ssl.enabled.protocols": "TLSv1.2",
        "ssl.cipher.suites": "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384",
        "request.timeout.ms": "3000",
        "default.api.timeout.ms": "1",
    }

    options = librdkafka(
        translate(properties, {"sasl.jaas.config": Secret(JAAS), "ssl.key.password": Secret("key-password")})
    )

    assert options["sasl.password"] == 'canary "quoted" ; Tr0ub4dor'
    assert options["ssl.endpoint.identification.algorithm"] == "none"
    assert options["socket.timeout.ms"] == 3000
    assert options["ssl.key.location"] == str(store)
    assert options["ssl.cipher.suites"] == properties["ssl.cipher.suites"]
    confluent_kafka.admin.AdminClient(dict(options))


@pytest.mark.parametrize(
    "properties",
    [
        {"security.protocol": "sasl_plaintext", "sasl.mechanism": "scram-sha-512", "sasl.username": "u"},
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": " plain ", "sasl.username": "u"},
        {"security.protocol": " SSL ", "enable.ssl.certificate.verification": " TRUE "},
        {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "HTTPS"},
        *({"request.timeout.ms": text} for text in ("5", "600000", " 3000 ")),
        {"socket.connection.setup.timeout.ms": "500"},
        *({"receive.message.max.bytes": text} for text in ("500", "2147483647")),
    ],
)
def test_confluent_kafka_takes_all_that_the_links_take(properties: dict[str, str]) -> None:
    """Other spellings, and numbers out of its range."""
    secrets = {"sasl.password": Secret("secret")} if "sasl.mechanism" in properties else {}
    settings = translate({"bootstrap.servers": "127.0.0.1:1", **properties}, secrets)
    confluent_kafka.Producer({**librdkafka(settings), "log_level": 0})


@given(st.dictionaries(st.sampled_from(sorted(KNOWN)) | st.text(max_size=20), st.text(max_size=40), max_size=6))
def test_any_properties_give_settings_or_one_line(properties: dict[str, str]) -> None:
    problem = ""
    try:
        translate(properties)
    except ConfigError as failure:
        problem = str(failure)

    assert len(problem.splitlines()) <= 1
