"""What the web server serves: one snapshot, as bytes that are rendered once per poll, and as rows made on demand."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from kafka_warden.views import Views


class OnDemand:
    """The rows of one snapshot, made when they are first asked for. Safe in every thread.

    The snapshot is needed until then. `release` gives it up, so that two are not in memory at once.
    """

    def __init__(self, make: Callable[[], Views]) -> None:
        self._make: Callable[[], Views] | None = make
        self._made: Views | None = None
        self._making = threading.Lock()
        self.since = time.monotonic()
        """When the page was made."""

    def get(self) -> Views | None:
        """Return the rows, and make them if needed, which may take 100 ms; `None` if the snapshot was given up."""
        with self._making:
            if self._made is None and (make := self._make) is not None:
                self._made = make()
                self._make = None
            return self._made

    def release(self) -> None:
        """Give up the snapshot. Does not wait for a thread that makes the rows."""
        self._make = None


@dataclass(frozen=True, slots=True)
class Page:
    """One snapshot in both of Prometheus' formats, each plain and compressed, and its rows."""

    text: bytes
    text_gzip: bytes
    openmetrics: bytes
    openmetrics_gzip: bytes
    views: OnDemand | None = None


@dataclass(slots=True)
class PageHolder:
    """The page in force. A new one replaces it by one assignment, so no request sees a mixture."""

    page: Page | None = None
    ready: bool = False
    """Whether the page has a fresh snapshot."""
    wanted: bool = False
    """A client waits for rows: those of the next page are made at once, as the next poll may start soon."""
