"""The configuration as the program uses it, and the declaration of every option. Base units: seconds, bytes."""

import math
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from kafka_warden.clients.jmx.protocol import JmxTls
from kafka_warden.clients.kafka.properties import KafkaClientSettings
from kafka_warden.config import values
from kafka_warden.config.options import Flag, Option, Section, options_of
from kafka_warden.model import OptionalQuestion, Parameters
from kafka_warden.settings.secrets import SecretSource
from kafka_warden.settings.strict import Address, boolean

ALL: Final = ("run", "plan", "top")
POLLING: Final = ("run", "top")
BOOTSTRAP: Final = Flag("--bootstrap-servers", "HOST:PORT,...", "brokers to connect to first", ALL)
"""Sets a Kafka property, which is no option."""

LogLevel = Annotated[
    str,
    Option(
        values.choice("debug", "info", "warning", "error"),
        "info",
        flag=Flag("--log-level", "LEVEL", "debug, info, warning or error", ALL, plan_default="warning"),
    ),
]
LogFormat = Annotated[
    str,
    Option(
        values.choice("logfmt", "json", "console"),
        "logfmt",
        flag=Flag("--log-format", "FORMAT", "logfmt, json or console", ALL),
    ),
]
OptionalPath = Annotated[Path | None, Option(values.text, path=True)]
RMI: Final = "rmi"
HTTP: Final = "http"
"""Values of `jmx.source`."""

Limit = Annotated[float, Option(values.whole_number, unset=math.inf)]


@dataclass(frozen=True, slots=True)
class KafkaConfig:
    """The client properties as they were set, and the settings made from them. Secret ones are in `secrets` only."""

    properties: Mapping[str, str]
    secrets: Mapping[str, SecretSource]
    settings: KafkaClientSettings


@dataclass(frozen=True, slots=True)
class JmxTlsConfig(Section):
    """PEM files. TLS is on where there is a `ca_file`."""

    ca_file: OptionalPath
    cert_file: OptionalPath
    key_file: OptionalPath
    registry: Annotated[bool, Option(boolean, "true")]

    def files(self) -> JmxTls | None:
        """Return what the JVM needs for TLS, or `None` without TLS."""
        if self.ca_file is None:
            return None
        cert, key = (None if path is None else str(path) for path in (self.cert_file, self.key_file))
        return JmxTls(str(self.ca_file), cert, key, self.registry)

    def context(self) -> ssl.SSLContext:
        """Make the context for HTTPS, which needs `ca_file`.

        Raises:
            OSError: a file cannot be used.
        """
        context = ssl.create_default_context(cafile=self.ca_file)
        if self.cert_file is not None:
            # Without a password OpenSSL asks for it on the terminal and waits.
            context.load_cert_chain(self.cert_file, self.key_file, password=lambda: "")
        return context


@dataclass(frozen=True, slots=True)
class JmxConfig(Section):
    """Addresses and the login. Beans are not read without any address."""

    source: Annotated[str, Option(values.choice(RMI, HTTP), RMI)]
    path: Annotated[str, Option(values.http_path, "/metrics")]
    """Of an agent's HTTP server."""

    port: Annotated[
        int | None,
        Option(
            values.port, flag=Flag("--jmx-port", "PORT", "JMX port of every broker; without it JMX is off", POLLING)
        ),
    ]
    """On the advertised host of every broker that `brokers` does not name."""
    brokers: Annotated[Mapping[int, Address], Option(values.numbered_addresses, {})]
    controllers: Annotated[Mapping[str, Address], Option(values.named_addresses, [])]
    """By node id as text, or by address where the id is not configured."""
    user: Annotated[str | None, Option(values.text)]
    password_file: OptionalPath
    tls: JmxTlsConfig
    password: SecretSource | None

    @property
    def enabled(self) -> bool:
        """Return whether there is an address to read from."""
        return bool(self.port or self.brokers or self.controllers)


@dataclass(frozen=True, slots=True)
class ControllersConfig(Section):
    """What cannot be read from a cluster: controllers before Kafka 3.9, and the window of a controller out of reach."""

    bootstrap: Annotated[tuple[Address, ...], Option(values.addresses, [])]
    quota_window: Annotated[float | None, Option(values.duration)]
    """Seconds: controller.quota.window.num x controller.quota.window.size.seconds."""


@dataclass(frozen=True, slots=True)
class ClusterConfig(Section):
    """What people call the cluster."""

    name: Annotated[str | None, Option(values.text)]


@dataclass(frozen=True, slots=True)
class PollConfig(Section):
    """Seconds."""

    interval: Annotated[
        float,
        Option(values.duration, "10s", flag=Flag("--poll-interval", "DURATION", "time between two polls", POLLING)),
    ]
    deadline: Annotated[float, Option(values.duration)]
    log_dirs: Annotated[float, Option(values.duration, "60s")]


@dataclass(frozen=True, slots=True)
class SourcesConfig(Section):
    """Requests that are not sent."""

    disable: Annotated[frozenset[str], Option(values.choices(*OptionalQuestion), [])]
    """Values of `OptionalQuestion`."""


