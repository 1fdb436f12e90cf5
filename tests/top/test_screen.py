"""The screen: keys, order, filter, detail, three sizes and a tiny one, hostile names, and servers that fail."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot

from kafka_warden import api_client
from kafka_warden.api_client import Answer, Get
from kafka_warden.config.layers import TOP_PASSWORD
from kafka_warden.errors import NoAnswerError
from kafka_warden.exposition import Page
from kafka_warden.formatting import in_size
from kafka_warden.top import screen
from kafka_warden.top.output import Request, cell, chosen, document, head, mark, text
from kafka_warden.top.screen import ROWS, RowTable, Top
from kafka_warden.views.specs import BY_NAME, TABLES
from tests.building import known
from tests.support import status_rows
from tests.support.asking import getter, shown_of, views_of
from tests.support.screens import screen_of, settled, shows

SIZES = ((80, 24), (120, 40), (200, 60))
EVIL = "x\x1b[31m\u202e[bold]y[/bold]\n\x07[@click=app.bell]z"
SHOWN = "x\\x1b[31m\\u202e[bold]y[/bold]\\n\\x07[@click=app.bell]z"

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "top.md"
BLOCK = re.compile(r"(^```text\n)(.*?)(^```$)", re.DOTALL | re.MULTILINE)
Script = Callable[[Top, Pilot[int]], Awaitable[None]]


def driven(get: Get, script: Script, size: tuple[int, int] = (120, 40), **request: Any) -> Top:
    """Run the screen, in which the script acts, until it has ended. It reads only when the script waits for that."""
    app = Top(get, Request("http://here", every=3600.0, **request))

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await settled(app, pilot)
            await script(app, pilot)

    asyncio.run(run())
    return app


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("make", [status_rows.troubled, status_rows.quiet, status_rows.blind, status_rows.moving])
def test_every_table_fits_the_screen(make: Callable[[], Page], size: tuple[int, int]) -> None:
    """All tables, one after the other, with their rows and sentences; the head and the keys are always there."""
    views = views_of(make())

    async def script(app: Top, pilot: Pilot[int]) -> None:
        for spec in TABLES:
            # The line of keys is empty while Textual makes it again.
            await shows(app, pilot, f" {spec.title} ", "p Pause")
            lines = screen_of(app)
            assert len(lines) == size[1]
            assert all(cell_len(line) == size[0] for line in lines), spec.name
            assert lines[0].startswith("kafka-warden")
            assert lines[-1].rstrip().endswith("p Pause")
            table = views.tables[spec.name]
            rows, total = chosen(spec, table, Request(""))
            at = next(at for at, line in enumerate(lines) if f" {spec.title} {total:,} " in line)
            assert lines[at + 1].startswith(f"   {spec.columns[0].title} ")
            if rows:
                assert lines[at + 2].startswith(f" {mark(rows[0])} {cell(spec.columns[0], rows[0], size[0])} ")
            else:
                assert lines[at + 2].rstrip() in (spec.empty, "No fresh data.")
            await pilot.press("tab")
            await settled(app, pilot)
        assert app.spec is TABLES[0]

    driven(getter(make), script, size, table=TABLES[0].name)


@pytest.mark.parametrize(
    ("make", "table"),
    [(status_rows.troubled, "problems"), (status_rows.quiet, "brokers"), (status_rows.blind, "problems")],
)
def test_it_opens_on_the_first_table_with_rows(make: Callable[[], Page], table: str) -> None:
    async def script(app: Top, pilot: Pilot[int]) -> None:
        assert app.spec is BY_NAME[table]
        assert app.query_one(RowTable).chosen is not None

    driven(getter(make), script)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_keys(size: tuple[int, int]) -> None:
    page = status_rows.moving(300)
    moves = views_of(page).tables["moves"].rows

    async def script(app: Top, pilot: Pilot[int]) -> None:
        rows = app.query_one(RowTable)
        assert rows.chosen == moves[0]
        await pilot.press("down", "down", "up")
        assert rows.chosen == moves[1]
        await shows(app, pilot, "These are the first 200 rows")
        await pilot.press("end")
        await shows(app, pilot, f"{moves[ROWS - 1].topic[-4:]}-{moves[ROWS - 1].partition} ")
        assert rows.chosen == moves[ROWS - 1]
        await pilot.press("home", *["s"] * 6)
        await shows(app, pilot, "Leftv")
        left = sorted((row.remaining_bytes or 0.0 for row in moves), reverse=True)
        assert [row.remaining_bytes for row in rows.shown] == left[:ROWS]
        await pilot.press("r")
        assert [row.remaining_bytes for row in rows.shown] == left[::-1][:ROWS]
        await pilot.press("slash", *"payments broker=5", "enter")
        await settled(app, pilot)
        assert {(row.topic, row.broker) for row in rows.shown} == {("payments.settled.v2", 5)}
        assert "payments broker=5" in screen_of(app)[-2]
        await pilot.press("enter")
        size_left = f"remaining_bytes: {in_size(rows.chosen.remaining_bytes)} ({rows.chosen.remaining_bytes})"
        await shows(app, pilot, "Bytes left in the last hour", size_left)
        await pilot.press("escape", "escape")
        await settled(app, pilot)
        assert len(rows.shown) == ROWS
        await pilot.press("question_mark")
        await shows(app, pilot, "shift+tab Table before")
        await pilot.press("escape", "p")
        before = app.readings
        app._wake.set()
        await pilot.pause()
        assert app.paused
        assert app.readings == before
        assert screen_of(app)[0].startswith("Paused")
        await pilot.press("p", "tab", "tab", "shift+tab")
        await settled(app, pilot)
        assert app.spec is TABLES[2]
        assert app.request.sort is None
        await pilot.press("q")

    assert not driven(getter(lambda: page), script, size, table="moves").return_code


def test_the_screen_in_the_document_is_current(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the cluster in trouble; `--update-golden` writes it."""
    for module in (api_client, screen):
        monkeypatch.setattr(module, "monotonic", lambda: 100.0)
    shown = ""

    async def script(app: Top, pilot: Pilot[int]) -> None:
        nonlocal shown
        shown = "".join(f"{line.rstrip()}\n" for line in screen_of(app))

    driven(getter(status_rows.troubled), script, (100, 18), table="moves")
    text = DOCUMENT.read_text()
    if request.config.getoption("--update-golden"):
        DOCUMENT.write_text(BLOCK.sub(lambda found: found[1] + shown + found[3], text))
    assert [screen for _, screen, _ in BLOCK.findall(DOCUMENT.read_text())] == [shown], "pytest --update-golden"
    assert TOP_PASSWORD in text


