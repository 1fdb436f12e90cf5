"""A `client.properties` of another client, passed by file: read as Java reads it, with its secrets."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.config import Config
from kafka_warden.config.load import load
from kafka_warden.errors import ConfigError
from kafka_warden.settings.java_properties import parse_properties
from sandbox.passwords import write_secret

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
    ],
)
def test_the_form_is_javas(text: str, expected: dict[str, str]) -> None:
    """java.util.Properties: separators, comments, continued lines, escapes; the last of two equal keys."""
    assert parse_properties(text) == expected


@given(st.text(max_size=60))
def test_any_text_is_pairs_or_one_line(text: str) -> None:
    """Nothing else is raised."""
    problem = ""
    try:
        parse_properties(text)
    except ValueError as failure:
        problem = str(failure)
    assert len(problem.splitlines()) <= 1


def test_secrets_in_it_are_used_and_read_again(tmp_path: Path) -> None:
    """The file is that of another client; a password that changes in it is used for the next connection."""
    file = write_secret(tmp_path / "client.properties", TEXT)
    kafka = loaded(tmp_path).kafka
    assert [str(address) for address in kafka.settings.bootstrap] == ["broker-1.example:9093", "broker-2.example:9093"]
    assert kafka.settings.ignored == ("linger.ms",)
    login = kafka.settings.login()
    assert login is not None
    assert (login[0], login[1].reveal()) == ("monitor", CANARY)
    assert CANARY not in repr(kafka)
    write_secret(file, TEXT.replace(CANARY, "another"))
    assert kafka.settings.changed()
    login = kafka.settings.login()
    assert login is not None
    assert login[1].reveal() == "another"


def test_other_layers_win(tmp_path: Path) -> None:
    """The configuration file, also by another spelling of a property, and the environment."""
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
    login = config.kafka.settings.login()
    assert login is not None
    assert login[1].reveal() == "q"
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
        ("bootstrap.servers=\nclient.id=canary", 0o600, "client.properties: bootstrap.servers: missing"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(tmp_path: Path, text: str, mode: int, message: str) -> None:
    """It names file and property, and quotes no secret."""
    write_secret(tmp_path / "client.properties", text).chmod(mode)
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path)
    assert message in str(caught.value)
    assert "canary" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_without_secrets_may_be_read_by_all(tmp_path: Path) -> None:
    """A missing one is a mistake."""
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=a:1\n")
    file.chmod(0o644)
    assert loaded(tmp_path).kafka.settings.bootstrap == (("a", 1),)
    file.unlink()
    with pytest.raises(ConfigError, match=r"kafka\.properties_file: .*cannot read the file: No such file"):
        loaded(tmp_path)
