"""A listening socket with a limit on connections. Above the limit it closes the least useful one.

A client is an IPv4 address or the /64 network of an IPv6 address. The client with most connections loses one. A client
that was ever allowed a request is trusted: it keeps four before all others.

hypercorn and asyncio have no limit on connections, so `accept()` is wrapped. Shutting an accepted socket down looks to
hypercorn like a client that hung up. Connections that are open do not keep new ones out: clients that keep connections
open, or read a response slowly, cannot lock other clients out. A TLS handshake costs milliseconds of the thread that
serves all, so a client that is not trusted may begin few of them in a second. What it connects above that is closed at
once.
"""

import contextlib
import ipaddress
import math
import select
import socket
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from kafka_warden.errors import ConfigError
from kafka_warden.settings.strict import Address, reason
from kafka_warden.web.file import RateLimit
from kafka_warden.web.rates import ClientRates

Peer = tuple[str, int]

_LATE: Final = 1.0
"""Seconds after the idle timeout: TLS clients that do not answer hypercorn's close are still connected then."""
_MOST_TRUSTED: Final = 1000
_KEPT: Final = 4
_HUNG_UP: Final = getattr(select, "POLLRDHUP", 0)
"""Not on macOS, where POLLHUP alone is reported."""
_HANDSHAKES: Final = RateLimit(interval=0.5, burst=32)
"""New TLS connections of a client that is not trusted. Some scrapers behind one address may start together."""
_CLOSED_AT_ONCE: Final = 64
"""Connections that are closed in a row before the event loop has a turn."""
_PENDING: Final = 1024
"""Connections that the kernel may hold until they are accepted."""


@dataclass(slots=True)
class _Connection:
    socket: socket.socket
    client: str
    since: float
    """Monotonic time of the last progress: accepted, a part of the response sent. Infinite while it is being made."""
    served: bool = False
    answering: int = 0


class Connections:
    """The open connections. Used on the event loop's thread only; other threads may read the counts."""

    def __init__(self, most: int, idle: float, answer: float, *, handshakes: bool = False) -> None:
        self._most = most
        self._handshakes = handshakes
        self._rates = ClientRates()
        self._idle = idle
        self._answer = answer
        self._open: dict[Peer, _Connection] = {}
        self.ending = False
        """Whether the server stops: no connection is accepted any more."""
        self._trusted: dict[str, None] = {}
        self.evicted = 0
        """Closed for a new connection at the limit."""
        self.reaped = 0
        """Closed after a timeout, by hypercorn too."""
        self.refused = 0
        """Closed before the handshake: their clients connect too often."""

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, peer: Peer, accepted: socket.socket) -> bool:
        """Add a new connection, and close the least useful one above the limit; return whether it was added."""
        client = client_of(peer[0])
        if self._handshakes and client not in self._trusted and not self._rates.takes(client, _HANDSHAKES):
            self.refused += 1
            return False
        self._forget_closed()
        self._open[peer] = _Connection(accepted, client, time.monotonic())
        if len(self._open) > self._most:
            self._drop_hung_up()
        if len(self._open) > self._most:
            self._drop(self._least_useful(peer))
            self.evicted += 1
        return True

    def trust(self, client: str) -> None:
        """Record that the client was allowed a request. The last thousand are remembered."""
        self._trusted.pop(client, None)
        self._trusted[client] = None
        if len(self._trusted) > _MOST_TRUSTED:
            del self._trusted[next(iter(self._trusted))]

    def begin(self, peer: Peer | None) -> None:
        """Record that a request is complete and its response is being made."""
        if peer in self._open:
            connection = self._open[peer]
            connection.served, connection.since = True, math.inf
            connection.answering += 1

    def progress(self, peer: Peer | None) -> bool:
        """Record that the client read a part of the response; return whether the connection is still open."""
        if peer not in self._open:
            return False
        self._open[peer].since = time.monotonic()
        return self._open[peer].socket.fileno() >= 0

    def end(self, peer: Peer | None) -> None:
        """Record that the response is complete."""
        if peer in self._open:
            connection = self._open[peer]
            connection.since = time.monotonic()
            connection.answering -= 1

    def reap(self) -> None:
        """Close connections that are idle or read for too long and that hypercorn did not close."""
        self._forget_closed()
        self._drop_hung_up()
        now = time.monotonic()
        for peer, connection in list(self._open.items()):
            if now - connection.since > (self._answer if connection.answering else self._idle + _LATE):
                self._drop(peer)
                self.reaped += 1

    def close_all(self) -> None:
        """Close every connection."""
        for peer in list(self._open):
            self._drop(peer)

    def _least_useful(self, new: Peer) -> Peer:
        held = Counter(connection.client for connection in self._open.values())

        def worth(peer: Peer) -> tuple[float, ...]:
            # Of one client: no complete request yet, then idle, then answering; the oldest of each.
            each = self._open[peer]
            kept = each.client in self._trusted and held[each.client] <= _KEPT
            return kept, -held[each.client], each.answering > 0, each.served, each.since

        return min((peer for peer in self._open if peer != new), key=worth)

    def _drop_hung_up(self) -> None:
        # asyncio accepts many connections at once, before it reads that the clients of others have hung up. Without
        # this, clients that connect for every request would be evicted for connections that they closed.
        waiting = {each.socket.fileno(): peer for peer, each in self._open.items()}
        poll = select.poll()
        for number in waiting:
            poll.register(number, _HUNG_UP)
        for number, _ in poll.poll(0):
            self._drop(waiting[number])

    def _forget_closed(self) -> None:
        now = time.monotonic()
        for peer in [peer for peer, connection in self._open.items() if connection.socket.fileno() < 0]:
            closed = self._open.pop(peer)
            # hypercorn closes idle connections itself. Those of clients that hung up are dropped before that.
            self.reaped += not closed.answering and now - closed.since >= self._idle

    def _drop(self, peer: Peer) -> None:
        with contextlib.suppress(OSError):
            self._open.pop(peer).socket.shutdown(socket.SHUT_RDWR)