def test_ctrl_c_ends_everywhere() -> None:
    for keys in ((), ("slash", "a"), ("enter",), ("question_mark",)):

        async def script(app: Top, pilot: Pilot[int], keys: tuple[str, ...] = keys) -> None:
            await pilot.press(*keys, "ctrl+c")

        app = driven(getter(status_rows.troubled), script)
        assert app.return_value == 130
        app._show_head()  # the timer may come after the widgets are gone


def test_the_chosen_row_stays_chosen() -> None:
    """A row that others overtake keeps the cursor, and the next answer does not scroll; a row that is gone has none."""
    pages = [status_rows.moving(300)]

    async def script(app: Top, pilot: Pilot[int]) -> None:
        rows = app.query_one(RowTable)
        await pilot.press(*["down"] * 60, *["up"] * 5, *["right"] * 9)
        await pilot.pause()
        chosen, scrolled = rows.chosen, rows.scroll_offset
        assert min(scrolled) > 0
        await settled(app, pilot)
        assert (rows.chosen, rows.scroll_offset) == (chosen, scrolled)
        await pilot.press("r")
        assert rows.chosen not in (chosen, None)
        await pilot.press(*["s"] * 3)
        chosen = rows.chosen
        await pilot.press("r")
        assert rows.chosen == chosen
        pages[0] = status_rows.quiet()
        await settled(app, pilot)
        assert rows.chosen is None
        await pilot.press("enter")

    driven(getter(lambda: pages[0]), script, (60, 20), table="moves")


