"""Answers for `kafka-warden top`, from pages of `/metrics` as a sidecar has them."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from kafka_warden.api_client import Answer, Get, Reading, read
from kafka_warden.exposition import Page, PageHolder
from kafka_warden.views import Views
from kafka_warden.views.specs import BY_NAME
from kafka_warden.web.api import PREFIX
from kafka_warden.web.rows import RowSite
from tests.building import known

OLD = 3.0
"""Seconds between the poll and the answers."""


def views_of(page: Page) -> Views:
    return known(known(page.views).get())


def getter(page: Callable[[], Page]) -> Get:
    """Answer as the sidecar does that has this page now, three seconds after its poll."""
    holder = PageHolder(ready=True)
    # A site is of one event loop: one that is closed may leave its thread taken.
    sites: defaultdict[asyncio.AbstractEventLoop, RowSite] = defaultdict(lambda: RowSite(holder, "1.2"))

    async def get(path: str) -> Answer:
        holder.page, site = page(), sites[asyncio.get_running_loop()]
        name, _, query = path.partition("?")
        response = await site.respond(PREFIX + name, query.encode(), compress=False)
        return Answer(response.status, response.body, (views_of(holder.page).time or 0.0) + OLD)

    return get


def shown_of(get: Get, most: int = 10_000) -> Reading:
    return asyncio.run(read(get, dict.fromkeys(BY_NAME, most)))


def differences_from(shown: Reading, views: Views) -> list[str]:
    """Return what differs from the rows of a page: a table, the cluster, the sidecar or the time."""
    pairs: dict[str, tuple[Any, Any]] = {
        name: (shown.tables[name], views.tables[spec.name]) for name, spec in BY_NAME.items()
    }
    pairs["exporter"] = shown.exporter, views.sidecar
    for name in ("time", "fresh", "cluster"):
        pairs[name] = getattr(shown, name), getattr(views, name)
    return [name for name, (found, expected) in pairs.items() if found != expected]
