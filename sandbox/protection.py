"""Authentication and encryption of a cluster. This is the base class, for PLAINTEXT, which has neither.

Principals: `broker` is what brokers and controllers are to each other, and `admin` the one who sets things up: both
are super users. `monitor` has the ACLs of a monitoring principal and no more, `stranger` has none. `wrong` is `monitor`
with a password, or a certificate, that is refused.
"""

from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.jmx import JmxAccess
from sandbox.properties import CLIENT_LISTENER, CONTROLLER_LISTENER
from sandbox.settings import ClusterSettings

BROKER = "broker"
ADMIN = "admin"
MONITOR = "monitor"
STRANGER = "stranger"
WRONG = "wrong"
CLIENT_USERS = (ADMIN, MONITOR, STRANGER)

PYTHON_KEYS = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "ssl.ca.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
}


class Protection:
    """The protection of a cluster: none for Kafka; JMX may still have a password.

    Attributes:
        directory: Where certificates and passwords lie.
        format_arguments: Arguments of kafka-storage format about users.
        jmx: Who may read over JMX, and how.
    """

    protocol = "PLAINTEXT"

    def __init__(self, settings: ClusterSettings, directory: Path) -> None:
        self.directory = directory
        self.format_arguments: tuple[str, ...] = ()
        self.jmx = JmxAccess(settings, directory)

    def server_properties(self, *, controller: bool) -> dict[str, object]:  # noqa: ARG002  # those with a login need it
        """The properties of a node's listeners, and of its own connections to the others."""
        names = (CONTROLLER_LISTENER, CLIENT_LISTENER)
        return {"listener.security.protocol.map": ",".join(f"{name}:{self.protocol}" for name in names)}

    def client_properties(self, user: str) -> dict[str, str]:
        """The properties of librdkafka, or of any standard client configuration, that make a client this principal."""
        require_known(user)
        return {}

    def java_properties(self, user: str) -> dict[str, str]:
        """The properties of Kafka's own tools that make them this principal."""
        require_known(user)
        return {}

    def python_config(self, user: str) -> dict[str, object]:
        """The same as keys of kafka-python."""
        properties = self.client_properties(user)
        return {key: properties[name] for name, key in PYTHON_KEYS.items() if name in properties}

    def secret_file(self, user: str) -> Path:
        """A file of mode 600 with the password of a user and nothing else.

        Raises:
            SandboxError: Users have no passwords here.
        """
        raise SandboxError(f"{user} has no password: clients of this cluster do not use one")


def require_known(user: str) -> None:
    """Refuse an unknown user.

    Raises:
        SandboxError: The message names the known ones.
    """
    if user not in {*CLIENT_USERS, WRONG}:
        raise SandboxError(f"no user {user!r}: there are {', '.join((*CLIENT_USERS, WRONG))}")
