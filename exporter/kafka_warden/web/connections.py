"""The connections of the web server: a limit on their number, and a time-out for whatever a client can delay.

uvicorn reads requests and writes responses. It has no time-out for a request that never ends and for a response that
the client does not read, and no limit on connections.
"""

import asyncio
import contextlib
import math
import resource
import socket
import weakref
from asyncio.sslproto import SSLProtocol
from typing import Any, Final

from h11 import LocalProtocolError
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from kafka_warden.errors import ConfigError
from kafka_warden.settings.strict import Address, reason

_DESCRIPTORS: Final = 0.9
"""Share of the process's file descriptors above which connections are refused. Brokers and files need some, too."""
PENDING: Final = 1024
"""Connections that the kernel may hold until they are accepted."""
_UNSENT: Final = 64 * 1024
"""Bytes of a response that wait for the client before the next part is made. Over TLS asyncio has 512 KiB."""
_LONGEST_HEAD: Final = 16 * 1024
_TLS_BUFFER: Final = 16 * 1024
"""Bytes that asyncio receives at once over TLS, also from brokers. Each connection has this buffer; 256 KiB else."""
_EVERY_INTERFACE: Final = ("", "::")


class Listener(socket.socket):
    """A listening socket that closes at once what it accepts above the limit of connections or file descriptors."""

    most = 0
    """Connections. 0: the server stops."""

    def __init__(self, bound: socket.socket, most: int) -> None:
        super().__init__(fileno=bound.detach())
        self.setblocking(False)  # noqa: FBT003  # the socket module's own signature
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._highest = math.inf if limit == resource.RLIM_INFINITY else limit * _DESCRIPTORS
        self._accepted = weakref.WeakSet[socket.socket]()
        self.most = most
        self.refused = 0

    def open(self) -> list[socket.socket]:
        """Return the open connections, those before their TLS handshake included."""
        return [each for each in self._accepted if each.fileno() >= 0]

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection as `socket.socket` does."""
        accepted, peer = super().accept()
        # A new descriptor has the lowest free number, so the number shows how many are in use.
        if len(self.open()) < self.most and accepted.fileno() < self._highest:
            self._accepted.add(accepted)
            return accepted, peer
        self.refused += 1
        accepted.close()
        raise BlockingIOError  # for asyncio, an empty queue

    def close_all(self) -> None:
        """Close every connection."""
        for each in self.open():
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


def bind(address: Address, most: int) -> Listener:
    """Bind a listener. An empty host means every interface, IPv6 and IPv4 where the machine has both.

    Raises:
        ConfigError: the name does not resolve, or the address is in use or belongs to another machine.
    """
    try:
        if address.host in _EVERY_INTERFACE and socket.has_dualstack_ipv6():
            bound = socket.create_server(("", address.port), family=socket.AF_INET6, dualstack_ipv6=True)
        else:
            found = socket.getaddrinfo(address.host or "0.0.0.0", address.port, type=socket.SOCK_STREAM)  # noqa: S104  # only where it is configured
            bound = socket.create_server(found[0][4][:2], family=found[0][0])
    except OSError as failure:
        raise ConfigError(f"web.listen: cannot listen on {address}: {reason(failure)}") from None
    return Listener(bound, most)


class Protocols:
    """Makes the protocol of each connection. Times in seconds; other threads may read `timed_out`."""

    def __init__(self, app: Any, idle: float, answer: float) -> None:
        self.idle = idle
        self.answer = answer
        self.timed_out = 0
        SSLProtocol.max_size = _TLS_BUFFER
        self.state = ServerState()
        self.config = Config(
            app,
            http=Connection,
            interface="asgi3",
            lifespan="off",
            ws="none",
            proxy_headers=False,
            log_config=None,
            log_level="error",  # bad requests are warnings, and any client can send them
            access_log=False,
            timeout_keep_alive=math.ceil(2 * idle),  # later than ours: the first byte of a request ends uvicorn's
            h11_max_incomplete_event_size=_LONGEST_HEAD,
        )

    def __call__(self) -> "Connection":
        """Make a protocol."""
        return Connection(self)


class Connection(H11Protocol):
    """One connection, which is closed when its client is late."""

    def __init__(self, protocols: Protocols) -> None:
        super().__init__(protocols.config, protocols.state, {})
        self._protocols = protocols
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Wait for the first request."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(_UNSENT)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing."""
        self._cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Stop the time-out when a request is complete."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._expect()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are no request, unless a response was begun, and end the connection."""
        if self.cycle is not None:
            self.cycle.disconnected = True  # nothing more of its response is sent
        try:
            super().send_400_response(msg)
        except LocalProtocolError:
            self.transport.close()
        self._cancel()
        self._late = self.loop.call_later(self._protocols.idle, self._give_up)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._expect()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._expect()

    def resume_writing(self) -> None:
        """Wait for what comes after this part."""
        super().resume_writing()
        self._expect()

    def _expect(self) -> None:
        """Start the time-out for what the client has to do now; none while the response is made."""
        self._cancel()
        if self.flow.write_paused:
            self._late = self.loop.call_later(self._protocols.answer, self._give_up)
        elif self.cycle is None or self.cycle.response_complete:
            self._late = self.loop.call_later(self._protocols.idle, self._give_up)

    def _cancel(self) -> None:
        if self._late is not None:
            self._late.cancel()

    def _give_up(self) -> None:
        self._protocols.timed_out += 1
        self.transport.abort()  # `close` would wait for the client
