"""Agents in the brokers of a cluster that serve beans over HTTP: that of jmx_exporter, and Jolokia."""

from collections.abc import Callable, Mapping
from pathlib import Path

from sandbox.cluster import Cluster
from sandbox.debian import run
from sandbox.errors import SandboxError
from sandbox.jars import agents
from sandbox.ports import LOOPBACK, Ports

JMX_EXPORTER = "1.0.1"


def attach_jmx_exporter(cluster: Cluster, ports: Ports, rules: Path) -> Mapping[int, str]:
    """Load the agent of jmx_exporter into every running node; return `host:port` of each.

    Args:
        cluster: Nodes that have no such agent yet.
        ports: Where to take ports from.
        rules: The agent's configuration.

    Raises:
        SandboxError: A node did not load it.
    """
    return _attach(cluster, ports, "jmx_prometheus_javaagent", lambda port: f"{LOOPBACK}:{port}:{rules}")


def attach_jolokia(cluster: Cluster, ports: Ports) -> Mapping[int, str]:
    """Load Jolokia's agent into every running node; return `host:port` of each.

    Raises:
        SandboxError: A node did not load it.
    """
    return _attach(cluster, ports, "jolokia-agent-jvm", lambda port: f"host={LOOPBACK},port={port}")


def _attach(cluster: Cluster, ports: Ports, name: str, options: Callable[[int], str]) -> Mapping[int, str]:
    (jar,) = agents(JMX_EXPORTER).glob(f"{name}-*.jar")
    addresses = {}
    for node, pid in cluster.pids().items():
        port = ports.reserve()
        # jcmd splits its arguments at blanks, unless they are quoted.
        said = run(["jcmd", str(pid), "JVMTI.agent_load", f'"{jar}"', f'"{options(port)}"'], jar.parent)
        if "return code: 0" not in said:
            raise SandboxError(f"node {node} did not load {name}: {said.strip()[:300]}")
        addresses[node] = f"{LOOPBACK}:{port}"
    return addresses
