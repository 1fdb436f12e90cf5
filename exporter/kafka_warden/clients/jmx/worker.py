"""The workers of the JMX child, each with one connection to one process. Imported when the JVM runs.

Readings are made in Java (`java/warden/BeanReader.java`), which returns failures as values: a Java exception that
reaches Python leaks 20 kB of native memory (JPype 1.7.1), and a broker that is down raises in every poll.

Why the JDK's remote interfaces and not jmxquery's `JMXConnector`: both were measured in one warm JVM on 36 attributes
of one broker. jmxquery needs 8-11 ms of CPU and 17-22 ms of wall time, this 3.3 and 6 ms: jmxquery sends a query, a
getMBeanInfo and a getAttribute for each attribute. It also catches every exception of getAttribute, so a time-out in
the middle of a reading looks like an absent bean. It passes no environment, so a registry with TLS cannot be asked,
and a heartbeat thread hangs beside the worker. `RMIConnector`, which JMXConnectorFactory makes, adds the same
heartbeat (`jmx.remote.x.client.connection.check.period`) to `RMIConnection`, and a reconnect that turns one time-out
into four. The remote interfaces have neither. They also have no JNDI: only host and port can be configured, so no
other kind of URL.
"""

import os
import queue
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from jpype import JArray, JClass, JString

from kafka_warden.clients.jmx.failures import Chain, classify
from kafka_warden.clients.jmx.protocol import MAX_ROWS, BeanQuery, BeanRequest, Hello, Scalar
from kafka_warden.errors import (
    AnswerTimeoutError,
    AuthenticationError,
    AuthorizationError,
    ConnectTimeoutError,
    ProtocolError,
    SourceError,
)

IDLE: Final = 120.0
"""Seconds without a request after which a worker closes its connection and ends."""
MAX_STEPS: Final = 5
"""A reading may take this many time-outs in all: a process that answers each call slowly is given up too."""

_FINAL: Final = AnswerTimeoutError | ConnectTimeoutError | AuthenticationError | AuthorizationError
"""Failures that a new connection would only repeat."""


class Worker:
    """Asks one process, one request at a time, over one authenticated session with its MBean server."""

    def __init__(self, hello: Hello, registry_sockets: Any) -> None:
        self.inbox: queue.SimpleQueue[BeanRequest] = queue.SimpleQueue()
        self._hello = hello
        self._registry_sockets = registry_sockets
        self._reader: Any = None
        """The session, while it works."""

    def answer(self, request: BeanRequest) -> Mapping[str, Any]:
        """The reply; it never raises. A connection that broke is replaced within the request."""
        JClass("warden.Dialer").enter(request.host)
        found = self._attempt(request) if self._reader is not None else None
        if found is None or (isinstance(found, SourceError) and not isinstance(found, _FINAL)):
            found = self._attempt(request)
        if isinstance(found, SourceError):
            found = {"reason": found.reason, "message": str(found)}
        return {"id": request.id, **found}

    def end(self) -> None:
        """Close the session in the process too, and detach the thread from the JVM."""
        if self._reader is not None:
            self._reader.close()  # only one that works: the call may hang otherwise
        JClass("warden.Dialer").leave()
        JClass("java.lang.Thread").detach()

    def _attempt(self, request: BeanRequest) -> dict[str, Any] | SourceError:
        where, hello = f"{request.host}:{request.port}", self._hello
        reader, self._reader = self._reader, None
        try:
            failure, question = None, hello.questions[request.kind]
            if reader is None:
                reader = JClass("warden.BeanReader")()
                failure = reader.connect(request.host, request.port, self._registry_sockets, _credentials(request))
            if failure is None:
                asked = (*_columns(question.beans), *_columns(question.patterns))
                reading = reader.read(*asked, MAX_ROWS, round(1000 * MAX_STEPS * hello.timeout))
                failure = reading.failure
            if failure is not None:
                return classify(_chain(failure), where, request.user, hello.tls)
            names = [pattern.name for pattern in question.patterns]
            rows = {name: _rows(rows) for name, rows in zip(names, reading.rows, strict=True)}
            reply = {"beans": _rows(reading.beans), "rows": rows, "left_out": int(reading.leftOut)}
        except Exception as bug:  # noqa: BLE001  a worker that ends would never answer for its target
            return ProtocolError(f"the JMX child failed at {where}: {bug!r}: please report this")
        self._reader = reader
        return reply


