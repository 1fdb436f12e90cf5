"""Every socket that the JVM opens: to the host that was configured, within the time-out, and to no other host.

RMI offers no connect time-out on JDK 17, and a server's stub names the host and port that the client goes to next, so
that a rogue JMX port could send the sidecar, and its password, anywhere. The JDK asks a socket factory for each
connection; here it is asked to connect, and refuses what is not the target of the calling worker.
"""

import socket
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from jpype import JClass, JException, JImplements, JOverride

from kafka_warden.clients.jmx.failures import CONNECT_TIMED_OUT
from kafka_warden.clients.jmx.protocol import TlsFiles
from kafka_warden.clients.jmx.tls import tls_context

_CLOSE_BOTH: Final = True
"""Closing the TLS socket closes the one below it."""


class Hosts:
    """Which host each worker thread asks. RMI's own threads, which renew leases, may reach any of them."""

    def __init__(self) -> None:
        self._by_thread: dict[int, str] = {}

    def enter(self, host: str) -> None:
        """The calling thread asks this host from now on."""
        self._by_thread[threading.get_ident()] = host

    def leave(self) -> None:
        """The calling thread asks nobody any more."""
        self._by_thread.pop(threading.get_ident(), None)

    def here(self) -> frozenset[str]:
        """The hosts that the calling thread may connect to."""
        own = self._by_thread.get(threading.get_ident())
        return frozenset((own,)) if own else frozenset(self._by_thread.copy().values())


@JImplements("java.rmi.server.RMIClientSocketFactory", deferred=True)
class Dialer:
    """Opens plain sockets, or with `tls` sockets whose certificate must name the target. `timeout` in seconds."""

    def __init__(self, hosts: Hosts, timeout: float, tls: TlsFiles | None = None) -> None:
        self._hosts = hosts
        self._millis = round(1000 * timeout)
        self._tls = tls

    @JOverride  # type: ignore[untyped-decorator]  # JPype has no types
    def createSocket(self, host: Any, port: Any) -> Any:  # noqa: N802  the interface's name
        """A connected `java.net.Socket`; raises Java's `IOException`, which is what RMI expects."""
        allowed = self._hosts.here()
        try:
            permitted = {name: _addresses(name) for name in allowed}
            wanted = _addresses(str(host))
        except OSError as failed:
            raise JClass("java.net.UnknownHostException")(str(failed)) from None
        for name, addresses in permitted.items():
            reachable = [address for address in wanted if address in addresses]
            if reachable:
                return self._connect(name, reachable, int(port))
        raise JClass("java.net.ProtocolException")(_elsewhere(str(host), int(port), allowed))

    def _connect(self, name: str, addresses: Iterable[str], port: int) -> Any:
        failed: Exception | None = None
        for address in addresses:
            try:
                return self._secure(name, self._dial(address, port), port)
            except JException as java:
                failed = java
        raise failed or AssertionError("no address to connect to")

    def _dial(self, address: str, port: int) -> Any:
        plain = JClass("java.net.Socket")()
        try:
            where = JClass("java.net.InetSocketAddress")(JClass("java.net.InetAddress").getByName(address), port)
            plain.connect(where, self._millis)
            plain.setSoTimeout(self._millis)
            plain.setTcpNoDelay(True)
        except JClass("java.net.SocketTimeoutException"):
            plain.close()
            raise JClass("java.net.SocketTimeoutException")(f"{CONNECT_TIMED_OUT}: {address}:{port}") from None
        except JException:
            plain.close()
            raise
        return plain

    def _secure(self, name: str, plain: Any, port: int) -> Any:
        if self._tls is None:
            return plain
        try:
            secure = tls_context(self._tls).getSocketFactory().createSocket(plain, name, port, _CLOSE_BOTH)
            parameters = secure.getSSLParameters()
            parameters.setEndpointIdentificationAlgorithm("HTTPS")
            secure.setSSLParameters(parameters)
            secure.startHandshake()
        except BaseException:
            with suppress(JException):
                plain.close()
            raise
        return secure


def _addresses(host: str) -> tuple[str, ...]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


def _elsewhere(host: str, port: int, allowed: Iterable[str]) -> str:
    return (
        f"the JMX of {', '.join(sorted(allowed)) or 'nobody'} points to {host}:{port}, which is another host, and is "
        "not followed: start that process with -Djava.rmi.server.hostname set to the name under which it is asked"
    )
