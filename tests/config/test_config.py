"""The configuration as a whole: layers, precedence and error messages."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from kafka_warden.clients.jmx.protocol import JmxTls
from kafka_warden.config import FLAGS, OPTIONS, Config, load
from kafka_warden.config.layers import PROPERTIES_FILE, from_file, variable
from kafka_warden.config.types import BOOTSTRAP, HistoryConfig, HistoryKafkaConfig, ParquetConfig
from kafka_warden.errors import ConfigError
from kafka_warden.model import Parameters
from kafka_warden.settings.secrets import Secret
from kafka_warden.settings.strict import LARGEST_FILE
from sandbox.passwords import write_secret
from tests.building import known
from tests.support.fuzz.files import LAUGHS

CANARY = "canary-Tr0ub4dor"
MINIMAL = "kafka: {bootstrap.servers: 'a:1'}\n"
DOCS = Path(__file__).parents[2] / "docs"


def _load(
    folder: Path,
    text: str = MINIMAL,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
) -> Config:
    path = folder / "warden.yml"
    path.write_text(text)
    return load(flags or {}, environment or {}, path)


def test_a_bootstrap_server_is_enough() -> None:
    config = load({"--bootstrap-servers": "a:1"}, {})

    assert config.kafka.settings.bootstrap == (("a", 1),)
    assert config.web.listen == ("127.0.0.1", 10073)
    assert (config.poll.interval, config.poll.deadline, config.poll.log_dirs) == (10.0, 5.0, 60.0)
    assert config.state.path == Path("kafka-warden.state")
    assert not config.jmx.enabled
    assert config.not_in_effect() == ()
    assert config.to_parameters() == Parameters()


def test_everything_that_can_be_set(tmp_path: Path) -> None:
    write_secret(tmp_path / "password", f"{CANARY}\n")
    (tmp_path / "ca.pem").touch()
    config = _load(
        tmp_path,
        """
kafka: {bootstrap.servers: [a:1, b:2], request.timeout.ms: 1000}
jmx:
  port: 9999
  brokers: {1: "127.0.0.1:9901"}
  controllers: {101: "[::1]:9999"}
  user: monitor
  password_file: password
  tls: {ca_file: ca.pem, registry: false}
controllers: {bootstrap: ["c:9093"], quota_window: 11s}
cluster: {name: orders-prod}
poll: {interval: 3s, deadline: 500ms, log_dirs: 2m}
sources: {disable: [log_dirs, broker_configs]}
topics: {allow: ["orders.*"], deny: ["orders-old"], uncounted: ["old", "test-.*"]}
state: {path: /var/lib/state}
web: {listen: "[::]:80", config_file: web.yml, hosts: [Warden.Example, b]}
limits: {series: 5, max_broker_partitions: 4000, max_partitions: 200000}
network: {bytes_per_second: 125000000}
moves: {deadline: 1h, grace: 10s}
history: {interval: 1m, kafka: {topic: warden}, parquet: {path: history/, roll: 10m, retention: 2d}}
log: {level: DEBUG, format: json}
""",
    )

    assert config.cluster.name == "orders-prod"
    assert config.kafka.settings.bootstrap == (("a", 1), ("b", 2))
    assert config.kafka.settings.request_timeout == 1.0
    assert (config.jmx.port, config.jmx.brokers) == (9999, {1: ("127.0.0.1", 9901)})
    assert config.jmx.controllers == {"101": ("::1", 9999)}
    assert config.jmx.user == "monitor"
    assert known(config.jmx.password).read() == Secret(CANARY)
    assert config.jmx.tls.files() == JmxTls(str(tmp_path / "ca.pem"), registry=False)
    assert (config.controllers.bootstrap, config.controllers.quota_window) == ((("c", 9093),), 11.0)
    assert (config.poll.interval, config.poll.deadline, config.poll.log_dirs) == (3.0, 0.5, 120.0)
    assert config.sources.disable == {"log_dirs", "broker_configs"}
    assert [topic for topic in ("orders", "orders-new", "orders-old", "my-orders") if config.topics.matches(topic)] == [
        "orders",
        "orders-new",
    ]
    topics = ("old", "old-1", "test-1", "my-test-1")
    assert [topic for topic in topics if config.topics.is_uncounted(topic)] == ["old", "test-1"]
    assert (config.web.listen, config.web.config_file) == (("::", 80), tmp_path / "web.yml")
    assert config.web.hosts == {"warden.example", "b"}
    assert config.state.path == Path("/var/lib/state")
    assert config.history == HistoryConfig(
        60.0, HistoryKafkaConfig("warden"), ParquetConfig(tmp_path / "history", 600.0, 172_800.0)
    )
    assert config.not_in_effect() == ()
    assert (config.log.level, config.log.format) == ("debug", "json")
    assert config.to_parameters() == Parameters(
        poll_interval=3.0,
        series_budget=5,
        max_broker_partitions=4000,
        max_partitions=200_000,
        network_bytes_per_second=125e6,
        moves_deadline=3600.0,
        moves_grace=10.0,
        cluster_name="orders-prod",
    )


@pytest.mark.parametrize("text", ["0123", "1_000", "12:30", "yes", "0x1F", "1.10", "1e3", "2026-11-28", "=", "null-x"])
def test_text_stays_as_it_was_written(tmp_path: Path, text: str) -> None:
    """YAML would read the user name 0123 as 83, 12:30 as 750, and yes as true."""
    write_secret(tmp_path / "password", f"{CANARY}\n")
    config = _load(
        tmp_path,
        f"""
