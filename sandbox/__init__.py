"""A real Kafka cluster on loopback, for the demo, the tests and the benchmarks."""

from sandbox.cluster import Cluster
from sandbox.errors import (
    AdminError,
    NoBrokerAnswersError,
    SandboxError,
    SettingsError,
    WaitTimeoutError,
)
from sandbox.settings import ClusterSettings, Security
from sandbox.waiting import wait_for

__all__ = [
    "AdminError",
    "Cluster",
    "ClusterSettings",
    "NoBrokerAnswersError",
    "SandboxError",
    "Security",
    "SettingsError",
    "WaitTimeoutError",
    "wait_for",
]
