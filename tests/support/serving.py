"""A web server on loopback that a test answers by a function."""

import http.server
import threading
from collections.abc import Callable
from typing import Self

from sandbox.ports import LOOPBACK


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
        answer = self.server.answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        self.send_response(http.HTTPStatus.OK)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_GET  # noqa: N815  the name is the standard library's

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is the standard library's
        """Log nothing."""
