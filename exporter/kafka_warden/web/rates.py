"""Token buckets, one for each client."""

import time
from typing import Final

from kafka_warden.web.file import RateLimit

_MOST_CLIENTS: Final = 10_000
"""Clients whose rate is remembered; the one that was silent longest is forgotten first."""


class ClientRates:
    """What each client took lately."""

    def __init__(self) -> None:
        self._buckets: dict[str, tuple[float, float]] = {}
        """Client to its tokens and the monotonic time at which it had them."""

    def takes(self, client: str, limit: RateLimit) -> bool:
        """Take a token of the client, and return whether there was one."""
        now = time.monotonic()
        tokens, at = self._buckets.pop(client, (float(limit.burst), now))
        tokens = min(float(limit.burst), tokens + (now - at) / limit.interval)
        taken = tokens >= 1
        self._buckets[client] = (tokens - taken, now)
        if len(self._buckets) > _MOST_CLIENTS:
            del self._buckets[next(iter(self._buckets))]
        return taken
