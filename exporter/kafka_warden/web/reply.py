"""A response, and the headers of all responses."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

SECURITY_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_PLAIN: Final = "text/plain; charset=utf-8"
_GZIP_LEVEL: Final = 1


@dataclass(frozen=True, slots=True)
class Response:
    """Status, body, and headers that add to the security headers or replace them, without Content-Length."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    def compressed(self) -> "Response":
        """Return the same response with a compressed body."""
        headers = {**self.headers, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return Response(self.status, gzip.compress(self.body, _GZIP_LEVEL, mtime=0), headers)


def plain(status: int, *lines: str, headers: Mapping[str, str] | None = None) -> Response:
    """Make a response of lines of text."""
    body = "".join(f"{line}\n" for line in lines).encode()
    return Response(status, body, {"Content-Type": _PLAIN, **(headers or {})})
