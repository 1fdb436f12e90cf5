"""docs/top.md shows what the program shows."""

import asyncio
import re
from pathlib import Path

import pytest

from kafka_warden.config.layers import TOP_PASSWORD
from kafka_warden.top.flags import Request
from kafka_warden.top.screen import Top
from tests.support import status_rows
from tests.support.asking import getter
from tests.support.screens import screen_of, settled

DOCUMENT = Path(__file__).parents[2] / "docs" / "top.md"
BLOCK = re.compile(r"(^```text\n)(.*?)(^```$)", re.DOTALL | re.MULTILINE)


def test_the_screen_in_the_document_is_current(request: pytest.FixtureRequest) -> None:
    """Of the cluster in trouble; `--update-golden` writes it."""
    app = Top(getter(status_rows.troubled), Request(None, "", table="moves"))

    async def screen() -> str:
        async with app.run_test(size=(100, 18)) as pilot:
            await settled(app, pilot)
            return "".join(f"{line.rstrip()}\n" for line in screen_of(app))

    shown = asyncio.run(screen())
    text = DOCUMENT.read_text()
    if request.config.getoption("--update-golden"):
        DOCUMENT.write_text(BLOCK.sub(lambda found: found[1] + shown + found[3], text))
    assert [screen for _, screen, _ in BLOCK.findall(DOCUMENT.read_text())] == [shown], (
        "pytest --update-golden, then git diff"
    )


def test_the_environment_variable_has_its_name() -> None:
    assert TOP_PASSWORD in DOCUMENT.read_text()
