"""A worker that serves `/metrics` of 16 MB, and the status page of 3,000 moves, behind TLS and a login."""

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from kafka_warden.app import tune_interpreter
from kafka_warden.log import configure
from kafka_warden.page import OnDemand, Page, PageHolder
from kafka_warden.settings.strict import Address
from kafka_warden.web.health import Health
from kafka_warden.web.server import WebServer, WebSettings
from tests.building import known
from tests.support import status_rows
from tests.support.threads import repeating

LINES = 200_000
POLL_SECONDS = 1.0


@contextmanager
def prepare(argument: dict[str, Any]) -> Iterator[tuple[int, Callable[[str], Any]]]:
    """Serve with `argument["config_file"]` and return the port; a step returns the counts."""
    configure("error", "logfmt")
    tune_interpreter()
    text = b"".join(
        b'kafka_warden_replica_lag_messages{topic="orders",partition="%d"} 0\n' % row for row in range(LINES)
    )
    views = known(known(status_rows.moving().views).get())
    page = Page(text, gzip.compress(text, 1), text, gzip.compress(text, 1))
    settings = WebSettings(Address("127.0.0.1", 0), Path(argument["config_file"]))
    holder = PageHolder(page, ready=True)
    server = WebServer(settings, holder, health=Health)

    def renew() -> None:
        # As a poll does: what was made from the rows before is made again.
        holder.page = replace(page, views=OnDemand(lambda: views))

    renew()
    port = server.start()
    try:
        with repeating(renew, POLL_SECONDS):
            yield (
                port,
                lambda _: {
                    "evicted": server.connections.evicted,
                    "closed before the handshake": server.connections.refused,
                    "logins refused": server.checks.refused,
                },
            )
    finally:
        server.stop()