def test_hostile_names_are_text() -> None:
    """Names of topics, users, clients, directories and the cluster become no escape sequence and no markup."""
    get, seen = getter(lambda: status_rows.hostile(EVIL, EVIL)), [""]

    async def script(app: Top, pilot: Pilot[int]) -> None:
        for _ in TABLES:
            seen[0] += "\n".join(screen_of(app))
            await pilot.press("enter")
            await pilot.pause()
            seen[0] += "\n".join(screen_of(app))
            await pilot.press("escape", "tab")
            await settled(app, pilot)

    driven(get, script, (200, 60))
    request = Request("")
    for shown, least in ((seen[0], 9), (text(shown_of(get), request, None), 6), (document(shown_of(get), request), 0)):
        assert not set(shown) & {"\x1b", "\u202e", "\x07"}
        assert shown.count(SHOWN) >= least


def test_servers_that_fail_leave_the_data_with_its_age() -> None:
    """What is wrong, since when, and how old the data is; the next answer takes it away."""
    working = getter(status_rows.troubled)
    failures: list[NoAnswerError] = []

    async def get(path: str) -> Answer:
        if failures:
            raise failures[0]
        return await working(path)

    async def script(app: Top, pilot: Pilot[int]) -> None:
        failures.append(NoAnswerError("no answer within 10 s\x1b[2J"))
        await settled(app, pilot)
        lines = screen_of(app)
        assert lines[0].startswith("! No answer since 20")
        assert any("http://here: no answer within 10 s\\x1b[2J" in line for line in lines[:2]), lines[:3]
        assert any(line.startswith("Data of 2023-11-14") for line in lines)
        assert any("orders-1" in line for line in lines)
        shown = known(app.shown)
        assert head(shown, shown.polled_at + 10.5)[1].endswith(" · 10 s old · a poll every 10 s")
        await pilot.press("shift+tab")
        assert "not answering" in "\n".join(screen_of(app)), "problems are always read"
        await pilot.press("tab")
        failures.clear()
        await settled(app, pilot)
        assert screen_of(app)[0].startswith("kafka-warden")

    driven(get, script, table="moves")


def test_a_server_that_never_answered() -> None:
    async def get(path: str) -> Answer:
        raise NoAnswerError("nothing listens there")

    async def script(app: Top, pilot: Pilot[int]) -> None:
        lines = [line.rstrip() for line in screen_of(app)]
        assert lines[0].startswith("! No answer since")
        assert "http://here: nothing listens there" in "\n".join(lines[:2])
        assert "No data." in lines
        await pilot.press("enter", "s", "r", "tab", "end", "slash", "a", "enter", "escape", "q")

    assert not driven(get, script, (80, 24)).return_code


@pytest.mark.parametrize("size", [(40, 12), (20, 6), (5, 3), (1, 1)], ids=str)
def test_a_tiny_terminal_is_no_failure(size: tuple[int, int]) -> None:
    """Of 40 columns what matters is legible; below, nothing fails, whatever is pressed."""

    async def script(app: Top, pilot: Pilot[int]) -> None:
        if size[0] == 40:
            await shows(app, pilot, "orders-1", "never", "stuck")
        await pilot.press("tab", "end", "enter", "escape", "s", "question_mark", "escape", "slash", "a", "enter")
        await pilot.resize_terminal(120, 40)
        await pilot.pause()
        assert len(screen_of(app)[0]) == 120

    driven(getter(status_rows.troubled), script, size, table="moves")


def test_no_state_is_shown_by_colour_alone() -> None:
    seen = set()
    for page in (status_rows.troubled(), status_rows.blind()):
        for spec in TABLES:
            for row in views_of(page).tables[spec.name].rows:
                if sign := mark(row).strip():
                    text = " ".join(column.text(row) for column in spec.columns)
                    seen.add((spec.name, sign, text))
    assert {sign for _, sign, _ in seen} == {"■", "▲", "○"}
    words = ("stuck", "never", "critical", "warning", "offline", "fenced", "unanswering", "not answered", "slow", "-")
    assert all(
        any(word in text for word in words) or name.endswith("problems") or name == "topics" for name, _, text in seen
    )
