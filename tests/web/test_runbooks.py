"""The runbooks as pages: whole, well formed, and every link on them leads to a page."""

import html
import posixpath
import re
from pathlib import Path

import pytest

from sandbox.browser import Page
from tests.support import axe, status_rows
from tests.support.page_numbers import Tags
from tests.web.conftest import VIOLATIONS, Served
from tests.web.test_status_browser import CONTRAST

SOURCES = sorted((Path(__file__).parents[2] / "alerts" / "runbooks").glob("*.md"))


def test_every_runbook_is_a_page(served: Served) -> None:
    """Its commands can be copied, no Markdown is left, and its links lead to other runbooks or to the status page."""
    pages: dict[str, tuple[str, str]] = {}
    for source in SOURCES:
        answer = served.get(f"/alerts/runbooks/{source.name}")
        assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
        pages[f"/alerts/runbooks/{source.name}"] = answer.body.decode(), source.read_text()
    assert len(pages) > 20
    for path, (page, markdown) in pages.items():
        links = [attrs["href"] for tag, attrs in Tags(page).tags if tag == "a"]
        assert {posixpath.normpath(posixpath.join(posixpath.dirname(path), link)) for link in links} <= {"/", *pages}
        for block in re.findall(r"^```\w*\n(.*?)^```$", markdown, re.DOTALL | re.MULTILINE):
            assert block in html.unescape(page)
        prose = html.unescape(re.sub(r"<pre>.*?</pre>|<code>.*?</code>", "", page, flags=re.DOTALL))
        assert not re.search(r"\]\(|\*\*|^#|^\|", prose, re.MULTILINE), path


@pytest.mark.parametrize("name", ["", "KafkaReassignmentStuck", "../README.md", "%2e%2e/README.md", "x.md", "\0.md"])
def test_nothing_else_is_served(served: Served, name: str) -> None:
    assert served.get(f"/alerts/runbooks/{name}").status in {400, 404}


def test_the_status_page_links_to_them(served: Served) -> None:
    """Relative, so that it works behind a prefix."""
    served.holder.page = status_rows.troubled()
    page = served.get("/").body.decode()
    links = set(re.findall(r'<a class="runbook"[^>]*href="([^"]+)"', page))
    assert len(links) > 3
    for link in links:
        assert served.get(f"/{link}").status == 200


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_runbook_is_accessible_and_fits(browser: Page, served: Served, address: str, width: int, scheme: str) -> None:
    longest = max(SOURCES, key=lambda source: source.stat().st_size)
    browser.size(width)
    browser.media("screen", scheme)
    browser.visit(f"{address}alerts/runbooks/{longest.name}")
    assert browser.said() == []
    assert all(each.startswith(address) for each in browser.asked())
    assert browser.ask("document.documentElement.scrollWidth") <= width
    found = axe.examine(browser)
    assert found.violations == []
    # axe-core finds no colour behind text whose lines are wrapped; `CONTRAST` does.
    assert {(rule, reason) for rule, reason, _ in found.incomplete} <= {("color-contrast", "elmPartiallyObscured")}
    assert browser.ask(CONTRAST) == []
    assert browser.ask(VIOLATIONS) == []
