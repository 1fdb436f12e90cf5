"""Serves the status page, its runbooks, and `/api/v1` from the rows of the page in force.

Rows and responses are made on a thread, as they may take longer than the event loop may stand still. A response is kept
until the next page: for many clients it is made once.
"""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import structlog

from kafka_warden.daemon_threads import DaemonThreads
from kafka_warden.exposition import OnDemand, PageHolder
from kafka_warden.views import alerts
from kafka_warden.web import api
from kafka_warden.web.responses import Response, plain

STATUS: Final = "/"
RUNBOOKS: Final = f"/{alerts.RUNBOOKS}"
WAIT_SECONDS: Final = 5.0
"""Longest wait for the next page, while the snapshot of the last one is being replaced."""
FRESH_SECONDS: Final = 1.0
"""Age of a page up to which what was made from it is served while the rows of the next one are made."""
MOST_MAKING: Final = 32
"""Responses that wait for the thread. What a client asked for is made even when it has hung up, and kept for others."""
_AGAIN: Final = 0.02
"""Seconds between two looks for the next page."""
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
        self._making: dict[Key, asyncio.Task[Response | None]] = {}

    def serves(self, path: str) -> bool:
        """Return whether a path is one of these."""
        return path == STATUS or path.startswith((api.PREFIX, RUNBOOKS))

    async def respond(self, path: str, query: bytes, *, compress: bool) -> Response:
        """Answer one request."""
        key, until = (path, query, compress), time.monotonic() + WAIT_SECONDS
        if path.startswith(RUNBOOKS):
            return await self._made((path, b"", compress), lambda: _runbook(path)) or _error(path, "try again")
        while (page := self._holder.page) is not None and (rows := page.views) is not None:
            since, kept = self._kept.get(key, (0.0, None))
            if kept is not None and since == rows.since:
                return kept
            making = self._made(key, partial(self._answer, rows, path, query), rows.since)
            # With polls back to back, no client waits for rows that are replaced at once.
            if kept is not None and time.monotonic() - since < FRESH_SECONDS:
                return kept
            response = await making
            if response is not None:
                return response
            # Its snapshot was given up for the next poll, which is being evaluated.
            self._holder.wanted = True
            if time.monotonic() > until:
                break
            await asyncio.sleep(_AGAIN)
        return _error(path, "no page has been rendered yet; try again")

    def _made(
        self, key: Key, make: Callable[[], Response | None], since: float | None = None
    ) -> asyncio.Future[Response | None]:
        """Start to make a response, unless that is being done already. What `since` has is kept."""
        if key not in self._making:
            if len(self._making) >= MOST_MAKING:
                full: asyncio.Future[Response | None] = asyncio.get_running_loop().create_future()
                full.set_result(_error(key[0], "too many different requests at once; try again"))
                return full
            self._making[key] = asyncio.create_task(self._make(key, make, since))
        return asyncio.shield(self._making[key])

    async def _make(self, key: Key, make: Callable[[], Response | None], since: float | None) -> Response | None:
        try:
            response = await self._threads.run(lambda: _compressed(make(), key[2]))
        except Exception:  # noqa: BLE001  # it is logged, and the next request may work
            structlog.get_logger(__name__).exception("a request failed", path=key[0][:100])
            return _error(key[0], "internal error; see the log", 500)
        finally:
            del self._making[key]
        if since is not None and response is not None and response.status == 200:  # noqa: PLR2004  # OK
            self._kept.pop(key, None)
            self._kept[key] = since, response
            while len(self._kept) > _MOST_KEPT or sum(len(each.body) for _, each in self._kept.values()) > _MOST_BYTES:
                del self._kept[next(iter(self._kept))]
        return response

    def _answer(self, rows: OnDemand, path: str, query: bytes) -> Response | None:
        views = rows.get()
        if views is None:
            return None
        if path != STATUS:
            found = api.answer(views, path.removeprefix(api.PREFIX), query)
            return found if found is not None else api.error(404, f"not found; see {api.OPENAPI}")
        # Its template engine is loaded only for those who look.
        from kafka_warden.web.status.render import status  # noqa: PLC0415

        return status(views, query, self._version)


def _compressed(response: Response | None, compress: bool) -> Response | None:
    return response.compressed() if response is not None and compress else response


def _runbook(path: str) -> Response:
    from kafka_warden.web.status.render import runbook  # noqa: PLC0415  # as the status page

    return runbook(path.removeprefix(RUNBOOKS)) or plain(404, "no such runbook")


def _error(path: str, problem: str, status: int = 503) -> Response:
    """Report a problem that may be over at the next request, in the form of the other answers of the path."""
    make = plain if path == STATUS else api.error
    return make(status, problem, headers={"Retry-After": "1"})
