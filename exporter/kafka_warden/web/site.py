"""The ASGI application: the name of the server, the rate limit and the login, then the paths.

A web page can let its own name resolve to the address of this server (DNS rebinding). The browser then lets it read
responses of this server, and sends that name as `Host`. TLS and passwords prevent that: the page has no certificate and
no login. Without these, names that an attacker can own in public DNS are refused unless `web.hosts` lists them. Private
names are accepted, so that scrapers need no option: those of containers, of Kubernetes and of a local network.
"""

import asyncio
import ipaddress
import math
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any, Final
from urllib.parse import unquote

import structlog

from kafka_warden.exposition import Page, PageHolder
from kafka_warden.lifecycle import Health
from kafka_warden.web.api import OPENAPI, openapi
from kafka_warden.web.current import CurrentWebFile
from kafka_warden.web.file import RateLimit
from kafka_warden.web.login import CHALLENGE, Logins
from kafka_warden.web.responses import (
    OPENMETRICS,
    SECURITY_HEADERS,
    TEXT,
    Response,
    plain,
    wants_gzip,
    wants_openmetrics,
)
from kafka_warden.web.rows import RowSite
from kafka_warden.web.status import assets

Send = Callable[[dict[str, Any]], Awaitable[None]]

METHODS: Final = ("GET", "HEAD")
_PIECE: Final = 64 * 1024
"""Bytes of a response that are sent at once: a client that does not read costs the memory of one piece."""
_ORIGIN: Final = re.compile(rb"\Ahttps?://[^/]+", re.IGNORECASE)
"""Start of a request target in absolute form, which RFC 9112 3.2.2 makes servers accept."""
_UNKNOWN_NAME: Final = "add it to web.hosts, or use an IP address or localhost, or configure a login (web.config_file)"
_MOST_NAMES: Final = 10
"""Unknown names that are logged: clients choose them."""
_HOST: Final = re.compile(r"(\[[^]]*\]|[^:]*)(?::\d*)?")
_LABEL: Final = re.compile(r"[a-z0-9_-]+")
"""A name without a dot. A resolver completes it with a domain that belongs to its network."""
_PRIVATE: Final = tuple(
    ".localhost .local .internal .intranet .private .corp .home .lan .home.arpa .svc .consul".split()  # noqa: SIM905  # as the documents list them
)
"""Names that public DNS does not have: RFC 6761, 6762 (with appendix G) and 8375, `.internal` of ICANN, services of
Kubernetes (`NAME.NAMESPACE.svc`, also with `.cluster.local`) and of Consul."""


@dataclass(frozen=True, slots=True)
class HostNames:
    """The accepted names in lower case, besides private ones. `configured`: those of `web.hosts`."""

    configured: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()

    def accept(self, header: str, *, protected: bool) -> bool:
        """Return whether a `Host` header, which may be empty, is accepted. `protected`: by TLS or passwords."""
        if not header or (protected and not self.configured):
            return True
        found = _HOST.fullmatch(header)
        name = found[1].strip("[]").rstrip(".").lower() if found else ""
        private = _LABEL.fullmatch(name) or name.endswith(_PRIVATE) or _is_address(name)
        return bool(private) or name in self.configured or name in self.own


class Bucket:
    """The tokens of `rate_limit`, for all requests together as in exporter-toolkit."""

    def __init__(self) -> None:
        self._tokens = math.inf
        self._at = 0.0

    def takes(self, limit: RateLimit) -> bool:
        """Take a token, and return whether there was one."""
        now = time.monotonic()
        self._tokens = min(float(limit.burst), self._tokens + (now - self._at) / limit.interval)
        self._at = now
        taken = self._tokens >= 1
        self._tokens -= taken
        return taken


