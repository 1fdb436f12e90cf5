"""Commands of Kafka's own tools for an administrator."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from kafka_warden.clients.kafka.kerberos import Kerberos
from kafka_warden.clients.kafka.properties import KafkaClientSettings
from kafka_warden.clients.kafka.tokens import Tokens


@dataclass(frozen=True, slots=True)
class Commands:
    """Makes command lines for the cluster of these settings."""

    settings: KafkaClientSettings

    @property
    def principal(self) -> str:
        """The principal as brokers see it. Those of a certificate and a delegation token are not known."""
        credentials = self.settings.credentials
        if isinstance(credentials, Tokens | Kerberos):
            return f"User:{credentials.subject or 'PRINCIPAL'}"
        if credentials is not None:
            login = credentials.read()
            return f"User:{'PRINCIPAL' if login.delegated else login.username}"
        return "User:PRINCIPAL" if self.settings.tls is not None else "User:ANONYMOUS"

    def acl(self, options: Iterable[str]) -> str:
        """Return the command that adds an ACL."""
        return self.line("kafka-acls.sh", ["--add", "--allow-principal", self.principal, *options])

    def line(self, tool: str, options: Iterable[str]) -> str:
        """Return the command line of a tool, with the administrator's properties where the cluster is secured."""
        servers = ",".join(map(str, self.settings.bootstrap))
        secured = ["--command-config", "admin.properties"] if self.settings.security_protocol != "PLAINTEXT" else []
        return shlex.join([tool, "--bootstrap-server", servers, *secured, *options])
