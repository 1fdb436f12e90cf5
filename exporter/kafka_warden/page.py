"""What the web server serves: one snapshot, rendered once per poll into bytes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Page:
    """One snapshot in both of Prometheus' formats, each plain and compressed."""

    text: bytes
    text_gzip: bytes
    openmetrics: bytes
    openmetrics_gzip: bytes
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Metric family to the number of series that the budget left out."""


@dataclass(slots=True)
class PageHolder:
    """The page in force. A new one replaces it by one assignment, so no request sees a mixture."""

    page: Page | None = None
    ready: bool = False
    """True from the first good poll on."""
    web_config_in_use: Callable[[], bool | None] = lambda: None
    """From the web server: whether its files are in use as they are now; `None` without files."""
