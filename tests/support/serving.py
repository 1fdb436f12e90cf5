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


class Server(http.server.ThreadingHTTPServer):
    """Answers every GET and POST with 200 while its block lasts.

    Args:
        answer: Takes the body of a request and returns that of the answer; called on threads.
    """

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.answer = answer
        self.address = f"{LOOPBACK}:{self.server_port}"
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)

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
        answer = self.server.answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        self.send_response(http.HTTPStatus.OK)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_GET  # noqa: N815  the name is the standard library's

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is the standard library's
        """Log nothing."""


@contextmanager
def answering(answers: Mapping[str, bytes], status: int = 200, **headers: str) -> Iterator[tuple[str, Seen]]:
    """A server with an answer for each path, and 404 for others; yields its URL, and what was requested."""
    seen: Seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            path = self.path.partition("?")[0]
            seen.append((path, dict(self.headers)))
            body = answers.get(path, b"")
            self.send_response(status if path in answers else 404)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_PUT = do_GET  # noqa: N815  # the base class names them

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    server = http.server.ThreadingHTTPServer((LOOPBACK, 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
