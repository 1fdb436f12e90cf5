"""What the web server serves: one snapshot, rendered once per poll into bytes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """One snapshot in both of Prometheus' formats, each plain and compressed."""

    text: bytes
    text_gzip: bytes
    openmetrics: bytes
    openmetrics_gzip: bytes


@dataclass(slots=True)
class PageHolder:
    """The page in force. A new one replaces it by one assignment, so no request sees a mixture."""

    page: Page | None = None
    ready: bool = False
    """True from the first good poll on."""
