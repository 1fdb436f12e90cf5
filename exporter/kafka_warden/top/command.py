"""`kafka-warden top`: reads its flags, and shows the cluster on the terminal, or prints it once."""

import asyncio
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, Final

from kafka_warden.api_client import Answer, Get, read, read_client
from kafka_warden.config import Config, values
from kafka_warden.config.options import read_values
from kafka_warden.cycle import Cycle
from kafka_warden.errors import ConfigError, IncompleteError, NoAnswerError
from kafka_warden.installed import check_installed
from kafka_warden.log import configure, write
from kafka_warden.parts import build, make_poller
from kafka_warden.timer import Timer
from kafka_warden.top import output
from kafka_warden.top.output import Request
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


def run(
    load: Callable[[], Config], flags: Mapping[str, Any], options: Mapping[str, str], environment: Mapping[str, str]
) -> int:
    """Show the cluster until the user ends it, or print it once.

    Args:
        load: reads the configuration, for polls without an exporter.
        flags: by name with underscores; `None` is a flag that was not set.
        options: those flags of `run` that were set.
        environment: has the password, if no file has it.

    Raises:
        ConfigError: a bad value, flags that exclude each other, or Textual is not installed.
        IncompleteError: with `once`, there is no answer.
    """
    client = read_client(flags, options, environment)
    request = read_request(flags, "the brokers" if client is None else client.url.geturl())
    # Textual draws on stderr.
    terminal = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    once = flags["once"] or flags["json"] or not terminal
    if not once:
        check_installed("top", "textual", "top")
    with nullcontext(client.get) if client is not None else own_polls(load(), once=once) as get:
        if once:
            return _print(get, request, as_json=flags["json"])
        from kafka_warden.top.screen import Top  # noqa: PLC0415  # an optional library

        app = Top(get, request)
        code = app.run(mouse=False)
        # Textual has printed the traceback.
        return code if code is not None else os.EX_SOFTWARE if app.return_code else 0


def _print(get: Get, request: Request, *, as_json: bool) -> int:
    # The first rows of an order, or of those that match, can be any of those that there are.
    most = request.rows or (MOST if as_json else output.ROWS)
    asked = MOST if request.search or request.sort or request.reverse else most
    try:
        shown = asyncio.run(read(get, dict.fromkeys(request.tables, asked)))
    except NoAnswerError as failure:
        raise IncompleteError(f"{request.where}: {failure}") from None
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    write(output.document(shown, request) if as_json else output.text(shown, request, width))
    return 0 if shown.fresh else NO_DATA


@contextmanager
def own_polls(config: Config, *, once: bool) -> Iterator[Get]:
    """Answer for paths below `/api/v1/` from own polls: as many as a rate needs, or one every interval."""
    configure(config.log.level if "log.level" in config.explicit else "warning", config.log.format)
    poller = make_poller(config, lost=lambda: timer.hasten())  # noqa: PLW0108  # it is made below
    made, topics = build(), config.topics
    cycle = Cycle(poller, config.to_parameters(), made, shows_topic=topics.matches, uncounted=topics.is_uncounted)
    timer = Timer(cycle.once, cycle.expire, config.poll.interval)
    site = RowSite(cycle.holder, made.version)

    async def get(path: str) -> Answer:
        name, _, query = path.partition("?")
        response = await site.respond(f"{PREFIX}{name}", query.encode(), compress=False)
        return Answer(response.status, response.body, time.time())

    try:
        if once:
            for left in reversed(range(POLLS)):
                cycle.once()
                time.sleep(config.poll.interval if left else 0)
        else:
            # A line would be written over the screen.
            logging.getLogger().handlers[:] = [logging.NullHandler()]
            timer.start()
        yield get
    finally:
        if not once:
            timer.stop()
        poller.close()  # which ends the poll
        timer.join(_LAST_POLL)


def read_request(flags: Mapping[str, Any], where: str) -> Request:
    """Return what to show.

    Raises:
        ConfigError: a bad value, or a column without its table.
    """
    table, rows, every = read_values(
        flags, {"table": values.choice(*BY_NAME), "rows": values.whole_number, "every": values.duration}
    ).values()
    if flags["sort"] is not None and table is None:
        raise ConfigError("--sort: needs --table")
    columns = {each.field: each for each in BY_NAME[table].columns} if table is not None else {}
    column = columns.get(read_values(flags, {"sort": values.choice(*columns)})["sort"])
    return Request(where, max(every, 1.0), table, rows, flags["filter"], column, reverse=flags["reverse"])
