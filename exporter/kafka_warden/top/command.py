"""`kafka-warden top`: shows the cluster on the terminal, or prints it once."""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from kafka_warden.config import Config
from kafka_warden.errors import IncompleteError, NoAnswerError
from kafka_warden.installed import check_installed
from kafka_warden.standard_streams import write
from kafka_warden.top import output
from kafka_warden.top.client import Get
from kafka_warden.top.columns import SERVED
from kafka_warden.top.flags import ROWS, Request
from kafka_warden.top.own import OwnPolls
from kafka_warden.top.reading import read
from kafka_warden.views.specs import BY_NAME
from kafka_warden.views.tables import MOST

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
