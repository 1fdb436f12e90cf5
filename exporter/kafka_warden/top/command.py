"""`kafka-warden top`: shows the cluster on the terminal, or prints it once."""

import asyncio
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final, Self

from kafka_warden.config import Config
from kafka_warden.cycle import Cycle
from kafka_warden.errors import IncompleteError, NoAnswerError
from kafka_warden.installed import check_installed
from kafka_warden.log import configure, write
from kafka_warden.parts import build, make_jmx, poller_settings
from kafka_warden.poller import Poller
from kafka_warden.timer import Timer
from kafka_warden.top import output
from kafka_warden.top.client import Answer, Get
from kafka_warden.top.flags import ROWS, Request
from kafka_warden.top.output import SERVED
from kafka_warden.top.reading import read
from kafka_warden.views.rows import MOST
from kafka_warden.views.specs import BY_NAME
from kafka_warden.web.api import PREFIX
from kafka_warden.web.rows import RowSite

POLLS: Final = 3
"""Polls before what they show is printed once: a predicted ETA needs two, a measured rate three."""
_LAST_POLL: Final = 2.0
"""Seconds for the poll that is under way at the end."""
NO_DATA: Final = 3
"""Exit code without fresh data. What there is was printed."""


def run(load: Callable[[], Config], request: Request) -> int:
    """Show the cluster until the user ends it, or print it once.

    Raises:
        ConfigError: the configuration cannot be used, or Textual is not installed.
        IncompleteError: with `once`, there is no answer.
    """
    # Textual draws on stderr.
    once = request.once or not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    if not once:
        check_installed("top", "textual", "top")
    with ExitStack() as stack:
        if request.client is not None:
            get = request.client.get
        else:
            own = stack.enter_context(OwnPolls(load()))
            (own.poll if once else own.start)()
            get = own.get
        if once:
            return _once(get, request)
        from kafka_warden.top.screen import Top  # noqa: PLC0415  # an optional library

        app = Top(get, request)
        code = app.run(mouse=False)
        # Textual has printed the traceback.
        return code if code is not None else os.EX_SOFTWARE if app.return_code else 0


def _once(get: Get, request: Request) -> int:
    # The first rows of an order, or of those that match, can be any of those that there are.
    most = request.rows or (MOST if request.as_json else ROWS)
    asked = MOST if request.search or request.order != SERVED else most
    names = [request.table] if request.table is not None else list(BY_NAME)
    try:
        shown = asyncio.run(read(get, dict.fromkeys(names, asked)))
    except NoAnswerError as failure:
        raise IncompleteError(f"{request.where}: {failure}") from None
    if request.as_json:
        text = output.document(shown, request.order, request.search, most)
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        text = output.text(shown, request.order, request.search, most, width)
    write(text)
    return 0 if shown.fresh else NO_DATA


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
