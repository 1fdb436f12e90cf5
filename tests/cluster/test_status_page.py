"""A real move is followed in real browsers on the page of a real sidecar: from 0 over stuck to done."""

import asyncio
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kafka_warden.top.flags import Request
from kafka_warden.top.flags import read as read_flags
from kafka_warden.top.screen import Top
from sandbox import Cluster, ClusterSettings, demo_scene, wait_for
from sandbox.browser import Page
from sandbox.monitoring_sidecar import Sidecar
from sandbox.properties import DEFAULT_QUOTA_WINDOW
from tests.building import known
from tests.support.screens import screen_of, settled
from tests.top.flags import flags
from tests.web.conftest import VIOLATIONS, watching

pytestmark = [pytest.mark.cluster, pytest.mark.full_kafka]

SETTINGS = ClusterSettings(tiered=False, broker_properties=DEFAULT_QUOTA_WINDOW)
MOVE = demo_scene.STUCK
POLLING = {"interval": "5s", "deadline": "4500ms", "log_dirs": "5s"}
"""A busy machine misses the deadline of the demo's polls, and what was not asked in time is not known."""
WITHIN = 300.0
"""Seconds for each state of the move."""
END_WITHIN = 20.0
MOVES = "(document.getElementById('moves')?.innerText ?? '')"
PROBLEMS = "document.getElementById('problems').innerText"
ROW = f"document.querySelector('[data-row=\"{MOVE.topic}/0/{MOVE.target}\"]')"
PROGRESS = f"Number({ROW}?.querySelector('[data-field=progress] data')?.value ?? -1)"
LEFT = f"Number({ROW}?.querySelector('[data-field=remaining_bytes] data')?.value ?? -1)"


@dataclass
class Window:
    """A browser of one width and theme. Without JavaScript the page is loaded again and again."""

    browser: Page
    address: str
    width: int
    scheme: str
    script: bool

    def ask(self, expression: str) -> Any:
        """Ask the page as it is now."""
        if not self.script:
            self.open()
        return self.browser.ask(expression)

    def open(self) -> None:
        self.browser.size(self.width)
        self.browser.media("screen", self.scheme)
        self.browser.visit(self.address)

    def require_silence(self) -> None:
        """No error or warning, no violation of the policy, no foreign request, nothing beyond the window's width."""
        assert self.browser.said() == []
        assert all(each.startswith(self.address) for each in self.browser.asked())
        assert self.browser.ask("document.documentElement.scrollWidth") <= self.width
        if self.script:
            assert self.browser.ask(VIOLATIONS) == []
            assert self.browser.ask("window.same"), "the page refreshes itself, without a reload"


@pytest.fixture
def sidecar(own: Cluster, tmp_path: Path) -> Iterator[Sidecar]:
    """It polls every five seconds."""
    with Sidecar(tmp_path / "sidecar", own, {"poll": POLLING}) as running:
        yield running


@pytest.fixture
def windows(sidecar: Sidecar, tmp_path: Path, stack: ExitStack) -> list[Window]:
    """Both widths and both themes: a browser each with JavaScript, and one for those without, which has no state."""
    address = f"{sidecar.url}/"
    plain = stack.enter_context(watching(tmp_path / "plain"))
    plain.call("Emulation.setScriptExecutionDisabled", value=True)
    made = []
    for width, scheme in itertools.product((1280, 390), ("light", "dark")):
        browser = stack.enter_context(watching(tmp_path / f"{width}-{scheme}"))
        made += [
            Window(browser, address, width, scheme, script=True),
            Window(plain, address, width, scheme, script=False),
        ]
    for window in made:
        window.open()
        if window.script:
            window.browser.ask("window.same = true")
    return made


def all_show(windows: list[Window], what: str, *conditions: str) -> None:
    """Wait until every window shows this, and nothing is wrong in any."""
    for window in windows:
        for condition in conditions:
            wait_for(lambda window=window, condition=condition: window.ask(condition), WITHIN, f"{what}: {condition}")  # type: ignore[misc]  # bound in this round
        window.require_silence()


def of_top(*arguments: str) -> dict[str, Any]:
    """Return the row of the move as `kafka-warden top` prints it."""
    command = [sys.executable, "-m", "kafka_warden.cli", "top", "--json", "--table", "moves", *arguments]
    printed = subprocess.run(command, check=True, capture_output=True, timeout=WITHIN).stdout
    (row,) = json.loads(printed)["tables"]["moves"]["data"]
    found: dict[str, Any] = row
    return found


def on_screen(address: str) -> str:
    """Return the screen of `kafka-warden top`, of the sidecar at this address."""
    client = known(read_flags(flags(url=address), {}, {}).client)
    app = Top(client.get, Request(client, address, table="moves"))

    async def screen() -> str:
        async with app.run_test(size=(160, 40)) as pilot:
            await settled(app, pilot)
            return "\n".join(screen_of(app))

    return asyncio.run(screen())


def test_a_real_move_is_followed_to_its_end(own: Cluster, windows: list[Window], stack: ExitStack) -> None:
    """In eight windows: nothing yet, its first bytes, stuck under a throttle below the inbound rate, done.

    While it is stuck `top` shows the same of the sidecar, and by itself what its own polls know.
    """
    all_show(windows, "nothing yet", f"{MOVES}.includes('No reassignment is in progress.')")
    demo_scene.prepare(own, [MOVE], stack)
    demo_scene.start(own, MOVE)
    all_show(windows, "it starts", f"{PROGRESS} >= 0 && {PROGRESS} < 0.2")
    all_show(
        windows,
        "it is stuck",
        f"{MOVES}.includes('▲ stuck') && {MOVES}.includes('Producers write more than the throttle lets through.')",
        f"{PROBLEMS}.includes('▲ warning') && {PROBLEMS}.includes('1 move stuck.')",
        f"{PROGRESS} < 0.5 && {ROW}.className === 'warning'",
    )
    address = windows[0].address
    row = of_top("--url", address)
    assert (row["topic"], row["cause"], row["severity"]) == (MOVE.topic, "throttle_below_inbound", "warning")
    assert row["stalled"] > 0
    by_itself = of_top("--bootstrap-servers", own.bootstrap)
    assert by_itself["broker"] == row["broker"]
    assert 0 < by_itself["remaining_bytes"] < 2 * MOVE.stored
    shown = on_screen(address)
    assert re.search(rf"> ▲ {MOVE.topic}-0 .* stuck ", shown), shown
    assert re.search(r"[▁▂▃▄▅▆▇█]{4}.* Bytes left in the last hour: now ", shown), shown
    left = windows[0].browser.ask(LEFT)
    demo_scene.set_limit(own, MOVE, demo_scene.limit_for(MOVE.inbound, left, END_WITHIN))
    all_show(windows, "it is done", f"{MOVES}.includes('No reassignment is in progress.')")
    assert own.admin.describe(MOVE.topic)[0].replicas == (MOVE.target,)
    all_show(windows, "no problem is left of it", f"!{PROBLEMS}.includes('stuck')")
