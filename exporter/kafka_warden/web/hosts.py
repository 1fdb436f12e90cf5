"""Names of this server in the `Host` header.

A web page can let its own name resolve to 127.0.0.1 (DNS rebinding). The browser then lets it read responses of this
server, and sends that name as `Host`. TLS and passwords prevent that: the page has no certificate and no login. Without
these, and on loopback only, where scrapers are on this machine, unknown names are refused, as in Jupyter. Other servers
are scraped by names that they cannot know.
"""

import ipaddress
import re
import socket
from dataclasses import dataclass

from kafka_warden.settings.strict import Address

_HOST = re.compile(r"(\[[^]]*\]|[^:]*)(?::\d*)?")


@dataclass(frozen=True, slots=True)
class HostNames:
    """The accepted names in lower case. `configured`: those of `web.hosts`; if there are any, no others are."""

    configured: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    loopback: bool = False
    """Whether only this machine reaches the server."""

    def accept(self, header: str, *, protected: bool) -> bool:
        """Return whether a `Host` header, which may be empty, is accepted. `protected`: by TLS or passwords."""
        if not header or not (self.configured or (self.loopback and not protected)):
            return True
        found = _HOST.fullmatch(header)
        name = found[1].strip("[]").rstrip(".").lower() if found else ""
        return name in self.configured or name in self.own or name.endswith(".localhost") or _is_address(name)


def host_names(configured: frozenset[str], listen: Address, bound: str) -> HostNames:
    """Return the names of a server that listens on an address, which was bound as `bound`."""
    own = frozenset(("localhost", socket.gethostname().lower(), listen.host.lower()))
    return HostNames(configured, own, ipaddress.ip_address(bound).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
