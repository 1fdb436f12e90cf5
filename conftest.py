"""Golden files: pages that the tests compare with, and `--update-golden`, which writes them anew.

It stands here because pytest takes options of its own from the top of the repository only.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "tests" / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--update-golden`."""
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/* instead of comparing with it")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, bytes], None]:
    """Compare bytes with a file below tests/golden, or write them there."""

    def compare(name: str, actual: bytes) -> None:
        file = GOLDEN / name
        if request.config.getoption("--update-golden"):
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(actual)
        expected = file.read_bytes() if file.exists() else b""
        assert actual.decode() == expected.decode(), (
            f"if {name} is meant to change: pytest --update-golden, then git diff"
        )

    return compare
