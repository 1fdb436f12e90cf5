"""A real Kafka cluster on loopback; it ends with its `with` block."""

import atexit
import shutil
import tempfile
from functools import cached_property
from pathlib import Path
from typing import Self

from sandbox import readiness, reset
from sandbox.admin import Admin
from sandbox.blueprint import Blueprint
from sandbox.endpoints import Endpoints
from sandbox.errors import SandboxError
from sandbox.load import Load
from sandbox.node import Node
from sandbox.ports import Ports
from sandbox.protection import ADMIN, MONITOR
from sandbox.security import make_protection
from sandbox.settings import ClusterSettings
from sandbox.storage import kafka_uuid
from sandbox.waiting import wait_for

START_SECONDS = 120.0
STOP_SECONDS = 60.0


class Cluster(Endpoints):
    """A cluster in KRaft or ZooKeeper mode whose every node is a process of its own.

    Use it as a context manager: it is ready when the block begins, and nothing of it is left when the block ends.
    Should this process die in any other way, the guards end the nodes and remove the files. Nodes are named by id:
    brokers 1, 2, 3 ..., controllers 101, 102 ...

    Attributes:
        cluster_id: Kafka's id of it.
        root: The temporary directory of everything.
        nodes: The processes by id.
    """

    def __init__(self, settings: ClusterSettings | None = None) -> None:
        settings = settings or ClusterSettings()
        self.cluster_id = kafka_uuid()
        self.nodes: dict[int, Node] = {}
        self.root = Path(tempfile.mkdtemp(prefix="kafka-warden-sandbox-"))
        self._ports = Ports()
        atexit.register(self.close)
        try:
            protection = make_protection(settings, self.root)
            blueprint = Blueprint(settings, self.root, self._ports, self.cluster_id, protection)
        except BaseException:
            self.close()
            raise
        super().__init__(settings, blueprint, protection)

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Start every node and wait until all brokers are unfenced.

        Raises:
            SandboxError: A node ended while starting; the message has the end of its log.
            WaitTimeoutError: It took too long.
        """
        try:
            self.nodes = self._blueprint.build()
            for node in self.nodes.values():
                node.start()
            for node_id in self.broker_ids:
                self.wait_ready(node_id)
            if self.settings.secured:
                self.admin.grant(MONITOR)
            self._defaults = self.admin.default_broker_config()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End every process at once and remove every file. May be called again."""
        for node in self.nodes.values():
            node.kill()
        self._ports.close()
        shutil.rmtree(self.root, ignore_errors=True)
        atexit.unregister(self.close)

    @cached_property
    def admin(self) -> Admin:
        """Admin requests of the super user."""
        return self.admin_as(ADMIN)

    def admin_as(self, user: str, timeout: float = 60.0) -> Admin:
        """Admin requests of any principal; `timeout` in seconds, for each."""
        return Admin(self._brokers, self.protection.python_config(user), timeout)

    @cached_property
    def _controllers(self) -> Admin:
        """Admin requests to the controllers on their own listeners."""
        config = self.protection.python_config(ADMIN)
        return Admin(lambda: self._answering(self.controller_ids), config)

    @cached_property
    def load(self) -> Load:
        """Producers and consumers of the super user."""
        return Load(self.bootstrap, self.client_properties(ADMIN))

    def pause(self, node: int) -> None:
        """SIGSTOP: the node still accepts connections, but does not answer."""
        self._node(node).pause()

    def resume(self, node: int) -> None:
        """SIGCONT."""
        self._node(node).resume()

    def kill(self, node: int) -> None:
        """SIGKILL, and wait until the process is gone."""
        self._node(node).kill()

    def stop(self, node: int, timeout: float = STOP_SECONDS) -> None:
        """Controlled shutdown.

        Raises:
            SandboxError: It took longer than `timeout` seconds, and was killed.
        """
        self._node(node).stop(timeout)

    def start(self, node: int) -> None:
        """Start a node that is down; `wait_ready` waits for it."""
        self._node(node).start()

    def restart(self, node: int) -> None:
        """Controlled shutdown, start, and wait until it is ready."""
        self.stop(node)
        self.start(node)
        self.wait_ready(node)

    def upgrade(self, node: int, version: str) -> None:
        """Restart a node in another version of Kafka. The metadata version, and what it allows, stays as it was."""
        self.stop(node)
        self._node(node).arguments = self._blueprint.arguments(node, version)
        self.start(node)
        self.wait_ready(node)

    def rolling_restart(self) -> None:
        """Restart the brokers one by one; before each, wait until every replica is in sync."""
        for node in self.broker_ids:
            self.restart(node)
            self.wait_in_sync()

    def wipe(self, node: int) -> None:
        """Replace the data of a node that is down by empty, formatted directories.

        Raises:
            SandboxError: It still runs.
        """
        if self._node(node).running:
            raise SandboxError(f"node {node} still runs: stop or kill it before its data is wiped")
        for directory in self.log_dirs(node):
            shutil.rmtree(directory)
        self._blueprint.format(node)

    def wait_ready(self, node: int, timeout: float = START_SECONDS) -> None:
        """Wait until a node takes part: a broker is unfenced and answers, a controller has caught up."""
        if node in self.controller_ids:
            readiness.wait_controller(self._controllers, self._node(node), timeout)
        else:
            readiness.wait_broker(self.admin, self._node(node), timeout)

    def wait_in_sync(self, timeout: float = START_SECONDS) -> None:
        """Wait until every replica of every partition is in sync."""
        readiness.wait_in_sync(self.admin, timeout)

    def active_controller(self) -> int:
        """Id of the controller that leads the metadata quorum; in ZooKeeper mode of the broker that is it."""
        if self.settings.zookeeper:
            brokers = self._answering(self.broker_ids)
            return int(
                wait_for(lambda: readiness.controller_broker(brokers) or 0, START_SECONDS, "there is a controller")
            )
        return readiness.active_controller(self._controllers, START_SECONDS)

    def reset(self) -> None:
        """Restore the state after `open`: nodes, moves, topics, quotas, dynamic configs."""
        for node in self.nodes.values():
            if not node.running:
                node.start()
            elif node.paused:
                node.resume()
        for node_id in (*self.controller_ids, *self.broker_ids):
            self.wait_ready(node_id)
        reset.clear(self.admin, self._defaults)
        self.wait_in_sync()

    def pids(self) -> dict[int, int]:
        """Process ids of the JVMs that exist, by node."""
        return {node.node_id: node.pid for node in self.nodes.values() if node.running and node.pid is not None}

    def _brokers(self) -> dict[int, str]:
        """Brokers that answer; in ZooKeeper mode the active controller first, since the others do not forward to it."""
        found = self._answering(self.broker_ids)
        if self.settings.zookeeper and (first := readiness.controller_broker(found)) is not None:
            found = {first: found[first], **found}
        return found

    def _answering(self, ids: tuple[int, ...]) -> dict[int, str]:
        up = [node for node in ids if self._node(node).running and not self._node(node).paused]
        return {node: self._blueprint.address(node) for node in up}

    def _node(self, node: int) -> Node:
        if node not in self.nodes:
            raise SandboxError(f"no node {node}: there are {', '.join(map(str, self.nodes)) or 'none yet'}")
        return self.nodes[node]
