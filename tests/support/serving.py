"""Servers on loopback for a test."""

import http.server
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from sandbox.ports import LOOPBACK
from sandbox.serving import Reply, Server

Seen = list[tuple[str, Mapping[str, str]]]
"""Paths and headers of requests."""


@contextmanager
def listening(serve: Callable[[socket.socket], object]) -> Iterator[str]:
    """A server that calls a function on a thread for each connection, until it is left; yields its address."""

    def handle(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            serve(connection)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=handle, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server((LOOPBACK, 0)) as listener:
        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield f"{LOOPBACK}:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@contextmanager
def dripping(head: bytes) -> Iterator[str]:
    """A server that sends a head and then byte after byte, until it is left; yields its address."""
    left = threading.Event()

    def serve(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(head)
        while not left.wait(0.05):
            connection.sendall(b"a")

    with listening(serve) as address:
        try:
            yield address
        finally:
            left.set()


@contextmanager
def answering(answers: Mapping[str, bytes], status: int = 200, **headers: str) -> Iterator[tuple[str, Seen]]:
    """A server with an answer for each path, and 404 for others; yields its URL, and what was requested."""
    seen: Seen = []

    def reply(request: http.server.BaseHTTPRequestHandler, _: bytes) -> Reply:
        path = request.path.partition("?")[0]
        seen.append((path, dict(request.headers)))
        return status if path in answers else 404, headers, answers.get(path, b"")

    with Server(reply) as server:
        yield f"http://{server.address}", seen
