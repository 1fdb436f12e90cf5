"""Keeps hypercorn on HTTP/1.1.

It has no option for that. It switches to HTTP/2 for `Upgrade: h2c` and for HTTP/2's preface, before any login, and a
bad `HTTP2-Settings` then raises an exception: a client without a password could fill the log with tracebacks.
"""

from hypercorn import protocol
from hypercorn.protocol.h11 import H11Protocol


class Http1Protocol(H11Protocol):
    """Ignores requests to switch, as RFC 9110 allows; HTTP/2's preface is a request of version 2.0."""

    async def _check_protocol(self, event: object) -> None:
        pass


def stay_on_http_1() -> None:
    """Let hypercorn use `Http1Protocol` in this process. May be called twice."""
    protocol.H11Protocol = Http1Protocol  # type: ignore[attr-defined]  # an import of the package
