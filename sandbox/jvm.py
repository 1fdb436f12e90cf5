"""The command line of a node."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox.ports import LOOPBACK

# Start-up counts here, not throughput: no second compiler, one collector thread, the JDK's own class archive.
FLAGS = (
    "-server",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xshare:auto",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-UsePerfData",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
    "-Dlog4j2.level=OFF",
)
FIRST_HEAP_MIB = 64


def java_arguments(
    class_path: str,
    heap: int,
    properties_file: Path,
    agent_file: Path | None = None,
    archive: Path | None = None,
    system: Mapping[str, str] | None = None,
    program: str = "kafka.Kafka",
) -> Sequence[str]:
    """Everything after `java`; it contains no secret.

    Args:
        class_path: Kafka's jars.
        heap: Maximal heap in MiB.
        properties_file: The node's server properties.
        agent_file: The JMX agent's configuration, or None for no agent.
        archive: A class archive, or None.
        system: More system properties.
        program: The main class.
    """
    jmx: tuple[str, ...] = ()
    if agent_file is not None:
        # RMI reads the host name, not the agent, so it cannot be in the agent's file
        jmx = (f"-Dcom.sun.management.config.file={agent_file}", f"-Djava.rmi.server.hostname={LOOPBACK}")
    heap_flags = (f"-Xmx{heap}m", f"-Xms{min(heap, FIRST_HEAP_MIB)}m")
    shared = () if archive is None else (f"-XX:SharedArchiveFile={archive}",)
    more = tuple(f"-D{name}={value}" for name, value in (system or {}).items())
    return (*FLAGS, *shared, *heap_flags, *jmx, *more, "-cp", class_path, program, os.fspath(properties_file))