kafka:
  bootstrap.servers: a:1
  security.protocol: SASL_PLAINTEXT
  sasl.mechanism: PLAIN
  sasl.username: {text}
  sasl.password.file: password
  client.id: {text}
jmx: {{user: {text}, password_file: password}}
topics: {{allow: [{text}]}}
""",
    )
    login = known(config.kafka.settings.login())
    assert (login.username, config.kafka.settings.client_id, config.jmx.user) == (text, text, text)
    assert config.topics.allow[0].pattern == text


def test_history_is_off_without_a_destination(tmp_path: Path) -> None:
    off = ParquetConfig(None, 3600.0, 604_800.0)
    assert _load(tmp_path).history == HistoryConfig(None, HistoryKafkaConfig(None), off)
    on = _load(tmp_path, environment={"KAFKA_WARDEN_HISTORY_PARQUET_PATH": "/var/lib/history"})
    assert on.history.parquet == ParquetConfig(Path("/var/lib/history"), 3600.0, 604_800.0)

    config = _load(tmp_path, MINIMAL + "history: {interval: 1m, parquet: {roll: 5m}}\n")
    assert config.not_in_effect() == ("history.interval", "history.parquet.roll")
    config = _load(tmp_path, MINIMAL + "history: {interval: 1m, kafka: {topic: t}, parquet: {roll: 5m}}\n")
    assert (config.history.interval, config.history.kafka.topic, config.history.parquet.path) == (60.0, "t", None)
    assert config.not_in_effect() == ("history.parquet.roll",)


def test_a_flag_overrides_the_environment_and_that_the_file(tmp_path: Path) -> None:
    text = MINIMAL + "poll: {interval: 30s}\n"
    environment = {"KAFKA_WARDEN_POLL_INTERVAL": "20s"}

    assert _load(tmp_path, text, environment, {"--poll-interval": "15s"}).poll.interval == 15.0
    assert _load(tmp_path, text, environment).poll.interval == 20.0
    assert _load(tmp_path, text).poll.interval == 30.0
    assert _load(tmp_path).poll.interval == 10.0


def test_a_stronger_layer_wins_with_another_spelling(tmp_path: Path) -> None:
    write_secret(tmp_path / "password", "from-file")
    config = _load(
        tmp_path,
        """
kafka:
  metadata.broker.list: file:1
  security.protocol: SASL_PLAINTEXT
  sasl.mechanism: PLAIN
  sasl.username: u
  sasl.password.file: password
