"""A `client.properties` of another client, passed by file: read as Java reads it, with its secrets."""

import os
import re
import time
from pathlib import Path

import confluent_kafka.admin
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.clients.kafka.librdkafka import librdkafka
from kafka_warden.config import Config
from kafka_warden.config.load import load
from kafka_warden.errors import ConfigError
from kafka_warden.settings.java_properties import MOST, parse_properties
from sandbox.certificates import DAY, Authority
from sandbox.passwords import write_secret
from tests.building import known

CANARY = "canary-Tr0ub4dor"
TEXT = f"""\
# copied line by line
bootstrap.servers = broker-1.example:9093,\\
    broker-2.example:9093
security.protocol=SASL_PLAINTEXT
sasl.mechanism: SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
    username="monitor" \\
    password="{CANARY}";
linger.ms 5
"""


def loaded(folder: Path, environment: dict[str, str] | None = None, **kafka: str) -> Config:
    """The configuration that names `client.properties`, which is beside it."""
    file = folder / "warden.yml"
    content = {name.replace("_", "."): value for name, value in kafka.items()}
    file.write_text(yaml.safe_dump({"kafka": {"properties_file": "client.properties", **content}}))
    return load({}, environment or {}, file)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("  a  :  b ", {"a": "b"}),
        ("a b=c", {"a": "b=c"}),
        ("a", {"a": ""}),
        ("#a=b\n!c=d\n\n", {}),
        ("a=b\\\n  c\\\n\td", {"a": "bcd"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a\\ b\\=c\\:=\\u00e9\\n\\tx\\\\", {"a b=c:": "é\n\tx\\"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=b\\", {"a": "b"}),
        ("a=b\\\r\n  c\r\nd=e\rf=g", {"a": "bc", "d": "e", "f": "g"}),
        ("a=1\x0c2\x1c3\x854\u20285", {"a": "1\x0c2\x1c3\x854\u20285"}),
        ("a=\\uD83D\\uDE00", {"a": "\U0001f600"}),
        ("a=b \\ \nc=d\\\t\n", {"a": "b", "c": "d"}),
        ("a=\xa0b\xa0 ", {"a": "\xa0b\xa0"}),
    ],
)
def test_the_form_is_javas(text: str, expected: dict[str, str]) -> None:
    """java.util.Properties: separators, comments, continued lines, escapes; the last of two equal keys."""
    assert {name: each.value for name, each in parse_properties(text).items()} == expected


@given(st.text(max_size=60))
def test_any_text_is_pairs_or_one_line(text: str) -> None:
    problem = ""
    try:
        parse_properties(text)
    except ValueError as failure:
        problem = str(failure)
    assert len(problem.splitlines()) <= 1


def test_secrets_in_it_are_used_and_read_again(tmp_path: Path) -> None:
    file = write_secret(tmp_path / "client.properties", TEXT)
    kafka = loaded(tmp_path).kafka
    assert [str(address) for address in kafka.settings.bootstrap] == ["broker-1.example:9093", "broker-2.example:9093"]
    assert kafka.settings.ignored == ("linger.ms",)
    login = known(kafka.settings.login())
    assert (login.username, login.password.reveal()) == ("monitor", CANARY)
    assert CANARY not in repr(kafka)
    write_secret(file, TEXT.replace(CANARY, "another"))
    assert kafka.settings.changed()
    assert known(kafka.settings.login()).password.reveal() == "another"


def test_other_layers_win(tmp_path: Path) -> None:
    write_secret(tmp_path / "client.properties", "bootstrap.servers=a:1\nclient.id=other\nsasl.password=p\n")
    password = write_secret(tmp_path / "password", "q")
    config = loaded(
        tmp_path,
        {"KAFKA_WARDEN_KAFKA_CLIENT_ID": "environment"},
        metadata_broker_list="b:1",
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_username="u",
        sasl_password_file=str(password),
    )
    assert [str(address) for address in config.kafka.settings.bootstrap] == ["b:1"]
    assert config.kafka.settings.client_id == "environment"
    assert known(config.kafka.settings.login()).password.reveal() == "q"
    alone = load(
        {},
        {"KAFKA_WARDEN_KAFKA_PROPERTIES_FILE": str(tmp_path / "client.properties")}
        | {
            "KAFKA_WARDEN_KAFKA_SECURITY_PROTOCOL": "SASL_PLAINTEXT",
            "KAFKA_WARDEN_KAFKA_SASL_MECHANISM": "PLAIN",
            "KAFKA_WARDEN_KAFKA_SASL_USERNAME": "u",
        },
    )
    assert alone.kafka.settings.client_id == "other"


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        (TEXT, 0o644, "chmod 600"),
        (TEXT, 0o660, "lets others read this secret"),
        ("bootstrap.server=a:1", 0o644, "client.properties: bootstrap.server: no Kafka client has this property"),
        ("=canary", 0o600, "line 1: expected key=value"),
        ("sasl.password=canary\\uD83D", 0o600, "an escape is half a character"),
        ("config.providers=env", 0o600, "config.providers: values as ${provider:key} are not supported"),
        (
            "metadata.broker.list=a:1\nbootstrap.servers=b:1",
            0o600,
            "metadata.broker.list: set either this or bootstrap",
        ),
        ("bootstrap.servers=\nclient.id=canary", 0o600, "client.properties: bootstrap.servers: missing"),
        ("producer.security.protocol=canary", 0o600, "did you mean security.protocol?"),
        ("MIGcanary/+=", 0o600, "line 1 does not start with the name of a property"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(tmp_path: Path, text: str, mode: int, message: str) -> None:
    write_secret(tmp_path / "client.properties", text).chmod(mode)
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path)
    assert message in str(caught.value)
    assert "canary" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_read_as_a_whole_is_refused(tmp_path: Path) -> None:
    """The rest of it may switch TLS on."""
    path = tmp_path / "client.properties"
    path.write_text("bootstrap.servers=b:1\n" + "#\n" * MOST + "security.protocol=SSL\n")
    with pytest.raises(ConfigError, match=rf"client\.properties: cannot read the file: larger than {MOST} bytes"):
        loaded(tmp_path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ConfigError, match=r"client\.properties: cannot read the file: not a regular file"):
        loaded(tmp_path)