@dataclass(frozen=True, slots=True)
class TopicsConfig(Section):
    """Patterns over whole topic names."""

    allow: Annotated[tuple[re.Pattern[str], ...], Option(values.patterns, [".*"])]
    deny: Annotated[tuple[re.Pattern[str], ...], Option(values.patterns, [])]
    uncounted: Annotated[tuple[re.Pattern[str], ...], Option(values.patterns, [])]

    def matches(self, topic: str) -> bool:
        """Return whether a pattern of `allow` matches the topic and none of `deny` does."""
        return _any_of(self.allow, topic) and not _any_of(self.deny, topic)

    def is_uncounted(self, topic: str) -> bool:
        """Return whether a pattern of `uncounted` matches the topic."""
        return _any_of(self.uncounted, topic)


def _any_of(patterns: tuple[re.Pattern[str], ...], topic: str) -> bool:
    return any(pattern.fullmatch(topic) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class StateConfig(Section):
    """The file that survives a restart."""

    path: Annotated[Path, Option(values.text, "kafka-warden.state", path=True)]


@dataclass(frozen=True, slots=True)
class WebConfig(Section):
    """Where to listen, the file with TLS and authentication in exporter-toolkit's format, and names of the server."""

    listen: Annotated[
        Address,
        Option(values.listen_address, "127.0.0.1:10073", flag=Flag("--listen", "HOST:PORT", "address to serve on")),
    ]
    config_file: OptionalPath
    hosts: Annotated[frozenset[str], Option(values.host_names, [])]
    """In lower case; empty for the default."""


@dataclass(frozen=True, slots=True)
class LimitsConfig(Section):
    """Numbers of series and of partitions; unlimited is infinity."""

    series: Annotated[int, Option(values.whole_number, 20_000)]
    max_broker_partitions: Limit
    max_partitions: Limit


@dataclass(frozen=True, slots=True)
class NetworkConfig(Section):
    """Of one broker."""

    bytes_per_second: Annotated[
        float | None,
        Option(values.rate, flag=Flag("--network", "RATE", "network capacity of one broker, such as 125MB/s", ALL)),
    ]


@dataclass(frozen=True, slots=True)
class MovesConfig(Section):
    """Seconds."""

    deadline: Annotated[float, Option(values.duration, "4h")]
    grace: Annotated[float, Option(values.duration, "60s")]


@dataclass(frozen=True, slots=True)
class HistoryKafkaConfig(Section):
    """History as messages. Off without a topic."""

    topic: Annotated[str | None, Option(values.topic)]


@dataclass(frozen=True, slots=True)
class ParquetConfig(Section):
    """History as files. Off without a path. Times in seconds."""

    path: OptionalPath
    roll: Annotated[float, Option(values.duration, "1h")]
    retention: Annotated[float, Option(values.duration, "7d")]


@dataclass(frozen=True, slots=True)
class HistoryConfig(Section):
    """History is off by default."""

    interval: Annotated[float | None, Option(values.duration)]
    """Seconds between two polls that are kept, `None` for all."""
    kafka: HistoryKafkaConfig
    parquet: ParquetConfig


@dataclass(frozen=True, slots=True)
class LogConfig(Section):
    """The least severe level that is logged, and the format."""

    level: LogLevel
    format: LogFormat


@dataclass(frozen=True, slots=True)
class Config(Section):
    """Everything that the user may set."""

    cluster: ClusterConfig
    kafka: KafkaConfig
    jmx: JmxConfig
    controllers: ControllersConfig
    poll: PollConfig
    sources: SourcesConfig
    topics: TopicsConfig
    state: StateConfig
    web: WebConfig
    limits: LimitsConfig
    network: NetworkConfig
    moves: MovesConfig
    history: HistoryConfig
    log: LogConfig
    explicit: frozenset[str]
    """Keys that the file, the environment or a flag sets, such as `poll.interval`."""

    def to_parameters(self) -> Parameters:
        """Return the part that a poll is evaluated and shown with."""
        return Parameters(
            poll_interval=self.poll.interval,
            series_budget=self.limits.series,
            max_broker_partitions=self.limits.max_broker_partitions,
            max_partitions=self.limits.max_partitions,
            network_bytes_per_second=self.network.bytes_per_second,
            moves_deadline=self.moves.deadline,
            moves_grace=self.moves.grace,
            cluster_name=self.cluster.name,
        )

    def not_in_effect(self) -> tuple[str, ...]:
        """Return the keys that are set and have no effect."""
        off: tuple[str, ...] = ()
        if self.history.parquet.path is None:
            off = ("history.parquet.roll", "history.parquet.retention")
            if self.history.kafka.topic is None:
                off = ("history.interval", *off)
        history = (key for key in off if key in self.explicit)
        return (*history, *(f"kafka.{name}" for name in self.kafka.settings.ignored))


OPTIONS: Final = tuple(options_of(Config))
BY_KEY: Final = {option.key: option for option in OPTIONS}
FLAGS: Final = {BOOTSTRAP.name: "kafka.bootstrap.servers"} | {
    option.flag.name: option.key for option in OPTIONS if option.flag
}
"""Flag to the key that it sets. None takes a secret: `ps` shows flags to every user of the machine."""
