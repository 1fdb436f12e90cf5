"""The server properties of a node, as text for its file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.ports import LOOPBACK
from sandbox.settings import ClusterSettings

CONTROLLER_LISTENER = "CONTROLLER"
CLIENT_LISTENER = "CLIENT"
"""The listener of clients and of the other brokers."""
REMOTE_LISTENER_KEY = "remote.log.metadata.manager.listener.name"

FAST = {
    "replica.lag.time.max.ms": 6000,
    "replica.fetch.backoff.ms": 200,
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "controlled.shutdown.retry.backoff.ms": 500,
    "group.initial.rebalance.delay.ms": 0,
    "log.initial.task.delay.ms": 1000,
    "log.retention.check.interval.ms": 2000,
    "log.segment.delete.delay.ms": 1000,
    "remote.log.manager.task.interval.ms": 1000,
    # The sidecar reports stuck and slow replicas after two quota windows: 6 s instead of 22 s.
    "replication.quota.window.num": 3,
    # As many responses fit in a window as by default: a throttle of 1 MB/s is just large enough for one.
    "replica.fetch.response.max.bytes": (10 << 20) * 3 // 11,
}
DEFAULT_QUOTA_WINDOW = {"replication.quota.window.num": 11, "replica.fetch.response.max.bytes": 10 << 20}
"""Broker properties that give a cluster of the profile `fast` Kafka's own quota window of 11 s."""
# The quorum's own deadlines stay as they are: on a busy machine short ones cause needless elections.

ZOOKEEPER_CONNECTION_MS = 60_000
"""ZooKeeper starts together with the brokers."""
ZOOKEEPER_SESSION_MS = 6_000

# Kafka's default of 128 MiB for the cleaner is half the heap here.
CLEANER_BUFFER_BYTES = 4 << 20


@dataclass(frozen=True)
class Layout:
    """Where one node lives: its id, its directories and the ports of all nodes."""

    node_id: int
    log_dirs: tuple[Path, ...]
    remote_dir: Path
    listeners: Mapping[str, int]
    voters: Mapping[int, int]
    zookeeper: str = ""
    """Its address, in ZooKeeper mode."""


def broker_properties(settings: ClusterSettings, layout: Layout, security: Mapping[str, object]) -> dict[str, object]:
    """The properties of a broker; `security` are those of its listeners."""
    return {
        **({} if layout.zookeeper else {"process.roles": "broker"}),
        **_common(settings, layout),
        "inter.broker.listener.name": CLIENT_LISTENER,
        "auto.create.topics.enable": False,
        "log.cleaner.dedupe.buffer.size": CLEANER_BUFFER_BYTES,
        **_internal_topics(settings),
        **_tiered(settings, layout),
        **(FAST if settings.profile == "fast" else {}),
        **security,
        **settings.broker_properties,
    }


def controller_properties(
    settings: ClusterSettings, layout: Layout, security: Mapping[str, object]
) -> dict[str, object]:
    """The properties of a controller; `security` are those of its listener."""
    session = {key: FAST[key] for key in ("broker.session.timeout.ms", "broker.heartbeat.interval.ms")}
    return {
        "process.roles": "controller",
        **_common(settings, layout),
        # a controller that does not know that tiered storage is on refuses topics with remote.storage.enable
        "remote.log.storage.system.enable": settings.tiered,
        **(session if settings.profile == "fast" else {}),
        **security,
        **settings.controller_properties,
    }


def render(properties: Mapping[str, object]) -> str:
    """The text of a properties file."""
    return "".join(f"{key}={_escape(value)}\n" for key, value in properties.items())


def _escape(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def zookeeper_properties(data: Path, port: int) -> dict[str, object]:
    """The properties of the ZooKeeper server."""
    return {
        "dataDir": data,
        "clientPort": port,
        "clientPortAddress": LOOPBACK,
        "maxClientCnxns": 0,
        "admin.enableServer": False,
    }


def _common(settings: ClusterSettings, layout: Layout) -> dict[str, object]:
    host = settings.advertised_host
    kraft = {
        "node.id": layout.node_id,
        "controller.listener.names": CONTROLLER_LISTENER,
        "controller.quorum.voters": ",".join(f"{node}@{host}:{port}" for node, port in layout.voters.items()),
    }
    zookeeper = {
        "broker.id": layout.node_id,
        "zookeeper.connect": layout.zookeeper,
        "zookeeper.connection.timeout.ms": ZOOKEEPER_CONNECTION_MS,
        "zookeeper.session.timeout.ms": ZOOKEEPER_SESSION_MS,
    }
    hosts = {"listeners": LOOPBACK} | ({} if host == LOOPBACK else {"advertised.listeners": host})
    ports = layout.listeners.items()
    return {
        **{key: ",".join(f"{name}://{host}:{port}" for name, port in ports) for key, host in hosts.items()},
        "log.dirs": ",".join(map(str, layout.log_dirs)),
        **(zookeeper if layout.zookeeper else kraft),
    }


def _internal_topics(settings: ClusterSettings) -> dict[str, object]:
    replicas = min(3, settings.brokers)
    least_in_sync = min(2, settings.brokers)
    return {
        "offsets.topic.num.partitions": 4,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.num.partitions": 4,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": least_in_sync,
    }


def _tiered(settings: ClusterSettings, layout: Layout) -> dict[str, object]:
    if not settings.tiered:
        return {}
    return {
        "remote.log.storage.system.enable": True,
        REMOTE_LISTENER_KEY: CLIENT_LISTENER,
        "remote.log.storage.manager.class.name": "org.apache.kafka.server.log.remote.storage.LocalTieredStorage",
        "remote.log.storage.manager.impl.prefix": "rsm.config.",
        "rsm.config.dir": layout.remote_dir,
        "rsm.config.delete.on.close": False,
        "remote.log.metadata.manager.impl.prefix": "rlmm.config.",
        "rlmm.config.remote.log.metadata.topic.num.partitions": 2,
        "rlmm.config.remote.log.metadata.topic.replication.factor": min(3, settings.brokers),
    }
