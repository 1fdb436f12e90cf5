"""Names of this server in the `Host` header.

A web page can let its own name resolve to the address of this server (DNS rebinding). The browser then lets it read
responses of this server, and sends that name as `Host`. TLS and passwords prevent that: the page has no certificate and
no login. Without these, names that an attacker can own in public DNS are refused unless `web.hosts` lists them. Private
names are accepted, so that scrapers need no option: those of containers, of Kubernetes and of a local network.
"""

import ipaddress
import re
import socket
from dataclasses import dataclass
from typing import Final

from kafka_warden.settings.strict import Address

_HOST: Final = re.compile(r"(\[[^]]*\]|[^:]*)(?::\d*)?")
_LABEL: Final = re.compile(r"[a-z0-9_-]+")
"""A name without a dot. A resolver completes it with a domain that belongs to its network."""
_PRIVATE: Final = tuple(
    ".localhost .local .internal .intranet .private .corp .home .lan .home.arpa .svc .consul".split()  # noqa: SIM905  # as the documents list them
)
"""Names that public DNS does not have: RFC 6761, 6762 (with appendix G) and 8375, `.internal` of ICANN, services of
Kubernetes (`NAME.NAMESPACE.svc`, also with `.cluster.local`) and of Consul."""


@dataclass(frozen=True, slots=True)
class HostNames:
    """The accepted names in lower case, besides private ones. `configured`: those of `web.hosts`."""

    configured: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()

    def accept(self, header: str, *, protected: bool) -> bool:
        """Return whether a `Host` header, which may be empty, is accepted. `protected`: by TLS or passwords."""
        if not header or (protected and not self.configured):
            return True
        found = _HOST.fullmatch(header)
        name = found[1].strip("[]").rstrip(".").lower() if found else ""
        private = _LABEL.fullmatch(name) or name.endswith(_PRIVATE) or _is_address(name)
        return bool(private) or name in self.configured or name in self.own


def own_names(listen: Address, *others: str) -> frozenset[str]:
    """Return the names of a machine that listens on an address. `others`: its other names."""
    return frozenset(name.lower() for name in (socket.gethostname(), listen.host, *others))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
