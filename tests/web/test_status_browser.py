"""The status page in a real browser over loopback: silent, within its policy, accessible, at two widths, two themes.

`make full-kafka` looks at every combination, and `make test` at a few: axe-core needs some seconds for a page.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from kafka_warden.exposition import Page as Rendered
from sandbox import wait_for
from sandbox.browser import Page
from tests.support import axe, status_rows
from tests.web.conftest import VIOLATIONS, Served, javascript

WIDTHS, SCHEMES = (1280, 390), ("light", "dark")
STATES = (status_rows.troubled, status_rows.quiet, status_rows.blind, status_rows.moving)
QUICK: Final = (
    (status_rows.troubled, 1280, "light"),
    (status_rows.quiet, 390, "light"),
    (status_rows.moving, 390, "dark"),
)
"""What `make test` looks at, with JavaScript."""
UNDECIDED: Final = {
    ("color-contrast", "nonBmp", '<span class="mark"'): "a square or triangle beside a word that says the same",
}
"""What axe-core cannot decide, by rule, reason and start of the element, and why it is right. `CONTRAST` decides it."""
PLAIN = "[...document.querySelectorAll('main section')].map(each => each.innerText).join('\\n')"
CONTRAST = """
(() => {
  const channel = part => (part /= 255) <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  const numbers = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = element => {
    for (let each = element; each; each = each.parentElement) {
      const colour = numbers(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || element.closest("svg, script") || !element.getClientRects().length) continue;
    const pair = [light(numbers(getComputedStyle(element).color)), light(behind(element))].sort((a, b) => b - a);
    if ((pair[0] + 0.05) / (pair[1] + 0.05) < 4.5) low.push(element.outerHTML.slice(0, 120));
  }
  return low;
})()
"""
"""Elements with text whose contrast is below 4.5 (WCAG AA)."""


def combinations() -> Iterator[Any]:
    for state, width, scheme, script in itertools.product(STATES, WIDTHS, SCHEMES, (True, False)):
        marks = [] if script and (state, width, scheme) in QUICK else [pytest.mark.full_kafka]
        name = f"{state.__name__}-{width}-{scheme}-{'script' if script else 'plain'}"
        yield pytest.param(state, width, scheme, script, marks=marks, id=name)


@pytest.mark.parametrize(("state", "width", "scheme", "script"), list(combinations()))
def test_page_is_silent_accessible_and_fits(
    browser: Page,
    served: Served,
    address: str,
    state: Callable[[], Rendered],
    width: int,
    scheme: str,
    script: bool,
) -> None:
    served.holder.page = state()
    browser.size(width)
    browser.media("screen", scheme)
    with javascript(browser, on=script):
        browser.visit(address)
        if script:
            # The script has refreshed the page once when the age is there.
            wait_for(lambda: browser.ask("document.getElementById('age').textContent"), 60)
            assert browser.ask(VIOLATIONS) == []
        # Violations of the policy are in the console, too.
        assert browser.said() == []
        assert all(each.startswith(address) for each in browser.asked())
        assert browser.ask("document.documentElement.scrollWidth") <= width
        assert browser.ask(CONTRAST) == []
    if not script:
        # axe-core is JavaScript: for the page without its own, that is kept away instead.
        browser.call("Network.setBlockedURLs", urls=["*.mjs"])
        browser.visit(address)
        browser.call("Network.setBlockedURLs", urls=[])
    found = axe.examine(browser)
    assert found.passes > 20
    assert found.violations == []
    assert [each for each in found.incomplete if not _justified(*each)] == []
    assert browser.ask(VIOLATIONS) == []


def _justified(rule: str, reason: str, element: str) -> bool:
    return any((rule, reason) == key[:2] and element.startswith(key[2]) for key in UNDECIDED)


def test_what_is_not_accessible_is_found(browser: Page, served: Served, address: str) -> None:
    served.holder.page = status_rows.blind()
    browser.media("screen", "light")
    browser.visit(address)
    browser.ask("document.body.innerHTML = `<svg role=img></svg><p id=pale>pale</p>`; pale.style.color = '#ccc'")
    found = axe.examine(browser)
    assert {rule for rule, _, _ in found.violations} >= {"svg-img-alt", "color-contrast"}


def test_page_is_complete_without_javascript(browser: Page, served: Served, address: str) -> None:
    served.holder.page = status_rows.moving()
    browser.size(1280)
    browser.visit(address)
    with_script = browser.ask(PLAIN)
    with javascript(browser, on=False):
        browser.visit(address)
        assert browser.ask(PLAIN) == with_script
        browser.visit(browser.ask("document.querySelector('#moves [rel=next]').href"))
        assert "40 of 3,000" in browser.ask("document.getElementById('moves').innerText")


def test_page_refreshes_itself_and_keeps_the_focus(browser: Page, served: Served, address: str) -> None:
    served.holder.page = status_rows.quiet(interval=2.0)
    browser.visit(address)
    browser.ask("window.same = true; var field = document.getElementById('topic'); field.focus(); field.value = 'or'")
    served.holder.page = status_rows.troubled()

    wait_for(lambda: "▲ stuck" in browser.ask("document.getElementById('moves').innerText"), 90)
    assert browser.ask("window.same")
    assert browser.ask("document.activeElement.id + document.activeElement.value") == "topicor"
    assert browser.ask("document.title").startswith("(2) ")
    assert browser.ask(VIOLATIONS) == []

    served.holder.page = status_rows.blind()
    wait_for(lambda: "No fresh data." in browser.ask("document.getElementById('freshness').textContent"), 90)
    assert browser.ask("document.getElementById('moves')") is None
    served.holder.page = status_rows.troubled()
    wait_for(lambda: browser.ask("document.getElementById('moves') !== null"), 90)

    served.holder.page = None
    wait_for(lambda: "it answers 503" in browser.ask("document.getElementById('connection').textContent"), 90)
    assert "▲ stuck" in browser.ask("document.getElementById('moves').innerText")


def test_a_table_keeps_the_focus(browser: Page, served: Served, address: str) -> None:
    served.holder.page = status_rows.moving(40)
    browser.visit(address)
    browser.ask("var old = document.getElementById('moves-table'); old.focus()")
    served.holder.page = status_rows.moving(40, polls=9)

    wait_for(lambda: browser.ask("old !== document.getElementById('moves-table')"), 90)
    assert browser.ask("document.activeElement.id") == "moves-table"


def test_a_script_that_is_not_the_pages_own_is_refused(browser: Page, served: Served, address: str) -> None:
    """The policy is in force: a test of its violations would see one."""
    served.holder.page = status_rows.blind()
    browser.visit(address)
    browser.ask("document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">x</p>')")

    wait_for(lambda: browser.ask(VIOLATIONS), 10)
    assert browser.ask(VIOLATIONS) == ["style-src-attr"]
