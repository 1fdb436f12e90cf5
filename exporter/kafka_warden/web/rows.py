"""Serves the status page, its runbooks, and `/api/v1` from the rows of the page in force.

Rows and responses are made on a thread, as they may take longer than the event loop may stand still. A response is kept
until the next page: for many clients with the same address it is made once.
"""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import structlog

from kafka_warden.daemon_threads import DaemonThreads
from kafka_warden.page import OnDemand, PageHolder
from kafka_warden.views import Views, alerts
from kafka_warden.web.api import answers
from kafka_warden.web.reply import Response, plain

STATUS: Final = "/"
RUNBOOKS: Final = f"/{alerts.RUNBOOKS}"
WAIT_SECONDS: Final = 5.0
"""Longest wait for the next page, while the snapshot of the last one is being replaced."""

FRESH_SECONDS: Final = 1.0
"""Age of a page up to which what was made from it is served while the rows of the next one are made."""

MOST_MAKING: Final = 32
"""Responses that wait for the thread. What a client asked for is made even when it has hung up, and kept for others."""
MOST_OF_CLIENT: Final = 6
"""Responses that were asked for first by one client: as many as a browser asks for at once."""

_AGAIN: Final = 0.02
"""Seconds between two looks for the next page."""
_TOO_MANY: Final = "too many different requests at once; try again"
_MOST_KEPT: Final = 64
_MOST_BYTES: Final = 4 << 20
"""Of responses that are kept."""

Key = tuple[str, bytes, bool]


class RowSite:
    """The paths that are answered from rows. Used on the event loop's thread."""

    def __init__(self, holder: PageHolder, version: str) -> None:
        self._holder = holder
        self._version = version
        self._threads = DaemonThreads(1, "status")
        self._kept: dict[Key, tuple[float, Response]] = {}
        """Responses, with the time of the page that each was made from."""
        self._making: dict[Key, tuple[str, asyncio.Task[Response | None]]] = {}
        """Responses, with the client that asked first."""

    def serves(self, path: str) -> bool:
        """Return whether a path is one of these."""
        return path == STATUS or path.startswith((answers.PREFIX, RUNBOOKS))

    async def respond(self, path: str, query: bytes, *, compress: bool, client: str = "") -> Response:
        """Answer one request."""
        if path.startswith(RUNBOOKS):
            made = self._start((path, b"", compress), client, lambda: _runbook(path, compress=compress))
            return (await asyncio.shield(made) if made else None) or _error(path, 503, _TOO_MANY)
        loop, key = asyncio.get_running_loop(), (path, query, compress)
        until = loop.time() + WAIT_SECONDS
        while (page := self._holder.page) is not None and (rows := page.views) is not None:
            since, kept = self._kept.get(key, (0.0, None))
            if kept is not None and since == rows.since:
                return kept
            made = self._start(key, client, partial(self._make, key, rows), rows.since)
            # With polls back to back, no client waits for rows that are replaced at once.
            if kept is not None and time.monotonic() - since < FRESH_SECONDS:
                return kept
            if made is None:
                return _error(path, 503, _TOO_MANY)
            response = await asyncio.shield(made)
            if response is not None:
                return response
            # Its snapshot was given up for the next poll, which is being evaluated.
            self._holder.wanted = True
            if loop.time() > until:
                break
            await asyncio.sleep(_AGAIN)
        return _error(path, 503, "no page has been rendered yet; try again")

    def _start(
        self, key: Key, client: str, make: Callable[[], Response | None], since: float | None = None
    ) -> "asyncio.Task[Response | None] | None":
        """Start to make a response, unless that is being done already; `None` if too many are being made."""
        if key not in self._making:
            owners = [owner for owner, _ in self._making.values()]
            if len(owners) >= MOST_MAKING or owners.count(client) >= MOST_OF_CLIENT:
                return None
            self._making[key] = client, asyncio.create_task(self._make_and_keep(key, make, since))
        return self._making[key][1]

    async def _make_and_keep(
        self, key: Key, make: Callable[[], Response | None], since: float | None
    ) -> Response | None:
        try:
            response = await self._threads.run(make)
        except Exception:  # noqa: BLE001  # it is logged, and the next request may work
            structlog.get_logger(__name__).exception("a request failed", path=key[0][:100])
            response = _error(key[0], 500, "internal error; see the log")
        finally:
            del self._making[key]
        if since is not None and response is not None and response.status == 200:  # noqa: PLR2004  # OK
            self._kept.pop(key, None)
            self._kept[key] = since, response
            while len(self._kept) > _MOST_KEPT or sum(len(each.body) for _, each in self._kept.values()) > _MOST_BYTES:
                del self._kept[next(iter(self._kept))]
        return response

    def _make(self, key: Key, rows: OnDemand) -> Response | None:
        views = rows.get()
        if views is None:
            return None
        path, query, compress = key
        response = self._answer(views, path, query)
        return response.compressed() if compress else response

    def _answer(self, views: Views, path: str, query: bytes) -> Response:
        if path != STATUS:
            found = answers.answer(views, path.removeprefix(answers.PREFIX), query)
            return found if found is not None else answers.error(404, f"not found; see {answers.OPENAPI}")
        # Its template engine is loaded only for those who look.
        from kafka_warden.web.status.render import status  # noqa: PLC0415

        return status(views, query, self._version)


def _runbook(path: str, *, compress: bool) -> Response:
    from kafka_warden.web.status.runbook import runbook  # noqa: PLC0415  # as the status page

    found = runbook(path.removeprefix(RUNBOOKS)) or plain(404, "no such runbook")
    return found.compressed() if compress else found


def _error(path: str, status: int, problem: str) -> Response:
    """Report a problem that may be over at the next request, in the form of the other answers of the path."""
    make = plain if path == STATUS else answers.error
    return make(status, problem, headers={"Retry-After": "1"})
