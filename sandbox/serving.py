"""A web server on loopback whose answers are those of a function."""

import http.server
import ssl
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from sandbox.ports import LOOPBACK

Reply = tuple[int, Mapping[str, str], bytes]
"""Status, headers and body."""


class Server(http.server.ThreadingHTTPServer):
    """Answers requests while its block lasts.

    Args:
        answer: Takes a request and its body, and returns the answer, or the body of one with status 200; called on
            threads. May be set later, too.
    """

    def __init__(self, answer: Callable[[http.server.BaseHTTPRequestHandler, bytes], Reply | bytes]) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.answer = answer
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


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        given = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = self.server.answer(self, given)
        of_page = {"Content-Type": "text/plain; version=0.0.4"}
        status, headers, body = (200, of_page, answer) if isinstance(answer, bytes) else answer
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PUT = do_GET  # noqa: N815  the names are the standard library's

    def log_message(self, *_: Any) -> None:
        """Log nothing."""
