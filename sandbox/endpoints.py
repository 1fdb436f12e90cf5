"""Addresses and principals of a cluster."""

from pathlib import Path

from sandbox.blueprint import Blueprint
from sandbox.jmx import JMX_USER
from sandbox.protection import ADMIN, Protection
from sandbox.settings import ClusterSettings


class Endpoints:
    """Addresses, principals and their secrets; nodes may be up or down.

    Attributes:
        settings: What the cluster was made of.
        protection: Users, passwords, certificates.
    """

    def __init__(self, settings: ClusterSettings, blueprint: Blueprint, protection: Protection) -> None:
        self.settings = settings
        self.protection = protection
        self._blueprint = blueprint

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """Ids of the brokers: 1, 2, 3 ..."""
        return self.settings.broker_ids

    @property
    def controller_ids(self) -> tuple[int, ...]:
        """Ids of the controllers: 101, 102 ..."""
        return self.settings.controller_ids

    @property
    def broker_addresses(self) -> dict[int, str]:
        """Host and port by broker."""
        return {node: self._blueprint.address(node) for node in self.broker_ids}

    @property
    def controller_addresses(self) -> dict[int, str]:
        """Host and port by controller."""
        return {node: self._blueprint.address(node) for node in self.controller_ids}

    @property
    def bootstrap(self) -> str:
        """Addresses of all brokers, for clients."""
        return ",".join(self.broker_addresses.values())

    @property
    def jmx_brokers(self) -> dict[int, str]:
        """JMX address by broker; empty where JMX is off."""
        return {node: address for node, address in self._blueprint.jmx_addresses().items() if node in self.broker_ids}

    @property
    def jmx_controllers(self) -> dict[int, str]:
        """JMX address by controller; empty where JMX is off."""
        jmx = self._blueprint.jmx_addresses()
        return {node: address for node, address in jmx.items() if node in self.controller_ids}

    @property
    def jmx_user(self) -> str | None:
        """The JMX user, who may read; None where JMX is open."""
        return JMX_USER if self.protection.jmx.password else None

    @property
    def jmx_password_file(self) -> Path | None:
        """A file of mode 600 with the JMX user's password and nothing else; None where JMX is open."""
        return self.protection.jmx.password_file

    def client_properties(self, user: str = ADMIN) -> dict[str, str]:
        """Security properties of a standard client: admin, monitor, stranger (no ACLs) or wrong (refused)."""
        return self.protection.client_properties(user)

    def secret_file(self, user: str) -> Path:
        """A file of mode 600 with the password of a user and nothing else.

        Raises:
            SandboxError: Users have no passwords on this cluster.
        """
        return self.protection.secret_file(user)

    def log_dirs(self, node: int) -> tuple[Path, ...]:
        """Where a node keeps its data."""
        return self._blueprint.log_dirs(node)