jmx: {user: u, password_file: password}
""",
        {"KAFKA_WARDEN_KAFKA_SASL_PASSWORD": "from-environment", "KAFKA_WARDEN_JMX_PASSWORD": "from-environment"},
        {"--bootstrap-servers": "flag:1"},
    )

    assert config.kafka.settings.bootstrap == (("flag", 1),)
    assert known(config.kafka.settings.login()).password.reveal() == "from-environment"
    assert config.jmx.password == Secret("from-environment")


def test_the_environment_may_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "other.yml"
    path.write_text("kafka: {bootstrap.servers: 'z:1'}")

    assert load({}, {"KAFKA_WARDEN_CONFIG": str(path)}).kafka.settings.bootstrap == (("z", 1),)


def test_every_option_can_be_set_in_the_environment() -> None:
    names = [variable(option.key) for option in OPTIONS]

    assert len(set(names)) == len(names)
    config = load(
        {},
        {
            "KAFKA_WARDEN_KAFKA_BOOTSTRAP_SERVERS": "a:1,b:2",
            "KAFKA_WARDEN_JMX_BROKERS": "1=a:9999,2=b:9999",
            "KAFKA_WARDEN_TOPICS_DENY": "a.*,b.*",
            "KAFKA_WARDEN_LIMITS_SERIES": "7",
            "KAFKA_WARDEN_KAFKA_CLIENT_ID": "me",
        },
    )
    assert config.jmx.brokers == {1: ("a", 9999), 2: ("b", 9999)}
    assert [pattern.pattern for pattern in config.topics.deny] == ["a.*", "b.*"]
    assert (config.limits.series, config.kafka.settings.client_id) == (7, "me")


def test_variables_of_kubernetes_services_are_ignored(tmp_path: Path) -> None:
    """A service named kafka-warden or kafka-warden-jmx does not stop the pod from starting."""
    links = {
        "KAFKA_WARDEN_SERVICE_HOST": "10.0.0.1",
        "KAFKA_WARDEN_SERVICE_PORT": "10073",
        "KAFKA_WARDEN_SERVICE_PORT_HTTP_METRICS": "10073",
        "KAFKA_WARDEN_PORT": "tcp://10.0.0.1:10073",
        "KAFKA_WARDEN_PORT_10073_TCP": "tcp://10.0.0.1:10073",
        "KAFKA_WARDEN_PORT_10073_TCP_PROTO": "tcp",
        "KAFKA_WARDEN_PORT_10073_TCP_ADDR": "10.0.0.1",
        "KAFKA_WARDEN_JMX_PORT": "tcp://10.0.0.1:9999",
        "KAFKA_WARDEN_JMX_SERVICE_PORT": "9999",
        "KAFKA_WARDEN_KAFKA_1_SERVICE_HOST": "10.0.0.2",
    }

    assert not _load(tmp_path, MINIMAL, links).jmx.enabled


def test_the_deadline_follows_a_short_interval(tmp_path: Path) -> None:
    assert _load(tmp_path, flags={"--poll-interval": "4s"}).poll.deadline == 2.0


_MISTAKES: tuple[tuple[str, str], ...] = (
    ("kafka: [a", "not valid YAML: expected ',' or ']', but got '<stream end>'"),
    ("\tkafka: x", "not valid YAML: "),
    (
        "poll: {interval: 1s}\nlog: {level: 'a\x07'}",
        "not valid YAML: the character U+0007 (line 2, column 16) is not allowed; remove it",
    ),
    (f"topics: {'[' * 3000}", "not valid YAML: nested too deeply"),
    ("just text", "expected keys and values, such as `poll:`, at the top of the file"),
    ("poll: {interval: 1s, interval: 2s}", "not valid YAML: the key interval appears twice (line 1, column 22)"),
    ("kafka: {}\nkafka: {}", "the key kafka appears twice"),
    (f"kafka: {{client.id: [{LAUGHS}]}}", "expected at most 100000 values, with the values of each alias"),
    ("kafka: {client.id: &a [*a]}", "expected at most 100000 values"),
    (
        "a0: &a0 {x: 1}\n"
        + "".join(f"a{each}: &a{each} {{<<: [*a{each - 1}, *a{each - 1}]}}\n" for each in range(1, 40)),
        "not valid YAML: too many values are merged",
    ),
    ("topics:", "topics: expected keys and values below it"),
    ("polls: {interval: 1s}", "polls: unknown key; did you mean poll?"),
    ("poll: {intervall: 1s}", "poll.intervall: unknown key; did you mean poll.interval?"),
    ("poll.interval: 1s", "poll.interval: unknown key; write it below poll:"),
    ("poll: 10s", "poll: expected keys and values below it"),
    ("poll: {interval: 10}", "poll.interval: expected a duration with its unit, such as 500ms, 10s or 1h30m, got '10'"),
    (
        "poll: {interval: }",
        "poll.interval: expected a duration with its unit, such as 500ms, 10s or 1h30m, got nothing",
    ),
    ("poll: {interval: 5s, deadline: 5s}", "poll.deadline: expected less than poll.interval (5s), got 5s"),
    ("poll: {deadline: 11s}", "poll.deadline: expected less than poll.interval (10s), got 11s"),
    ("poll: {interval: 10ms}", "poll.interval: expected 100ms or more, got 10ms"),
    ("poll: {interval: 2h}", "poll.interval: expected 1h or less, got 7200s"),
    ("moves: {deadline: 4000000d}", "moves.deadline: expected 3650d or less, got '4000000d'"),
    ("sources: {disable: [log_dir]}", "sources.disable: expected one of log_dirs, reassignments, "),
    ("sources: {disable: offsets}", "sources.disable: expected one of log_dirs, reassignments, "),
    ("jmx: {port: 99999}", "jmx.port: expected a port from 1 to 65535, got '99999'"),
    ("jmx: {port: 1:30}", "jmx.port: expected a port from 1 to 65535, got '1:30'"),
    ("jmx: {port: 0x1F}", "jmx.port: expected a port from 1 to 65535, got '0x1F'"),
    ("jmx: {tls: {ca_file: f, registry: yes}}", "jmx.tls.registry: expected true or false, got 'yes'"),
    ("jmx: {user: }", "jmx.user: expected text, got nothing"),
    ("jmx: {user: null}", "jmx.user: expected text, got nothing"),
    ("jmx: {brokers: {1: 'a:1', 01: 'b:1'}}", "jmx.brokers: the key 1 appears twice"),
    ("jmx: {brokers: {one: 'a:1'}}", "jmx.brokers: expected a node id, which is a whole number, got 'one'"),
    ("jmx: {source: http, path: metrics}", "jmx.path: expected the path of a URL, such as /metrics, got 'metrics'"),
    ("jmx: {path: /metrics}", "jmx.path: no effect with jmx.source rmi; remove it"),
    ("jmx: {source: http, tls: {ca_file: f, registry: true}}", "jmx.tls.registry: no effect with jmx.source http"),
    ("jmx: {source: http, controllers: ['a:1']}", "jmx.controllers: jmx.source http needs their ids"),
    ("jmx: {source: tcp}", "jmx.source: expected one of rmi, http, got 'tcp'"),
    ("jmx: {user: u}", "jmx.user: needs jmx.password_file, or KAFKA_WARDEN_JMX_PASSWORD"),
    ("jmx: {user: u, password_file: missing}", "missing: cannot read the secret: No such file or directory"),
    (f"jmx: {{password: {CANARY}}}", "jmx.password: unknown key; set jmx.password_file to the path of a file"),
    ("jmx: {tls: {cert_file: x}}", "jmx.tls.cert_file: needs jmx.tls.ca_file"),
    ("web: {listen: 'localhost'}", "web.listen: expected host:port"),
    ("web: {hosts: ['a:80']}", "web.hosts: expected a host name without a port, got 'a:80'"),
    ("log: {format: xml}", "log.format: expected one of logfmt, json, console, got 'xml'"),
    ("history: {parquet: {path: h, roll: 2h}}", "history.parquet.roll: expected 1h or less, got 7200s"),
    ("history: {parquet: {path: h, retention: 10m}}", "history.parquet.retention: expected 1h or more, got 600s"),
    ("history: {kafka: {topic: a/b}}", "history.kafka.topic: expected the name of a topic"),
    ("jmx: {port: 1, tls: }", "jmx.tls: expected keys and values below it"),
    ("kafka:", "kafka: expected keys and values below it"),
    ("history: {parquet: x}", "history.parquet: expected keys and values below it"),
    (
        "kafka: {bootstrap.servers: {a: 1}}",
        "kafka.bootstrap.servers: write each property on a line of its own, such as bootstrap.servers.a",
    ),
    (
        "kafka: {bootstrap.server: 'a:1'}",
        "kafka.bootstrap.server: no Kafka client has this property; did you mean boot",
    ),
    ("kafka: {sasl: {mechanism: PLAIN}}", "kafka.sasl: write each property on a line of its own, such as sasl.mech"),
    ("kafka: {bootstrapServers: 'a:1'}", "kafka.bootstrapServers: no Kafka client has this property; did you mean"),
    ("bootstrap.servers: a:1", "bootstrap.servers: unknown key; write bootstrap.servers below kafka:"),
    ("kafka: {client.id: '${HOSTNAME}'}", "kafka.client.id: ${...} is not replaced here; write the value itself"),
    ("kafka: {security.protocol: TLS}", "kafka.security.protocol: expected one of PLAINTEXT, SSL"),
    (f"kafka: {{sasl.password: {CANARY}}}", "kafka.sasl.password: a secret is not allowed in this file; set sasl.pas"),
    (f"kafka: {{sasl.jaas.config: {CANARY}}}", "or the environment variable KAFKA_WARDEN_KAFKA_SASL_JAAS_CONFIG"),
    (
        f"kafka: {{sasl.pasword: {CANARY}}}",
        "kafka.sasl.pasword: no Kafka client has this property; did you mean sasl.pas",
    ),
    (f"kafka: {{sasl.password: *{CANARY}}}", "not valid YAML: found undefined alias"),
    (f"kafka: {{sasl.password: !{CANARY} x}}", "not valid YAML: could not determine a constructor for the tag"),
    *(
        (f"log: {{level: {value}}}", "not valid YAML")
        for value in ("!!bool maybe", '!!int ""', "!!timestamp foo", "!!float x", "!!map x")
    ),
    ("kafka: {sasl.password.file: missing}", "kafka.sasl.password.file: "),
)


@pytest.mark.parametrize(("text", "message"), _MISTAKES)
def test_a_mistake_in_the_file_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _load(tmp_path, text, flags={} if text.startswith("kafka: {b") else {"--bootstrap-servers": "a:1"})

    line = str(caught.value)
    assert line.startswith(f"{tmp_path / 'warden.yml'}: ")
    assert message in line
    assert len(line.splitlines()) == 1
    assert CANARY not in line


@pytest.mark.parametrize(
    ("environment", "flags", "message"),
    [
        (
            {"KAFKA_WARDEN_POLL_INTERVALL": "1s"},
            {},
            "KAFKA_WARDEN_POLL_INTERVALL: unknown environment variable; did you",
        ),
        ({"KAFKA_WARDEN_POLL_INTERVAL": "x"}, {}, "KAFKA_WARDEN_POLL_INTERVAL: expected a duration"),
        ({"KAFKA_WARDEN_KAFKA_SASL_PASWORD": CANARY}, {}, "KAFKA_WARDEN_KAFKA_SASL_PASWORD: no Kafka client has"),
        ({"KAFKA_WARDEN_KAFKA_SASL_PASSWORD": ""}, {}, "KAFKA_WARDEN_KAFKA_SASL_PASSWORD: expected a secret"),
        ({"KAFKA_WARDEN_KAFKA_SASL_PASSWORD": CANARY}, {}, "KAFKA_WARDEN_KAFKA_SASL_PASSWORD: no effect with"),
        ({"KAFKA_WARDEN_JMX_PASSWORD": CANARY}, {}, "KAFKA_WARDEN_JMX_PASSWORD: needs jmx.user"),
        ({"KAFKA_WARDEN_JMX_BROKERS": "{["}, {}, "KAFKA_WARDEN_JMX_BROKERS: cannot be read as YAML"),
        ({"KAFKA_WARDEN_JMX_BROKERS": "1=a:1,01=b:1"}, {}, "KAFKA_WARDEN_JMX_BROKERS: the key 1 appears twice"),
        (
            {"KAFKA_WARDEN_JMX_BROKERS": "{1: 'a:1', 1: 'b:1'}"},
            {},
            "KAFKA_WARDEN_JMX_BROKERS: cannot be read as YAML: ",
        ),
        ({}, {"--bootstrap-servers": "x:y"}, "--bootstrap-servers: expected host:port"),
        ({}, {"--log-level": "loud"}, "--log-level: expected one of debug, info, warning, error, got 'loud'"),
    ],
)
def test_a_mistake_in_a_variable_or_flag_is_one_line(
    environment: Mapping[str, str], flags: Mapping[str, str], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load({"--bootstrap-servers": "a:1", **flags}, environment)

    assert str(caught.value).startswith(message)
    assert len(str(caught.value).splitlines()) == 1
    assert CANARY not in str(caught.value)


def test_no_bootstrap_server_is_one_line(tmp_path: Path) -> None:
    for text in ("", "# nothing\n", "kafka: {}\n"):
        with pytest.raises(
            ConfigError, match=r"kafka\.bootstrap\.servers: missing; .* --bootstrap-servers or in KAFKA_WARDEN"
        ):
            _load(tmp_path, text)
    with pytest.raises(ConfigError, match=r"^kafka\.bootstrap\.servers: missing"):
        load({}, {})


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\xfd")
    os.mkfifo(tmp_path / "fifo")
    large = tmp_path / "large"
    large.touch()
    os.truncate(large, LARGEST_FILE + 1)
    for path, message in (
        (tmp_path / "missing", "No such file or directory"),
        (tmp_path, "Is a directory"),
        (tmp_path / "fifo", "not a regular file"),
        (binary, "not UTF-8"),
        (large, "larger than"),
    ):
        with pytest.raises(ConfigError, match=f"{path}: .*{message}"):
            load({}, {}, path)


def test_relative_paths_start_at_the_file_or_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    text = MINIMAL + "web: {config_file: web.yml}\nhistory: {parquet: {path: h}}\n"

    config = _load(tmp_path, text, {"KAFKA_WARDEN_STATE_PATH": "mine.state"})

    assert config.web.config_file == tmp_path / "web.yml"
    assert config.history.parquet.path == tmp_path / "h"
    assert config.state.path == Path("mine.state")


def test_merged_yaml_mappings_are_not_duplicates(tmp_path: Path) -> None:
    """A key may override one of an anchor."""
    text = MINIMAL + "poll: {<<: {interval: 30s, deadline: 2s}, interval: 20s}\n"

    assert _load(tmp_path, text).poll.interval == 20.0


def test_the_reference_file_is_complete_and_shows_the_defaults(tmp_path: Path) -> None:
    reference = (DOCS / "reference" / "config.yaml").read_text()
    assert repr(_load(tmp_path, reference).to_parameters()) == repr(Parameters())
    assert _load(tmp_path, reference.replace("interval: 10s", "interval: 4s")).poll.deadline == 2
    shown = from_file(DOCS / "reference" / "config.yaml")
    for option in OPTIONS:
        if option.key in shown and option.default is not None:
            assert option.read(shown[option.key].value) == option.read(option.default), option.key

    uncommented = tmp_path / "all.yml"
    uncommented.write_text(re.sub(r"^( *)#(?! )", r"\1", reference, flags=re.MULTILINE))
    assert {PROPERTIES_FILE, *(option.key for option in OPTIONS)} <= set(from_file(uncommented))


def test_the_reference_file_explains_every_option() -> None:
    """A comment is above each one, or above the one before it."""
    lines = (DOCS / "reference" / "config.yaml").read_text().splitlines()
    bare = [
        line
        for two, one, line in zip(lines, lines[1:], lines[2:], strict=False)
        if re.match(r" +#?[a-z_]+:(?! *$)", line) and not any(re.match(r" *# ", before) for before in (two, one))
    ]
    assert bare == []


def test_the_documentation_names_every_flag() -> None:
    text = (DOCS / "reference" / "configuration.md").read_text()
    for flag in (BOOTSTRAP, *(option.flag for option in OPTIONS if option.flag)):
        assert f"| `{flag.name} {flag.metavar}` | `{FLAGS[flag.name]}` |" in text
    for name in ("--config", "--check-config"):
        assert f"`{name}" in text
