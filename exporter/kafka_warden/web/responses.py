"""Responses by path: `/metrics` and health from bytes and values that are there, all else through `rows.py`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from kafka_warden.page import Page, PageHolder
from kafka_warden.web.api.answers import OPENAPI, openapi
from kafka_warden.web.health import Health
from kafka_warden.web.negotiate import OPENMETRICS, TEXT, wants_gzip, wants_openmetrics
from kafka_warden.web.reply import Response, plain
from kafka_warden.web.rows import RowSite
from kafka_warden.web.status.assets import asset

METHODS: Final = ("GET", "HEAD")


def metrics(page: Page | None, headers: Mapping[str, str]) -> Response:
    """Answer `/metrics` with the bytes of one page."""
    if page is None:
        return plain(503, "no page has been rendered yet")
    openmetrics = wants_openmetrics(headers.get("accept", ""))
    compressed = wants_gzip(headers.get("accept-encoding", ""))
    bodies = {
        (False, False): page.text,
        (False, True): page.text_gzip,
        (True, False): page.openmetrics,
        (True, True): page.openmetrics_gzip,
    }
    chosen = {"Content-Type": OPENMETRICS if openmetrics else TEXT, "Vary": "Accept, Accept-Encoding"}
    if compressed:
        chosen["Content-Encoding"] = "gzip"
    return Response(200, bodies[openmetrics, compressed], chosen)


def healthy(health: Health) -> Response:
    """Answer `/-/healthy`: 503 when a restart is needed, else 200."""
    if health.healthy:
        return plain(200, "healthy")
    return plain(503, "not healthy", *health.reasons)


def ready(holder: PageHolder, health: Health, problem: str | None) -> Response:
    """Answer `/-/ready`: 503 without a fresh snapshot, with the reasons; a `problem` alone leaves it at 200."""
    notes = () if problem is None else (problem,)
    if holder.ready and health.healthy:
        return plain(200, "ready", *health.reasons, *notes)
    reasons = (*health.reasons, *(() if holder.ready else ("no fresh snapshot: no poll was complete lately",)))
    return plain(503, "not ready", *reasons, *notes)


@dataclass(frozen=True, slots=True)
class Site:
    """The paths and what they are answered from."""

    holder: PageHolder
    health: Callable[[], Health]
    rows: RowSite
    problem: Callable[[], str | None] = lambda: None
    """Why the web configuration file is not in use."""

    async def respond(self, method: str, path: str, query: bytes, headers: Mapping[str, str], client: str) -> Response:
        """Answer one request of a client; header names are in lower case."""
        found = self._ready_made(path, headers)
        if found is None and not self.rows.serves(path):
            return plain(404, "not found; try / or /metrics")
        if method not in METHODS:
            return plain(405, "only GET and HEAD", headers={"Allow": ", ".join(METHODS)})
        if found is not None:
            return found()
        compress = wants_gzip(headers.get("accept-encoding", ""))
        return await self.rows.respond(path, query, compress=compress, client=client)

    def _ready_made(self, path: str, headers: Mapping[str, str]) -> Callable[[], Response] | None:
        routes: Mapping[str, Callable[[], Response]] = {
            "/metrics": lambda: metrics(self.holder.page, headers),
            "/-/healthy": lambda: healthy(self.health()),
            "/-/ready": lambda: ready(self.holder, self.health(), self.problem()),
            OPENAPI: lambda: Response(200, openapi(), {"Content-Type": "application/json"}),
        }
        return routes.get(path) or asset(path)
