"""The report in a real browser with the network cut: drawn, silent, and read without harm."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.image as mpl_image
import numpy as np
import pytest
from pyspark.sql import SparkSession

from kafka_warden.pipeline.report import INDEX, Options, build, file_of
from sandbox.browser import Page, opened
from tests.pipeline.report_rows import EVIL, TOPIC, marts

PLOTS = """
[...document.querySelectorAll("svg.plot")].map(svg => {
  const box = svg.getBoundingClientRect();
  const room = at => Math.min(at.left - box.left, box.right - at.right, at.top - box.top, box.bottom - at.bottom);
  return {
    clip: {x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height},
    ticks: svg.querySelectorAll(".across text").length,
    outside: [...svg.querySelectorAll("text")].filter(text => room(text.getBoundingClientRect()) < -2).length,
    words: svg.querySelector("title").textContent && svg.querySelector("desc").textContent,
  };
})
"""
FILTER = """
(words, choice) => {
  const part = document.querySelector("#moves");
  const [input, outcome] = part.querySelectorAll("input, select");
  input.value = words; input.dispatchEvent(new Event("input"));
  outcome.value = choice; outcome.dispatchEvent(new Event("input"));
  const rows = [...part.querySelectorAll("tbody tr")].filter(row => row.getClientRects().length);
  return [rows.map(row => row.textContent), part.querySelector("output").value];
}
"""
SORT = """
title => {
  const table = document.querySelector("#moves table");
  const head = [...table.tHead.rows[0].cells].find(head => head.textContent === title);
  head.querySelector("button").click();
  const cells = [...table.tBodies[0].rows].map(row => row.cells[head.cellIndex]);
  return cells.map(cell => cell.dataset.value ?? cell.textContent);
}
"""


@pytest.fixture(scope="module")
def file(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a cluster whose name would do harm if it were markup; the other pages are beside it."""
    folder = tmp_path_factory.mktemp("report")
    for name, text in build(marts(spark, 60).get, Options(f"Fleet {EVIL}", 5), EVIL):
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


def _picture(page: Page, plot: dict[str, Any], file: Path) -> Any:
    return mpl_image.imread(page.picture(file, plot["clip"]))[:, :, :3]


def test_page_sends_no_request_and_names_do_no_harm(page: Page, file: Path) -> None:
    assert (page.asked(), page.said()) == ([file.as_uri()], [])
    assert page.ask("[document.scripts.length, document.images.length, window.harmed ?? 0]") == [1, 0, 0]
    assert EVIL in page.ask("document.querySelector('header').textContent")
    assert TOPIC in page.ask("document.querySelector('#moves').textContent")


def test_each_plot_is_drawn(page: Page, tmp_path: Path) -> None:
    plots = page.ask(PLOTS)
    assert len(plots) == 10 + 5 + 3
    for plot in plots:
        assert (plot["clip"]["width"] > 250, plot["clip"]["height"] > 70) == (True, True), plot
        assert 2 <= plot["ticks"] <= 11, plot
        assert (plot["outside"], bool(plot["words"])) == (0, True), plot
        # In steps of 16: one colour alone is a plot where nothing was drawn.
        picture = _picture(page, plot, tmp_path / "plot.png")
        assert len(np.unique((picture * 15).astype(int).reshape(-1, 3), axis=0)) > 8, plot


@pytest.mark.parametrize("name", [INDEX, file_of(EVIL)])
def test_page_fits_its_screen_and_no_table_is_cut(page: Page, file: Path, name: str) -> None:
    page.open(file.with_name(name))
    cut = '[...document.querySelectorAll(".scrolls")].filter(part => part.scrollWidth > part.clientWidth)'
    for width in (360, 800, 1280, 1920):
        page.size(width)
        assert page.ask("document.documentElement.scrollWidth") <= width
        assert width < 1280 or page.ask(f'{cut}.map(part => part.getAttribute("aria-label"))') == []


def test_filters_hide_the_other_rows(page: Page) -> None:
    rows, said = page.ask(f'({FILTER})("ORDERS 2026-03-0", "completed")')
    assert 0 < len(rows) < 30
    assert all("orders" in row and "completed" in row for row in rows)
    assert said == f"{len(rows)} of 30"
    rows, said = page.ask(f'({FILTER})("", "")')
    assert (len(rows), said) == (30, "")


def test_titles_sort(page: Page) -> None:
    down, up = (page.ask(f"({SORT})('ETA error')") for _ in range(2))
    # The unknown are last in both orders.
    unknown = down.count("-")
    assert unknown
    numbers = [float(value) for value in down[:-unknown]]
    assert numbers == sorted(numbers, reverse=True)
    assert [*map(float, up[:-unknown])] == numbers[::-1]
    assert page.ask(f"({SORT})('Throttle')")[0] == "inf"
    names = page.ask(f"({SORT})('Outcome')")
    assert names == sorted(names)


def test_night_is_dark_and_paper_is_light(page: Page, tmp_path: Path) -> None:
    seen = []
    for medium, scheme in (("screen", "light"), ("screen", "dark"), ("print", "dark")):
        page.media(medium, scheme)
        page.size(1280)
        seen.append(float(np.median(_picture(page, page.ask(PLOTS)[0], tmp_path / "night.png"))))
    light, dark, paper = seen
    assert (light > 0.9, dark < 0.2, paper > 0.9) == (True, True, True)
    assert page.ask('document.querySelectorAll("#moves tbody tr")[15].getClientRects().length') == 0
    printed = page.paper()
    assert printed.startswith(b"%PDF-")
    assert 3 <= printed.count(b"/Type /Page\n") <= 30
