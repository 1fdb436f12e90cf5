"""The program of the JMX child: `python -m kafka_warden.clients.jmx.child PARENT_PID`, started by `process` only.

Reads requests from stdin, writes answers to what was stdout, and logs nothing. Each target has a worker thread, so a
target that hangs blocks its own worker only. It ends at once on SIGTERM, at the end of stdin, and when its parent dies.
"""

import ctypes
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

from kafka_warden.clients.jmx import jvm
from kafka_warden.clients.jmx.failures import Failure, classify
from kafka_warden.clients.jmx.protocol import Hello, Reply, Request, decode_hello, decode_request, encode

IDLE: Final = 120.0
"""Seconds without a request after which a worker closes its connection and ends."""

_PR_SET_PDEATHSIG: Final = 1
_FINAL: Final = frozenset({"timeout", "connect_timeout", "auth", "authorization"})
"""Reasons that a new connection would only repeat."""


class Worker:
    """Asks one target, one request at a time, over one connection."""

    def __init__(self, hello: Hello, registry_sockets: Any) -> None:
        self.inbox: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._hello = hello
        self._registry_sockets = registry_sockets
        self._connection: Any = None

    def answer(self, request: Request) -> Reply:
        """The reply; it never raises. A connection that broke is replaced within the request."""
        from jpype import JClass  # noqa: PLC0415  there is no JPype before the JVM has been started

        JClass("warden.Dialer").enter(request.host)
        failure = self._attempt(request) if self._connection else None
        if failure is None or (isinstance(failure, Failure) and failure.reason not in _FINAL):
            failure = self._attempt(request)
        if isinstance(failure, Reply):
            return failure
        return Reply(id=request.id, reason=failure.reason, message=failure.message)

    def end(self) -> None:
        """Close the connection and detach the thread from the JVM."""
        from jpype import JClass  # noqa: PLC0415  there is no JPype before the JVM has been started

        if self._connection:
            self._connection.close()
        JClass("warden.Dialer").leave()
        JClass("java.lang.Thread").detach()

    def _attempt(self, request: Request) -> Reply | Failure:
        from kafka_warden.clients.jmx.reader import Connection, ReadError  # noqa: PLC0415  it imports JPype

        where = f"{request.host}:{request.port}"
        connection, self._connection = self._connection, None
        try:
            connection = connection or Connection(request, self._hello, self._registry_sockets)
            reply: Reply = connection.read(self._hello.questions[request.kind], request.id)
        except ReadError as failed:
            return classify(failed.chain, where, request.user, self._hello.tls)
        except Exception as bug:  # noqa: BLE001  a worker that ends would never answer for its target
            return Failure("protocol", f"the JMX child failed at {where}: {bug!r}: please report this")
        self._connection = connection
        return reply


class Workers:
    """The workers by target and address: a call that hangs at an old address does not delay the new one."""

    def __init__(self, make: Callable[[], Worker], send: Callable[[Reply], None]) -> None:
        self._make = make
        self._send = send
        self._lock = threading.Lock()
        self._running: dict[tuple[str, str, int], Worker] = {}

    def put(self, request: Request) -> None:
        """Give the request to its worker."""
        place = (request.key, request.host, request.port)
        with self._lock:
            worker = self._running.get(place)
            if worker is None:
                worker = self._running[place] = self._make()
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


def _workers(hello: Hello, send: Callable[[Reply], None]) -> Workers:
    from jpype import JClass  # noqa: PLC0415  there is no JPype before the JVM has been started

    registry = JClass("javax.rmi.ssl.SslRMIClientSocketFactory")() if hello.tls and hello.tls.registry else None
    return Workers(lambda: Worker(hello, registry), send)


def _die_with(parent: int) -> None:
    """Have the kernel end this process when its parent dies. Where there is no prctl, the end of stdin does that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def main() -> None:
    """Serve until stdin ends."""
    _die_with(int(sys.argv[1]))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole process group; the parent ends its child
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the JVM prints warnings to stdout, which carries the protocol
    lock = threading.Lock()

    def send(message: Any) -> None:
        with lock:
            answers.write(encode(message))
            answers.flush()

    try:
        hello = decode_hello(sys.stdin.buffer.readline())
        version = jvm.start(hello)
        jvm.install_sockets(hello)
        workers = _workers(hello, send)
    except jvm.JvmError as failed:
        send({"failed": str(failed)})
        return
    send({"ready": version})
    for line in sys.stdin.buffer:
        workers.put(decode_request(line))
    os._exit(0)  # do not wait for the JVM and for threads in a hung call


if __name__ == "__main__":
    main()
