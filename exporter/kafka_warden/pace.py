"""How often polls start: as configured, or less often while they take longer than that."""

import math
from typing import Final

import structlog

log = structlog.get_logger(__name__)

SETTLED: Final = 10
"""Polls in a row that keep the configured interval, after which it counts as kept."""

STUCK: Final = 3
"""Intervals without a poll that ends, or that can be evaluated, and at least a minute, after which the process should
be restarted."""

LEAST_STUCK: Final = 60.0


def most_silent(interval: float) -> float:
    """Return after how many seconds polls that start so far apart are too late."""
    return max(STUCK * interval, LEAST_STUCK)


class Pace:
    """The interval between the starts of two polls. A poll that takes longer than the interval delays the next one.

    Attributes:
        configured: `poll.interval`, in seconds.
    """

    def __init__(self, configured: float) -> None:
        self.configured = configured
        self._took = 0.0
        self._kept = SETTLED
        """Polls since the last one that took longer, up to `SETTLED`."""

    @property
    def interval(self) -> float:
        """Seconds between the starts of two polls."""
        return self.configured * max(1, math.ceil(self._took / self.configured))

    def running(self, seconds: float) -> None:
        """Note that the poll under way has taken so long already."""
        self._took = max(self._took, seconds)

    def ended(self, seconds: float) -> None:
        """Note how long a poll took; log when the interval is no longer kept, and when it is again."""
        self._took, before = seconds, self._kept
        self._kept = min(before + 1, SETTLED) if seconds <= self.configured else 0
        if before == SETTLED and not self._kept:
            log.warning(
                "a poll takes longer than poll.interval, so polls start less often; increase poll.interval",
                seconds=round(seconds, 1),
                interval=self.configured,
            )
        elif before == SETTLED - 1 and self._kept == SETTLED:
            log.info("polls take less than poll.interval again", interval=self.configured)