class Listener(socket.socket):
    """A bound TCP socket that reports to `Connections` what it accepts."""

    connections: Connections

    def listen(self, backlog: int = 0) -> None:
        """Listen with a longer queue than asyncio empties at once: where it is full, clients wait for a second."""
        super().listen(max(backlog, _PENDING))

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection as `socket.socket` does, none when the server stops; close what is not admitted."""
        if self.connections.ending:
            raise BlockingIOError  # for asyncio, an empty queue
        for _ in range(_CLOSED_AT_ONCE):
            accepted, peer = super().accept()
            if self.connections.admit((peer[0], peer[1]), accepted):
                return accepted, peer
            accepted.close()
        raise BlockingIOError


def client_of(host: str) -> str:
    """Return what counts as one client: an IPv4 address, or the /64 network of an IPv6 address."""
    address = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(address, ipaddress.IPv4Address):
        return host
    return str(address.ipv4_mapped or address.exploded[:19])


_EVERY_INTERFACE: Final = ("", "::")


def bind(address: Address, connections: Connections) -> Listener:
    """Bind a listener. An empty host means every interface, IPv6 and IPv4 where the machine has both.

    Raises:
        ConfigError: the name does not resolve, or the address is in use or belongs to another machine.
    """
    try:
        if address.host in _EVERY_INTERFACE and socket.has_dualstack_ipv6():
            plain = socket.create_server(("", address.port), family=socket.AF_INET6, dualstack_ipv6=True)
        else:
            found = socket.getaddrinfo(address.host or "0.0.0.0", address.port, type=socket.SOCK_STREAM)  # noqa: S104  # only where it is configured
            plain = socket.create_server(found[0][4][:2], family=found[0][0])
    except OSError as failure:
        raise ConfigError(f"web.listen: cannot listen on {address}: {reason(failure)}") from None
    listener = Listener(fileno=plain.detach())
    listener.setblocking(False)  # noqa: FBT003  # the socket module's own signature
    listener.connections = connections
    return listener
