"""The report in a real browser with the network cut: drawn, silent, and read without harm."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.image as mpl_image
import numpy as np
import pytest
from pyspark.sql import SparkSession

from kafka_warden.pipeline.report.build import build
from kafka_warden.pipeline.report.page import INDEX, Head, file_of
from kafka_warden.pipeline.report.reading import Marts
from sandbox.browser import Page, opened
from tests.pipeline.report_rows import CLUSTERS, EVIL, TOPIC, marts

SECTIONS = ("moves", "replication", "alarms", "limits")
NAMED_PLOTS = {"predicted", "throttled", "causes", "states", "topics", "rules", "trials", "timeline", "days"}
DRAWN = 5
"""Moves by themselves; of limits there are three."""

PLOTS = """
[...document.querySelectorAll("svg.plot")].map(svg => {
  const box = svg.getBoundingClientRect();
  const outside = [...svg.querySelectorAll("text")].filter(text => {
    const at = text.getBoundingClientRect();
    return at.left < box.left - 2 || at.right > box.right + 2 || at.top < box.top - 2 || at.bottom > box.bottom + 2;
  });
  return {
    name: svg.getAttribute("aria-labelledby").split("-title")[0],
    x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height,
    marks: svg.querySelectorAll("path, use").length, texts: svg.querySelectorAll("text").length,
    outside: outside.map(text => text.textContent),
    title: svg.querySelector("title").textContent, about: svg.querySelector("desc").textContent,
  };
})
"""


@pytest.fixture(scope="module")
def file(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a cluster whose name would do harm if it were markup; the other pages are beside it."""
    found = marts(spark, 60)
    folder = tmp_path_factory.mktemp("report")
    for name, text in build(Marts(found.get, str), Head(f"Fleet {EVIL}", EVIL, "1.0"), DRAWN):
        (folder / name).write_text(text, encoding="utf-8")
    return folder / file_of(EVIL)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with opened(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture(autouse=True)
def usual(page: Page, file: Path) -> None:
    """Each test begins on that screen, with the page of a cluster."""
    page.size(1280)
    page.media("screen", "light")
    page.open(file)


def _plots(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.ask(PLOTS)
    return found


def _colours(page: Page, plot: dict[str, Any], file: Path) -> int:
    """Count the colours of a plot's picture, in steps of 16: one colour alone is a plot where nothing was drawn."""
    clip = {key: plot[key] for key in ("x", "y", "width", "height")}
    picture = mpl_image.imread(page.picture(file, clip))[:, :, :3]
    return len(np.unique((picture * 15).astype(int).reshape(-1, 3), axis=0))


def test_page_sends_no_request_and_logs_nothing(page: Page, file: Path) -> None:
    assert page.asked() == [file.as_uri()]
    assert page.said() == []


def test_each_plot_is_drawn(page: Page, tmp_path: Path) -> None:
    plots = _plots(page)
    names = {plot["name"] for plot in plots}
    moves = {f"move-{place}" for place in range(DRAWN)}
    assert names == NAMED_PLOTS | moves | {f"path-{place}" for place in range(3)}
    for plot in plots:
        assert plot["width"] > 250, plot
        assert plot["height"] > 80, plot
        assert plot["marks"] > 10, plot
        assert plot["texts"] > 3, plot
        assert plot["outside"] == [], plot
        assert plot["title"], plot
        assert plot["about"], plot
        assert _colours(page, plot, tmp_path / "plot.png") > 8, plot


def test_each_plot_has_its_table(page: Page) -> None:
    beside = 'part => !!part.querySelector("svg") && !!part.querySelector("td")'
    assert page.ask(f'[...document.querySelectorAll(".shown")].every({beside})')
    after = 'part => !!part.closest("section").querySelector(":scope > .filtered td, :scope > .scrolls td")'
    assert page.ask(f'[...document.querySelectorAll(".gallery")].every({after})')


def test_names_do_no_harm(page: Page) -> None:
    assert page.ask("document.scripts.length - 1 + document.images.length") == 0
    assert page.ask("window.harmed") is None
    assert EVIL in page.ask("document.querySelector('header').textContent")
    assert TOPIC in page.ask("document.querySelector('#moves').textContent")


@pytest.mark.parametrize("width", [360, 800, 1280, 1920])
@pytest.mark.parametrize("name", [INDEX, file_of(EVIL)])
def test_page_fits_its_screen(page: Page, file: Path, name: str, width: int) -> None:
    page.open(file.with_name(name))
    page.size(width)
    assert page.ask("document.documentElement.scrollWidth") <= width


FILTER = """
(words, choice) => {
  const part = [...document.querySelectorAll(".filtered")].find(p => p.textContent.includes("All moves"));
  const [input, , outcome] = part.querySelectorAll("input, select");
  input.value = words; input.dispatchEvent(new Event("input"));
  outcome.value = choice; outcome.dispatchEvent(new Event("input"));
  const rows = [...part.querySelectorAll("tbody tr")].filter(row => row.getClientRects().length);
  const number = part.querySelectorAll("tbody tr").length;
  return [rows.map(row => row.textContent), part.querySelector("output").value, number];
}
"""


def test_filters_hide_the_other_rows(page: Page) -> None:
    rows, said, number = page.ask(f'({FILTER})("ORDERS reassign", "completed")')
    assert 0 < len(rows) < number
    assert all("orders" in row and "completed" in row for row in rows)
    assert said == f"{len(rows)} of {number}"
    rows, said, number = page.ask(f'({FILTER})("", "")')
    assert (len(rows), said) == (number, "")


def test_index_filters_clusters(page: Page, file: Path) -> None:
    page.open(file.with_name(INDEX))
    page.ask('{const i = document.querySelector("input"); i.value = "q3vb"; i.dispatchEvent(new Event("input"))}')
    assert page.ask(
        '[...document.querySelectorAll("tbody tr:not([hidden])")].map(row => row.cells[0].textContent)'
    ) == [CLUSTERS[1]]


@pytest.mark.parametrize("width", [1280, 1920])
@pytest.mark.parametrize("name", [INDEX, file_of(EVIL)])
def test_no_table_is_cut(page: Page, file: Path, name: str, width: int) -> None:
    page.open(file.with_name(name))
    page.size(width)
    page.ask('document.querySelectorAll("details").forEach(part => part.open = true)')
    cut = '[...document.querySelectorAll(".scrolls")].filter(part => part.scrollWidth > part.clientWidth)'
    assert page.ask(f'{cut}.map(part => part.querySelector("caption").textContent)') == []


def test_night_is_dark_and_paper_is_light(page: Page, tmp_path: Path) -> None:
    seen = {}
    for medium, scheme in (("screen", "light"), ("screen", "dark"), ("print", "dark")):
        page.media(medium, scheme)
        page.size(1280)
        plot = next(plot for plot in _plots(page) if plot["name"] == "states")
        clip = {key: plot[key] for key in ("x", "y", "width", "height")}
        picture = mpl_image.imread(page.picture(tmp_path / "night.png", clip))[:, :, :3]
        seen[medium, scheme] = float(np.median(picture))
    assert seen["screen", "light"] > 0.9
    assert seen["screen", "dark"] < 0.2
    assert seen["print", "dark"] > 0.9


def test_text_can_be_read(page: Page) -> None:
    for scheme in ("light", "dark"):
        page.media("screen", scheme)
        colours = page.ask(
            '["ink", "faint", "blue", "paper"].map(name =>'
            ' getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim())'
        )
        *texts, ground = map(_luminance, colours)
        for text in texts:
            light, dark = max(text, ground), min(text, ground)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (scheme, colours)


def _luminance(colour: str) -> float:
    """Relative luminance by WCAG 2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_page_can_be_printed(page: Page) -> None:
    page.media("print", "light")
    paper = page.paper()
    assert paper.startswith(b"%PDF-")
    assert page.ask('[...document.querySelectorAll("details")].every(d => getComputedStyle(d).display === "none")')
    assert 3 <= paper.count(b"/Type /Page\n") <= 30
