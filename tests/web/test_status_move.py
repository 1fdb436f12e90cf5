"""A move is followed in a real browser from its start over its halt to its end, on scripted brokers."""

import itertools
from collections.abc import Iterator
from typing import Any, Final

import pytest

from sandbox import wait_for
from sandbox.browser import Page
from tests.poller.polling import INTERVAL, Polling, polling
from tests.support.scripted import ScriptedCluster, VirtualClock
from tests.web.conftest import VIOLATIONS, Served, javascript

REFRESH: Final = 2.0
"""Seconds between two refreshes of the page."""
MOVES: Final = "document.getElementById('moves').innerText"
PROBLEMS: Final = "document.getElementById('problems').innerText"


class Watched:
    """A move, what the sidecar shows of it, and the browser that looks."""

    def __init__(self, polled: Polling, served: Served, browser: Page, address: str, *, script: bool) -> None:
        self._polled, self._served, self._browser, self._address = polled, served, browser, address
        self._script = script
        self._cycle = polled.cycle(poll_interval=REFRESH)

    def poll(self, times: int, lag: int, limit: str | None = None, *, moves: bool = True) -> None:
        """Let the target lack so many messages of 100,000 under a throttle, and poll."""
        brokers = self._polled.brokers
        config = {} if limit is None else {"leader.replication.throttled.rate": limit}
        brokers.brokers(*({"id": broker, "config": config} for broker in (1, 2)))
        adding = {0: {"adding": [3], "removing": [2]}}
        listed = {"leader.replication.throttled.replicas": "*"}
        isr, replicas = ([1, 2], [1, 2, 3]) if moves else ([1, 3], [1, 3])
        given: dict[str, Any] = {"isr": [isr], "end": 100_000, "lag": {3: lag}, "config": listed}
        brokers.topic("orders", [replicas], moves=adding if moves else {}, **given)
        for _ in range(times):
            self._polled.clock.advance(INTERVAL)
            self._cycle.once()
        self._served.holder.page = self._cycle.holder.page

    def sees(self, where: str, *parts: str) -> None:
        def shown() -> bool:
            if not self._script:
                self._browser.visit(self._address)
            text = self._browser.ask(where)
            return all(part in text for part in parts)

        wait_for(shown, 60, f"{where} has {parts}")
        assert self._browser.said() == []
        assert all(each.startswith(self._address) for each in self._browser.asked())


@pytest.fixture
def polled(brokers: ScriptedCluster, clock: VirtualClock) -> Iterator[Polling]:
    brokers.controller()
    with polling(brokers, clock) as made:
        yield made


def combinations() -> Iterator[Any]:
    """Return width, theme, and whether JavaScript is on; `make test` looks at one of them."""
    for width, scheme, script in itertools.product((1280, 390), ("light", "dark"), (True, False)):
        marks = [] if (width, scheme, script) == (1280, "light", True) else [pytest.mark.full_kafka]
        name = f"{width}-{scheme}-{'script' if script else 'plain'}"
        yield pytest.param(width, scheme, script, marks=marks, id=name)


@pytest.mark.parametrize(("width", "scheme", "script"), list(combinations()))
def test_a_move_is_followed_to_its_end(
    polled: Polling, browser: Page, served: Served, address: str, width: int, scheme: str, script: bool
) -> None:
    watched = Watched(polled, served, browser, address, script=script)
    watched.poll(1, lag=100_000)
    browser.size(width)
    browser.media("screen", scheme)
    with javascript(browser, on=script):
        browser.visit(address)
        if script:
            browser.ask("window.same = true")
        watched.sees(MOVES, "orders-0", "0%")
        for lag in (80_000, 70_000, 60_000):
            watched.poll(1, lag)
        watched.sees(MOVES, "40%", "117 kB/s")
        watched.poll(4, lag=60_000, limit="0")
        watched.sees(MOVES, "40%", "▲ stuck", "A throttle of 0 lets nothing through.")
        watched.sees(PROBLEMS, "1 move stuck.", "KafkaReassignmentStuck")
        watched.poll(2, lag=0, moves=False)
        watched.sees(MOVES, "No reassignment is in progress.")
        if script:
            assert browser.ask("window.same")
            assert browser.ask(VIOLATIONS) == []
