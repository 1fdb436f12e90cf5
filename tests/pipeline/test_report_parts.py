"""What the report's page is made of: text that stays text, numbers with units, plots that live in a page."""

import math
import re
from itertools import pairwise
from pathlib import Path

import pytest

from kafka_warden.pipeline.report import numbers
from kafka_warden.pipeline.report.canvas import at, canvas, durations
from kafka_warden.pipeline.report.colours import BLUE
from kafka_warden.pipeline.report.html import Html, tag
from kafka_warden.pipeline.report.page import file_of
from kafka_warden.pipeline.report.parts import AT_ONCE, Column, Table
from kafka_warden.pipeline.report.saving import save
from kafka_warden.pipeline.report.svg import inline

EVIL = '<script>"$x$" & \'</script>'


def test_text_never_becomes_markup() -> None:
    assert tag("p", EVIL, tag("b", "x"), class_="a", aria_label=EVIL) == (
        '<p class="a" aria-label="&lt;script&gt;&quot;$x$&quot; &amp; &#x27;&lt;/script&gt;">'
        "&lt;script&gt;&quot;$x$&quot; &amp; &#x27;&lt;/script&gt;<b>x</b></p>"
    )


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (numbers.rate(None), "unknown"),
        (numbers.rate(math.inf), "unlimited"),
        (numbers.rate(20.5e6), "20.5 MB/s"),
        (numbers.duration(math.inf), "never"),
        (numbers.share(0.5), "50%"),
        (numbers.count(200_000), "200,000"),
        (numbers.instant(0.0), "1970-01-01 00:00:00"),
        (numbers.day(1e15), "after the year 9999"),
        (numbers.plural(1, "move"), "1 move"),
        (numbers.plural(1000, "move"), "1,000 moves"),
        (numbers.short("a" * 10, 7), "aaa…aaa"),
    ],
)
def test_numbers_have_units(written: str, expected: str) -> None:
    assert written == expected


@pytest.mark.parametrize("cluster", ["x" * 300, "ж" * 50, "%" * 86, "../../a b", "q3Vb5hX2Tz6nYw0fKpLmRg"])
def test_page_of_every_cluster_id_can_be_written(tmp_path: Path, cluster: str) -> None:
    others = {cluster, f"{cluster}y", f"{cluster}z", file_of(cluster).removeprefix("report-").removesuffix(".html")}
    for each in others:
        save(each, tmp_path, file_of(each))
    assert {(tmp_path / file_of(each)).read_text() for each in others} == others
    assert {file.name for file in tmp_path.iterdir()} == set(map(file_of, others))


def test_long_table_folds_what_is_too_much() -> None:
    rows = [(f"row {number}",) for number in range(AT_ONCE + 3)]
    written = Table("Rows", (Column("Row"),), rows).html()
    open_part, _, folded = written.partition("<details>")
    assert open_part.count("<td>") == AT_ONCE
    assert folded.count("<td>") == 3
    assert "3 more" in folded
    whole = Table("Rows", (Column("Row"),), rows, whole=True).html()
    assert whole.count("<td>") == AT_ONCE + 3
    assert "<details>" not in whole


def _plot(name: str) -> Html:
    with canvas(2.0) as (figure, [axes]):
        axes.scatter([at(0.0), at(1.0)], [1, 2], c=BLUE.light, label=EVIL, gid="dots")
        axes.legend()
        return inline(figure, name, EVIL, EVIL, {"dots": ["first", EVIL]})


def test_plot_follows_the_page() -> None:
    written = _plot("one")
    assert "var(--blue)" in written
    assert not re.findall(r"#[0-9a-f]{6}\b", written)
    assert "<style" not in written
    assert "<script" not in written
    assert "font-family" not in written
    assert "<title>first</title>" in written


def test_ids_of_two_plots_never_meet() -> None:
    one, two = (set(re.findall(r' id="([^"]*)"', _plot(name))) for name in ("one", "two"))
    assert not one & two
    written = _plot("one")
    referred = set(re.findall(r'xlink:href="#([^"]*)"', written)) | set(re.findall(r"url\(#([^)]*)\)", written))
    assert referred
    assert referred <= one


def test_tips_have_to_be_as_many_as_marks() -> None:
    """A tip on the wrong dot would be a lie."""
    with canvas(2.0) as (figure, [axes]):
        axes.scatter([1, 2], [1, 2], gid="dots")
        with pytest.raises(ValueError, match="shorter"):
            inline(figure, "one", "title", "about", {"dots": ["only one"]})


@pytest.mark.parametrize(("low", "high"), [(20.0, 20_000.0), (1.0, 1e7), (50.0, 70.0)])
def test_durations_are_numbered_by_the_clock(low: float, high: float) -> None:
    with canvas(2.0) as (figure, [axes]):
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        durations(axes.xaxis, low, high, logarithmic=True)
        ticks = [tick for tick in axes.get_xticks() if low <= tick <= high]
        assert figure
    assert 1 <= len(ticks) <= 6
    assert all(step < after for step, after in pairwise(ticks))
