"""Scripted Kafka brokers for tests and benchmarks: any number in one process, with faults and a clock of the test's."""

from tests.support.scripted.cluster import ScriptedCluster
from tests.support.scripted.virtual import VirtualClock

__all__ = ["ScriptedCluster", "VirtualClock"]
