"""Settings of a sandbox cluster."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from sandbox.errors import SettingsError
from sandbox.ports import LOOPBACK

FIRST_CONTROLLER_ID = 101
ZOOKEEPER_ID = 100
PROFILES = ("fast", "default")
MOST_BROKERS = 50
MOST_CONTROLLERS = 5
MOST_LOG_DIRS = 8
TIERED_SINCE = (3, 6)
"""First release with tiered storage."""
TIERED_JAR_UNTIL = "4.3.1"
"""Last release whose test jar has LocalTieredStorage. Newer brokers run with that one (`LogContext.java`)."""


class Security(Enum):
    """The security protocol of all connections; all except PLAINTEXT also have an authorizer."""

    PLAINTEXT = "plaintext"
    SASL_SSL_SCRAM = "sasl_ssl_scram"
    SASL_SSL_PLAIN = "sasl_ssl_plain"
    MTLS = "mtls"


@dataclass(frozen=True)
class ClusterSettings:
    """The settings of one cluster.

    Attributes:
        brokers: Number of brokers; their ids are 1, 2, 3 ...
        controllers: Number of controllers, each a process of its own; their ids are 101, 102, 103 ...
        version: Version of Kafka. Tested are those of docs/versions.md.
        profile: `fast` shortens what tests wait for (replica.lag.time.max.ms, the broker session, retention checks
            ...); `default` leaves Kafka's own values.
        jmx: Whether every node has a JMX port.
        jmx_password: Whether JMX requires a user and a password.
        jmx_tls: Whether JMX speaks TLS, for the registry too.
        jmx_client_certificate: Whether JMX over TLS requires a client certificate.
        tiered: Whether tiered storage is on, with LocalTieredStorage. From Kafka 3.6 on.
        zookeeper: Whether the cluster is in ZooKeeper mode: no controllers, but one ZooKeeper server, node 100. For
            Kafka before 4.0, without security.
        security: Security protocol of clients, brokers and controllers.
        log_dirs: Log directories per broker.
        broker_heap: Maximal heap of a broker in MiB.
        controller_heap: Maximal heap of a controller in MiB.
        advertised_host: The name by which clients reach the nodes; they listen on loopback.
        broker_properties: Server properties that override all others, on every broker.
        controller_properties: The same on every controller.
        java_properties: System properties of every node's JVM.
    """

    brokers: int = 3
    controllers: int = 1
    version: str = "4.1.1"
    profile: str = "fast"
    jmx: bool = True
    jmx_password: bool = False
    jmx_tls: bool = False
    jmx_client_certificate: bool = False
    tiered: bool = True
    zookeeper: bool = False
    security: Security = Security.PLAINTEXT
    log_dirs: int = 1
    broker_heap: int = 256
    controller_heap: int = 128
    advertised_host: str = LOOPBACK
    broker_properties: Mapping[str, object] = field(default_factory=dict)
    controller_properties: Mapping[str, object] = field(default_factory=dict)
    java_properties: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse invalid settings.

        Raises:
            SettingsError: One line that names the setting.
        """
        _between("brokers", self.brokers, 1, MOST_BROKERS)
        _between("controllers", self.controllers, 1, MOST_CONTROLLERS)
        _between("log_dirs", self.log_dirs, 1, MOST_LOG_DIRS)
        _between("broker_heap", self.broker_heap, 64, 65536)
        _between("controller_heap", self.controller_heap, 64, 65536)
        if self.profile not in PROFILES:
            raise SettingsError(f"profile must be one of {', '.join(PROFILES)}, not {self.profile!r}")
        if (self.jmx_password or self.jmx_tls) and not self.jmx:
            raise SettingsError("jmx_password and jmx_tls need jmx")
        if self.jmx_client_certificate and not self.jmx_tls:
            raise SettingsError("jmx_client_certificate needs jmx_tls")
        if self.zookeeper and (self.secured or release(self.version) >= (4,)):
            raise SettingsError("zookeeper needs a version before 4.0, and PLAINTEXT")
        # What is no version at all is refused by who fetches it.
        if self.tiered and () < release(self.version) < TIERED_SINCE:
            raise SettingsError("tiered needs Kafka 3.6")

    @property
    def secured(self) -> bool:
        """Whether there are principals."""
        return self.security is not Security.PLAINTEXT

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """Ids of the brokers."""
        return tuple(range(1, self.brokers + 1))

    @property
    def controller_ids(self) -> tuple[int, ...]:
        """Ids of the controllers; none in ZooKeeper mode."""
        if self.zookeeper:
            return ()
        return tuple(range(FIRST_CONTROLLER_ID, FIRST_CONTROLLER_ID + self.controllers))


def release(version: str) -> tuple[int, ...]:
    """Numbers of a version, to compare: those of 4.1.1-rc0 are (4, 1, 1)."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _between(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise SettingsError(f"{name} must be between {least} and {most}, not {value}")