class Site:
    """Answers requests from the page in force and the health of the process."""

    def __init__(
        self,
        holder: PageHolder,
        health: Callable[[], Health],
        current: CurrentWebFile,
        names: HostNames,
        version: str = "unknown",
    ) -> None:
        self._holder = holder
        self._health = health
        self._current = current
        self._rows = RowSite(holder, version)
        self._assets = assets()
        self._bucket = Bucket()
        self._unknown_names: set[str] = set()
        self.names = names
        self.logins = Logins()

    async def __call__(self, scope: Any, _: object, send: Send) -> None:
        """Serve one request."""
        headers = _headers(scope["headers"])
        try:
            response = await self._refusal(headers) or await self._respond(scope, headers)
        except Exception:  # noqa: BLE001  # it is logged, and the next request may work
            structlog.get_logger(__name__).exception("a request failed", path=scope["path"][:100])
            response = plain(500, "internal error; see the log")
        fields = {
            "Date": formatdate(usegmt=True),
            **SECURITY_HEADERS,
            **response.headers,
            **self._current.loaded.file.headers,
            "Content-Length": str(len(response.body)),
        }
        encoded = [(name.lower().encode(), value.encode()) for name, value in fields.items()]
        await send({"type": "http.response.start", "status": response.status, "headers": encoded})
        for start in range(0, len(response.body), _PIECE):
            piece = response.body[start : start + _PIECE]
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            await asyncio.sleep(0)  # other requests have a turn, and a client that hung up is noticed
        await send({"type": "http.response.body", "body": b""})

    async def _refusal(self, headers: Mapping[str, str]) -> Response | None:
        """Return the response to a request that may not have what it asks for."""
        file = self._current.loaded.file
        if not self.names.accept(headers.get("host", ""), protected=bool(file.tls or file.users)):
            self._note_name(headers["host"])
            return plain(421, f"unknown name of this server; {_UNKNOWN_NAME}")
        if file.rate_limit is not None and not self._bucket.takes(file.rate_limit):
            return plain(429, "too many requests")
        allowed = await self.logins.allows(headers.get("authorization", ""), file.users)
        if allowed is None:
            return plain(503, "the login cannot be checked now; try again", headers={"Retry-After": "1"})
        if not allowed:
            return plain(401, "a user name and a password are required", headers={"WWW-Authenticate": CHALLENGE})
        return None

    def _note_name(self, host: str) -> None:
        """Log an unknown name once: Prometheus shows the status of a refused scrape, and not its text."""
        if len(self._unknown_names) < _MOST_NAMES and host not in self._unknown_names:
            self._unknown_names.add(host)
            log = structlog.get_logger(__name__)
            log.warning("a request for an unknown name of this server is refused", host=host[:100], fix=_UNKNOWN_NAME)

    async def _respond(self, scope: Any, headers: Mapping[str, str]) -> Response:
        path = unquote(_ORIGIN.sub(b"", scope["raw_path"]).decode("ascii")) or "/"
        routes: Mapping[str, Callable[[], Response]] = {
            "/metrics": lambda: metrics(self._holder.page, headers),
            "/-/healthy": self._healthy,
            "/-/ready": self._ready,
            OPENAPI: lambda: Response(200, openapi(), {"Content-Type": "application/json"}),
        }
        found = routes.get(path) or self._assets.get(path)
        if found is None and not self._rows.serves(path):
            return plain(404, "not found; try / or /metrics")
        if scope["method"] not in METHODS:
            return plain(405, "only GET and HEAD", headers={"Allow": ", ".join(METHODS)})
        if found is not None:
            return found if isinstance(found, Response) else found()
        compress = wants_gzip(headers.get("accept-encoding", ""))
        return await self._rows.respond(path, scope["query_string"], compress=compress)

    def _healthy(self) -> Response:
        """Answer `/-/healthy`: 503 when a restart is needed, else 200."""
        health = self._health()
        return plain(200, "healthy") if health.healthy else plain(503, "not healthy", *health.reasons)

    def _ready(self) -> Response:
        """Answer `/-/ready`: 503 without a fresh snapshot. A web configuration file not in use leaves it at 200."""
        health, problem = self._health(), self._current.problem
        notes = () if problem is None else (problem,)
        if self._holder.ready and health.healthy:
            return plain(200, "ready", *health.reasons, *notes)
        stale = () if self._holder.ready else ("no fresh snapshot: no poll was complete lately",)
        return plain(503, "not ready", *health.reasons, *stale, *notes)


def metrics(page: Page | None, headers: Mapping[str, str]) -> Response:
    """Answer `/metrics` with the bytes of one page."""
    if page is None:
        return plain(503, "no page has been rendered yet")
    openmetrics = wants_openmetrics(headers.get("accept", ""))
    chosen = {"Content-Type": OPENMETRICS if openmetrics else TEXT, "Vary": "Accept, Accept-Encoding"}
    if not wants_gzip(headers.get("accept-encoding", "")):
        return Response(200, page.openmetrics if openmetrics else page.text, chosen)
    compressed = page.openmetrics_gzip if openmetrics else page.text_gzip
    return Response(200, compressed, {**chosen, "Content-Encoding": "gzip"})


def _headers(fields: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in fields:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        # RFC 9110 5.2: several lines of one name are one list.
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
