"""A web server on loopback that a test answers by a function."""

import http.server
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from sandbox.ports import LOOPBACK

Seen = list[tuple[str, Mapping[str, str]]]
"""Paths and headers of requests."""
Reply = tuple[int, Mapping[str, str], bytes]
"""Status, headers and body."""


class Server(http.server.ThreadingHTTPServer):
    """Answers every request with 200 while its block lasts.

    Args:
        answer: Takes the body of a request and returns that of the answer; called on threads.
    """

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.answer = answer
        self.reply: Callable[[http.server.BaseHTTPRequestHandler, bytes], Reply] = lambda _, body: (
            200,
            {"Content-Type": "text/plain; version=0.0.4"},
            self.answer(body),
        )
        self.address = f"{LOOPBACK}:{self.server_port}"
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def use(self, certificate: Path, key: Path) -> None:
        """Speak HTTPS from now on, with PEM files."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.socket = context.wrap_socket(self.socket, server_side=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


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


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        given = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, headers, body = self.server.reply(self, given)
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PUT = do_GET  # noqa: N815  the names are the standard library's

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@contextmanager
def answering(answers: Mapping[str, bytes], status: int = 200, **headers: str) -> Iterator[tuple[str, Seen]]:
    """A server with an answer for each path, and 404 for others; yields its URL, and what was requested."""
    seen: Seen = []

    def reply(request: http.server.BaseHTTPRequestHandler, _: bytes) -> Reply:
        path = request.path.partition("?")[0]
        seen.append((path, dict(request.headers)))
        return status if path in answers else 404, headers, answers.get(path, b"")

    with Server(bytes) as server:
        server.reply = reply
        yield f"http://{server.address}", seen
