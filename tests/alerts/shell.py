"""The shell of a runbook on a sandbox cluster: tools of Kafka and of the sidecar, with the cluster's own addresses."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox import jars
from sandbox.admin_topics import Partition
from sandbox.jvm import FLAGS
from sandbox.properties import render
from sandbox.protection import ADMIN as ADMIN_USER
from sandbox.settings import release
from tests.alerts.stage import Stage
from tests.support.processes import run

LONGEST: Final = 240.0
ADMIN: Final = "kafka.admin."
TOOLS: Final = "org.apache.kafka.tools."
MAIN: Final = {
    "kafka-broker-api-versions": f"{TOOLS}BrokerApiVersionsCommand",
    "kafka-cluster": f"{TOOLS}ClusterTool",
    "kafka-configs": f"{TOOLS}ConfigCommand",
    "kafka-consumer-groups": f"{TOOLS}consumer.group.ConsumerGroupCommand",
    "kafka-delete-records": f"{TOOLS}DeleteRecordsCommand",
    "kafka-leader-election": f"{TOOLS}LeaderElectionCommand",
    "kafka-log-dirs": f"{TOOLS}LogDirsCommand",
    "kafka-metadata-quorum": f"{TOOLS}MetadataQuorumCommand",
    "kafka-reassign-partitions": f"{TOOLS}reassign.ReassignPartitionsCommand",
    "kafka-storage": "kafka.tools.StorageTool",
    "kafka-topics": f"{TOOLS}TopicCommand",
}
"""Classes of Kafka 4.4 by tool, as in its `bin`."""
MOVED: Final = (
    ("kafka-broker-api-versions", (4, 0), f"{ADMIN}BrokerApiVersionsCommand"),
    ("kafka-configs", (4, 4), f"{ADMIN}ConfigCommand"),
)
"""Tools, the release since which their class is another one, and what it was before."""
ABSENT: Final = re.compile(r"\b(docker|kubectl|systemctl status|timedatectl|dmesg|nc -)\b")
"""Not in a sandbox: service managers, clocks, disks. `systemctl show` and `journalctl` are scripts of the test."""
ASSIGNMENT: Final = re.compile(r"""[A-Z]+=(?:"[^"]*"|\S+)(?: [A-Z]+=(?:"[^"]*"|\S+))*""")


@dataclass(frozen=True)
class Ran:
    """What became of a command; `code` is None where the sandbox has no such tool."""

    code: int | None
    output: str
    seconds: float


class Shell:
    """Runs the commands of one page, in a directory of its own with the properties of the administrator.

    Attributes:
        plan: The replicas to be by partition, as in the file of the plan.
    """

    def __init__(self, directory: Path, stage: Stage, broker: int) -> None:
        self._directory = directory
        self._assigned: list[str] = []
        self.plan: Mapping[Partition, tuple[int, ...]] = {}
        sidecar, cluster = stage.sidecar, stage.cluster
        brokers = cluster.admin.brokers() if cluster.admin.running() else {}
        live = ",".join(brokers.values()) or cluster.bootstrap
        others = [address for number, address in brokers.items() if number != broker]
        self._names = {
            "another-broker:9092": ",".join(others) or live,
            "broker:9092": live,
            "http://warden:10073": f"http{'s' if sidecar.login else ''}://{sidecar.address}",
            ":10073": f":{sidecar.port}",
            "/etc/kafka-warden/warden.yml": os.fspath(sidecar.directory / "kafka-warden.yml"),
            "/etc/kafka-warden": os.fspath(sidecar.directory),
            "server.log": os.fspath(cluster.nodes[broker].log_file),
        }
        bin_directory = directory / "bin"
        bin_directory.mkdir()
        write_tools(bin_directory, cluster.settings.version)
        _script(bin_directory / "journalctl", f"exec cat {sidecar.log_file}")
        _script(bin_directory / "systemctl", f"echo {sidecar.pid}")
        (directory / "admin.properties").write_text(render(cluster.protection.java_properties(ADMIN_USER)))
        (directory / ".curlrc").write_text("insecure\nmax-time = 10\n")
        path = f"{bin_directory}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, "CURL_HOME": os.fspath(directory)}

    def write_plan(self, replicas: Mapping[Partition, tuple[int, ...]]) -> None:
        """Write `move.json`."""
        self.plan = replicas
        partitions = [{"topic": name, "partition": n, "replicas": to} for (name, n), to in replicas.items()]
        (self._directory / "move.json").write_text(json.dumps({"version": 1, "partitions": partitions}))

    def run(self, command: str) -> Ran:
        """Run a command as the shell of an operator does, after the assignments of the commands before it."""
        for name, replacement in self._names.items():
            command = command.replace(name, replacement)
        if ABSENT.search(command):
            return Ran(None, "", 0.0)
        began = time.monotonic()
        done = subprocess.run(
            ["bash", "-c", "\n".join([*self._assigned, command])],
            cwd=self._directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        if ASSIGNMENT.fullmatch(command):
            self._assigned.append(command)
        return Ran(done.returncode, done.stdout, time.monotonic() - began)


def main_classes(version: str) -> dict[str, str]:
    """Return the class of each tool in a version of Kafka."""
    return MAIN | {tool: before for tool, since, before in MOVED if release(version) < since}


def write_tools(directory: Path, version: str) -> None:
    """Write scripts that run Kafka's tools of a version, with the names that they have in its `bin`."""
    java = f"exec java {' '.join(FLAGS)} -cp '{jars.tools(version)}/*'"
    for tool, main in main_classes(version).items():
        _script(directory / f"{tool}.sh", f'{java} {main} "$@"')


def paste(folder: Path, line: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a line in a folder, with the tools in it on the path; it must end with this exit code."""
    done = run("bash", "-c", line, cwd=folder, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    assert done.returncode == code, f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done


def _script(file: Path, command: str) -> None:
    file.write_text(f"#!/bin/sh\n{command}\n")
    file.chmod(0o755)
