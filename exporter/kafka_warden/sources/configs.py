"""Configuration of brokers and topics: DescribeConfigs, with the synonyms that show where a value comes from."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from kafka_warden.clients.kafka.faults import error_code_fault
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.requests import request_configs
from kafka_warden.errors import InvalidRequestError, MisdirectedError, ProtocolError, SourceError
from kafka_warden.model import UNLIMITED, BrokerConfig, Limit, Origin, Side, TopicConfig
from kafka_warden.replies import ControllerWindow

TOPIC: Final = 2
BROKER: Final = 4
INT, LONG = (1 << 31) - 1, (1 << 63) - 1
"""Java's largest. `LONG` is Kafka's value for a rate without a limit."""

ORIGINS: Final = {2: Origin.BROKER, 3: Origin.CLUSTER_DEFAULT}
"""ConfigSource DYNAMIC_BROKER_CONFIG and DYNAMIC_DEFAULT_BROKER_CONFIG; brokers ignore other sources of these keys."""

LIMIT_KEYS: Final = {
    Side.LEADER: "leader.replication.throttled.rate",
    Side.FOLLOWER: "follower.replication.throttled.rate",
    Side.LOG_DIRS: "replica.alter.log.dirs.io.max.bytes.per.second",
}
COPY_QUOTA: Final = "remote.log.manager.copy.max.bytes.per.second"
FETCH_QUOTA: Final = "remote.log.manager.fetch.max.bytes.per.second"
COPY_WINDOW_SAMPLES: Final = "remote.log.manager.copy.quota.window.num"
COPY_WINDOW_SECONDS: Final = "remote.log.manager.copy.quota.window.size.seconds"
CONTROLLER_SAMPLES: Final = "controller.quota.window.num"
CONTROLLER_SECONDS: Final = "controller.quota.window.size.seconds"
LAST_TIERED: Final = "follower.fetch.last.tiered.offset.enable"
_OF_BROKERS: Final = {
    **dict.fromkeys((COPY_QUOTA, FETCH_QUOTA), (1, LONG)),
    **dict.fromkeys((COPY_WINDOW_SAMPLES, COPY_WINDOW_SECONDS), (1, INT)),
    "replica.lag.time.max.ms": (0, LONG),
    "replica.fetch.wait.max.ms": (0, INT),
    "replica.fetch.max.bytes": (0, INT),
    "replica.fetch.response.max.bytes": (0, INT),
    "num.replica.fetchers": (1, INT),
    "replication.quota.window.num": (1, INT),
    "replication.quota.window.size.seconds": (1, INT),
}
BROKER_KEYS: Final = (*LIMIT_KEYS.values(), *_OF_BROKERS, "remote.log.storage.system.enable", LAST_TIERED)
COPY_LAG_KEYS: Final = (
    "remote.copy.lag.ms",
    "remote.copy.lag.bytes",
    "local.retention.ms",
    "local.retention.bytes",
    "retention.ms",
    "retention.bytes",
)
"""What decides how long a segment is not copied on purpose. Asked of topics with remote storage only."""
NUMBERS: Final = {
    **_OF_BROKERS,
    **dict.fromkeys((CONTROLLER_SAMPLES, CONTROLLER_SECONDS), (1, INT)),
    "segment.bytes": (14, INT),
    "min.insync.replicas": (1, INT),
    **dict.fromkeys(COPY_LAG_KEYS, (-LONG - 1, LONG)),
}
"""Least and most of each key that is a number, as Kafka demands; where it demands no least, what is no nonsense."""
TOPIC_KEYS: Final = (
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
    "cleanup.policy",
    "segment.bytes",
    "remote.storage.enable",
    "remote.log.copy.disable",
    "min.insync.replicas",
)


async def read_broker_config(link: BrokerLink, timeout_at: float, broker: int) -> BrokerConfig:
    """Ask a broker for its own configuration; another broker cannot answer for it.

    Raises:
        MisdirectedError: another broker answered.
        SourceError: it did not answer, or may not.
    """
    answer = await _read(link, BROKER, [str(broker)], BROKER_KEYS, timeout_at)
    if isinstance(answer[1], InvalidRequestError):
        raise MisdirectedError(f"another broker answers at the advertised address of broker {broker}: {answer[1]}")
    config = parse_broker_config(_only(answer, str(broker), link.address))
    return replace(config, kafka_version=link.kafka_version)


@dataclass(frozen=True, slots=True)
class TopicAnswer:
    """Configurations by topic, and why others are missing: deleted meanwhile, or without an ACL."""

    configs: Mapping[str, TopicConfig]
    refused: SourceError | None


async def read_topic_configs(link: BrokerLink, timeout_at: float, topics: Sequence[str]) -> TopicAnswer:
    """Ask any broker for the configuration of some topics; those that it refuses or garbles are left out.

    Raises:
        SourceError: it did not answer.
    """
    answered, refused = await _read(link, TOPIC, topics, TOPIC_KEYS, timeout_at)
    if remote := [topic for topic, entries in answered.items() if _has_remote_storage(entries)]:
        lags, fault = await _read(link, TOPIC, remote, COPY_LAG_KEYS, timeout_at)
        refused = refused or fault
        others = answered.keys() - set(remote)
        answered = {topic: {**answered[topic], **lags.get(topic, {})} for topic in [*others, *lags]}
    configs = {}
    for topic, entries in answered.items():
        try:
            configs[topic] = parse_topic_config(entries)
        except ProtocolError as fault:
            refused = ProtocolError(f"{link.address}: topic {topic}: {fault}")
    return TopicAnswer(configs, refused)


async def read_controller_window(link: BrokerLink, timeout_at: float, node: int) -> ControllerWindow:
    """Ask a controller, the only one that reports its `controller.quota.window.*`; missing keys have Kafka's defaults.

    Raises:
        SourceError: it did not answer, or may not.
    """
    answer = await _read(link, BROKER, [str(node)], (CONTROLLER_SAMPLES, CONTROLLER_SECONDS), timeout_at)
    plain = _plain(_only(answer, str(node), link.address))
    return ControllerWindow(plain.get(CONTROLLER_SAMPLES, 11), float(plain.get(CONTROLLER_SECONDS, 1)))


Entries = Mapping[str, Any]
"""Key of a configuration to its DescribeConfigsResourceResult."""


async def _read(
    link: BrokerLink, kind: int, names: Sequence[str], keys: Sequence[str], timeout_at: float
) -> tuple[dict[str, Entries], SourceError | None]:
    request = request_configs(kind, names, keys, synonyms=kind == BROKER)
    return parse_configs(await link.ask(request, timeout_at), link.address)


def parse_configs(reply: Any, address: str) -> tuple[dict[str, Entries], SourceError | None]:
    """Group a DescribeConfigsResponse by resource name; beside it the last error of a resource that has one."""
    configs: dict[str, Entries] = {}
    fault = None
    for result in reply.results:
        if result.error_code:
            fault = error_code_fault(result.error_code, result.error_message, address)
        else:
            configs[result.resource_name] = {entry.name: entry for entry in result.configs}
    return configs, fault


def parse_limit(entries: Entries, key: str) -> Limit:
    """Resolve a dynamic limit: the broker's own value, else the cluster's default, else unlimited.

    Values of these keys in server.properties are ignored, as the broker ignores them
    (docs/spec/throttles.md#limits-and-lists).

    Raises:
        ProtocolError: no limit of Kafka's.
    """
    entry = entries.get(key)
    if entry is None:
        return Limit()
    layers = [(entry.config_source, entry.value), *((layer.source, layer.value) for layer in entry.synonyms or ())]
    for source, origin in ORIGINS.items():
        for layer, value in layers:
            if layer == source and value is not None:
                return Limit(_rate(_number(key, value, 0, LONG)), origin)
    return Limit()


def parse_broker_config(entries: Entries) -> BrokerConfig:
    """Read the keys of one broker; missing keys have Kafka's defaults.

    Raises:
        ProtocolError: a number is none, or not one that Kafka accepts.
    """
    plain = _plain(entries)
    default = BrokerConfig()
    tiered = plain.get("remote.log.storage.system.enable") == "true"
    return BrokerConfig(
        limits={side: parse_limit(entries, key) for side, key in LIMIT_KEYS.items()},
        remote_copy_quota=_rate(plain[COPY_QUOTA]) if tiered and COPY_QUOTA in plain else None,
        remote_fetch_quota=_rate(plain[FETCH_QUOTA]) if tiered and FETCH_QUOTA in plain else None,
        replica_lag_time_max=_seconds(plain, "replica.lag.time.max.ms", default.replica_lag_time_max),
        replica_fetch_wait_max=_seconds(plain, "replica.fetch.wait.max.ms", default.replica_fetch_wait_max),
        replica_fetch_max_bytes=plain.get("replica.fetch.max.bytes", default.replica_fetch_max_bytes),
        replica_fetch_response_max_bytes=plain.get(
            "replica.fetch.response.max.bytes", default.replica_fetch_response_max_bytes
        ),
        replica_fetchers=plain.get("num.replica.fetchers", default.replica_fetchers),
        quota_window_num=plain.get("replication.quota.window.num", default.quota_window_num),
        quota_window_size=float(plain.get("replication.quota.window.size.seconds", default.quota_window_size)),
        remote_copy_window=float(plain.get(COPY_WINDOW_SAMPLES, 11) * plain.get(COPY_WINDOW_SECONDS, 1)),
        follower_fetch_last_tiered=plain.get(LAST_TIERED) == "true",
    )


def parse_topic_config(entries: Entries) -> TopicConfig:
    """Read the keys of one topic; missing keys have Kafka's defaults.

    Raises:
        ProtocolError: a number is none, or not one that Kafka accepts.
    """
    plain = _plain(entries)
    default = TopicConfig()
    lag_seconds, lag_bytes = _copy_lag(plain, "ms") / 1000, _copy_lag(plain, "bytes")
    delayed = lag_seconds > 0 and lag_bytes > 0
    return TopicConfig(
        leader_throttled=plain.get("leader.replication.throttled.replicas", ""),
        follower_throttled=plain.get("follower.replication.throttled.replicas", ""),
        compacted="compact" in plain.get("cleanup.policy", ""),
        segment_bytes=plain.get("segment.bytes", default.segment_bytes),
        remote_storage=_has_remote_storage(entries),
        remote_copy_disabled=plain.get("remote.log.copy.disable") == "true",
        min_insync_replicas=plain.get("min.insync.replicas", default.min_insync_replicas),
        remote_copy_lag_seconds=lag_seconds if delayed else 0.0,
        remote_copy_lag_bytes=lag_bytes if delayed else 0.0,
    )


def _has_remote_storage(entries: Entries) -> bool:
    enabled = entries.get("remote.storage.enable")
    return enabled is not None and enabled.value == "true"


def _copy_lag(plain: Mapping[str, int], unit: str) -> float:
    """Resolve `remote.copy.lag.*` as Kafka does: -1 is the local retention, whose -2 is the retention. KIP-1241.

    Copies are not delayed where the key does not exist, before Kafka 4.4.
    """
    lag = plain.get(f"remote.copy.lag.{unit}", 0)
    if lag < 0:
        lag = plain.get(f"local.retention.{unit}", -2)
        lag = plain.get(f"retention.{unit}", -1) if lag == -2 else lag  # noqa: PLR2004  # as Kafka writes it
    return UNLIMITED if lag < 0 else float(lag)


def _only(answer: tuple[Mapping[str, Entries], SourceError | None], name: str, address: str) -> Entries:
    configs, fault = answer
    if name not in configs:
        raise fault or ProtocolError(f"{address}: DescribeConfigs returned nothing about {name}")
    return configs[name]


def _plain(entries: Entries) -> dict[str, Any]:
    """Values by key without those that are null: numbers for the keys of `NUMBERS`, else texts."""
    return {
        key: _number(key, entry.value, *NUMBERS[key]) if key in NUMBERS else entry.value
        for key, entry in entries.items()
        if entry.value is not None
    }


def _number(key: str, value: str, least: int, most: int) -> int:
    with contextlib.suppress(ValueError):
        if least <= (number := int(value)) <= most:
            return number
    raise ProtocolError(f"{key}: expected a number from {least} to {most}, got {value[:40]!r}")


def _rate(rate: int) -> float:
    return UNLIMITED if rate == LONG else float(rate)


def _seconds(plain: Mapping[str, int], key: str, default: float) -> float:
    return plain[key] / 1000 if key in plain else default
