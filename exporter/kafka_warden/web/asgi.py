"""The ASGI application that hypercorn runs: the name of the server, rate limit, authentication, then the site."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import Any, Final
from urllib.parse import unquote

import structlog

from kafka_warden.web.auth import CHALLENGE, Authenticator
from kafka_warden.web.connections import Connections, Peer, client_of
from kafka_warden.web.current import CurrentWebFile
from kafka_warden.web.file import WebFile
from kafka_warden.web.hosts import HostNames
from kafka_warden.web.rates import ClientRates
from kafka_warden.web.reply import SECURITY_HEADERS, Response, plain
from kafka_warden.web.responses import Site

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]

_VERSIONS: Final = ("1.0", "1.1")
_UNKNOWN_NAME: Final = "add it to web.hosts, or use an IP address or localhost, or configure a login (web.config_file)"
_MOST_NAMES: Final = 10
"""Unknown names that are logged: clients choose them."""
_PIECE: Final = 256 * 1024
_ORIGIN: Final = re.compile(rb"\Ahttps?://[^/]+", re.IGNORECASE)
"""Start of a request target in absolute form, which RFC 9112 3.2.2 makes servers accept."""


class Application:
    """Serves one ASGI scope per call: a request, a websocket (refused) or the lifespan (nothing to do)."""

    def __init__(self, site: Site, current: CurrentWebFile, connections: Connections, names: HostNames) -> None:
        self._site = site
        self._current = current
        self._connections = connections
        # Of each client by itself: a status page that refreshes must not take the requests of Prometheus.
        self._rates = ClientRates()
        self.authenticator = Authenticator()
        self.host_names = names
        self._unknown_names: set[str] = set()

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one scope."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close"})
        elif scope["type"] == "http":  # the task of the lifespan ends here
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Any, receive: Receive, send: Send) -> None:
        peer = scope["client"][:2] if scope["client"] else None
        self._connections.begin(peer)
        try:
            response = await self._answer(scope, peer, receive)
            await self._send(response, peer, send)
        finally:
            self._connections.end(peer)

    async def _answer(self, scope: Any, peer: Peer | None, receive: Receive) -> Response:
        file = self._current.file
        headers = _headers(scope["headers"])
        client = client_of(peer[0]) if peer else ""
        if (refusal := self._refusal(scope["http_version"], headers, client, file)) is not None:
            return refusal
        check = self.authenticator.allows(client, headers.get("authorization", ""), file.users)
        allowed = await _while_connected(check, receive)
        if allowed is None:
            return plain(503, "the login cannot be checked now; try again", headers={"Retry-After": "1"})
        if not allowed:
            return plain(401, "a user name and a password are required", headers={"WWW-Authenticate": CHALLENGE})
        self._connections.trust(client)
        try:
            path = unquote(_ORIGIN.sub(b"", scope["raw_path"]).decode("ascii")) or "/"
            return await self._site.respond(scope["method"], path, scope["query_string"], headers, client)
        except Exception:  # noqa: BLE001  # it is logged, and the next request may work
            structlog.get_logger(__name__).exception("a request failed", path=scope["path"][:100])
            return plain(500, "internal error; see the log")

    def _refusal(self, version: str, headers: Mapping[str, str], client: str, file: WebFile) -> Response | None:
        """Return the response to a request that is refused before its login is checked."""
        if version not in _VERSIONS:
            return plain(505, "HTTP/1.1 only")
        if not self.host_names.accept(headers.get("host", ""), protected=bool(file.tls or file.users)):
            self._note_name(headers["host"])
            return plain(421, f"unknown name of this server; {_UNKNOWN_NAME}")
        if file.rate_limit is not None and not self._rates.takes(client, file.rate_limit):
            return plain(429, "too many requests")
        return None

    def _note_name(self, host: str) -> None:
        """Log an unknown name once: Prometheus shows the status of a refused scrape, and not its text."""
        if len(self._unknown_names) < _MOST_NAMES and host not in self._unknown_names:
            self._unknown_names.add(host)
            log = structlog.get_logger(__name__)
            log.warning("a request for an unknown name of this server is refused", host=host[:100], fix=_UNKNOWN_NAME)

    async def _send(self, response: Response, peer: Peer | None, send: Send) -> None:
        headers = {
            **SECURITY_HEADERS,
            **response.headers,
            **self._current.file.headers,
            "Content-Length": str(len(response.body)),
        }
        fields = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        self._connections.progress(peer)
        await send({"type": "http.response.start", "status": response.status, "headers": fields})
        # In pieces: a client that does not read costs the memory of one piece.
        body = response.body
        for start in range(0, len(body), _PIECE):
            # hypercorn accepts data for a closed connection without an error.
            if not self._connections.progress(peer):
                return
            await send({"type": "http.response.body", "body": body[start : start + _PIECE], "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def _while_connected(check: Coroutine[Any, Any, bool | None], receive: Receive) -> bool | None:
    """Return the result of the check. When the client disconnects, cancel the check and return `None`."""
    checking, leaving = asyncio.ensure_future(check), asyncio.ensure_future(_disconnect(receive))
    try:
        await asyncio.wait((checking, leaving), return_when=asyncio.FIRST_COMPLETED)
        return checking.result() if checking.done() else None
    finally:
        checking.cancel()
        leaving.cancel()


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _headers(fields: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in fields:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        # RFC 9110 5.2: several lines of one name are one list.
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers
