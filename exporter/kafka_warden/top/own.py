"""Polls a cluster as `run` does, without web server, history and state file, and answers as its `/api/v1` does."""

import logging
import time
from types import TracebackType
from typing import Final, Self

from kafka_warden.config import Config
from kafka_warden.cycle import Cycle
from kafka_warden.log import configure
from kafka_warden.parts import build, make_jmx, poller_settings
from kafka_warden.poller import Poller
from kafka_warden.timer import Timer
from kafka_warden.top.client import Answer
from kafka_warden.web.api.answers import PREFIX
from kafka_warden.web.rows import RowSite

POLLS: Final = 3
"""Polls before what they show is printed once: a predicted ETA needs two, a measured rate three."""
_LAST_POLL: Final = 2.0
"""Seconds for the poll that is under way at the end."""


class OwnPolls:
    """A poller and its cycle. In its block it polls, with `once` for so long as a rate needs."""

    def __init__(self, config: Config, *, once: bool) -> None:
        configure(config.log.level if "log.level" in config.explicit else "warning", config.log.format)
        self._once, self._interval = once, config.poll.interval
        jmx = make_jmx(config)
        self._poller = Poller(
            poller_settings(config),
            config.kafka.settings,
            jmx,
            lost=lambda: self._timer.hasten(),  # noqa: PLW0108  # it is made below
        )
        made = build()
        self._cycle = Cycle(self._poller, config.to_parameters(), config.topics.matches, made)
        self._timer = Timer(self._cycle.once, self._cycle.expire, self._interval)
        self._site = RowSite(self._cycle.holder, made.version)

    def __enter__(self) -> Self:
        if self._once:
            for left in reversed(range(POLLS)):
                self._cycle.once()
                if left:
                    time.sleep(self._interval)
        else:
            # A line of the log would be written over the screen.
            logging.getLogger().handlers[:] = [logging.NullHandler()]
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._once:
            self._timer.stop()
        self._poller.close()
        self._timer.join(_LAST_POLL)

    async def get(self, path: str) -> Answer:
        """Answer for a path below `/api/v1/`."""
        name, _, query = path.partition("?")
        response = await self._site.respond(f"{PREFIX}{name}", query.encode(), compress=False)
        return Answer(response.status, response.body, time.time())
