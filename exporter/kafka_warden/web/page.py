"""What the web server is given: the page of the latest poll, and how the program is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """One snapshot, rendered in both formats, each plain and compressed."""

    text: bytes
    text_gzip: bytes
    openmetrics: bytes
    openmetrics_gzip: bytes


@dataclass(slots=True)
class PageHolder:
    """Where the poller puts a page and every request takes it from. One assignment swaps it, whole."""

    page: Page | None = None
    ready: bool = False
    """True from the first good poll on; set it back to withdraw readiness."""


@dataclass(frozen=True, slots=True)
class Health:
    """How the program is: not healthy means that restarting it is right. `reasons` are lines for people."""

    healthy: bool = True
    reasons: tuple[str, ...] = ()
