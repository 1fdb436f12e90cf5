"""Which protection a cluster has."""

from pathlib import Path

from sandbox.protection import Protection
from sandbox.sasl import PlainProtection, ScramProtection
from sandbox.settings import ClusterSettings, Security
from sandbox.tls import MutualTlsProtection

PROTECTIONS: dict[Security, type[Protection]] = {
    Security.PLAINTEXT: Protection,
    Security.SASL_SSL_SCRAM: ScramProtection,
    Security.SASL_SSL_PLAIN: PlainProtection,
    Security.MTLS: MutualTlsProtection,
}


def make_protection(settings: ClusterSettings, directory: Path) -> Protection:
    """Make users, passwords and certificates in `directory`."""
    return PROTECTIONS[settings.security](settings, directory)
