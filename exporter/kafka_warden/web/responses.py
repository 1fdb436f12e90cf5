"""Responses by path: pure functions that return status, headers and body."""

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_warden.page import Page, PageHolder
from kafka_warden.web.health import Health
from kafka_warden.web.negotiate import OPENMETRICS, TEXT, wants_gzip, wants_openmetrics

METHODS: Final = ("GET", "HEAD")
SECURITY_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_PLAIN: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Response:
    """Status, body, and headers without the security headers and Content-Length."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def plain(status: int, *lines: str, headers: Mapping[str, str] | None = None) -> Response:
    """Make a response of lines of text."""
    body = "".join(f"{line}\n" for line in lines).encode()
    return Response(status, body, {"Content-Type": _PLAIN, **(headers or {})})


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
    """Answer `/-/ready`: 503 until the first good poll, with the reasons; a `problem` alone leaves it at 200."""
    notes = () if problem is None else (problem,)
    if holder.ready and health.healthy:
        return plain(200, "ready", *health.reasons, *notes)
    reasons = health.reasons or ("no poll has succeeded yet",)
    return plain(503, "not ready", *reasons, *notes)


def landing(version: str) -> Response:
    """Answer `/`: the version and links."""
    page = f"""<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>kafka-warden</title></head>
<body>
<h1>kafka-warden</h1>
<p>Prometheus exporter and alerting sidecar for Apache Kafka. Version {html.escape(version)}.</p>
<ul>
<li><a href="/metrics">Metrics</a></li>
<li><a href="/-/healthy">Healthy</a></li>
<li><a href="/-/ready">Ready</a></li>
</ul>
</body>
</html>
"""
    return Response(200, page.encode(), {"Content-Type": "text/html; charset=utf-8"})


@dataclass(frozen=True, slots=True)
class Site:
    """The paths and what they are answered from."""

    holder: PageHolder
    health: Callable[[], Health]
    version: str
    problem: Callable[[], str | None] = lambda: None
    """Why the web configuration file is not in use."""

    def respond(self, method: str, path: str, headers: Mapping[str, str]) -> Response:
        """Answer one request; header names are in lower case."""
        routes: Mapping[str, Callable[[], Response]] = {
            "/": lambda: landing(self.version),
            "/metrics": lambda: metrics(self.holder.page, headers),
            "/-/healthy": lambda: healthy(self.health()),
            "/-/ready": lambda: ready(self.holder, self.health(), self.problem()),
        }
        if path not in routes:
            return plain(404, "not found; try /metrics")
        if method not in METHODS:
            return plain(405, "only GET and HEAD", headers={"Allow": ", ".join(METHODS)})
        return routes[path]()
