"""Serves the status page and `/api/v1` from the rows of the page in force.

Rows and responses are made on a thread, as they may take longer than the event loop may stand still. A response is kept
until the next page: for many clients with the same address it is made once.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from kafka_warden.daemon_threads import DaemonThreads
from kafka_warden.page import Page, PageHolder
from kafka_warden.views import Views
from kafka_warden.web.api import answers
from kafka_warden.web.reply import Response, plain

STATUS: Final = "/"
OPENAPI: Final = f"{answers.PREFIX}openapi.json"
WAIT_SECONDS: Final = 5.0
"""Longest wait for the next page, while the snapshot of the last one is being replaced."""

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
        self._page: Page | None = None
        self._kept: dict[Key, Response] = {}

    def serves(self, path: str) -> bool:
        """Return whether a path is one of these."""
        return path == STATUS or path.startswith(answers.PREFIX)

    async def respond(self, path: str, query: bytes, *, compress: bool) -> Response:
        """Answer one request."""
        if path == OPENAPI:
            return Response(200, answers.openapi(), {"Content-Type": "application/json"})
        until = asyncio.get_running_loop().time() + WAIT_SECONDS
        while (page := self._holder.page) is not None and page.views is not None:
            kept = self._of(page)
            found = kept.get((path, query, compress))
            if found is None:
                found = await self._threads.run(self._make(page, path, query, compress))
                self._keep(kept, (path, query, compress), found)
            if found is not None:
                return found
            # Its snapshot was given up for the next poll, which is being evaluated.
            if asyncio.get_running_loop().time() > until:
                break
            await asyncio.sleep(_AGAIN)
        return plain(503, "no page has been rendered yet; try again", headers={"Retry-After": "1"})

    def _of(self, page: Page) -> dict[Key, Response]:
        if self._page is not page:
            self._page, self._kept = page, {}
        return self._kept

    def _keep(self, kept: dict[Key, Response], key: Key, response: Response | None) -> None:
        if response is not None and response.status == 200:  # noqa: PLR2004  # OK
            kept[key] = response
            while len(kept) > _MOST_KEPT or sum(len(each.body) for each in kept.values()) > _MOST_BYTES:
                del kept[next(iter(kept))]

    def _make(self, page: Page, path: str, query: bytes, compress: bool) -> Callable[[], Response | None]:
        def make() -> Response | None:
            views = page.views.get() if page.views is not None else None
            if views is None:
                return None
            response = self._answer(views, path, query)
            return response.compressed() if compress else response

        return make

    def _answer(self, views: Views, path: str, query: bytes) -> Response:
        if path != STATUS:
            found = answers.answer(views, path.removeprefix(answers.PREFIX), query)
            return found if found is not None else answers.error(404, f"not found; see {OPENAPI}")
        # Its template engine is loaded only for those who look.
        from kafka_warden.web.status.render import status  # noqa: PLC0415

        return status(views, query, self._version)
