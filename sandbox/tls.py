"""TLS with the cluster's own certificate authority: the base of SASL_SSL, and of mTLS with client certificates."""

from collections.abc import Mapping
from pathlib import Path

from sandbox.certificates import HERE, Authority
from sandbox.protection import (
    ADMIN,
    BROKER,
    CLIENT_USERS,
    MONITOR,
    WRONG,
    Protection,
    require_known,
)
from sandbox.settings import ClusterSettings

# The metadata of tiered storage uses a producer and a consumer that do not inherit the broker's security.
REMOTE_CLIENT = "rlmm.config.remote.log.metadata.common.client."
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class TlsProtection(Protection):
    """TLS everywhere, and an authorizer."""

    protocol = "SSL"

    def __init__(self, settings: ClusterSettings, directory: Path) -> None:
        super().__init__(settings, directory)
        self.authority = Authority(directory / "certificates", "authority")
        self._server = self.authority.issue("server", BROKER, HERE)

    def server_properties(self, *, controller: bool) -> dict[str, object]:
        """The properties of a node's listeners, and of its own connections to the others."""
        properties = {
            **super().server_properties(controller=controller),
            **self._store(self._server.keystore),
            "authorizer.class.name": AUTHORIZER,
            "super.users": f"User:{BROKER};User:{ADMIN}",
        }
        if not controller:
            properties |= {f"{REMOTE_CLIENT}{key}": value for key, value in self._node_as_client().items()}
        return properties

    def client_properties(self, user: str) -> dict[str, str]:
        """The properties of librdkafka, or of any standard client configuration, that make a client this principal."""
        require_known(user)
        return {"security.protocol": self.protocol, "ssl.ca.location": str(self.authority.certificate)}

    def java_properties(self, user: str) -> dict[str, str]:
        """The properties of Kafka's own tools that make them this principal."""
        require_known(user)
        return {
            "security.protocol": self.protocol,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority.certificate),
        }

    def _node_as_client(self) -> Mapping[str, object]:
        return {"security.protocol": self.protocol, **self._store(self._server.keystore)}

    def _store(self, keystore: Path) -> dict[str, object]:
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": keystore,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.authority.certificate,
        }


class MutualTlsProtection(TlsProtection):
    """Clients authenticate with a certificate; the principal is its CN."""

    def __init__(self, settings: ClusterSettings, directory: Path) -> None:
        super().__init__(settings, directory)
        foreign = Authority(directory / "foreign", "foreign")
        self._clients = {user: self.authority.issue(user, user) for user in CLIENT_USERS}
        self._clients[WRONG] = foreign.issue(WRONG, MONITOR)

    def server_properties(self, *, controller: bool) -> dict[str, object]:
        """The properties of a node's listeners, and of its own connections to the others."""
        return {
            **super().server_properties(controller=controller),
            "ssl.client.auth": "required",
            "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/",
        }

    def client_properties(self, user: str) -> dict[str, str]:
        """The properties of librdkafka, or of any standard client configuration, that make a client this principal."""
        properties = super().client_properties(user)
        identity = self._clients[user]
        return {
            **properties,
            "ssl.certificate.location": str(identity.certificate),
            "ssl.key.location": str(identity.key),
        }

    def java_properties(self, user: str) -> dict[str, str]:
        """The properties of Kafka's own tools that make them this principal."""
        key_store = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self._clients[user].keystore)}
        return {**super().java_properties(user), **key_store}
