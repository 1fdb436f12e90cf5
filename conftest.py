"""What pytest takes from the top of the repository only: plugins, the option `--update-golden`, hypothesis' profile."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

GOLDEN = Path(__file__).parent / "tests" / "golden"
"""Pages that the tests compare with."""

pytest_plugins = ["pytester", "tests.support.suite"]

# Tests share two cores with Kafka clusters: a slow example is no defect of the code.
settings.register_profile("fixed", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("fresh", settings.get_profile("fixed"), derandomize=False, print_blob=True)
# `make quick` ends within a minute.
settings.register_profile("quick", settings.get_profile("fixed"), max_examples=20)
# A mutant is killed by the first example that fails: no time for a smaller one.
settings.register_profile("mutants", settings.get_profile("fixed"), phases=[Phase.explicit, Phase.generate])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


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