class Workers:
    """The workers by target and address: a call that hangs at an old address does not delay the new one."""

    def __init__(self, hello: Hello, send: Callable[[Mapping[str, Any]], None]) -> None:
        self._hello = hello
        self._send = send
        _install_sockets(hello)
        over_tls = hello.tls is not None and hello.tls.registry
        self._registry_sockets = JClass("javax.rmi.ssl.SslRMIClientSocketFactory")() if over_tls else None
        self._lock = threading.Lock()
        self._running: dict[tuple[str, str, int], Worker] = {}

    def put(self, request: BeanRequest) -> None:
        """Give the request to its worker."""
        place = (request.key, request.host, request.port)
        with self._lock:
            worker = self._running.get(place)
            if worker is None:
                worker = self._running[place] = Worker(self._hello, self._registry_sockets)
                threading.Thread(target=self._run, args=(place, worker), name=f"jmx {place}", daemon=True).start()
            worker.inbox.put(request)

    def _run(self, place: tuple[str, str, int], worker: Worker) -> None:
        while True:
            try:
                request = worker.inbox.get(timeout=IDLE)
            except queue.Empty:
                with self._lock:
                    if not worker.inbox.empty():
                        continue
                    del self._running[place]
                worker.end()
                return
            try:
                self._send(worker.answer(request))
            except BaseException:  # noqa: BLE001  # of any class
                os._exit(1)  # without its worker a target would never be answered; the parent starts another child


def _install_sockets(hello: Hello) -> None:
    """Have `warden.Dialer` open every connection of RMI, before the first is made."""
    security, dialer = JClass("java.security.Security"), JClass("warden.Dialer")
    for cache in ("networkaddress.cache.ttl", "networkaddress.cache.negative.ttl"):
        security.setProperty(cache, "0")  # each connection resolves the name again, as those to Kafka do
    millis = round(1000 * hello.timeout)
    JClass("java.rmi.server.RMISocketFactory").setSocketFactory(dialer(millis, None))
    if hello.tls is not None:
        files = JClass("warden.PemTls")(hello.tls.ca_file, hello.tls.cert_file, hello.tls.key_file)
        security.setProperty("ssl.SocketFactory.provider", "warden.TlsSockets")
        JClass("warden.TlsSockets").dialer = dialer(millis, files)


def _credentials(request: BeanRequest) -> Any:
    given = request.user is not None and request.password is not None
    return JString[:]((request.user, request.password)) if given else None


def _chain(failure: Iterable[Any]) -> Chain:
    """Java's exceptions, whose names and messages follow each other."""
    texts = [str(text) for text in failure]
    return list(zip(texts[::2], texts[1::2], strict=True))


_asked: dict[tuple[BeanQuery, ...], tuple[Any, Any]] = {}


def _columns(queries: tuple[BeanQuery, ...]) -> tuple[Any, Any]:
    """Names and attributes as Java's `String[]` and `String[][]`, made once."""
    if queries not in _asked:
        names = JString[:]([query.name for query in queries])
        _asked[queries] = names, JArray(JString, 2)([query.attributes for query in queries])
    return _asked[queries]


def _rows(rows: Iterable[Sequence[Any]]) -> Sequence[tuple[str, Mapping[str, Scalar]]]:
    return [
        (str(row[0]), {str(name): _scalar(value) for name, value in zip(row[1::2], row[2::2], strict=True)})
        for row in rows
    ]


def _scalar(value: Any) -> Scalar:
    if isinstance(value, JClass("java.lang.Boolean")):
        return bool(value)
    if isinstance(value, JClass("java.lang.StringBuilder")):  # a floating-point number, see BeanReader.java
        return float(str(value))
    if isinstance(value, JClass("java.lang.Number")):
        return int(value)
    return str(value)