def test_a_file_without_secrets_may_be_read_by_all(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=a:1\n")
    file.chmod(0o644)
    assert loaded(tmp_path).kafka.settings.bootstrap == (("a", 1),)
    file.unlink()
    with pytest.raises(ConfigError, match=r"kafka\.properties_file: .*cannot read the file: No such file"):
        loaded(tmp_path)


def test_properties_of_other_programs_are_ignored(tmp_path: Path) -> None:
    """In this file only. Their names are reported, their values are not kept."""
    names = "basic.auth.user.info", "schema.registry.ssl.truststore.location", "schema.registry.url", "topic"
    text = "".join(f"{name}={CANARY}\n" for name in names)
    write_secret(tmp_path / "client.properties", f"bootstrap.servers=a:1\n{text}")
    config = loaded(tmp_path)
    assert config.not_in_effect() == tuple(f"kafka.{name}" for name in names)
    assert CANARY not in repr(config)
    with pytest.raises(ConfigError, match=r"warden\.yml: kafka\.schema\.registry\.url: no Kafka client has this"):
        loaded(tmp_path, schema_registry_url="a")


def test_empty_secrets_and_paths_are_as_absent(tmp_path: Path) -> None:
    """As a template leaves them; others may read such a file."""
    empty = [
        "sasl.oauthbearer.client.id",
        "sasl.password",
        "sasl.username",
        "ssl.ca.location",
        "ssl.key.password",
        "ssl.keystore.location",
        "ssl.keystore.password",
    ]
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=a:1\nsecurity.protocol=SSL\n" + "".join(f"{name}=\n" for name in empty))
    file.chmod(0o644)
    config = loaded(tmp_path)
    assert not config.kafka.secrets
    assert config.not_in_effect() == ()


SPELLINGS = {
    "Java": ("ssl.truststore.certificates", "ssl.keystore.certificate.chain", "ssl.keystore.key"),
    "librdkafka": ("ssl.ca.pem", "ssl.certificate.pem", "ssl.key.pem"),
}
FORMS = {"escaped": "\\n", "continued": " \\\n  "}


def write_inline(folder: Path, authority: Authority, spelling: str, form: str, password: str | None) -> list[str]:
    pair = authority.issue("client", password=password)
    texts = [file.read_text() for file in (authority.certificate, pair.certificate, pair.key)]
    lines = [
        f"{name}={text.strip().replace(chr(10), FORMS[form])}"
        for name, text in zip(SPELLINGS[spelling], texts, strict=True)
    ]
    lines += ["bootstrap.servers=a:1", "security.protocol=SSL", "ssl.keystore.type=PEM", "ssl.truststore.type=PEM"]
    if password:
        lines.append(f"ssl.key.password={password}")
    write_secret(folder / "client.properties", "\n".join(lines))
    return texts


@pytest.mark.parametrize("password", [None, CANARY])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_pem_text_in_it_is_used(tmp_path: Path, spelling: str, form: str, password: str | None) -> None:
    texts = write_inline(tmp_path, Authority(tmp_path, "authority"), spelling, form, password)
    config = loaded(tmp_path)
    settings = config.kafka.settings
    assert len(settings.ssl_context().get_ca_certs()) == 1
    assert 0 < known(known(settings.tls).validity()).end - time.time() < DAY.total_seconds()
    options = librdkafka(settings)
    assert [options[name] for name in SPELLINGS["librdkafka"]] == texts
    assert options.get("ssl.key.password") == password
    confluent_kafka.admin.AdminClient(options)
    assert not {*texts[2].splitlines()[1:-1], CANARY} & set(re.findall(r"[\w/+=-]+", repr(config)))
    assert config.not_in_effect() == ()


def test_key_and_certificate_in_it_stay_a_pair(tmp_path: Path) -> None:
    """Those of a changed file are both used after a reload, not the new key with the old certificate."""
    authority = Authority(tmp_path, "authority")
    write_inline(tmp_path, authority, "Java", "escaped", CANARY)
    config = loaded(tmp_path)
    write_inline(tmp_path, authority, "Java", "escaped", "another")
    assert known(config.kafka.settings.tls).files.context()
    assert loaded(tmp_path).kafka.properties != config.kafka.properties


@pytest.mark.parametrize("password", ["", "wrong"])
def test_pem_text_that_cannot_be_used_is_not_shown(tmp_path: Path, password: str) -> None:
    key = write_inline(tmp_path, Authority(tmp_path, "authority"), "Java", "escaped", CANARY)[2]
    file = tmp_path / "client.properties"
    write_secret(file, file.read_text().replace(f"ssl.key.password={CANARY}", f"ssl.key.password={password}"))
    with pytest.raises(ConfigError, match="the given text: no usable certificate and key in it") as caught:
        loaded(tmp_path)
    assert key.splitlines()[1] not in str(caught.value)
