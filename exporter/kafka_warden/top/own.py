"""Polls a cluster as `run` does, without web server, history and state file, and answers as its `/api/v1` does."""

import logging
import time
from typing import Final, Self

from kafka_warden.config import Config
from kafka_warden.cycle import Cycle
from kafka_warden.log import configure
from kafka_warden.parts import build, make_jmx, poller_settings
from kafka_warden.poller import Poller
from kafka_warden.timer import Timer
from kafka_warden.top.client import Answer
from kafka_warden.web.api import PREFIX
from kafka_warden.web.rows import RowSite

POLLS: Final = 3
"""Polls before what they show is printed once: a predicted ETA needs two, a measured rate three."""
_LAST_POLL: Final = 2.0
"""Seconds for the poll that is under way at the end."""


class OwnPolls:
    """A poller and its cycle, which end with its block."""

    def __init__(self, config: Config) -> None:
        configure(config.log.level if "log.level" in config.explicit else "warning", config.log.format)
        self._interval = config.poll.interval
        self._poller = Poller(
            poller_settings(config),
            config.kafka.settings,
            make_jmx(config),
            lost=lambda: self._timer.hasten(),  # noqa: PLW0108  # it is made below
        )
        made = build()
        topics = config.topics
        self._cycle = Cycle(self._poller, config.to_parameters(), topics.matches, made, uncounted=topics.is_uncounted)
        self._timer = Timer(self._cycle.once, self._cycle.expire, self._interval)
        self._started = False
        self._site = RowSite(self._cycle.holder, made.version)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._started:
            self._timer.stop()
        self._poller.close()  # which ends the poll
        self._timer.join(_LAST_POLL)

    def start(self) -> None:
        """Poll every interval from now on, and log nothing: a line would be written over the screen."""
        logging.getLogger().handlers[:] = [logging.NullHandler()]
        self._started = True
        self._timer.start()

    def poll(self) -> None:
        """Poll as often as a rate needs."""
        for left in reversed(range(POLLS)):
            self._cycle.once()
            if left:
                time.sleep(self._interval)

    async def get(self, path: str) -> Answer:
        """Answer for a path below `/api/v1/`."""
        name, _, query = path.partition("?")
        response = await self._site.respond(f"{PREFIX}{name}", query.encode(), compress=False)
        return Answer(response.status, response.body, time.time())
