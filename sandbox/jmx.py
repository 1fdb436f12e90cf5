"""The JMX agents of a cluster: their ports, TLS and credentials."""

from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509 import load_pem_x509_certificate

from sandbox.certificates import HERE, Authority, Identity
from sandbox.passwords import new_password, write_secret
from sandbox.ports import LOOPBACK
from sandbox.properties import render
from sandbox.settings import ClusterSettings

JMX_USER = "monitor"
AGENT = "com.sun.management.jmxremote."


@dataclass(frozen=True)
class JmxTls:
    """TLS between reader and agent.

    Attributes:
        ca_file: What the reader trusts.
        client: What the reader shows where agents want a client certificate.
        ssl_file: The agents' key stores, as a properties file.
    """

    ca_file: Path
    client: Identity
    ssl_file: Path


class JmxAccess:
    """Who may read over JMX, and how.

    Attributes:
        password: Of the one user, who may only read; None where no user is asked for.
        password_file: A file with the password and nothing else, mode 600, for the reader.
        tls: None where JMX is in clear.
    """

    def __init__(self, settings: ClusterSettings, directory: Path) -> None:
        self._client_certificate = settings.jmx_client_certificate
        self.password = new_password() if settings.jmx_password else None
        self.password_file: Path | None = None
        if self.password is not None:
            self.password_file = write_secret(directory / f"jmx-{JMX_USER}.password", self.password)
        self.tls = _make_tls(directory / "jmx") if settings.jmx_tls else None

    def write_agent_file(self, directory: Path, port: int) -> Path:
        """Write one node's agent configuration: a single port for registry and objects, on loopback only."""
        agent: dict[str, object] = {"port": port, "rmi.port": port, "host": LOOPBACK, "ssl": self.tls is not None}
        agent |= {"authenticate": self.password is not None}
        if self.tls is not None:
            agent |= {"registry.ssl": True, "ssl.config.file": self.tls.ssl_file}
            agent |= {"ssl.need.client.auth": self._client_certificate}
        if self.password is not None:
            # The JDK replaces the clear password by its hash, so every node has a copy of its own.
            passwords = write_secret(directory / "jmxremote.password", f"{JMX_USER} {self.password}\n")
            readers = write_secret(directory / "jmxremote.access", f"{JMX_USER} readonly\n")
            agent |= {"password.file": passwords, "access.file": readers}
        return write_secret(directory / "management.properties", render({AGENT + key: agent[key] for key in agent}))


def _make_tls(directory: Path) -> JmxTls:
    authority = Authority(directory, "jmx-authority")
    password = new_password()
    stores = {
        "keyStore": (directory / "agent.p12", _key_store(authority.issue("agent", "agent", HERE), password)),
        "trustStore": (directory / "trust.p12", _trust_store(authority.certificate, password)),
    }
    lines = []
    for kind, (path, content) in stores.items():
        path.write_bytes(content)
        lines += [f"javax.net.ssl.{kind}={path}", f"javax.net.ssl.{kind}Password={password}"]
    ssl_file = write_secret(directory / "ssl.properties", "\n".join(lines) + "\n")
    return JmxTls(authority.certificate, authority.issue("reader", "reader"), ssl_file)


def _key_store(identity: Identity, password: str) -> bytes:
    key = serialization.load_pem_private_key(identity.key.read_bytes(), None)
    certificate = load_pem_x509_certificate(identity.certificate.read_bytes())
    encryption = serialization.BestAvailableEncryption(password.encode())
    serialize = pkcs12.serialize_key_and_certificates
    return serialize(b"agent", key, certificate, None, encryption)  # type: ignore[arg-type]  # issued as an EC key


def _trust_store(ca_file: Path, password: str) -> bytes:
    trusted = pkcs12.PKCS12Certificate(load_pem_x509_certificate(ca_file.read_bytes()), b"authority")
    encryption = serialization.BestAvailableEncryption(password.encode())
    return pkcs12.serialize_java_truststore([trusted], encryption)
