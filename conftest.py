"""What pytest takes from the top of the repository only: the option `--update-golden`, and hypothesis' profile."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

GOLDEN = Path(__file__).parent / "tests" / "golden"
"""Pages that the tests compare with."""

# Unit tests share two cores with Kafka clusters: an example that takes long says nothing of the code.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")


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
        message = f"if {name} is meant to change: pytest --update-golden, then git diff"
        assert actual.decode() == expected.decode(), message  # noqa: S101  # the part of a test that all of them share

    return compare
