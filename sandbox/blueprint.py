"""From settings to nodes on disk: ports, directories, properties files, formatted storage."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox import jars, storage
from sandbox.archive import class_archive
from sandbox.jvm import java_arguments
from sandbox.node import Node
from sandbox.passwords import write_secret
from sandbox.ports import LOOPBACK, Ports
from sandbox.properties import (
    CLIENT_LISTENER,
    CONTROLLER_LISTENER,
    Layout,
    broker_properties,
    controller_properties,
    render,
    zookeeper_properties,
)
from sandbox.protection import Protection
from sandbox.settings import ZOOKEEPER_ID, ClusterSettings

ZOOKEEPER = "org.apache.zookeeper.server.quorum.QuorumPeerMain"


class Blueprint:
    """All paths and ports of one cluster.

    Attributes:
        listeners: Port by listener name, by node.
        jmx: JMX port by node; empty where JMX is off.
    """

    def __init__(
        self, settings: ClusterSettings, root: Path, ports: Ports, cluster_id: str, protection: Protection
    ) -> None:
        self.settings = settings
        self.root = root
        self.cluster_id = cluster_id
        self._protection = protection
        self.listeners: dict[int, dict[str, int]] = {
            **{node: {CONTROLLER_LISTENER: ports.reserve()} for node in settings.controller_ids},
            **{node: {CLIENT_LISTENER: ports.reserve()} for node in settings.broker_ids},
        }
        self.zookeeper_port = ports.reserve() if settings.zookeeper else None
        self.jmx = {node: ports.reserve() for node in self.listeners if settings.jmx}

    def build(self) -> dict[int, Node]:
        """Write every file of every node."""
        class_path = jars.class_path(self.settings.version)
        nodes = {node: self._node(node) for node in self.listeners}
        if self.zookeeper_port is not None:
            return {ZOOKEEPER_ID: self._zookeeper(class_path, self.zookeeper_port), **nodes}
        first, *others = self.settings.controller_ids
        storage.format_with_tool(
            class_path, self._properties_file(first), self.cluster_id, self._protection.format_arguments
        )
        for node in (*others, *self.settings.broker_ids):
            self.format(node)
        return nodes

    def format(self, node: int) -> None:
        """Format the empty directories of a node as new ones. In ZooKeeper mode a broker makes its own."""
        if self.zookeeper_port is not None:
            return
        first = self.settings.controller_ids[0]
        kept = self.directory(first) / "bootstrap.checkpoint"
        if not kept.exists():
            shutil.copyfile(storage.bootstrap_records(self.log_dirs(first)[0], self.settings.version), kept)
        records = kept if node in self.settings.controller_ids else None
        storage.format_by_hand(self.log_dirs(node), node, self.cluster_id, self.settings.version, records)

    def address(self, node: int, listener: str | None = None) -> str:
        """Host and port of a listener, by default of the one that clients use."""
        ports = self.listeners[node]
        return f"{LOOPBACK}:{ports[listener] if listener else next(iter(ports.values()))}"

    def jmx_addresses(self) -> dict[int, str]:
        """Host and port of every JMX agent, by node."""
        return {node: f"{LOOPBACK}:{port}" for node, port in self.jmx.items()}

    def directory(self, node: int) -> Path:
        """The directory of a node."""
        return self.root / str(node)

    def log_dirs(self, node: int) -> tuple[Path, ...]:
        """The directories that hold a node's data."""
        count = 1 if node in self.settings.controller_ids else self.settings.log_dirs
        return tuple(self.directory(node) / f"data{number}" for number in range(1, count + 1))

    def _properties_file(self, node: int) -> Path:
        return self.directory(node) / "server.properties"

    def arguments(self, node: int, version: str) -> Sequence[str]:
        """The command line of a node in a version of Kafka. Writes the file of its JMX agent."""
        agent_file = None
        if node in self.jmx:
            agent_file = self._protection.jmx.write_agent_file(self.directory(node), self.jmx[node])
        return java_arguments(
            jars.class_path(version),
            self.settings.controller_heap if node in self.settings.controller_ids else self.settings.broker_heap,
            self._properties_file(node),
            agent_file,
            class_archive(version),
            self.settings.java_properties,
        )

    def _node(self, node: int) -> Node:
        directory = self.directory(node)
        directory.mkdir()
        controller = node in self.settings.controller_ids
        write_secret(self._properties_file(node), render(self._server_properties(node, controller=controller)))
        return Node(node, self.root, directory, self.arguments(node, self.settings.version))

    def _zookeeper(self, class_path: str, port: int) -> Node:
        directory = self.directory(ZOOKEEPER_ID)
        directory.mkdir()
        file = directory / "zookeeper.properties"
        file.write_text(render(zookeeper_properties(directory / "data", port)), encoding="utf-8")
        arguments = java_arguments(class_path, self.settings.controller_heap, file, program=ZOOKEEPER)
        return Node(ZOOKEEPER_ID, self.root, directory, arguments)

    def _server_properties(self, node: int, *, controller: bool) -> Mapping[str, object]:
        voters = {voter: self.listeners[voter][CONTROLLER_LISTENER] for voter in self.settings.controller_ids}
        zookeeper = "" if self.zookeeper_port is None else f"{LOOPBACK}:{self.zookeeper_port}"
        place = Layout(node, self.log_dirs(node), self.root / "remote", self.listeners[node], voters, zookeeper)
        write = controller_properties if controller else broker_properties
        return write(self.settings, place, self._protection.server_properties(controller=controller))
