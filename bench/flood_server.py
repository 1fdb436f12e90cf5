"""A worker that serves a page of 16 MB behind TLS and a login."""

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka_warden.app import tune_interpreter
from kafka_warden.log import configure
from kafka_warden.page import Page, PageHolder
from kafka_warden.settings.strict import Address
from kafka_warden.web.health import Health
from kafka_warden.web.server import WebServer, WebSettings

LINES = 200_000


@contextmanager
def prepare(argument: dict[str, Any]) -> Iterator[tuple[int, Callable[[str], Any]]]:
    """Serve with `argument["config_file"]` and return the port; a step returns the counts."""
    configure("error", "logfmt")
    tune_interpreter()
    text = b"".join(
        b'kafka_warden_replica_lag_messages{topic="orders",partition="%d"} 0\n' % row for row in range(LINES)
    )
    page = Page(text, gzip.compress(text, 1), text, gzip.compress(text, 1))
    settings = WebSettings(Address("127.0.0.1", 0), Path(argument["config_file"]))
    server = WebServer(settings, PageHolder(page, ready=True), health=Health)
    port = server.start()
    try:
        yield port, lambda _: {"evicted": server.connections.evicted, "refused": server.checks.refused}
    finally:
        server.stop()
