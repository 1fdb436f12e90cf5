"""Agents in the brokers of a cluster that serve beans over HTTP: that of jmx_exporter, and Jolokia."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from sandbox.cluster import Cluster
from sandbox.errors import SandboxError
from sandbox.jars import agents
from sandbox.ports import LOOPBACK, Ports

JMX_EXPORTER = "1.0.1"
TIMEOUT_SECONDS = 60


def attach_jmx_exporter(cluster: Cluster, ports: Ports, rules: Path) -> Mapping[int, str]:
    """Load the agent of jmx_exporter into every running node; return `host:port` of each.

    Args:
        cluster: Nodes that have no such agent yet.
        ports: Where to take ports from.
        rules: The agent's configuration.

    Raises:
        SandboxError: A node did not load it.
    """
    taken = {node: ports.reserve() for node in cluster.pids()}
    for node, port in taken.items():
        _load(cluster, node, "jmx_prometheus_javaagent", f"{LOOPBACK}:{port}:{rules}")
    return {node: f"{LOOPBACK}:{port}" for node, port in taken.items()}


def attach_jolokia(cluster: Cluster, ports: Ports) -> Mapping[int, str]:
    """Load Jolokia's agent into every running node; return `host:port` of each.

    Raises:
        SandboxError: A node did not load it.
    """
    taken = {node: ports.reserve() for node in cluster.pids()}
    for node, port in taken.items():
        _load(cluster, node, "jolokia-agent-jvm", f"host={LOOPBACK},port={port}")
    return {node: f"{LOOPBACK}:{port}" for node, port in taken.items()}


def _load(cluster: Cluster, node: int, name: str, options: str) -> None:
    (jar,) = agents(JMX_EXPORTER).glob(f"{name}-*.jar")
    # jcmd splits its arguments at blanks, unless they are quoted.
    command = ["jcmd", str(cluster.pids()[node]), "JVMTI.agent_load", f'"{jar}"', f'"{options}"']
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    if done.returncode or "return code: 0" not in done.stdout:
        raise SandboxError(f"node {node} did not load {name}: {(done.stdout + done.stderr).strip()[:300]}")
