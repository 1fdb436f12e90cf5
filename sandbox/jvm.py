"""The command line of a node, and its JMX agent."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.passwords import write_secret
from sandbox.ports import LOOPBACK

JMX_USER = "monitor"

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


@dataclass(frozen=True)
class JmxAccess:
    """The one JMX user, who may only read.

    Attributes:
        password: In clear, for the agent's files of all nodes.
        password_file: A file with the password and nothing else, mode 600, for the reader.
    """

    password: str
    password_file: Path


def java_arguments(class_path: str, heap: int, properties_file: Path, management_file: Path | None) -> Sequence[str]:
    """Everything after `java`; `heap` in MiB. No secret is among it."""
    jmx = (
        ()
        if management_file is None
        else (
            f"-Dcom.sun.management.config.file={management_file}",
            # read by RMI, not by the agent, so it cannot stand in the agent's file
            f"-Djava.rmi.server.hostname={LOOPBACK}",
        )
    )
    heap_flags = (f"-Xmx{heap}m", f"-Xms{min(heap, 64)}m")
    return (*FLAGS, *heap_flags, *jmx, "-cp", class_path, "kafka.Kafka", os.fspath(properties_file))


def write_management(directory: Path, port: int, access: JmxAccess | None) -> Path:
    """Write the JMX agent's configuration of one node: one port for registry and objects, on loopback only."""
    lines = [
        f"com.sun.management.jmxremote.port={port}",
        f"com.sun.management.jmxremote.rmi.port={port}",
        f"com.sun.management.jmxremote.host={LOOPBACK}",
        "com.sun.management.jmxremote.ssl=false",
        f"com.sun.management.jmxremote.authenticate={str(access is not None).lower()}",
    ]
    if access is not None:
        # The JDK replaces the clear password by its hash, so every node has a copy of its own.
        passwords = write_secret(directory / "jmxremote.password", f"{JMX_USER} {access.password}\n")
        readers = write_secret(directory / "jmxremote.access", f"{JMX_USER} readonly\n")
        lines += [
            f"com.sun.management.jmxremote.password.file={passwords}",
            f"com.sun.management.jmxremote.access.file={readers}",
        ]
    return write_secret(directory / "management.properties", "\n".join(lines) + "\n")
