"""SASL over TLS: SCRAM, with credentials in the cluster, and PLAIN, with users in the brokers' files.

A controller cannot check SCRAM before it has read the metadata log, and it cannot read that before the other
controllers know it. So on a SCRAM cluster the nodes themselves come to the controllers with PLAIN; clients use SCRAM
there, too.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox.passwords import SCRAM_HASHES, new_password, scram_credentials, write_secret
from sandbox.properties import CLIENT_LISTENER, CONTROLLER_LISTENER
from sandbox.protection import BROKER, CLIENT_USERS, MONITOR, WRONG, require_known
from sandbox.settings import ClusterSettings
from sandbox.tls import TlsProtection

MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    **dict.fromkeys(SCRAM_HASHES, "org.apache.kafka.common.security.scram.ScramLoginModule"),
}


class SaslProtection(TlsProtection, ABC):
    """Users with passwords over TLS; the base of both kinds.

    Attributes:
        mechanisms: Mechanisms of the listener for clients; clients and brokers use the first one.
    """

    protocol = "SASL_SSL"
    mechanisms: Sequence[str]

    def __init__(self, settings: ClusterSettings, directory: Path) -> None:
        super().__init__(settings, directory)
        self._passwords = {user: new_password() for user in (BROKER, *CLIENT_USERS, WRONG)}
        for user in (*CLIENT_USERS, WRONG):
            self._write_secret(user)

    def server_properties(self, *, controller: bool) -> dict[str, object]:
        """The properties of a node's listeners, and of its own connections to the others."""
        properties = super().server_properties(controller=controller) | {
            "sasl.mechanism.controller.protocol": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": self.mechanisms[0],
        }
        mechanisms = sorted({*self.mechanisms, "PLAIN"}) if controller else self.mechanisms
        properties |= self._listener(CONTROLLER_LISTENER if controller else CLIENT_LISTENER, mechanisms)
        # a broker has no such listener, but reads its credentials for the controllers there
        return properties | self._login(CONTROLLER_LISTENER, "PLAIN")

    def client_properties(self, user: str, mechanism: str | None = None) -> dict[str, str]:
        """The properties of librdkafka, or of any standard client configuration, that make a client this principal."""
        require_known(user)
        return {
            **super().client_properties(user),
            "sasl.mechanism": mechanism or self.mechanisms[0],
            "sasl.username": MONITOR if user == WRONG else user,
            "sasl.password": self._passwords[user],
        }

    def java_properties(self, user: str) -> dict[str, str]:
        """The properties of Kafka's own tools that make them this principal."""
        mechanism, name = self.mechanisms[0], MONITOR if user == WRONG else user
        return {
            **super().java_properties(user),
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": (
                f'{MODULES[mechanism]} required username="{name}" password="{self._passwords[user]}";'
            ),
        }

    def secret_file(self, user: str) -> Path:
        """A file of mode 600 with the password of a user and nothing else."""
        require_known(user)
        return self.directory / f"{user}.password"

    def _write_secret(self, user: str) -> None:
        write_secret(self.secret_file(user), self._passwords[user])

    def _node_as_client(self) -> Mapping[str, object]:
        mechanism = self.mechanisms[0]
        return {**super()._node_as_client(), "sasl.mechanism": mechanism, "sasl.jaas.config": self._jaas(mechanism)}

    def _listener(self, listener: str, mechanisms: Sequence[str]) -> dict[str, object]:
        properties: dict[str, object] = {
            f"listener.name.{listener.lower()}.sasl.enabled.mechanisms": ",".join(mechanisms)
        }
        for mechanism in mechanisms:
            properties |= self._login(listener, mechanism)
        return properties

    def _login(self, listener: str, mechanism: str) -> dict[str, object]:
        return {f"listener.name.{listener.lower()}.{mechanism.lower()}.sasl.jaas.config": self._jaas(mechanism)}

    def _jaas(self, mechanism: str) -> str:
        """The user of a node, and for PLAIN also the users of its clients."""
        options = {"username": BROKER, "password": self._passwords[BROKER]}
        if mechanism == "PLAIN":
            options |= {f"user_{user}": self._passwords[user] for user in self._plain_users()}
        pairs = " ".join(f'{key}="{value}"' for key, value in options.items())
        return f"{MODULES[mechanism]} required {pairs};"

    @abstractmethod
    def _plain_users(self) -> Sequence[str]:
        """Users that the nodes' own files list for PLAIN."""


class PlainProtection(SaslProtection):
    """SASL/PLAIN."""

    mechanisms = ("PLAIN",)

    def _plain_users(self) -> Sequence[str]:
        return (BROKER, *CLIENT_USERS)


class ScramProtection(SaslProtection):
    """SASL/SCRAM, both mechanisms."""

    mechanisms = ("SCRAM-SHA-512", "SCRAM-SHA-256")

    def __init__(self, settings: ClusterSettings, directory: Path) -> None:
        super().__init__(settings, directory)
        self.format_arguments = tuple(
            argument
            for user in (BROKER, *CLIENT_USERS)
            for credential in scram_credentials(self._passwords[user])
            for argument in ("--add-scram", credential.format_argument(user))
        )

    def _plain_users(self) -> Sequence[str]:
        return (BROKER,)
