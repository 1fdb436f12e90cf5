"""The status page in a real browser over loopback: silent, within its policy, at two widths and in two themes."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from kafka_warden.page import Page as Rendered
from sandbox import wait_for
from sandbox.browser import Page, opened
from tests.support import status_rows
from tests.web.conftest import Served

WIDTHS, SCHEMES = (1280, 390), ("light", "dark")
STATES = (status_rows.troubled, status_rows.quiet, status_rows.blind, status_rows.moving)
PLAIN = "[...document.querySelectorAll('main section')].map(each => each.innerText).join('\\n')"
VIOLATIONS = "window.violations"
WATCH = "window.violations = []; addEventListener('securitypolicyviolation', e => violations.push(e.violatedDirective))"
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


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A browser that reaches loopback, and notes what the policy of each page refuses."""
    with opened(tmp_path_factory.mktemp("browser"), offline=False) as page:
        page.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        yield page


@pytest.fixture
def address(served: Served, browser: Page) -> Iterator[str]:
    """Where the page is served, until the test ends: a page that stayed open would miss its server."""
    yield f"http://127.0.0.1:{served.port}/"
    browser.visit("about:blank")


@pytest.mark.parametrize("state", STATES, ids=lambda each: each.__name__)
def test_page_is_silent_and_fits(browser: Page, served: Served, address: str, state: Callable[[], Rendered]) -> None:
    """No error, warning, violation or foreign request; no sideways scrolling; text that can be read in both themes."""
    served.holder.page = state()
    for width, scheme in itertools.product(WIDTHS, SCHEMES):
        browser.size(width)
        browser.media("screen", scheme)
        browser.visit(address)
        # The script has refreshed the page once when the age is there.
        wait_for(lambda: browser.ask("document.getElementById('age').textContent"), 60)
        assert browser.said() == []
        assert browser.ask(VIOLATIONS) == []
        assert all(each.startswith(address) for each in browser.asked())
        assert browser.ask("document.documentElement.scrollWidth") <= width
        assert browser.ask(CONTRAST) == []


def test_page_is_complete_without_javascript(browser: Page, served: Served, address: str) -> None:
    """The same text, and links that lead to the next part."""
    served.holder.page = status_rows.moving()
    browser.size(1280)
    browser.visit(address)
    with_script = browser.ask(PLAIN)
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.visit(address)
        assert browser.ask(PLAIN) == with_script
        browser.visit(browser.ask("document.querySelector('#moves [rel=next]').href"))
        assert "40 of 3,000" in browser.ask("document.getElementById('moves').innerText")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_page_refreshes_itself_and_keeps_the_focus(browser: Page, served: Served, address: str) -> None:
    """A new page of the sidecar is shown without a reload, what is being typed stays, and a silent sidecar is named."""
    served.holder.page = status_rows.quiet()
    browser.visit(address)
    browser.ask("window.same = true; var field = document.getElementById('topic'); field.focus(); field.value = 'or'")
    served.holder.page = status_rows.troubled()

    wait_for(lambda: "■ stuck" in browser.ask("document.getElementById('moves').innerText"), 90)
    assert browser.ask("window.same")
    assert browser.ask("document.activeElement.id + document.activeElement.value") == "topicor"
    assert browser.ask("document.title").startswith("(6) ")
    assert browser.ask(VIOLATIONS) == []

    served.holder.page = status_rows.blind()
    wait_for(lambda: "No fresh data." in browser.ask("document.getElementById('freshness').textContent"), 90)
    assert browser.ask("document.getElementById('moves')") is None
    served.holder.page = status_rows.troubled()
    wait_for(lambda: browser.ask("document.getElementById('moves') !== null"), 90)

    served.holder.page = None
    wait_for(lambda: "does not answer" in browser.ask("document.getElementById('connection').textContent"), 90)
    assert "■ stuck" in browser.ask("document.getElementById('moves').innerText")


def test_a_script_that_is_not_the_pages_own_is_refused(browser: Page, served: Served, address: str) -> None:
    """The policy is in force: a test of its violations would see one."""
    served.holder.page = status_rows.blind()
    browser.visit(address)
    browser.ask("document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">x</p>')")

    wait_for(lambda: browser.ask(VIOLATIONS), 10)
    assert browser.ask(VIOLATIONS) == ["style-src-attr"]
