"""The configuration as the program uses it: typed, frozen, in base units (seconds, bytes)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kafka_warden.clients.jmx.protocol import TlsFiles
from kafka_warden.clients.kafka.properties import KafkaClientSettings
from kafka_warden.model import Parameters
from kafka_warden.settings.secrets import SecretSource
from kafka_warden.settings.strict import Address


@dataclass(frozen=True, slots=True)
class KafkaConfig:
    """The client properties as given, and what they come to. Secret ones are in `secrets` only."""

    properties: Mapping[str, str]
    secrets: Mapping[str, SecretSource]
    settings: KafkaClientSettings


@dataclass(frozen=True, slots=True)
class JmxController:
    """The JMX address of a controller; `id` is `None` while it is not known."""

    id: int | None
    address: Address


@dataclass(frozen=True, slots=True)
class JmxConfig:
    """Where JMX listens and who asks. With no address at all JMX is off."""

    port: int | None
    """On the advertised host of every broker that `brokers` does not name."""
    brokers: Mapping[int, Address]
    controllers: tuple[JmxController, ...]
    user: str | None
    password: SecretSource | None
    tls: TlsFiles | None

    @property
    def enabled(self) -> bool:
        """Tell whether there is anything to ask over JMX."""
        return bool(self.port or self.brokers or self.controllers)


@dataclass(frozen=True, slots=True)
class ControllersConfig:
    """What DescribeQuorum and the controllers' own listeners do not tell."""

    bootstrap: tuple[Address, ...]
    quota_window: float | None
    """Seconds: controller.quota.window.num x controller.quota.window.size.seconds."""


@dataclass(frozen=True, slots=True)
class PollConfig:
    """Seconds."""

    interval: float
    deadline: float
    log_dirs: float


@dataclass(frozen=True, slots=True)
class TopicsConfig:
    """Patterns over whole topic names."""

    allow: tuple[re.Pattern[str], ...]
    deny: tuple[re.Pattern[str], ...]

    def matches(self, topic: str) -> bool:
        """Tell whether a topic is to be looked at: some pattern allows it and none denies it."""
        allowed = any(pattern.fullmatch(topic) for pattern in self.allow)
        return allowed and not any(pattern.fullmatch(topic) for pattern in self.deny)


@dataclass(frozen=True, slots=True)
class WebConfig:
    """Where to listen, and the file with TLS and authentication in exporter-toolkit's format."""

    listen: Address
    config_file: Path | None


@dataclass(frozen=True, slots=True)
class LimitsConfig:
    """Numbers of series and of partitions; unlimited is infinity."""

    series: int
    max_broker_partitions: float
    max_partitions: float


@dataclass(frozen=True, slots=True)
class MovesConfig:
    """Seconds."""

    deadline: float
    grace: float


@dataclass(frozen=True, slots=True)
class ParquetConfig:
    """Where files go, and when. Seconds."""

    path: Path
    roll: float
    retention: float


@dataclass(frozen=True, slots=True)
class HistoryConfig:
    """Where history goes; nowhere by default."""

    interval: float | None
    """Seconds between two polls that are kept, `None` for all."""
    parquet: ParquetConfig | None
    topic: str | None
    """Of Kafka."""


@dataclass(frozen=True, slots=True)
class LogConfig:
    """How much is logged and in which form."""

    level: str
    format: str


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that the user may set."""

    kafka: KafkaConfig
    jmx: JmxConfig
    controllers: ControllersConfig
    poll: PollConfig
    topics: TopicsConfig
    web: WebConfig
    limits: LimitsConfig
    network_bytes_per_second: float | None
    moves: MovesConfig
    state_path: Path
    history: HistoryConfig
    log: LogConfig
    given: frozenset[str]
    """The options that were set by anyone, such as `poll.interval`."""

    def to_parameters(self) -> Parameters:
        """Return what judgement needs to know."""
        return Parameters(
            poll_interval=self.poll.interval,
            series_budget=self.limits.series,
            max_broker_partitions=self.limits.max_broker_partitions,
            max_partitions=self.limits.max_partitions,
            network_bytes_per_second=self.network_bytes_per_second,
            moves_deadline=self.moves.deadline,
            moves_grace=self.moves.grace,
        )

    def not_in_effect(self) -> tuple[str, ...]:
        """Return what was set and has no effect, for one line in the log."""
        of_files = ("history.parquet.roll", "history.parquet.retention")
        off = of_files if self.history.parquet is None else ()
        off = off if self.history.parquet is not None or self.history.topic is not None else ("history.interval", *off)
        history = tuple(key for key in off if key in self.given)
        kafka = tuple(f"kafka.{name}" for name in self.kafka.settings.ignored)
        return (*history, *kafka)
